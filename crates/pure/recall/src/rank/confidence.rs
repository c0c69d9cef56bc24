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
use super::plan::{CLASSES, Class, Plan};
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

/// Coefficients of the fit for small stores, in the order of `Evidence::features`. `tests/it/fit.rs`
/// makes them from the questions to tune on and fails if these differ.
pub const SMALL_FIT: [f32; FEATURES] = [
    -6.33, 0.62, 0.23, 0.47, -0.32, 0.37, 0.58, 0.02, 0.36, -0.74, 3.10, -1.28, 1.89, 0.23, -0.82,
    1.40, 0.83, 3.50, 0.66, 2.32,
];

/// Number of features of a hit in a small store.
pub const FEATURES: usize = 20;

/// Greatest distance to the next hit: where there are three memories, being alone says little.
const LONELY: f32 = 0.6;
/// Share of the query's evidence that counts as all of it.
const WHOLE: f32 = 0.95;

/// Hits at or above a threshold. They are in the order of their scores, which need not be the order
/// of their confidence.
pub fn confident(hits: &[Ranked], threshold: f32) -> impl Iterator<Item = &Ranked> {
    hits.iter().filter(move |hit| hit.confidence >= threshold)
}

impl Searcher {
    /// Degree, from 0 to 1, to which single words decide: all of it for the memories of a person or
    /// a project, none for thousands or for turns of conversations.
    pub fn smallness(&self) -> f32 {
        if self.family.is_some() {
            0.0
        } else {
            small(self.len())
        }
    }
}

/// Measures that all hits of a search share.
pub(super) struct Evidence {
    /// Worth of the query's words together.
    query: f32,
    /// Worth of a word that one document has: the unit for the others.
    word: f32,
    best: f32,
    second: f32,
    /// The two greatest worths found as evidence, which need not be those of the best scores.
    most: [f32; 2],
    crowd: f32,
    /// Worth of the query's words as evidence.
    meant: f32,
    /// The same by class of word.
    sought: [f32; CLASSES],
    /// Number of the query's telling words.
    words: f32,
    for_fact: bool,
    /// True if the query asks for a thing by its name.
    focus: bool,
    /// Weight of the distance to the next hit, from 0 to 1: among three memories any is alone.
    company: f32,
    /// Share of the fit for small stores, from 0 to 1.
    small: f32,
}

impl Evidence {
    /// `looks` are the best, best first, and more than will be shown.
    pub(super) fn new(searcher: &Searcher, plan: &Plan, looks: &[(f32, u32, Look)]) -> Self {
        let mut scores = looks.iter().map(|look| look.0);
        let mut most = [0.0_f32; 2];
        for (_, _, look) in looks {
            most = match most {
                [first, _] if look.meant > first => [look.meant, first],
                [first, second] => [first, second.max(look.meant)],
            };
        }
        let speaking = plan.words.iter().filter(|word| !word.stops);
        let best = scores.next().unwrap_or_default();
        let second = scores.next().unwrap_or_default();
        Self {
            query: speaking.map(|word| word.rarity).sum(),
            word: searcher.rarity(1),
            best,
            second,
            most,
            // The second is taken already.
            crowd: scores.nth(CROWD - 2).unwrap_or_default(),
            meant: plan.words.iter().map(|word| word.worth).sum(),
            sought: sought(plan),
            words: (plan.words.iter())
                .filter(|word| word.worth > 0.0)
                .map(|_| 1.0)
                .sum(),
            for_fact: plan.for_fact,
            focus: (plan.words.iter()).any(|word| word.focus && word.class != Class::Weak),
            company: company(searcher.len()),
            small: searcher.smallness(),
        }
    }

    pub(super) fn confidence(&self, score: f32, look: Look) -> f32 {
        // A hit by stop words or by a neighbour alone is no evidence.
        if look.covered <= 0.0 || score <= 0.0 {
            return 0.0;
        }
        let classic = BIAS
            + COVERAGE * ratio(look.covered, self.query)
            + MASS * ratio(look.covered, self.word).ln_1p()
            + NEAR * ratio(look.near, self.word).min(NEAR_MOST)
            + MARGIN * ratio(score - self.crowd, score)
            + BEST * ratio(score, self.best);
        let mut in_small_store = self.in_small_store(score, look);
        // Nothing is left that it could be wrong about, however many others say the same.
        if look.meant >= WHOLE * self.meant {
            in_small_store = in_small_store.max(classic);
        }
        let logit = self.small * in_small_store + (1.0 - self.small) * classic;
        1.0 / (1.0 + (-logit).exp())
    }

    /// Features of a hit in a small store, each between −1 and about 3.
    pub(super) fn features(&self, score: f32, look: Look) -> [f32; FEATURES] {
        // Distance to the next: below zero for all but the best.
        let rival = if score >= self.best {
            self.second
        } else {
            self.best
        };
        let found = |class: Class| ratio(look.found[class as usize], self.word);
        let lost = |class: Class| {
            let lost = ratio(self.sought[class as usize], self.word) - found(class);
            lost.max(0.0).ln_1p()
        };
        let [first, second] = self.most;
        let other = if look.meant >= first { second } else { first };
        let fact = if self.for_fact { 1.0 } else { 0.0 };
        let focus = if self.focus { 1.0 - look.focus } else { 0.0 };
        [
            1.0,
            // The words of the question: those that are missing, and those that are there.
            found(Class::Particular).ln_1p(),
            lost(Class::Particular),
            found(Class::General).ln_1p(),
            lost(Class::General),
            fact * lost(Class::General),
            found(Class::Wide).ln_1p(),
            lost(Class::Wide),
            found(Class::Weak).ln_1p(),
            focus,
            ratio(look.meant, self.meant),
            ratio(look.single, self.word),
            self.words.ln_1p(),
            look.words.ln_1p(),
            ratio(look.near, self.word).min(NEAR_MOST),
            // The words of the memory that the question has.
            look.named,
            look.spoken,
            // The other memories.
            self.company * ratio(score - rival, score).clamp(-1.0, LONELY),
            self.company * ratio(look.meant - other, look.meant.max(other)),
            1.0 - self.company,
        ]
    }

    fn in_small_store(&self, score: f32, look: Look) -> f32 {
        let features = self.features(score, look);
        let terms = features.iter().zip(SMALL_FIT);
        terms.map(|(feature, weight)| feature * weight).sum()
    }
}

fn sought(plan: &Plan) -> [f32; CLASSES] {
    let mut sought = [0.0; CLASSES];
    for word in &plan.words {
        sought[word.class as usize] += word.worth;
    }
    sought
}

/// Confidence moved by a difference of logits.
pub fn shifted(confidence: f32, by: f32) -> f32 {
    if confidence <= 0.0 || confidence >= 1.0 {
        return confidence;
    }
    let logit = (confidence / (1.0 - confidence)).ln() + by;
    1.0 / (1.0 + (-logit).exp())
}

/// Share of the fit for small stores: whole up to 300 documents, none from 1,500 on, where a sibling
/// about the same subject is the rule.
#[expect(clippy::cast_precision_loss, reason = "counts of documents")]
fn small(documents: usize) -> f32 {
    const WHOLE: f32 = 300.0;
    const NONE: f32 = 1_500.0;
    let size = (documents as f32).clamp(WHOLE, NONE);
    (NONE / size).ln() / (NONE / WHOLE).ln()
}

/// Weight of being ahead of the others, by their number: whole for the sixty memories of the sets.
/// The fit sees stores of one, five and twenty as well, so that it knows how much the rest is worth.
#[expect(clippy::cast_precision_loss, reason = "counts of documents")]
fn company(documents: usize) -> f32 {
    const FITTED: f32 = 60.0;
    ((documents as f32).ln_1p() / FITTED.ln_1p()).min(1.0)
}

/// Quotient, or zero without a whole: an empty query has no worth to divide by.
fn ratio(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
