//! Makes a rewritten sequence acceptable again.
//!
//! A rewrite takes segments away. What it leaves may begin with the assistant, hold a result
//! without its call or a call without its result, end a turn in thinking, or put a system message
//! where none may stand. Planners avoid that; this pass makes sure. It only looks at the
//! segments, so every later view comes to the same sequence.

use crate::segment::Segment;
use crate::tail::{inserted, missing_result};
use dormouse_core::block::BlockKind;
use dormouse_core::id::CallId;
use dormouse_core::record::{Derived, Role};

/// Repairs the sequence.
pub(crate) fn normalise(segments: Vec<Segment>) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::with_capacity(segments.len() + 2);
    let mut calls: Vec<Segment> = Vec::new();
    for turn in turns(without_trailing_thinking(segments)) {
        let said = turn.segments;
        if turn.assistant {
            if out.is_empty()
                && let Some(first) = said.first().filter(|first| !opens(first))
            {
                out.push(inserted(Derived::Opening, first));
            }
            calls.extend(
                said.iter()
                    .filter(|s| s.block.kind() == BlockKind::ToolUse)
                    .cloned(),
            );
            out.extend(said);
        } else {
            user_turn(said, std::mem::take(&mut calls), &mut out);
        }
    }
    out.extend(calls.iter().map(missing_result));
    out
}

/// The provider's own summary may begin a conversation.
pub(crate) fn opens(first: &Segment) -> bool {
    first.block.kind() == BlockKind::Compaction
}

/// A turn that held nothing else disappears, and its neighbours become one.
fn without_trailing_thinking(segments: Vec<Segment>) -> Vec<Segment> {
    let mut out = Vec::with_capacity(segments.len());
    for mut turn in turns(segments) {
        if turn.assistant {
            let said = turn
                .segments
                .iter()
                .rposition(|s| !s.block.kind().is_thinking());
            turn.segments.truncate(said.map_or(0, |last| last + 1));
        }
        out.append(&mut turn.segments);
    }
    out
}

struct Turn {
    assistant: bool,
    segments: Vec<Segment>,
}

fn turns(segments: Vec<Segment>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for segment in segments {
        let assistant = segment.role == Role::Assistant;
        match turns.last_mut() {
            Some(turn) if turn.assistant == assistant => turn.segments.push(segment),
            _ => turns.push(Turn {
                assistant,
                segments: vec![segment],
            }),
        }
    }
    turns
}

/// Results of the turn before come first; then the rest; system messages stay only at the end.
fn user_turn(segments: Vec<Segment>, calls: Vec<Segment>, out: &mut Vec<Segment>) {
    let mut answered: Vec<CallId> = Vec::new();
    let (results, rest): (Vec<_>, Vec<_>) = segments
        .into_iter()
        .partition(|segment| segment.block.kind() == BlockKind::ToolResult);
    for result in results {
        let Some(call) = result.block.call().cloned() else {
            continue;
        };
        let asked = calls
            .iter()
            .any(|segment| segment.block.call() == Some(&call));
        if asked && !answered.contains(&call) {
            answered.push(call);
            out.push(result);
        }
    }
    for call in calls {
        if call.block.call().is_some_and(|id| !answered.contains(id)) {
            out.push(missing_result(&call));
        }
    }
    let words_end = rest.iter().rposition(|segment| segment.role == Role::User);
    for (index, mut segment) in rest.into_iter().enumerate() {
        let after_words = words_end.is_none_or(|end| index > end);
        let user_before = out.last().is_some_and(|last| last.role != Role::Assistant);
        if segment.role == Role::System && !(after_words && user_before) {
            segment.role = Role::User;
        }
        out.push(segment);
    }
}
