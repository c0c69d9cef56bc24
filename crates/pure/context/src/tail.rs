//! The open tail: everything after the last request, whose order is not final.
//!
//! It holds the blocks of the response being answered and, separately, what was received on the
//! user's side since. Settling turns both into segments that the API accepts: tool results first,
//! then fragments, then user messages; a stand-in for every missing result; no thinking at the end
//! of a response that was cut off. Settling is pure: it can be repeated at any time and becomes
//! final when a request is recorded.
//!
//! Not here: repairs of the frozen part after a rewrite (`normalise`).

use crate::category::Category;
use crate::derive;
use crate::normalise::opens;
use crate::segment::{Place, Segment};
use crate::target::Target;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::{BlockKey, CallId, MessageId};
use dormouse_core::record::{Derived, Role};
use std::collections::HashMap;
use std::sync::Arc;

/// Open tail of a view.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// Blocks of the latest response, complete ones only.
    pub(crate) response: Vec<Segment>,
    /// Message id of that response; further lines with the same id continue it.
    pub(crate) response_id: Option<MessageId>,
    /// Segments received since, in order of arrival. Fragments have the role `System` here;
    /// settling decides the role they are sent with.
    pub(crate) incoming: Vec<Segment>,
    /// Calls of the response, each with the position of its first result in `incoming`. A response
    /// may make thousands of calls: scanning the lists for every result would be quadratic.
    answers: HashMap<CallId, Option<usize>>,
    /// Results that are sent behind all others, in this order: those to be distilled.
    last: Vec<BlockKey>,
    /// Characters of the results among the first `counted` segments of `incoming`.
    result_chars: u64,
    counted: usize,
}

impl Tail {
    /// A tail of these segments, with its index of calls.
    pub(crate) fn new(
        response: Vec<Segment>,
        response_id: Option<MessageId>,
        incoming: Vec<Segment>,
    ) -> Self {
        let mut tail = Self {
            response_id,
            response: Vec::with_capacity(response.len()),
            incoming: Vec::with_capacity(incoming.len()),
            ..Self::default()
        };
        // The response first: results are matched with its calls.
        for segment in response {
            tail.answer(segment);
        }
        for segment in incoming {
            tail.receive(segment);
        }
        tail
    }

    /// Appends a block of the response and indexes its call.
    pub(crate) fn answer(&mut self, segment: Segment) {
        if segment.block.kind() == BlockKind::ToolUse
            && let Some(call) = segment.block.call()
        {
            self.answers.entry(call.clone()).or_default();
        }
        self.response.push(segment);
    }

    /// Appends a segment of the user's side and notes the first result of each call.
    pub(crate) fn receive(&mut self, segment: Segment) {
        let call = segment.block.call().filter(|_| is_result(&segment));
        if let Some(first) = call.and_then(|call| self.answers.get_mut(call)) {
            first.get_or_insert(self.incoming.len());
        }
        self.incoming.push(segment);
    }

    /// Replaces the bytes of a received result by a preview; false if no segment has this key.
    pub(crate) fn preview(&mut self, key: BlockKey, place: &Arc<Place>, preview: &Block) -> bool {
        let mut incoming = self.incoming.iter_mut();
        let Some(segment) = incoming.find(|segment| segment.origin == key) else {
            return false;
        };
        let before = segment.block.call().cloned();
        segment.block = match segment.derived {
            Some(derived) => derive::derive(derived, preview),
            None => preview.clone(),
        };
        segment.place = Arc::clone(place);
        segment.index = 0;
        (self.result_chars, self.counted) = (0, 0);
        if segment.block.call() != before.as_ref() {
            // A preview block may name another call than the result did: rebuild the index.
            let last = std::mem::take(&mut self.last);
            *self = Self::new(
                std::mem::take(&mut self.response),
                self.response_id.take(),
                std::mem::take(&mut self.incoming),
            );
            self.last = last;
        }
        true
    }

    /// Puts results behind all others, in this order. Keys of other segments have no effect.
    pub(crate) fn arrange(&mut self, last: &[BlockKey]) {
        self.last = last.to_vec();
    }

    /// Characters of the received results. Counting goes on where it ended the last time: results
    /// arrive one by one, and each asks for the sum.
    pub(crate) fn result_chars(&mut self) -> u64 {
        let new = self.incoming.get(self.counted..).unwrap_or_default();
        let texts = new.iter().filter(|segment| is_result(segment));
        let texts = texts.filter_map(|segment| segment.block.readable_text());
        self.result_chars += texts.map(|text| text.chars().count() as u64).sum::<u64>();
        self.counted = self.incoming.len();
        self.result_chars
    }

    /// True if neither response nor received segments are there.
    pub fn is_empty(&self) -> bool {
        self.response.is_empty() && self.incoming.is_empty()
    }

    /// Blocks of the latest response, in order.
    pub fn response(&self) -> &[Segment] {
        &self.response
    }

    /// True if the response contains a call with this id.
    pub(crate) fn has_call(&self, call: &CallId) -> bool {
        self.answers.contains_key(call)
    }

    /// First result received for a call of the response.
    pub(crate) fn result(&self, call: &CallId) -> Option<&Segment> {
        let at = self.answers.get(call).copied().flatten()?;
        self.incoming.get(at)
    }

    /// Calls of the response without a result yet.
    pub fn open_calls(&self) -> impl Iterator<Item = &Segment> {
        self.response.iter().filter(|segment| {
            segment.block.kind() == BlockKind::ToolUse
                && segment
                    .block
                    .call()
                    .is_some_and(|call| self.result(call).is_none())
        })
    }

    /// Settled segments behind `last`, the last frozen segment.
    pub(crate) fn settle(&self, last: Option<&Segment>, target: &Target) -> Vec<Segment> {
        let mut out = Vec::with_capacity(self.response.len() + self.incoming.len() + 2);
        // A response that was cut off may end in thinking, which the API refuses at the end of a
        // turn.
        let answered = self
            .response
            .iter()
            .rposition(|s| !s.block.kind().is_thinking());
        let response = &self.response[..answered.map_or(0, |last| last + 1)];
        let missing: Vec<Segment> = self.open_calls().map(missing_result).collect();

        let first = response.first().or_else(|| self.incoming.first());
        if let Some(first) = first {
            let role = if response.is_empty() {
                Role::User
            } else {
                Role::Assistant
            };
            match (last.map(|last| last.role), role) {
                // The API wants a user turn first, and no user turn right behind a system message.
                (None, Role::Assistant) if !opens(first) => {
                    out.push(inserted(Derived::Opening, first));
                }
                (Some(Role::System), Role::User) => out.push(inserted(Derived::NoResponse, first)),
                _ => {}
            }
        }
        out.extend(response.iter().cloned());

        let is_last = |segment: &Segment| self.last.contains(&segment.origin);
        let results = self.incoming.iter().filter(|segment| is_result(segment));
        out.extend(results.clone().filter(|segment| !is_last(segment)).cloned());
        out.extend(missing);
        for key in &self.last {
            out.extend(results.clone().filter(|one| one.origin == *key).cloned());
        }
        let is_fragment = |segment: &&Segment| segment.role == Role::System;
        let words = || {
            self.incoming
                .iter()
                .filter(|segment| !is_result(segment) && segment.role == Role::User)
        };
        // A system message may not begin the user's side of a turn.
        let user_side = out
            .last()
            .or(last)
            .is_some_and(|segment| segment.role == Role::User);
        let as_system = target.system_messages && (user_side || words().next().is_some());
        let fragments = self.incoming.iter().filter(is_fragment);
        if as_system {
            out.extend(words().cloned());
            out.extend(fragments.cloned());
        } else {
            out.extend(fragments.map(|fragment| Segment {
                role: Role::User,
                ..fragment.clone()
            }));
            out.extend(words().cloned());
        }
        out
    }
}

fn is_result(segment: &Segment) -> bool {
    segment.block.kind() == BlockKind::ToolResult
}

/// Stand-in for the missing result of a call.
pub(crate) fn missing_result(call: &Segment) -> Segment {
    Segment {
        block: derive::derive(Derived::MissingResult, &call.block),
        role: Role::User,
        derived: Some(Derived::MissingResult),
        category: Category::ToolResults,
        ..call.clone()
    }
}

/// A segment that only keeps the turns in order; `near` lends it a place in the log.
pub(crate) fn inserted(derived: Derived, near: &Segment) -> Segment {
    Segment {
        block: derive::derive(derived, &near.block),
        role: derive::role(derived),
        derived: Some(derived),
        category: Category::Attachments,
        ..near.clone()
    }
}
