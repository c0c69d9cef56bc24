//! The view: what the model sees, as a pure function of the records on one path.
//!
//! A view has two parts. The *frozen* segments are those of the last request and of everything
//! before it: no record but a rewrite can change them. The *tail* holds what came since. Records
//! are applied one by one; each costs what it brings, not what is already there. A [`View`] is a
//! value: cloning it shares all chunks and all bytes.
//!
//! Responsibilities: the effect of every record on the prompt, the order inside a turn, repairs
//! that make each prompt acceptable, layouts for manifests.
//! Not here: which records lie on the path ([`crate::path`]), tokens, cache markers and the bytes
//! of the request body.

use crate::category::Category;
use crate::derive;
use crate::layout::{self, Shelf, natural_role};
use crate::normalise::normalise_into;
use crate::rewrite;
use crate::segment::{Place, Segment, SegmentList, chain_over};
use crate::tail::Tail;
use crate::target::Target;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId, Seq, SessionId};
use dormouse_core::record::{
    Body, Derived, KeptRange, LayoutRun, Manifest, Message, Record, ReplacementDecision, Request,
    Role,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Something in the log that the view could not follow to the letter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewIssue {
    /// The recorded request does not match what the records give.
    #[error(
        "request {request}: the log gives {found} segments where {recorded} were sent, or other bytes"
    )]
    RequestMismatch {
        /// The request.
        request: RecordId,
        /// Segments as recorded.
        recorded: u64,
        /// Segments as rebuilt.
        found: u64,
    },
    /// A record refers to blocks that are not there.
    #[error("record {record} refers to {missing} blocks that are not in the view")]
    MissingBlocks {
        /// The record.
        record: RecordId,
        /// How many.
        missing: usize,
    },
    /// A preview came too late: the model has already seen the result.
    #[error("record {record} replaces a result that was already sent; it is left as it was")]
    TooLate {
        /// The record.
        record: RecordId,
    },
    /// An undo without the records it brings back.
    #[error("record {record} undoes a rewrite; the session must be read again to follow it")]
    NeedsHistory {
        /// The record.
        record: RecordId,
    },
}

/// The prompt's messages at one point of a path.
#[derive(Clone, Debug)]
pub struct View {
    target: Target,
    frozen: SegmentList,
    tail: Tail,
    /// A request has left and no response has come.
    awaiting: bool,
    cursor: Cursor,
    issues: Vec<ViewIssue>,
}

/// Where the path is in its log, to number places.
#[derive(Clone, Debug, Default)]
struct Cursor {
    last: Option<Seq>,
    run: u32,
    ordinal: u64,
}

impl View {
    /// The view of an empty log.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            frozen: SegmentList::default(),
            tail: Tail::default(),
            awaiting: false,
            cursor: Cursor::default(),
            issues: Vec::new(),
        }
    }

    /// Folds the records of a path.
    pub fn fold<'a>(records: impl IntoIterator<Item = &'a Record>, target: Target) -> Self {
        let mut view = Self::new(target);
        for record in records {
            view.apply(record);
        }
        view
    }

    /// The model it is made for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Segments that only a rewrite can change.
    pub fn frozen(&self) -> &SegmentList {
        &self.frozen
    }

    /// What came since the last request.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// What came in and was not sent yet, in order of arrival.
    pub fn waiting(&self) -> impl Iterator<Item = &Segment> {
        self.tail.incoming.iter()
    }

    /// What no request contained yet and no compaction may take: what came in since the last
    /// response, and that response if its calls are being answered.
    pub fn unsent(&self) -> impl Iterator<Item = &Segment> {
        let calls = self
            .tail
            .response
            .iter()
            .any(|segment| segment.block.kind() == BlockKind::ToolUse);
        let response = calls.then_some(&self.tail.response);
        response.into_iter().flatten().chain(&self.tail.incoming)
    }

    /// How many of the segments, as they would be sent now, are history: everything but
    /// [`View::unsent`] and what was sent and not answered.
    pub fn history_len(&self) -> usize {
        let unsent: HashSet<BlockKey> = self.unsent().map(|segment| segment.origin).collect();
        let settled = self.settled_tail();
        let is_history = |segment: &&Segment| !unsent.contains(&segment.origin);
        let finished = settled.iter().take_while(is_history).count();
        self.frozen.len() - self.unanswered() + finished
    }

    /// Segments at the end of what was sent that no response has answered: the request was
    /// refused, or broke off. They are as new to the model as what was not sent. A summary waits
    /// for nothing.
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
        let before = self.frozen.iter().rev().skip(count);
        let calls = before.take_while(|segment| segment.role == Role::Assistant);
        count + calls.count()
    }

    /// The records that are in view, in the order of the prompt.
    pub fn messages(&self) -> Vec<Seq> {
        let tail = self.tail.response.iter().chain(&self.tail.incoming);
        let mut messages: Vec<Seq> = Vec::new();
        for segment in self.frozen.iter().chain(tail) {
            if messages.last() != Some(&segment.origin.record) {
                messages.push(segment.origin.record);
            }
        }
        messages
    }

    /// Whether a request has left and no response has come.
    pub fn is_awaiting_response(&self) -> bool {
        self.awaiting
    }

    /// What could not be followed to the letter.
    pub fn issues(&self) -> &[ViewIssue] {
        &self.issues
    }

    /// The tail as it would be sent now.
    pub fn settled_tail(&self) -> Vec<Segment> {
        self.tail.settle(self.frozen.last(), &self.target)
    }

    /// All segments as they would be sent now.
    pub fn segments(&self) -> SegmentList {
        let mut list = self.frozen.clone();
        list.extend(self.settled_tail());
        list
    }

    /// How many segments would be sent now, and the chain over them.
    pub fn extent(&self) -> (u64, Hash) {
        let tail = self.settled_tail();
        let count = self.frozen.len() + tail.len();
        (
            count as u64,
            chain_over(self.frozen.chain(self.frozen.len()), &tail),
        )
    }

    /// Applies the next record of the path.
    pub fn apply(&mut self, record: &Record) {
        let place = self.place(record, None);
        match &record.body {
            Body::Message(message) if message.reaches_the_model() => {
                self.message(record, message, &place);
            }
            Body::Fragment(fragment) => {
                let segment = segment_of(record, &place, 0, &fragment.block);
                self.tail.receive(segment);
            }
            Body::Request(request) => self.request(record, request),
            Body::Replacement(replacement) => {
                if let ReplacementDecision::Replaced { preview, .. } = &replacement.decision {
                    self.replace(record, &place, replacement.key, preview);
                }
            }
            Body::Cleared(_) | Body::Snip(_) | Body::Fold(_) | Body::Boundary(_) => {
                if record.body.is_rewrite() {
                    rewrite::apply(self, record, &place);
                }
            }
            Body::Undo(_) => {
                self.issues.push(ViewIssue::NeedsHistory {
                    record: record.id.clone(),
                });
            }
            Body::Session(_)
            | Body::Message(_)
            | Body::Prefix(_)
            | Body::Usage(_)
            | Body::Notes(_)
            | Body::Checkpoint(_)
            | Body::State(_)
            | Body::Agent(_)
            | Body::Mail(_)
            | Body::Foreign(_) => {}
        }
    }

    fn place(&mut self, record: &Record, session: Option<&SessionId>) -> Arc<Place> {
        let contiguous = self
            .cursor
            .last
            .is_some_and(|last| last.next() == record.seq);
        self.cursor.run += u32::from(!contiguous);
        self.cursor.last = Some(record.seq);
        let is_message = matches!(&record.body, Body::Message(m) if m.reaches_the_model());
        let ordinal = is_message.then(|| {
            self.cursor.ordinal += 1;
            self.cursor.ordinal
        });
        Arc::new(Place {
            seq: record.seq,
            offset: record.offset,
            id: record.id.clone(),
            session: session.cloned(),
            blocks: u32::try_from(record.body.blocks().len()).unwrap_or(u32::MAX),
            ordinal,
            run: self.cursor.run,
        })
    }

    fn message(&mut self, record: &Record, message: &Message, place: &Arc<Place>) {
        if message.role == Role::Assistant {
            self.start_response(message);
        }
        for (index, block) in (0_u32..).zip(&message.content) {
            if block.is_unsendable() {
                continue;
            }
            let segment = segment_of(record, place, index, block);
            match (message.role, block.kind()) {
                (Role::Assistant, kind) => {
                    let foreign_thinking = kind.is_thinking()
                        && !self.target.accepts_thinking_of(message.model.as_deref());
                    let repeated = kind == BlockKind::ToolUse
                        && block.call().is_none_or(|call| self.tail.has_call(call));
                    if !foreign_thinking && !repeated {
                        self.tail.answer(segment);
                    }
                }
                (_, BlockKind::ToolResult) => self.result(segment),
                _ => self.tail.receive(segment),
            }
        }
    }

    /// Lines that share an id are one response, even with results between them. A new response
    /// means that everything before it had been sent.
    fn start_response(&mut self, message: &Message) {
        let continues = !self.tail.response.is_empty()
            && message.id.is_some()
            && message.id == self.tail.response_id;
        if continues {
            return;
        }
        let answers_request = self.awaiting && self.tail.response.is_empty();
        if !answers_request {
            self.freeze();
        }
        self.awaiting = false;
        self.tail.response_id.clone_from(&message.id);
    }

    /// The first result for a call wins; anything else becomes text.
    fn result(&mut self, segment: Segment) {
        let call = segment.block.call().filter(|call| self.tail.has_call(call));
        match call.map(|call| self.tail.result(call)) {
            Some(None) => self.tail.receive(segment),
            Some(Some(first)) if first.block == segment.block => {}
            _ => self.tail.receive(Segment {
                block: derive::derive(Derived::LateResult, &segment.block),
                derived: Some(Derived::LateResult),
                role: Role::User,
                ..segment
            }),
        }
    }

    fn request(&mut self, record: &Record, request: &Request) {
        self.freeze();
        self.awaiting = true;
        let found = self.frozen.len() as u64;
        if found != request.segments || self.frozen.chain(self.frozen.len()) != request.chain {
            self.issues.push(ViewIssue::RequestMismatch {
                request: record.id.clone(),
                recorded: request.segments,
                found,
            });
        }
    }

    /// Fixes the tail as it would be sent now.
    pub(crate) fn freeze(&mut self) {
        let settled = self.settled_tail();
        self.frozen.extend(settled);
        self.tail = Tail::default();
    }

    fn replace(&mut self, record: &Record, place: &Arc<Place>, key: BlockKey, preview: &Block) {
        // Layer 1 writes its decision before the message, which then has the preview in it. Such a
        // record changes nothing, and must not cost a walk over everything that was sent.
        let numbered = !key.record.is_offset() && !record.seq.is_offset();
        let precedes = numbered && record.seq < key.record;
        if precedes || self.tail.preview(key, place, preview) {
            return;
        }
        if self.frozen.iter().any(|segment| segment.origin == key) {
            self.issues.push(ViewIssue::TooLate {
                record: record.id.clone(),
            });
        }
    }

    /// Puts a rewritten sequence in place of what was sent, repaired.
    pub(crate) fn refreeze(&mut self, frozen: impl IntoIterator<Item = Segment>) {
        let mut becoming = self.frozen.becoming();
        normalise_into(frozen, |segment| becoming.push(segment));
        becoming.finish();
    }

    /// Puts a rewritten tail in place. The response to a request made before would not fit it.
    pub(crate) fn retail(&mut self, tail: Tail) {
        self.tail = tail;
        self.awaiting = false;
    }

    /// Takes back what was said of requests that an undone rewrite explains.
    pub(crate) fn forget_mismatches(&mut self) {
        self.issues
            .retain(|issue| !matches!(issue, ViewIssue::RequestMismatch { .. }));
    }

    pub(crate) fn report(&mut self, issue: ViewIssue) {
        self.issues.push(issue);
    }

    /// The layout of the view as a manifest names it: everything but the session's state.
    pub fn layout(&self) -> Manifest {
        Manifest {
            ranges: self.ranges(None, Seq::default()),
            frozen: layout::describe(self.frozen.iter()),
            response: layout::describe(&self.tail.response),
            response_id: self.tail.response_id.clone(),
            awaiting: self.awaiting,
            incoming: layout::describe(&self.tail.incoming),
            ..Manifest::default()
        }
    }

    /// The records that hold the view's bytes. `own_session` names this log where a fork refers
    /// to it; the record `not` needs no range, because it carries the manifest itself.
    pub fn ranges(&self, own_session: Option<&SessionId>, not: Seq) -> Vec<KeptRange> {
        let tail = self.tail.response.iter().chain(&self.tail.incoming);
        layout::ranges(self.frozen.iter().chain(tail), own_session, not)
    }

    /// Rebuilds a view from a manifest and the records its ranges name (the record that carries
    /// the manifest included).
    pub fn resume<'a>(
        carrier: &Record,
        manifest: &Manifest,
        records: impl IntoIterator<Item = (Option<&'a SessionId>, &'a Record)>,
        target: Target,
    ) -> Self {
        let mut view = Self::new(target);
        let mut shelf = Shelf::default();
        for (session, record) in records {
            let place = view.place(record, session);
            shelf.add_record(record, &place);
        }
        let place = view.place(carrier, None);
        shelf.add_record(carrier, &place);
        let missing = view.build(&shelf, manifest);
        if missing > 0 {
            view.report(ViewIssue::MissingBlocks {
                record: carrier.id.clone(),
                missing,
            });
        }
        view.awaiting = manifest.awaiting;
        view
    }

    /// Takes the segments a manifest lists from the shelf; returns how many were not there.
    pub(crate) fn build(&mut self, shelf: &Shelf, manifest: &Manifest) -> usize {
        let mut missing = 0;
        let mut build = |runs: &[LayoutRun]| shelf.build(runs, &mut missing);
        let frozen = build(&manifest.frozen);
        let response = build(&manifest.response);
        let incoming = build(&manifest.incoming);
        let tail = Tail::new(response, manifest.response_id.clone(), incoming);
        self.frozen.become_like(frozen);
        self.retail(tail);
        missing
    }
}

fn segment_of(record: &Record, place: &Arc<Place>, index: u32, block: &Block) -> Segment {
    Segment {
        role: natural_role(&record.body),
        block: block.clone(),
        origin: BlockKey::new(record.seq, index),
        derived: None,
        category: Category::of(&record.body, block),
        place: Arc::clone(place),
        index,
    }
}
