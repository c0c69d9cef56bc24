//! Parts of a view that wait: for a request, or for an answer.

use super::View;
use crate::category::Category;
use crate::segment::Segment;
use dormouse_core::block::BlockKind;
use dormouse_core::id::{BlockKey, Seq, SessionId};
use dormouse_core::record::{Manifest, Role};
use std::collections::HashSet;

impl View {
    /// Segments received since the last response and not sent yet, in order of arrival.
    pub fn waiting(&self) -> impl Iterator<Item = &Segment> {
        self.tail.incoming.iter()
    }

    /// Layout of the view up to the end of the latest response, for a fork that begins there: segments
    /// received since are left out.
    pub(crate) fn layout_of_history(&self, own_session: &SessionId) -> Manifest {
        let all = self.frozen.iter().chain(&self.tail.response);
        Manifest {
            ranges: self.ranges_of(all, &[], Some(own_session), Seq::default()),
            incoming: Vec::new(),
            ..self.layout()
        }
    }

    pub(crate) fn waiting_chars(&mut self) -> u64 {
        self.tail.result_chars()
    }

    /// Segments that no request has contained and no compaction may remove: everything received
    /// since the last response, and that response if its calls are still being answered.
    pub fn unsent(&self) -> impl Iterator<Item = &Segment> {
        let calls = self
            .tail
            .response
            .iter()
            .any(|segment| segment.block.kind() == BlockKind::ToolUse);
        // A finished response is history: a compaction may summarise it.
        let response = calls.then_some(&self.tail.response);
        response.into_iter().flatten().chain(&self.tail.incoming)
    }

    /// Length of the history within the segments that would be sent now: everything but
    /// [`View::unsent`] and segments that were sent and not answered.
    pub(crate) fn history_len(&self) -> usize {
        let unsent: HashSet<BlockKey> = self.unsent().map(|segment| segment.origin).collect();
        let settled = self.settled_tail();
        // Unsent segments follow a finished response, so the history is the leading run.
        let is_history = |segment: &&Segment| !unsent.contains(&segment.origin);
        let finished = settled.iter().take_while(is_history).count();
        self.frozen.len() - self.unanswered() + finished
    }

    /// Number of segments at the end of the frozen part that no response has answered, because the
    /// request was refused or broke off. The model has not reacted to them, so they count as
    /// unsent. A summary is not a question and ends the count.
    fn unanswered(&self) -> usize {
        if !self.tail.response.is_empty() {
            return 0;
        }
        let waits = |segment: &&Segment| {
            segment.role != Role::Assistant && segment.category != Category::Summary
        };
        let said = self.frozen.iter().rev().take_while(waits);
        let result = |segment: &Segment| segment.block.kind() == BlockKind::ToolResult;
        let (count, results) = said.fold((0, false), |(count, results), segment| {
            (count + 1, results || result(segment))
        });
        if !results {
            return count;
        }
        // Unanswered results need the calls they belong to, so these stay too.
        let before = self.frozen.iter().rev().skip(count);
        let calls = before.take_while(|segment| segment.role == Role::Assistant);
        count + calls.count()
    }

    /// Segments of the user's side that no response has answered, in order: sent ones first, then
    /// those that arrived since.
    pub fn pending(&self) -> impl Iterator<Item = &Segment> {
        let answered = self.frozen.len() - self.unanswered();
        let sent = self.frozen.iter().skip(answered);
        sent.filter(|segment| segment.role != Role::Assistant)
            .chain(&self.tail.incoming)
    }

    /// True if a request has contained the block with this key.
    pub fn was_sent(&self, key: BlockKey) -> bool {
        // Questions are about the newest blocks, so the search runs backwards.
        let mut sent = self.frozen.iter().rev();
        sent.any(|segment| segment.origin == key)
    }

    /// First and last record of each message, in prompt order. Neighbours of one role are one message, as
    /// the API counts them: a prompt with its fragments, an answer with all its blocks.
    pub fn message_bounds(&self) -> Vec<(Seq, Seq)> {
        let tail = self.tail.response.iter().chain(&self.tail.incoming);
        let mut bounds: Vec<(Role, Seq, Seq)> = Vec::new();
        for segment in self.frozen.iter().chain(tail) {
            let record = segment.origin.record;
            match bounds.last_mut() {
                Some((role, _, last)) if *role == segment.role => *last = record,
                _ => bounds.push((segment.role, record, record)),
            }
        }
        bounds
            .into_iter()
            .map(|(_, first, last)| (first, last))
            .collect()
    }

    /// Sequence numbers of the records in view, in prompt order.
    pub fn messages(&self) -> Vec<Seq> {
        let tail = self.tail.response.iter().chain(&self.tail.incoming);
        let mut messages: Vec<Seq> = Vec::new();
        for segment in self.frozen.iter().chain(tail) {
            // Several blocks of one record are one message.
            if messages.last() != Some(&segment.origin.record) {
                messages.push(segment.origin.record);
            }
        }
        messages
    }
}
