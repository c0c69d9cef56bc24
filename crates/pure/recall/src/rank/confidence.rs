//! How sure it is that a hit is what was meant, so that nothing can be said where nothing fits.
//!
//! # Model
//! A logistic function of what can be compared between searches and between collections of any
//! size: how much of the query the document covers, how much that is, whether its words stand
//! together, and how far the hit stands out. It was fitted on collections of 25, 150 and 1,871
//! notes: their titles as queries, the same with the note itself taken out, and small talk and
//! prompts about other things. `docs/recall.md` has the operating curve.
//!
//! # Not here
//! Scores: they rank, and say nothing about a hit on its own.

use super::Ranked;
use super::near::Look;
use super::plan::Plan;
use crate::searcher::Searcher;

/// The threshold below which a hit is better not shown. On the notes above, of the hits it lets
/// through for titles 99.6, 97 and 83 per cent are the note itself (in the largest collection most
/// of the rest are its siblings), and 1 to 7 per cent of the foreign prompts get a hit at all.
pub const CONFIDENT: f32 = 0.5;

/// The hit that margins are measured against: what the crowd behind the good ones scores.
const CROWD: usize = 9;

const BIAS: f32 = -19.46;
const COVERAGE: f32 = 4.38;
const MASS: f32 = 2.39;
const NEAR: f32 = 0.79;
/// More than this does not make it surer.
const NEAR_MOST: f32 = 2.0;
const MARGIN: f32 = 3.88;
const BEST: f32 = 10.64;

/// The hits that are as sure as that. They are in the order of their scores, which need not be the
/// order of their confidence.
pub fn confident(hits: &[Ranked], threshold: f32) -> impl Iterator<Item = &Ranked> {
    hits.iter().filter(move |hit| hit.confidence >= threshold)
}

/// What all hits of a search are measured by.
pub(super) struct Evidence {
    /// What the words of the query are worth together.
    query: f32,
    /// What a word is worth that one document has.
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

fn ratio(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
