//! Makes a rewritten sequence acceptable again.
//!
//! A rewrite takes segments away. What it leaves may begin with the assistant, hold a result
//! without its call or a call without its result, name a call twice in one turn, end a turn in
//! thinking, or put a system message where none may stand. Planners avoid that; this pass makes sure. It only looks at the
//! segments, so every later view comes to the same sequence.

use crate::segment::Segment;
use crate::tail::{inserted, missing_result};
use dormouse_core::block::BlockKind;
use dormouse_core::id::CallId;
use dormouse_core::record::{Derived, Role};
use std::collections::HashMap;

/// The provider's own summary may begin a conversation.
pub(crate) fn opens(first: &Segment) -> bool {
    first.block.kind() == BlockKind::Compaction
}

/// Repairs the sequence.
pub(crate) fn normalise(segments: Vec<Segment>) -> Vec<Segment> {
    let mut out = Vec::with_capacity(segments.len() + 2);
    normalise_into(segments, |segment| out.push(segment));
    out
}

/// Repairs a sequence while it goes by. A rewrite meets every segment of a conversation, and most
/// of its time is spent fetching them from memory: each is handed on while it is at hand.
pub(crate) fn normalise_into(
    segments: impl IntoIterator<Item = Segment>,
    put: impl FnMut(Segment),
) {
    let mut repair = Repair {
        put,
        last: None,
        side: Side::User,
        thinking: Vec::new(),
        calls: Calls::default(),
        rest: Vec::new(),
    };
    for segment in segments {
        if segment.role == Role::Assistant {
            repair.assistant(segment);
        } else {
            repair.user(segment);
        }
    }
    repair.finish();
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Assistant,
    User,
}

/// A repair under way. Turns share its buffers: a long conversation has a hundred thousand turns,
/// and allocating for each took longer than the repair.
struct Repair<F> {
    put: F,
    /// The role of the last segment put out.
    last: Option<Role>,
    side: Side,
    /// Thinking that ends its turn unless the assistant goes on.
    thinking: Vec<Segment>,
    /// Calls of the last assistant turn.
    calls: Calls,
    /// Segments of this user turn that stand behind its results.
    rest: Vec<Segment>,
}

impl<F: FnMut(Segment)> Repair<F> {
    fn out(&mut self, segment: Segment) {
        self.last = Some(segment.role);
        (self.put)(segment);
    }

    fn assistant(&mut self, segment: Segment) {
        if segment.block.kind().is_thinking() {
            self.thinking.push(segment);
            return;
        }
        let is_call = segment.block.kind() == BlockKind::ToolUse;
        if is_call && self.side == Side::Assistant && self.calls.repeats(&segment) {
            return;
        }
        if self.side == Side::User {
            self.end_user_turn();
            self.calls.clear();
            self.side = Side::Assistant;
        }
        if self.last.is_none() {
            let first = self.thinking.first().unwrap_or(&segment);
            if !opens(first) {
                let opening = inserted(Derived::Opening, first);
                self.out(opening);
            }
        }
        let mut thinking = std::mem::take(&mut self.thinking);
        for thought in thinking.drain(..) {
            self.out(thought);
        }
        self.thinking = thinking;
        if is_call {
            self.calls.push(&segment);
        }
        self.out(segment);
    }

    /// The first result for a call goes out at once, any other is dropped; the rest waits.
    fn user(&mut self, segment: Segment) {
        // An assistant turn that held nothing but thinking disappears, and its neighbours become
        // one.
        self.thinking.clear();
        self.side = Side::User;
        if segment.block.kind() != BlockKind::ToolResult {
            self.rest.push(segment);
        } else if segment
            .block
            .call()
            .is_some_and(|call| self.calls.answer(call))
        {
            self.out(segment);
        }
    }

    /// Answers the calls that got no result, and puts out the rest. System messages stay only at
    /// the end.
    fn end_user_turn(&mut self) {
        for missing in self.calls.unanswered() {
            self.out(missing_result(&missing));
        }
        let mut rest = std::mem::take(&mut self.rest);
        let words_end = rest.iter().rposition(|segment| segment.role == Role::User);
        for (index, mut segment) in rest.drain(..).enumerate() {
            let after_words = words_end.is_none_or(|end| index > end);
            let user_before = self.last.is_some_and(|last| last != Role::Assistant);
            if segment.role == Role::System && !(after_words && user_before) {
                segment.role = Role::User;
            }
            self.out(segment);
        }
        self.rest = rest;
    }

    fn finish(mut self) {
        match self.side {
            Side::User => self.end_user_turn(),
            Side::Assistant => {
                for call in std::mem::take(&mut self.calls.made) {
                    self.out(missing_result(&call.segment));
                }
            }
        }
    }
}

/// Above this many calls in a turn they are indexed. Below it, comparing ids is cheaper than hashing
/// them; above it, searching the list for every result would be quadratic.
const SCANNED: usize = 8;

/// The calls of an assistant turn, and which of them were answered.
#[derive(Default)]
struct Calls {
    made: Vec<Call>,
    /// Their positions by id; empty up to [`SCANNED`] calls.
    index: HashMap<CallId, usize>,
}

struct Call {
    segment: Segment,
    answered: bool,
}

impl Calls {
    fn clear(&mut self) {
        self.made.clear();
        self.index.clear();
    }

    fn push(&mut self, segment: &Segment) {
        self.made.push(Call {
            segment: segment.clone(),
            answered: false,
        });
        let new = match self.made.len() {
            ..=SCANNED => return,
            // The index begins with all calls there are.
            len if self.index.is_empty() => 0..len,
            len => len - 1..len,
        };
        for at in new {
            if let Some(id) = self.made[at].segment.block.call() {
                self.index.insert(id.clone(), at);
            }
        }
    }

    fn find(&self, id: &CallId) -> Option<usize> {
        if self.made.len() > SCANNED {
            return self.index.get(id).copied();
        }
        let mut made = self.made.iter();
        made.position(|call| call.segment.block.call() == Some(id))
    }

    /// Whether a call has no id, or one that the turn used already: ids repeat within a turn where
    /// a rewrite took away all that stood between two responses. As in a view, the first counts.
    fn repeats(&self, segment: &Segment) -> bool {
        let id = segment.block.call();
        id.is_none_or(|id| self.find(id).is_some())
    }

    /// Takes a result; false when it answers no call, or is not the first to do so.
    fn answer(&mut self, id: &CallId) -> bool {
        let call = self.find(id).map(|at| &mut self.made[at]);
        call.is_some_and(|call| !std::mem::replace(&mut call.answered, true))
    }

    fn unanswered(&self) -> Vec<Segment> {
        let made = self.made.iter().filter(|call| !call.answered);
        made.map(|call| call.segment.clone()).collect()
    }
}

#[cfg(test)]
#[path = "normalise_tests.rs"]
mod tests;
