//! Indexes for rewrites, which look up every segment of a conversation in a list.
//!
//! Scanning the list for each segment is quadratic: clearing 50,000 results took seconds. [`Keyed`]
//! and [`Spans`] are built once from the list; a lookup then costs a few comparisons.
//!
//! If the list names something twice, its first entry wins, as in a scan.

use dormouse_core::id::Seq;
use dormouse_core::record::SeqRange;
use std::collections::BTreeSet;

/// An index from key to position in a list, for lookups in nearly sorted order.
#[derive(Debug)]
pub(crate) struct Keyed<K> {
    /// Keys in ascending order, each once, with their positions.
    entries: Vec<(K, u32)>,
    /// Entry at which the last lookup ended; the next search starts there.
    near: usize,
}

impl<K: Ord> Keyed<K> {
    /// Indexes the keys of a list by position.
    pub(crate) fn new(keys: impl IntoIterator<Item = K>) -> Self {
        let mut entries: Vec<(K, u32)> = keys.into_iter().zip(0..).collect();
        entries.sort_unstable();
        // Sorted by key, then position: dropping the later duplicate keeps the first entry.
        entries.dedup_by(|later, first| later.0 == first.0);
        Self { entries, near: 0 }
    }

    /// Position of the first list entry with this key.
    pub(crate) fn find(&mut self, key: &K) -> Option<u32> {
        self.near = self.lower_bound(key);
        let (found, at) = self.entries.get(self.near)?;
        (found == key).then_some(*at)
    }

    /// True if the list contains this key.
    pub(crate) fn has(&mut self, key: &K) -> bool {
        self.find(key).is_some()
    }

    /// First entry not before `key`, by galloping search outwards from the last entry found.
    /// Segments come in log order, or nearly, so the next key is one or two comparisons away;
    /// hashing or bisecting would touch cache lines all over the index.
    fn lower_bound(&self, key: &K) -> usize {
        let is_before = |at: usize| self.entries.get(at).is_some_and(|(k, _)| k < key);
        // Doubling steps bracket the key; the bisection below finds it inside the bracket.
        let mut step = 1;
        let (mut low, mut high) = (self.near, self.near);
        if is_before(high) {
            while is_before(high) {
                low = high + 1;
                high += step;
                step *= 2;
            }
        } else {
            while low > 0 && !is_before(low - 1) {
                high = low - 1;
                low = low.saturating_sub(step);
                step *= 2;
            }
        }
        let high = high.min(self.entries.len());
        low + self.entries[low..high].partition_point(|(k, _)| k < key)
    }
}

/// An index from record to position in a list of ranges.
#[derive(Debug)]
pub(crate) struct Spans {
    /// Disjoint ranges in ascending order: first record, last record, position in the list.
    runs: Vec<(Seq, Seq, u32)>,
}

impl Spans {
    /// Indexes a list of ranges, which may overlap, be empty, and come in any order.
    pub(crate) fn new(ranges: impl IntoIterator<Item = SeqRange>) -> Self {
        // Sweep line over the range ends: between two ends the set of open ranges is constant.
        let mut ends: Vec<(u64, Edge)> = Vec::new();
        for (at, range) in (0_u32..).zip(ranges) {
            if range.first <= range.last {
                ends.push((range.first.get(), Edge::Opens(at)));
                // A range that reaches to the largest number never closes.
                if let Some(behind) = range.last.get().checked_add(1) {
                    ends.push((behind, Edge::Closes(at)));
                }
            }
        }
        ends.sort_unstable();
        let mut runs = Vec::new();
        let mut open = BTreeSet::new();
        let mut ends = ends.into_iter().peekable();
        while let Some((from, edge)) = ends.next() {
            match edge {
                Edge::Closes(at) => open.remove(&at),
                Edge::Opens(at) => open.insert(at),
            };
            let next = ends.peek().map(|(next, _)| *next);
            // Several ends at one position give one run, made at the last of them.
            if let Some(first) = open.first().filter(|_| next != Some(from)) {
                let until = next.map_or(u64::MAX, |next| next - 1);
                runs.push((Seq::new(from), Seq::new(until), *first));
            }
        }
        Self { runs }
    }

    /// Position of the first range in the list that contains this record.
    pub(crate) fn find(&self, record: Seq) -> Option<u32> {
        let behind = self.runs.partition_point(|(first, ..)| *first <= record);
        let (_, last, at) = self.runs.get(behind.checked_sub(1)?)?;
        (record <= *last).then_some(*at)
    }

    /// True if any range contains this record.
    pub(crate) fn has(&self, record: Seq) -> bool {
        self.find(record).is_some()
    }
}

/// One end of a range, with the range's position in the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Closes(u32),
    Opens(u32),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::cmp::Ordering;
    use std::rc::Rc;

    /// A key that counts its comparisons.
    #[derive(Clone, Debug)]
    struct Counted(u64, Rc<Cell<u64>>);

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            self.1.set(self.1.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl Eq for Counted {}

    /// Mean comparisons per lookup in a list of `keys` even numbers; `nth` gives the order in which
    /// all numbers up to twice that are looked up.
    fn comparisons(keys: u64, nth: impl Fn(u64) -> u64) -> u64 {
        let compared = Rc::new(Cell::new(0));
        let key = |n| Counted(n, Rc::clone(&compared));
        let mut index = Keyed::new((0..keys).map(|n| key(n * 2)));
        compared.set(0);
        let lookups = keys * 2;
        let found = (0..lookups).filter(|n| index.has(&key(nth(*n)))).count();
        assert_eq!(found as u64, keys);
        compared.get() / lookups
    }

    #[test]
    fn a_lookup_compares_a_few_keys_however_long_the_list_is() {
        // In log order the neighbours of the last entry decide.
        let in_order: Vec<u64> = [2_000, 20_000].map(|keys| comparisons(keys, |n| n)).into();
        assert!(in_order.iter().all(|count| *count <= 4), "{in_order:?}");
        // In random order: at most twice the logarithm, which is 15 for 20,000 keys. A scan would
        // make 15,000 comparisons for each.
        let scattered = comparisons(20_000, |n| n * 7_919 % 40_000);
        assert!(scattered <= 30, "{scattered}");
    }

    fn walk(ranges: &[SeqRange], record: Seq) -> Option<u32> {
        let at = ranges.iter().position(|range| range.contains(record))?;
        u32::try_from(at).ok()
    }

    proptest! {
        #[test]
        fn spans_find_what_a_walk_finds(ends in prop::collection::vec((0_u64..40, 0_u64..40), 0..12)) {
            let ranges: Vec<SeqRange> = ends
                .into_iter()
                .map(|(first, last)| SeqRange { first: Seq::new(first), last: Seq::new(last) })
                .collect();
            let spans = Spans::new(ranges.iter().copied());
            for record in (0..42).map(Seq::new) {
                prop_assert_eq!(spans.find(record), walk(&ranges, record));
            }
        }

        #[test]
        fn keys_are_found_where_a_walk_finds_them(
            keys in prop::collection::vec(0_u64..40, 0..30),
            asked in prop::collection::vec(0_u64..41, 0..60),
        ) {
            let mut index = Keyed::new(keys.iter().copied());
            for key in asked {
                let first = keys.iter().position(|other| *other == key);
                prop_assert_eq!(index.find(&key), first.and_then(|at| u32::try_from(at).ok()));
            }
        }
    }

    #[test]
    fn a_range_may_reach_to_the_last_number_there_is() {
        let spans = Spans::new([SeqRange {
            first: Seq::new(7),
            last: Seq::new(u64::MAX),
        }]);
        assert_eq!(spans.find(Seq::new(6)), None);
        assert_eq!(spans.find(Seq::new(u64::MAX)), Some(0));
    }
}
