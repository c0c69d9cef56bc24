//! The view: the prompt's messages, as a pure function of the records on one path.
//!
//! A view has two parts. The *frozen* segments are those of the last request and of everything
//! before it: only a rewrite can change them. The *tail* holds what arrived since. Records are
//! applied one by one; each costs what it brings, independent of the length of the conversation. A
//! [`View`] is a value: cloning it shares all chunks and all bytes.
//!
//! Responsibilities: the effect of every record on the prompt, the order inside a turn, repairs
//! that make each prompt acceptable to the API, layouts for manifests.
//!
//! Not here: which records lie on the path ([`crate::path`]), tokens, cache markers and the bytes
//! of the request body.

mod pending;

use crate::category::Category;
use crate::derive;
use crate::layout::{self, Shelf, natural_role};
use crate::normalise::normalise_into;
use crate::rewrite;
use crate::segment::{Place, Segment, SegmentList, chain_over};
use crate::splice::{Spliced, Texts};
use crate::tail::Tail;
use crate::target::Target;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId, Seq, SessionId};
use dormouse_core::record::{
    Body, Derived, KeptRange, LayoutRun, LineRun, Manifest, Message, Record, ReplacementDecision,
    Request, Role,
};
use std::collections::HashSet;
use std::sync::Arc;

/// A record that the view could not apply as written. The fold goes on without it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewIssue {
    /// The view at a request record is not the prompt that was sent.
    #[error(
        "request {request}: rebuilt prompt ({found} segments) differs from that sent ({recorded})"
    )]
    RequestMismatch {
        /// Request record whose hash chain or length differs.
        request: RecordId,
        /// Number of segments in the request record.
        recorded: u64,
        /// Number of segments rebuilt from the log.
        found: u64,
    },
    /// A rewrite or manifest names blocks that the view does not hold.
    #[error("record {record} refers to {missing} blocks that are not in the view")]
    MissingBlocks {
        /// Rewrite or carrier of the manifest.
        record: RecordId,
        /// Number of blocks (or spans) not found.
        missing: usize,
    },
    /// A preview came after the request that contained the whole result.
    #[error("record {record} replaces a result that was already sent; it is left as it was")]
    TooLate {
        /// Replacement record that is ignored.
        record: RecordId,
    },
    /// An undo met by a fold that no longer holds the records it brings back.
    #[error("record {record} undoes a rewrite; the session must be read again to follow it")]
    NeedsHistory {
        /// Undo record; [`crate::undo::fold_path`] follows it.
        record: RecordId,
    },
}

/// The prompt's messages at one record of a path.
#[derive(Clone, Debug)]
pub struct View {
    target: Target,
    frozen: SegmentList,
    tail: Tail,
    /// Set from a request record until the first block of its response.
    awaiting: bool,
    cursor: Cursor,
    issues: Vec<ViewIssue>,
    /// Texts of boundaries that blocks in view are made of.
    texts: Texts,
}

/// Position of the path in its log, from which places are numbered.
#[derive(Clone, Debug, Default)]
struct Cursor {
    last: Option<Seq>,
    run: u32,
    ordinal: u64,
}

impl View {
    /// An empty view for a target model.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            frozen: SegmentList::default(),
            tail: Tail::default(),
            awaiting: false,
            cursor: Cursor::default(),
            issues: Vec::new(),
            texts: Texts::default(),
        }
    }

    /// Folds the records of a path, oldest first.
    pub fn fold<'a>(records: impl IntoIterator<Item = &'a Record>, target: Target) -> Self {
        let mut view = Self::new(target);
        for record in records {
            view.apply(record);
        }
        view
    }

    /// Model that the view is made for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Segments of the last request and everything before it; only a rewrite changes them.
    pub fn frozen(&self) -> &SegmentList {
        &self.frozen
    }

    /// Response being answered, and everything received since.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// True if a request was recorded and no block of its response yet.
    pub fn is_awaiting_response(&self) -> bool {
        self.awaiting
    }

    /// Records that could not be applied as written.
    pub fn issues(&self) -> &[ViewIssue] {
        &self.issues
    }

    /// The tail, ordered and repaired as it would be sent now.
    pub(crate) fn settled_tail(&self) -> Vec<Segment> {
        self.tail.settle(self.frozen.last(), &self.target)
    }

    /// All segments as they would be sent now: frozen part and settled tail.
    pub fn segments(&self) -> SegmentList {
        let mut list = self.frozen.clone();
        list.extend(self.settled_tail());
        list
    }

    /// Number of segments that would be sent now, and the hash chain over them.
    pub fn extent(&self) -> (u64, Hash) {
        let tail = self.settled_tail();
        let count = self.frozen.len() + tail.len();
        (
            count as u64,
            chain_over(self.frozen.chain(self.frozen.len()), &tail),
        )
    }

    /// Applies the next record of the path to the prompt. Records without an effect on it are
    /// listed explicitly, so that a new kind has to be decided here.
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
            Body::Distilled(_)
            | Body::Cleared(_)
            | Body::Snip(_)
            | Body::Fold(_)
            | Body::Boundary(_) => {
                // A clearing by the provider is an observation: local bytes stay.
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
            | Body::Chronicle(_)
            | Body::State(_)
            | Body::Agent(_)
            | Body::Mail(_)
            | Body::Foreign(_) => {}
        }
    }

    fn place(&mut self, record: &Record, session: Option<&SessionId>) -> Arc<Place> {
        // A gap may hold records of other branches; a layout's range must not span them.
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
                    // Thinking is signed by the model that wrote it; most others refuse it.
                    let foreign_thinking = kind.is_thinking()
                        && !self.target.accepts_thinking_of(message.model.as_deref());
                    // A second call with the same id could never be matched with its own result.
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

    /// Begins a response unless the message continues the current one: lines with the same id are
    /// one response, even with results between them. A new response implies that everything before
    /// it was sent, so the tail is frozen.
    fn start_response(&mut self, message: &Message) {
        let continues = !self.tail.response.is_empty()
            && message.id.is_some()
            && message.id == self.tail.response_id;
        if continues {
            return;
        }
        // With a request record the tail was frozen there; other tools' logs have none.
        let answers_request = self.awaiting && self.tail.response.is_empty();
        if !answers_request {
            self.freeze();
        }
        self.awaiting = false;
        self.tail.response_id.clone_from(&message.id);
    }

    /// Takes a tool result. The first one for a call wins, an identical copy is dropped, and any
    /// other becomes text, because the API refuses a second or orphaned result.
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
        self.tail.arrange(&request.distil);
        self.freeze();
        self.awaiting = true;
        // A mismatch is reported, not repaired: the request has left and cannot be changed.
        let found = self.frozen.len() as u64;
        if found != request.segments || self.frozen.chain(self.frozen.len()) != request.chain {
            self.issues.push(ViewIssue::RequestMismatch {
                request: record.id.clone(),
                recorded: request.segments,
                found,
            });
        }
    }

    /// Settles the tail and moves it to the frozen part.
    pub(crate) fn freeze(&mut self) {
        let settled = self.settled_tail();
        self.frozen.extend(settled);
        self.tail = Tail::default();
    }

    fn replace(&mut self, record: &Record, place: &Arc<Place>, key: BlockKey, preview: &Block) {
        // Layer 1 writes its decision before the message, which then holds the preview already.
        // Such a record changes nothing and must not cost a walk over all frozen segments.
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

    /// Puts results of the tail behind all others, in this order.
    pub(crate) fn arrange(&mut self, last: &[BlockKey]) {
        self.tail.arrange(last);
    }

    /// Replaces the frozen segments from a position on; the chunks before it stay shared.
    pub(crate) fn exchange_from(&mut self, first: usize, segments: Vec<Segment>) {
        self.frozen.truncate(first);
        self.frozen.extend(segments);
    }

    /// Replaces the frozen part by a rewritten sequence, repaired on the way.
    pub(crate) fn refreeze(&mut self, frozen: impl IntoIterator<Item = Segment>) {
        let mut becoming = self.frozen.becoming();
        normalise_into(frozen, |segment| becoming.push(segment));
        becoming.finish();
    }

    /// Replaces the tail by a rewritten one. A response still on its way answers a prompt that no
    /// longer exists, so it is not awaited any more.
    pub(crate) fn retail(&mut self, tail: Tail) {
        self.tail = tail;
        self.awaiting = false;
    }

    /// Drops mismatches reported for requests that were made under a rewrite now undone.
    pub(crate) fn forget_mismatches(&mut self) {
        self.issues
            .retain(|issue| !matches!(issue, ViewIssue::RequestMismatch { .. }));
    }

    pub(crate) fn report(&mut self, issue: ViewIssue) {
        self.issues.push(issue);
    }

    /// Layout of the view for a manifest, without the session's state.
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

    /// Ranges of the records that hold the view's bytes. `own_session` names this log where a fork
    /// refers to it; the record `not` needs no range, because it carries the manifest itself.
    pub fn ranges(&self, own_session: Option<&SessionId>, not: Seq) -> Vec<KeptRange> {
        let tail = self.tail.response.iter().chain(&self.tail.incoming);
        let all = self.frozen.iter().chain(tail);
        self.ranges_of(all, &[], own_session, not)
    }

    /// Ranges of the records that hold the bytes of segments: their own records, and the texts of
    /// boundaries that those, or the new blocks `spliced`, refer to.
    pub(crate) fn ranges_of<'a>(
        &self,
        segments: impl IntoIterator<Item = &'a Segment>,
        spliced: &[Vec<LineRun>],
        own_session: Option<&SessionId>,
        not: Seq,
    ) -> Vec<KeptRange> {
        let mut needs = self.texts.needs(spliced);
        let segments = segments.into_iter();
        let segments = segments.inspect(|segment| needs.add(segment));
        let mut ranges = layout::ranges(segments, own_session, not);
        ranges.extend(needs.ranges(own_session));
        layout::merged(ranges)
    }

    /// Blocks of a boundary as it stores them.
    pub fn spliced(&self, own: Seq, blocks: &[Block]) -> Spliced {
        self.texts.splice(own, blocks)
    }

    /// Takes over a boundary: learns its text, and builds from it and from the shelf.
    pub(crate) fn meet_boundary(
        &mut self,
        shelf: &mut Shelf,
        record: &Record,
        place: &Arc<Place>,
        manifest: &Manifest,
    ) -> usize {
        self.texts.learn(record, place);
        let lost = shelf.add_record(record, place, &self.texts);
        let missing = self.build(shelf, manifest);
        self.forget_texts();
        missing + lost
    }

    /// Forgets texts that nothing in view is made of any more.
    fn forget_texts(&mut self) {
        let tail = self.tail.response.iter().chain(&self.tail.incoming);
        self.texts.retain(self.frozen.iter().chain(tail));
    }

    /// Rebuilds a view from a manifest and the records its ranges name; `carrier` is the record
    /// with the manifest and supplies blocks too.
    pub fn resume<'a>(
        carrier: &Record,
        manifest: &Manifest,
        records: impl IntoIterator<Item = (Option<&'a SessionId>, &'a Record)>,
        target: Target,
    ) -> Self {
        let mut view = Self::new(target);
        let mut shelf = Shelf::default();
        let runs = manifest.frozen.iter().chain(&manifest.response);
        let named = runs.chain(&manifest.incoming).map(|run| run.record);
        let named: HashSet<Seq> = named.collect();
        let mut missing = 0;
        for (session, record) in records {
            let place = view.place(record, session);
            // Ranges are in the order of the log, so that texts come before the blocks made of
            // them.
            view.texts.learn(record, &place);
            // A boundary that is there for its text only may itself refer to texts that are not.
            if named.contains(&record.seq) || !matches!(record.body, Body::Boundary(_)) {
                missing += shelf.add_record(record, &place, &view.texts);
            }
        }
        // The carrier's own blocks (summary, restored parts) are part of the layout too.
        let place = view.place(carrier, None);
        missing += view.meet_boundary(&mut shelf, carrier, &place, manifest);
        if missing > 0 {
            view.report(ViewIssue::MissingBlocks {
                record: carrier.id.clone(),
                missing,
            });
        }
        view.awaiting = manifest.awaiting;
        view
    }

    /// Builds frozen part and tail from a manifest's layout. Returns the number of blocks not
    /// found.
    pub(crate) fn build(&mut self, shelf: &Shelf, manifest: &Manifest) -> usize {
        let mut missing = 0;
        let mut build = |runs: &[LayoutRun]| shelf.build(runs, &mut missing);
        let frozen = build(&manifest.frozen);
        let response = build(&manifest.response);
        let incoming = build(&manifest.incoming);
        let tail = Tail::new(response, manifest.response_id.clone(), incoming);
        // Chunks before the first difference stay shared with forks.
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
