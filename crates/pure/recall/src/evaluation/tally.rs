//! Sums over ranks, and their means.

use std::collections::HashSet;

/// Depths that are looked at: the first hit, the places above rules, the default of `recall.files`,
/// and a page.
pub const CUTOFFS: [usize; 4] = [1, 3, 5, 10];

/// Results of some questions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    questions: u32,
    recall: [f64; CUTOFFS.len()],
    any: [u32; CUTOFFS.len()],
    all: [u32; CUTOFFS.len()],
    reciprocal: f64,
}

impl Tally {
    /// Counts one question: entries found, best first, and entries that should have been.
    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of entries are far below 2^52"
    )]
    pub fn add(&mut self, ranked: &[usize], relevant: &[usize]) {
        // A set: a question may name an entry twice.
        let relevant: HashSet<usize> = relevant.iter().copied().collect();
        // Nothing to find says nothing about the ranker.
        if relevant.is_empty() {
            return;
        }
        self.questions += 1;
        for (place, depth) in CUTOFFS.iter().enumerate() {
            let found = ranked
                .iter()
                .take(*depth)
                .filter(|hit| relevant.contains(hit))
                .count();
            self.recall[place] += found as f64 / relevant.len() as f64;
            self.any[place] += u32::from(found > 0);
            self.all[place] += u32::from(found == relevant.len());
        }
        let first = ranked.iter().position(|hit| relevant.contains(hit));
        self.reciprocal += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
    }

    /// Number of questions counted.
    pub fn questions(&self) -> u32 {
        self.questions
    }

    /// Mean share of the relevant entries within each depth.
    pub fn recall(&self) -> [f64; CUTOFFS.len()] {
        self.recall.map(|sum| self.mean(sum))
    }

    /// Share of questions with at least one relevant entry within each depth.
    pub fn any(&self) -> [f64; CUTOFFS.len()] {
        self.any.map(|count| self.mean(f64::from(count)))
    }

    /// Share of questions with all relevant entries within each depth.
    pub fn all(&self) -> [f64; CUTOFFS.len()] {
        self.all.map(|count| self.mean(f64::from(count)))
    }

    /// Mean of one over the rank of the first relevant entry.
    pub fn reciprocal_rank(&self) -> f64 {
        self.mean(self.reciprocal)
    }

    fn mean(&self, sum: f64) -> f64 {
        // No questions give zero instead of NaN.
        sum / f64::from(self.questions.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn shares_are_means_over_questions() {
        let mut tally = Tally::default();
        tally.add(&[7, 3, 9, 1], &[3, 1]);
        tally.add(&[5], &[5]);
        tally.add(&[5], &[6]);
        tally.add(&[5], &[]);
        assert_eq!(tally.questions(), 3);
        let percent = |shares: [f64; 4]| format!("{:.0?}", shares.map(|share| share * 100.0));
        assert_eq!(percent(tally.recall()), "[33, 50, 67, 67]");
        assert_eq!(percent(tally.any()), "[33, 67, 67, 67]");
        assert_eq!(percent(tally.all()), "[33, 33, 67, 67]");
        assert_eq!(format!("{:.2}", tally.reciprocal_rank()), "0.50");
    }
}
