//! Counts of the steps of a dream, for tests of its cost. Outside tests nothing is counted.

#[cfg(test)]
use std::cell::RefCell;
#[cfg(test)]
use std::collections::BTreeMap;

/// Step whose number must not grow faster than the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Two memories were compared word by word.
    Compared,
    /// Memory looked at because it may link to another.
    Linked,
    /// File read for the sentences that may support others.
    Grounded,
    /// Sentence looked at as a possible source of another.
    Weighed,
}

#[cfg(test)]
thread_local! {
    static COUNTS: RefCell<BTreeMap<Step, usize>> = const { RefCell::new(BTreeMap::new()) };
}

/// Counts steps; in the tests of scale only.
pub(super) fn add(step: Step, times: usize) {
    #[cfg(test)]
    COUNTS.with_borrow_mut(|counts| *counts.entry(step).or_default() += times);
    #[cfg(not(test))]
    let _ = (step, times);
}

/// Steps of some work on this thread.
#[cfg(test)]
pub(super) fn of(work: impl FnOnce()) -> BTreeMap<Step, usize> {
    COUNTS.take();
    work();
    COUNTS.take()
}
