//! Segments, and the list that holds the fixed ones.
//!
//! A view is a sequence of [`Segment`]s: a role and a block. [`SegmentList`] keeps them in sealed
//! chunks behind reference counts, so that a fork shares every chunk and a push never moves what
//! is already there. Beside each segment stand the running figures that make planning
//! independent of the length: the hash chain, the bytes and the weight up to and including it.

use crate::category::Category;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId, Seq, SessionId};
use dormouse_core::record::{Derived, Role};
use dormouse_core::weight::Weight;
use std::sync::Arc;

/// Segments in a sealed chunk.
const CHUNK: usize = 256;

/// Segments in a run of [`SegmentList::runs`]. Each has three or four cache lines behind it; a core
/// keeps some ten fetches under way, so a few dozen segments hide the latency and still fit the
/// nearest cache.
const RUN: usize = 32;

/// The record that a segment's bytes come from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) seq: Seq,
    pub(crate) offset: u64,
    pub(crate) id: RecordId,
    /// The log it is in, if not the session's own.
    pub(crate) session: Option<SessionId>,
    /// Blocks in the record.
    pub(crate) blocks: u32,
    /// Position among the messages of the path; neighbours differ by one. `None` for records that
    /// are no messages.
    pub(crate) ordinal: Option<u64>,
    /// Records of one run follow each other in the log without a gap.
    pub(crate) run: u32,
}

/// One block of the prompt, with its role and where it comes from.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub block: Block,
    /// The block's place in the conversation. A rewrite changes the bytes, not the place.
    pub origin: BlockKey,
    /// Set when the block is not in the log but follows from one that is.
    pub derived: Option<Derived>,
    /// What it is.
    pub category: Category,
    pub(crate) place: Arc<Place>,
    pub(crate) index: u32,
}

impl Segment {
    /// The block whose bytes these are; differs from [`Segment::origin`] after a rewrite.
    pub fn source(&self) -> BlockKey {
        BlockKey::new(self.place.seq, self.index)
    }

    /// The id of the record whose bytes these are.
    pub fn record(&self) -> &RecordId {
        &self.place.id
    }

    /// Whether a rewrite put these bytes there.
    pub fn is_rewritten(&self) -> bool {
        self.origin != self.source()
    }

    /// Whether both put the same bytes into a prompt.
    pub fn same_prompt(&self, other: &Self) -> bool {
        self.role == other.role && self.block == other.block
    }

    fn link(&self, chain: Hash) -> Hash {
        let tag = match self.role {
            Role::User => b'u',
            Role::Assistant => b'a',
            Role::System => b's',
        };
        chain.link(tag, self.block.hash())
    }
}

/// The chain over some segments that follow `chain`.
pub fn chain_over<'a>(chain: Hash, segments: impl IntoIterator<Item = &'a Segment>) -> Hash {
    segments
        .into_iter()
        .fold(chain, |chain, segment| segment.link(chain))
}

/// Figures over the segments up to and including one.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    chain: Hash,
    bytes: u64,
    weight: Weight,
}

#[derive(Clone, Debug)]
struct Entry {
    segment: Segment,
    upto: Sums,
}

/// Segments with their running figures. Cloning copies pointers to chunks.
#[derive(Clone, Debug, Default)]
pub struct SegmentList {
    sealed: Vec<Arc<[Entry]>>,
    open: Vec<Entry>,
}

impl SegmentList {
    /// How many segments there are.
    pub fn len(&self) -> usize {
        self.sealed.len() * CHUNK + self.open.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry(&self, index: usize) -> Option<&Entry> {
        match self.sealed.get(index / CHUNK) {
            Some(chunk) => chunk.get(index % CHUNK),
            None => self.open.get(index - self.sealed.len() * CHUNK),
        }
    }

    /// The segment at a position.
    pub fn get(&self, index: usize) -> Option<&Segment> {
        self.entry(index).map(|entry| &entry.segment)
    }

    /// The last segment.
    pub fn last(&self) -> Option<&Segment> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All segments in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        let sealed = self.sealed.iter().flat_map(|chunk| chunk.iter());
        sealed.chain(&self.open).map(|entry| &entry.segment)
    }

    /// All segments in order, in short runs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = impl Iterator<Item = &Segment> + Clone> {
        let chunks = self.sealed.iter().map(|chunk| &**chunk);
        let runs = chunks
            .chain([&*self.open])
            .flat_map(|chunk| chunk.chunks(RUN));
        runs.map(|run| run.iter().map(|entry| &entry.segment))
    }

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

    /// The hash chain over the first `count` segments.
    pub fn chain(&self, count: usize) -> Hash {
        self.sums(count).chain
    }

    /// The bytes of the first `count` segments.
    pub fn bytes(&self, count: usize) -> u64 {
        self.sums(count).bytes
    }

    /// The weight of the first `count` segments.
    pub fn weight(&self, count: usize) -> Weight {
        self.sums(count).weight
    }

    /// Appends a segment.
    pub fn push(&mut self, segment: Segment) {
        let before = self.sums(self.len());
        let upto = Sums {
            chain: segment.link(before.chain),
            bytes: before.bytes + segment.block.bytes().len() as u64,
            weight: before.weight + *segment.block.weight(),
        };
        self.open.push(Entry { segment, upto });
        if self.open.len() == CHUNK {
            // The buffer is kept: a list that filled one chunk goes on to fill the next.
            self.sealed.push(self.open.drain(..).collect());
        }
    }

    /// Keeps the first `count` segments; sealed chunks before that stay shared.
    pub fn truncate(&mut self, count: usize) {
        if count >= self.len() {
            return;
        }
        let whole = count / CHUNK;
        if whole < self.sealed.len() {
            self.open = self.sealed[whole].to_vec();
            self.sealed.truncate(whole);
        }
        self.open.truncate(count - whole * CHUNK);
    }

    /// Makes the list equal to `segments`, keeping the chunks before the first difference.
    /// Returns that position.
    pub fn become_like(&mut self, segments: impl IntoIterator<Item = Segment>) -> usize {
        let mut becoming = self.becoming();
        for segment in segments {
            becoming.push(segment);
        }
        becoming.finish()
    }

    /// Becoming another list, segment by segment.
    pub(crate) fn becoming(&mut self) -> Becoming<'_> {
        Becoming {
            list: self,
            same: 0,
            differs: false,
        }
    }

    /// How many chunks both share: what a fork did not copy.
    pub fn shared_chunks(&self, other: &Self) -> usize {
        self.sealed
            .iter()
            .zip(&other.sealed)
            .filter(|(a, b)| Arc::ptr_eq(a, b))
            .count()
    }
}

/// A list that becomes like another one: nothing is copied while the two agree.
#[derive(Debug)]
pub(crate) struct Becoming<'a> {
    list: &'a mut SegmentList,
    /// Segments that both begin with.
    same: usize,
    /// The lists have parted: the rest of the old one is gone.
    differs: bool,
}

impl Becoming<'_> {
    /// Takes the next segment.
    pub(crate) fn push(&mut self, new: Segment) {
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

    fn part(&mut self) {
        if !self.differs {
            self.differs = true;
            self.list.truncate(self.same);
        }
    }

    /// Drops what is left of the old list. Returns the position of the first difference.
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
