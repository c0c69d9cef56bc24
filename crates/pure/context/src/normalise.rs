//! Repair of a rewritten sequence.
//!
//! A rewrite removes segments. The rest may begin with the assistant, hold a result without its
//! call or a call without its result, name a call twice in one turn, end a turn in thinking, or
//! have a system message in a forbidden place. Planners avoid that; this pass guarantees it. It
//! depends on the segments only, so every later view repeats the same repair.
//!
//! Not here: ordering and repair of the open tail ([`crate::tail`]).

use crate::segment::Segment;
use crate::tail::{inserted, missing_result};
use dormouse_core::block::BlockKind;
use dormouse_core::id::CallId;
use dormouse_core::record::{Derived, Role};
use std::collections::HashMap;

/// True if a segment may begin a conversation on the assistant's side: the provider's own
/// compaction block may.
pub(crate) fn opens(first: &Segment) -> bool {
    first.block.kind() == BlockKind::Compaction
}

/// Repairs the sequence and collects the result.
pub(crate) fn normalise(segments: Vec<Segment>) -> Vec<Segment> {
    // Two more: an opening turn and a missing result are the usual additions.
    let mut out = Vec::with_capacity(segments.len() + 2);
    normalise_into(segments, |segment| out.push(segment));
    out
}

/// Repairs a sequence as a stream. A rewrite visits every segment of a conversation and spends most
/// of its time on cache misses, so each segment is passed on while it is in the cache.
pub(crate) fn normalise_into(
    segments: impl IntoIterator<Item = Segment>,
    put: impl FnMut(Segment),
) {
    let mut repair = Repair {
        put,
        last: None,
        // As if a user turn had just ended, so that a leading assistant turn is noticed.
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

/// Side whose turn is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Assistant,
    User,
}

/// State of a repair. Turns share its buffers: a long conversation has a hundred thousand turns,
/// and allocating for each took longer than the repair.
struct Repair<F> {
    put: F,
    /// Role of the last segment put out.
    last: Option<Role>,
    side: Side,
    /// Thinking held back: dropped unless another block of the same turn follows it.
    thinking: Vec<Segment>,
    /// Calls of the last assistant turn, with their answers.
    calls: Calls,
    /// Segments of this user turn other than results; they are put out behind the results.
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
        // Only within a turn: a later turn may reuse an id.
        if is_call && self.side == Side::Assistant && self.calls.repeats(&segment) {
            return;
        }
        if self.side == Side::User {
            self.end_user_turn();
            self.calls.clear();
            self.side = Side::Assistant;
        }
        // The held-back thinking comes first if there is any, and lends the opening its place.
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

    /// Puts out the first result for each call at once, drops any other result, and holds back the
    /// rest of the turn.
    fn user(&mut self, segment: Segment) {
        // An assistant turn of thinking only disappears, and the user turns around it become one.
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

    /// Answers open calls and puts out the rest of the turn. System messages keep their role only
    /// at the end, where the API allows them.
    fn end_user_turn(&mut self) {
        for missing in self.calls.unanswered() {
            self.out(missing_result(&missing));
        }
        let mut rest = std::mem::take(&mut self.rest);
        let words_end = rest.iter().rposition(|segment| segment.role == Role::User);
        for (index, mut segment) in rest.drain(..).enumerate() {
            let after_words = words_end.is_none_or(|end| index > end);
            // The API refuses a system message right behind an assistant turn.
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
                // The sequence ends in calls; without results the next request would be refused.
                for call in std::mem::take(&mut self.calls.made) {
                    self.out(missing_result(&call.segment));
                }
            }
        }
    }
}

/// Number of calls up to which the list is scanned. Below it comparing ids is cheaper than hashing
/// them; above it a scan per result would be quadratic in a turn of thousands of calls.
const SCANNED: usize = 8;

/// Calls of an assistant turn and whether each was answered.
#[derive(Default)]
struct Calls {
    made: Vec<Call>,
    /// Positions by call id; empty up to [`SCANNED`] calls.
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
            // The threshold was just crossed: index all calls so far.
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

    /// True if a call has no id, or one already used in this turn. Ids repeat within a turn if a
    /// rewrite removed everything between two responses; the first call wins, as in a view.
    fn repeats(&self, segment: &Segment) -> bool {
        let id = segment.block.call();
        id.is_none_or(|id| self.find(id).is_some())
    }

    /// Takes a result; false if it answers no call or is not the first to do so.
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
