//! Segments, and the list that holds the frozen ones.
//!
//! A view is a sequence of [`Segment`]s: a role and a block. [`SegmentList`] keeps them in sealed
//! chunks behind reference counts, so that a fork shares every chunk and a push never moves earlier
//! segments. Each segment is stored with running sums up to and including itself (hash chain,
//! bytes, weight); planning reads these instead of walking the list, and therefore does not depend
//! on the length of the conversation.
//!
//! Not here: deciding which segments a prompt has ([`crate::view`]) and writing their bytes
//! ([`crate::assemble`]).

use crate::category::Category;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId, Seq, SessionId};
use dormouse_core::record::{Derived, Role};
use dormouse_core::weight::Weight;
use std::sync::Arc;

/// Segments in a sealed chunk. Large chunks make a fork cheaper (one pointer each), small ones make
/// a truncation cheaper, which copies at most one chunk; 256 keeps 50,000 segments in 200 pointers.
const CHUNK: usize = 256;

/// Segments in a run of [`SegmentList::runs`]. Each touches three or four cache lines; a core keeps
/// about ten fetches in flight, so a few dozen segments hide the memory latency and still fit the
/// first-level cache.
const RUN: usize = 32;

/// The record that a segment's bytes come from, shared by all segments of that record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) seq: Seq,
    /// Byte offset of the record in its log; lets neighbouring records be read in one go.
    pub(crate) offset: u64,
    pub(crate) id: RecordId,
    /// Log that holds the record, if not the session's own (a fork's parent).
    pub(crate) session: Option<SessionId>,
    /// Number of blocks in the record; a layout may name the record as a whole only if all are
    /// there.
    pub(crate) blocks: u32,
    /// Position among the messages of the path, counted without gaps. `None` for records that are
    /// not messages.
    pub(crate) ordinal: Option<u64>,
    /// Number of the gap-free run of log records this one is in. Ranges of a layout stay within one
    /// run.
    pub(crate) run: u32,
}

/// One block of the prompt, with its role and where it comes from.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Side of the conversation that sends the block.
    pub role: Role,
    /// Content, shared by reference with the record and every other view.
    pub block: Block,
    /// Key of the block in the conversation. A rewrite changes the bytes and keeps this key.
    pub origin: BlockKey,
    /// Set when the block is computed from a recorded block instead of being recorded itself.
    pub derived: Option<Derived>,
    /// Category for the breakdown of the window.
    pub category: Category,
    pub(crate) place: Arc<Place>,
    /// Index of the block in the record of `place`.
    pub(crate) index: u32,
}

impl Segment {
    /// Key of the block that holds these bytes; differs from [`Segment::origin`] after a rewrite.
    pub fn source(&self) -> BlockKey {
        BlockKey::new(self.place.seq, self.index)
    }

    /// Id of the record that holds these bytes.
    pub fn record(&self) -> &RecordId {
        &self.place.id
    }

    /// True if the bytes come from a rewrite and not from the original record.
    pub fn is_rewritten(&self) -> bool {
        self.origin != self.source()
    }

    /// True if two segments put the same bytes into a prompt, wherever these are recorded.
    pub(crate) fn same_prompt(&self, other: &Self) -> bool {
        self.role == other.role && self.block == other.block
    }

    /// Extends the hash chain. The role is part of the hash: the same text from the other side is
    /// another prompt.
    fn link(&self, chain: Hash) -> Hash {
        let tag = match self.role {
            Role::User => b'u',
            Role::Assistant => b'a',
            Role::System => b's',
        };
        chain.link(tag, self.block.hash())
    }
}

/// Hash chain over `segments`, continued from `chain`.
pub(crate) fn chain_over<'a>(chain: Hash, segments: impl IntoIterator<Item = &'a Segment>) -> Hash {
    segments
        .into_iter()
        .fold(chain, |chain, segment| segment.link(chain))
}

/// Running sums over all segments up to and including one.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    chain: Hash,
    bytes: u64,
    weight: Weight,
}

/// A segment with its running sums.
#[derive(Clone, Debug)]
struct Entry {
    segment: Segment,
    upto: Sums,
}

/// An append-only list of segments with running sums. Cloning copies one pointer per chunk.
#[derive(Clone, Debug, Default)]
pub struct SegmentList {
    /// Full chunks of exactly [`CHUNK`] entries, shared between clones.
    sealed: Vec<Arc<[Entry]>>,
    /// Entries behind the last full chunk; always fewer than [`CHUNK`].
    open: Vec<Entry>,
}

impl SegmentList {
    /// Number of segments, sealed and open.
    pub fn len(&self) -> usize {
        self.sealed.len() * CHUNK + self.open.len()
    }

    /// True if the list has no segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry(&self, index: usize) -> Option<&Entry> {
        match self.sealed.get(index / CHUNK) {
            Some(chunk) => chunk.get(index % CHUNK),
            // Sealed chunks are always full, so the index into the open one is a subtraction.
            None => self.open.get(index - self.sealed.len() * CHUNK),
        }
    }

    /// Segment at a position, counted from the start of the conversation.
    pub fn get(&self, index: usize) -> Option<&Segment> {
        self.entry(index).map(|entry| &entry.segment)
    }

    /// Last segment, or `None` for an empty list.
    pub fn last(&self) -> Option<&Segment> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All segments, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        let sealed = self.sealed.iter().flat_map(|chunk| chunk.iter());
        sealed.chain(&self.open).map(|entry| &entry.segment)
    }

    /// All segments, oldest first, in runs of at most [`RUN`].
    pub(crate) fn runs(&self) -> impl Iterator<Item = impl Iterator<Item = &Segment> + Clone> {
        let chunks = self.sealed.iter().map(|chunk| &**chunk);
        let runs = chunks
            .chain([&*self.open])
            .flat_map(|chunk| chunk.chunks(RUN));
        runs.map(|run| run.iter().map(|entry| &entry.segment))
    }

    /// Sums over the first `count` segments; those of nothing for zero or a count beyond the end.
    fn sums(&self, count: usize) -> Sums {
        count
            .checked_sub(1)
            .and_then(|last| self.entry(last))
            .map_or_else(
                || Sums {
                    chain: Hash::START,
                    ..Sums::default()
                },
                |entry| entry.upto,
            )
    }

    /// Hash chain over the first `count` segments.
    pub fn chain(&self, count: usize) -> Hash {
        self.sums(count).chain
    }

    /// Sum of the block bytes of the first `count` segments, without wrappers and commas.
    pub fn bytes(&self, count: usize) -> u64 {
        self.sums(count).bytes
    }

    /// Sum of the weights of the first `count` segments.
    pub fn weight(&self, count: usize) -> Weight {
        self.sums(count).weight
    }

    /// Appends a segment and seals the open chunk when it is full.
    pub fn push(&mut self, segment: Segment) {
        let before = self.sums(self.len());
        let upto = Sums {
            chain: segment.link(before.chain),
            bytes: before.bytes + segment.block.bytes().len() as u64,
            weight: before.weight + *segment.block.weight(),
        };
        self.open.push(Entry { segment, upto });
        if self.open.len() == CHUNK {
            // `drain` keeps the buffer's capacity for the next chunk.
            self.sealed.push(self.open.drain(..).collect());
        }
    }

    /// Keeps the first `count` segments; sealed chunks in front of that stay shared.
    pub fn truncate(&mut self, count: usize) {
        if count >= self.len() {
            return;
        }
        let whole = count / CHUNK;
        // The cut lies inside a sealed chunk, which other lists may share: copy it out.
        if whole < self.sealed.len() {
            self.open = self.sealed[whole].to_vec();
            self.sealed.truncate(whole);
        }
        self.open.truncate(count - whole * CHUNK);
    }

    /// Replaces the list by `segments`, keeping the chunks before the first difference shared.
    /// Returns the position of that difference.
    pub(crate) fn become_like(&mut self, segments: impl IntoIterator<Item = Segment>) -> usize {
        let mut becoming = self.becoming();
        for segment in segments {
            becoming.push(segment);
        }
        becoming.finish()
    }

    /// Starts an incremental replacement; see [`SegmentList::become_like`].
    pub(crate) fn becoming(&mut self) -> Becoming<'_> {
        Becoming {
            list: self,
            same: 0,
            differs: false,
        }
    }
}

/// An incremental replacement of a list: nothing is copied up to the first difference.
#[derive(Debug)]
pub(crate) struct Becoming<'a> {
    list: &'a mut SegmentList,
    /// Length of the common beginning found so far.
    same: usize,
    /// Set at the first difference, when the rest of the old list has been removed.
    differs: bool,
}

impl Becoming<'_> {
    /// Appends the next segment of the new list.
    pub(crate) fn push(&mut self, new: Segment) {
        // Equal bytes are not enough: layouts name records, so a segment that moved to another
        // record has to be replaced too.
        let is_same = |old: &Segment| {
            old.same_prompt(&new) && old.origin == new.origin && old.source() == new.source()
        };
        if !self.differs && self.list.get(self.same).is_some_and(is_same) {
            self.same += 1;
            return;
        }
        self.part();
        self.list.push(new);
    }

    /// Truncates the old list, once, at the first difference.
    fn part(&mut self) {
        if !self.differs {
            self.differs = true;
            self.list.truncate(self.same);
        }
    }

    /// Removes the unmatched rest of the old list. Returns the position of the first difference.
    pub(crate) fn finish(mut self) -> usize {
        self.part();
        self.same
    }
}

impl Extend<Segment> for SegmentList {
    fn extend<T: IntoIterator<Item = Segment>>(&mut self, segments: T) {
        for segment in segments {
            self.push(segment);
        }
    }
}
