//! Batches of old results: which may be cleared, and the tokens that frees.

use super::ClearInputs;
use crate::clearable::ResultEntry;
use dormouse_core::units::Tokens;

/// Tokens of the marker that replaces a result: a sentence and the path of a file. A result must be
/// at least twice as large to be cleared, see [`ClearInputs::least`].
pub(super) const MARKER_TOKENS: Tokens = Tokens(50);

/// Entries to clear, oldest first. There may be thousands and most requests clear nothing, so each
/// entry costs one comparison and one addition.
#[derive(Clone, Debug, Default)]
pub struct Batch<'a> {
    entries: Vec<&'a ResultEntry>,
    /// Running sums of the estimates, one per entry.
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

    /// Entries of the batch, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &'a ResultEntry> {
        self.entries.iter().copied()
    }

    /// True if the batch has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keeps the oldest `count` entries.
    pub fn truncate(&mut self, count: usize) {
        self.entries.truncate(count);
        self.upto.truncate(count);
    }

    /// Position of the first segment that the clearing changes; the cache is lost from there on.
    pub(super) fn first(&self) -> Option<usize> {
        self.entries.first().map(|entry| entry.position)
    }

    pub(super) fn positions(&self) -> Vec<usize> {
        self.entries.iter().map(|entry| entry.position).collect()
    }
}

impl<'a> ClearInputs<'a> {
    /// Tokens of the markers for a number of results.
    fn markers(count: usize) -> Tokens {
        Tokens(MARKER_TOKENS.get() * count as u64)
    }

    /// Tokens freed by clearing a batch, net of its markers.
    pub fn freed(&self, batch: &Batch<'_>) -> Tokens {
        self.measure.correct(batch.estimate()) - Self::markers(batch.entries.len())
    }

    /// Results that may be cleared at all, oldest first: those before the newest round.
    pub fn old(&self) -> &'a [ResultEntry] {
        self.index.old_results(self.view.tail())
    }

    /// Calibrated tokens of a slice of the index that begins with its first entry.
    pub fn held(&self, oldest: &[ResultEntry]) -> Tokens {
        let estimate = oldest.last().map(|last| last.estimate_upto);
        self.measure.correct(estimate.unwrap_or_default())
    }

    /// Smallest estimate of a result worth clearing: it must save at least as much as its marker
    /// takes, that is, hold twice that.
    fn least(&self) -> Tokens {
        let enough = |estimate: u64| self.measure.correct(Tokens(estimate)) >= Self::markers(2);
        // Bisect instead of inverting the calibration: its rounding would shift the limit by one.
        // The factor is clamped to 0.5–3, so four times covers every case.
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

    /// Entries that are large enough to be worth a marker.
    pub fn worthwhile(&self, entries: &'a [ResultEntry]) -> Batch<'a> {
        let least = self.least();
        Batch::of(entries.iter().filter(|entry| entry.estimate >= least))
    }

    /// All old results except the newest `keep`; results waiting in the tail count among the
    /// newest.
    pub fn all_but(&self, keep: usize) -> Batch<'a> {
        self.all_but_from(keep, Tokens::ZERO)
    }

    /// The same, results of fewer than `least` tokens left in place.
    pub(crate) fn all_but_from(&self, keep: usize, least: Tokens) -> Batch<'a> {
        let waiting = self.index.waiting(self.view.tail());
        let all = self.index.results().len() + waiting;
        // At least one result stays, whatever the setting: the model needs its latest input.
        let going = all.saturating_sub(keep.max(1));
        let old = self.old();
        let marker = self.least();
        let going = old[..going.min(old.len())].iter();
        Batch::of(going.filter(|entry| {
            entry.estimate >= marker && self.measure.correct(entry.estimate) >= least
        }))
    }

    /// Oldest results, until the rest holds at most `leave` tokens.
    pub(crate) fn down_to(&self, leave: Tokens) -> Batch<'a> {
        let old = self.old();
        let held = self.held(old);
        let mut batch = self.worthwhile(old);
        let left = |cleared: usize| {
            let gone = cleared.checked_sub(1).map(|last| batch.upto[last]);
            held - self.measure.correct(gone.unwrap_or_default()) + Self::markers(cleared)
        };
        // The rest shrinks monotonically with the number cleared, so bisect.
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

    /// Adds recalled memories older than the batch's newest result. Alone they never justify a
    /// clearing.
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

    /// Calibrated tokens from a position to the end of the frozen part.
    pub(super) fn behind(&self, position: usize) -> Tokens {
        let frozen = self.view.frozen();
        let all = frozen.weight(frozen.len());
        let before = frozen.weight(position);
        self.measure.tokens(&all) - self.measure.tokens(&before)
    }
}
