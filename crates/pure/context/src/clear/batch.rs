//! Batches of old results: which may be cleared, and what that frees.

use super::ClearInputs;
use crate::results::ResultEntry;
use dormouse_core::units::Tokens;

/// Tokens of the marker that takes a result's place: a sentence and the path of a file.
pub(super) const MARKER_TOKENS: Tokens = Tokens(50);

/// Entries to be cleared, in order. There may be thousands, and most questions are answered "no":
/// looking at one is a comparison and an addition.
#[derive(Clone, Debug, Default)]
pub struct Batch<'a> {
    entries: Vec<&'a ResultEntry>,
    /// Estimates of all entries up to each.
    upto: Vec<Tokens>,
}

impl<'a> Batch<'a> {
    fn of(entries: impl Iterator<Item = &'a ResultEntry>) -> Self {
        let most = entries.size_hint().1.unwrap_or_default();
        let mut batch = Self {
            entries: Vec::with_capacity(most),
            upto: Vec::with_capacity(most),
        };
        for entry in entries {
            batch.upto.push(batch.estimate() + entry.estimate);
            batch.entries.push(entry);
        }
        batch
    }

    fn estimate(&self) -> Tokens {
        self.upto.last().copied().unwrap_or_default()
    }

    /// Entries, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &'a ResultEntry> {
        self.entries.iter().copied()
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Leaves the oldest so many entries in it.
    pub fn truncate(&mut self, count: usize) {
        self.entries.truncate(count);
        self.upto.truncate(count);
    }

    /// Position of the first segment that a clearing changes.
    pub(super) fn first(&self) -> Option<usize> {
        self.entries.first().map(|entry| entry.position)
    }

    pub(super) fn positions(&self) -> Vec<usize> {
        self.entries.iter().map(|entry| entry.position).collect()
    }
}

impl<'a> ClearInputs<'a> {
    /// Tokens of the markers for so many results.
    fn markers(count: usize) -> Tokens {
        Tokens(MARKER_TOKENS.get() * count as u64)
    }

    /// Tokens that come free when a batch is cleared, net of its markers.
    pub fn freed(&self, batch: &Batch<'_>) -> Tokens {
        self.measure.correct(batch.estimate()) - Self::markers(batch.entries.len())
    }

    /// Results that may be cleared at all, oldest first.
    pub fn old(&self) -> &'a [ResultEntry] {
        self.index.old_results(self.view.tail())
    }

    /// Tokens of some of the oldest results: a slice of the index that begins with its first entry.
    pub fn held(&self, oldest: &[ResultEntry]) -> Tokens {
        let estimate = oldest.last().map(|last| last.estimate_upto);
        self.measure.correct(estimate.unwrap_or_default())
    }

    /// A result is cleared only if that saves at least as much as the marker takes. This is the
    /// smallest estimate of which that is true.
    fn least(&self) -> Tokens {
        let enough = |estimate: u64| self.measure.correct(Tokens(estimate)) >= Self::markers(2);
        let (mut low, mut high) = (0, Self::markers(2).get() * 4);
        while low < high {
            let middle = u64::midpoint(low, high);
            if enough(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Tokens(low)
    }

    /// All of these that are worth a marker.
    pub fn worthwhile(&self, entries: &'a [ResultEntry]) -> Batch<'a> {
        let least = self.least();
        Batch::of(entries.iter().filter(|entry| entry.estimate >= least))
    }

    /// All old results but the newest of all, whether those are old or not.
    pub fn all_but(&self, keep: usize) -> Batch<'a> {
        let waiting = self.index.waiting(self.view.tail());
        let all = self.index.results().len() + waiting;
        let going = all.saturating_sub(keep.max(1));
        let old = self.old();
        self.worthwhile(&old[..going.min(old.len())])
    }

    /// Oldest first, until what is left holds no more than `leave`.
    pub fn down_to(&self, leave: Tokens) -> Batch<'a> {
        let old = self.old();
        let held = self.held(old);
        let mut batch = self.worthwhile(old);
        let left = |cleared: usize| {
            let gone = cleared.checked_sub(1).map(|last| batch.upto[last]);
            held - self.measure.correct(gone.unwrap_or_default()) + Self::markers(cleared)
        };
        // The more are cleared, the less is left.
        let (mut low, mut high) = (0, batch.entries.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if left(middle) <= leave {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        batch.truncate(low);
        batch
    }

    /// Recalled memories that are older than the newest result of a batch go along.
    pub(super) fn with_memories(&self, batch: Batch<'a>) -> Batch<'a> {
        let newest = batch.entries.last().map_or(0, |entry| entry.position);
        let memories = self.index.memories();
        let older = memories.partition_point(|entry| entry.position < newest);
        let along = self.worthwhile(&memories[..older]);
        if along.entries.is_empty() {
            return batch;
        }
        let mut entries = batch.entries;
        entries.extend(along.entries);
        entries.sort_unstable_by_key(|entry| entry.position);
        Batch::of(entries.into_iter())
    }

    /// Tokens from a position to the end of what was sent.
    pub(super) fn behind(&self, position: usize) -> Tokens {
        let frozen = self.view.frozen();
        let all = frozen.weight(frozen.len());
        let before = frozen.weight(position);
        self.measure.tokens(&all) - self.measure.tokens(&before)
    }
}
