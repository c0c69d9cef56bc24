//! Confidence that a hit is meant, so that nothing is shown if nothing fits.
//!
//! # Model
//! A logistic function of features that can be compared between searches and between collections of
//! any size: the share of the query that the document covers, how much that is, words that stand
//! together, and the distance to the other hits. It was fitted on collections of 25, 150 and 1,871
//! notes: their titles as queries, the same with the note itself taken out, and small talk and
//! prompts about other things. `docs/recall.md` has the operating curve.
//!
//! # Not here
//! Scores: they rank, and say nothing about a hit on its own.

use super::Ranked;
use super::near::Look;
use super::plan::Plan;
use crate::searcher::Searcher;

/// Threshold below which a hit is better not shown. On the notes above, of the hits it lets through
/// for titles 99.6, 97 and 83 per cent are the note itself (in the largest collection most of the
/// rest are its siblings), and 1 to 7 per cent of the foreign prompts get a hit at all.
pub const CONFIDENT: f32 = 0.5;

/// Rank of the hit that margins are measured against: the crowd behind the good ones.
const CROWD: usize = 9;

// Coefficients of the fit, in the order of the features of `Evidence::confidence`.
const BIAS: f32 = -19.46;
const COVERAGE: f32 = 4.38;
const MASS: f32 = 2.39;
const NEAR: f32 = 0.79;
/// Cap of the feature before it: more closeness does not make a hit surer.
const NEAR_MOST: f32 = 2.0;
const MARGIN: f32 = 3.88;
const BEST: f32 = 10.64;

/// Hits at or above a threshold. They are in the order of their scores, which need not be the order
/// of their confidence.
pub fn confident(hits: &[Ranked], threshold: f32) -> impl Iterator<Item = &Ranked> {
    hits.iter().filter(move |hit| hit.confidence >= threshold)
}

/// Measures that all hits of a search share.
pub(super) struct Evidence {
    /// Worth of the query's words together.
    query: f32,
    /// Worth of a word that one document has: the unit for the others.
    word: f32,
    best: f32,
    crowd: f32,
}

impl Evidence {
    /// `scores` are the best, best first, and more than will be shown.
    pub(super) fn new(
        searcher: &Searcher,
        plan: &Plan,
        mut scores: impl Iterator<Item = f32>,
    ) -> Self {
        let speaking = plan.words.iter().filter(|word| !word.stop_word);
        Self {
            query: speaking.map(|word| word.rarity).sum(),
            word: searcher.rarity(1),
            best: scores.next().unwrap_or_default(),
            crowd: scores.nth(CROWD - 1).unwrap_or_default(),
        }
    }

    pub(super) fn confidence(&self, score: f32, look: Look) -> f32 {
        // A hit by stop words or by a neighbour alone is no evidence.
        if look.covered <= 0.0 || score <= 0.0 {
            return 0.0;
        }
        let logit = BIAS
            + COVERAGE * ratio(look.covered, self.query)
            + MASS * ratio(look.covered, self.word).ln_1p()
            + NEAR * ratio(look.near, self.word).min(NEAR_MOST)
            + MARGIN * ratio(score - self.crowd, score)
            + BEST * ratio(score, self.best);
        1.0 / (1.0 + (-logit).exp())
    }
}

/// Quotient, or zero without a whole: an empty query has no worth to divide by.
fn ratio(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
