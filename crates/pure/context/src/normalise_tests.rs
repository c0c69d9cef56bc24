//! The streaming repair against a reference implementation that works turn by turn.

use super::*;
use crate::category::Category;
use crate::segment::Place;
use dormouse_core::block::Block;
use dormouse_core::id::{BlockKey, Seq};
use dormouse_testkit::blocks::{call, result, thinking};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

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

fn without_repeated_calls(segments: Vec<Segment>) -> Vec<Segment> {
    let mut out = Vec::new();
    for turn in turns(segments) {
        let mut made: Vec<CallId> = Vec::new();
        for segment in turn.segments {
            let call = segment.block.call().cloned();
            match call.filter(|_| segment.block.kind() == BlockKind::ToolUse) {
                Some(call) if made.contains(&call) => {}
                call => {
                    made.extend(call);
                    out.push(segment);
                }
            }
        }
    }
    out
}

fn without_trailing_thinking(segments: Vec<Segment>) -> Vec<Segment> {
    let mut out = Vec::new();
    for mut turn in turns(segments) {
        if turn.assistant {
            let is_said = |segment: &Segment| !segment.block.kind().is_thinking();
            let said = turn.segments.iter().rposition(is_said);
            turn.segments.truncate(said.map_or(0, |last| last + 1));
        }
        out.append(&mut turn.segments);
    }
    out
}

fn user_turn(segments: Vec<Segment>, calls: &[Segment], out: &mut Vec<Segment>) {
    let mut answered: Vec<CallId> = Vec::new();
    let is_result = |segment: &Segment| segment.block.kind() == BlockKind::ToolResult;
    let (results, rest): (Vec<_>, Vec<_>) = segments.into_iter().partition(is_result);
    for result in results {
        let call = result.block.call().cloned().unwrap();
        let asked = calls.iter().any(|made| made.block.call() == Some(&call));
        if asked && !answered.contains(&call) {
            answered.push(call);
            out.push(result);
        }
    }
    let missing = calls
        .iter()
        .filter(|call| !answered.contains(call.block.call().unwrap()));
    out.extend(missing.map(missing_result));
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

fn turn_by_turn(segments: Vec<Segment>) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::new();
    let mut calls: Vec<Segment> = Vec::new();
    // A turn of thinking only disappears: the turns around it become one, without repeated calls.
    let segments = without_trailing_thinking(segments);
    let segments = without_repeated_calls(segments);
    for turn in turns(without_trailing_thinking(segments)) {
        let said = turn.segments;
        if turn.assistant {
            if out.is_empty() && !opens(&said[0]) {
                out.push(inserted(Derived::Opening, &said[0]));
            }
            let is_call = |segment: &&Segment| segment.block.kind() == BlockKind::ToolUse;
            calls.extend(said.iter().filter(is_call).cloned());
            out.extend(said);
        } else {
            user_turn(said, &std::mem::take(&mut calls), &mut out);
        }
    }
    out.extend(calls.iter().map(missing_result));
    out
}

/// Few ids, so that calls and results match, sometimes twice.
fn piece() -> impl Strategy<Value = (Role, Block)> {
    let id = || (0_u8..4).prop_map(|n| format!("call_{n}"));
    prop_oneof![
        3 => id().prop_map(|id| (Role::Assistant, call(&id, "Bash", &json!({})))),
        4 => id().prop_map(|id| (Role::User, result(&id, "done"))),
        2 => Just((Role::Assistant, thinking("hm"))),
        1 => Just((Role::Assistant, Block::text("said"))),
        2 => Just((Role::User, Block::text("word"))),
        2 => Just((Role::System, Block::text("fragment"))),
        1 => Just((Role::Assistant, dormouse_testkit::blocks::block(
            &json!({ "type": "compaction", "content": "summary" }),
        ))),
    ]
}

fn segments(pieces: Vec<(Role, Block)>) -> Vec<Segment> {
    let place = Arc::new(Place {
        seq: Seq::new(1),
        offset: 0,
        id: "r1".into(),
        session: None,
        blocks: 0,
        ordinal: None,
        run: 0,
    });
    let pieces = (0..).zip(pieces);
    let segment = |(index, (role, block))| Segment {
        role,
        block,
        origin: BlockKey::new(Seq::new(1), index),
        derived: None,
        category: Category::Human,
        place: Arc::clone(&place),
        index,
    };
    pieces.map(segment).collect()
}

/// Everything that a repair decides about a segment.
fn outcome(segments: &[Segment]) -> Vec<(Role, Block, BlockKey, Option<Derived>)> {
    let parts = |s: &Segment| (s.role, s.block.clone(), s.origin, s.derived);
    segments.iter().map(parts).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_repairs_agree(pieces in prop::collection::vec(piece(), 0..24)) {
        let segments = segments(pieces);
        prop_assert_eq!(outcome(&normalise(segments.clone())), outcome(&turn_by_turn(segments)));
    }

    #[test]
    fn both_repairs_agree_on_many_calls(
        asked in prop::collection::vec(0_u8..20, 0..30),
        answered in prop::collection::vec(0_u8..20, 0..30),
    ) {
        let asked = asked.iter().map(|n| (Role::Assistant, call(&format!("call_{n}"), "Bash", &json!({}))));
        let answered = answered.iter().map(|n| (Role::User, result(&format!("call_{n}"), "done")));
        let segments = segments(asked.chain(answered).collect());
        prop_assert_eq!(outcome(&normalise(segments.clone())), outcome(&turn_by_turn(segments)));
    }
}
