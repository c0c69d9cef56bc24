//! Ranking of documents for a query.
//!
//! # Model
//! A query becomes a [`plan`]: terms to look up, each with its worth. One pass over their postings
//! scores documents, one more passages, one more the wholes that documents are pieces of
//! ([`score`]); the three are added in units of their standard deviations. The best hundred are
//! then read word by word ([`near`]) for words that stand together. Last come the weak priors,
//! [`confidence`], and the places of standing instructions ([`rules`]).
//!
//! # Not here
//! Fusion by rank: giving every signal the same vote loses the head of the list.

mod confidence;
mod near;
mod plan;
mod relatives;
mod rules;
mod score;
mod weights;

pub use confidence::{CONFIDENT, FEATURES, SMALL_FIT, confident, shifted};
pub use near::Ground;
pub use weights::{Mixed, Weights};

use crate::cues::is_request;
use crate::searcher::Searcher;
use confidence::Evidence;
use near::{Eyes, Look, Wanted};
use score::deviation;
use std::cmp::Ordering;

/// Number of the best that are read word by word. Reading all would cost more than the search, and
/// the order of words rarely lifts a document from below the hundredth place to the top.
const CANDIDATES: usize = 100;
/// Best hits of a small store that are ordered by their confidence: it knows what was asked for, and
/// the answer is among the first five or nowhere.
pub const RERANKED: usize = 5;
/// Half-life of the bonus for being new, in milliseconds: thirty days.
const RECENCY_HALF_LIFE: f64 = 30.0 * 86_400_000.0;

/// Words to search for, with limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// Words to look for.
    pub text: &'a str,
    /// Most hits to return.
    pub top: usize,
    /// Present time in milliseconds since 1970, to favour new documents a little; 0 to ignore age.
    pub now: i64,
}

/// Document that fits a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Number of the document in its searcher.
    pub document: usize,
    /// Worth of the hit; comparable within one search only.
    pub score: f32,
    /// Probability, from 0 to 1, that it helps; comparable between searches.
    pub confidence: f32,
}

/// Buffers for a search, to be used again for the next one.
#[derive(Debug, Default)]
pub struct Scratch {
    documents: Vec<f32>,
    passages: Vec<f32>,
    units: Vec<f32>,
    parents: Vec<f32>,
    counts: Vec<f32>,
    touched: Vec<usize>,
    ranked: Vec<(f32, u32)>,
    looks: Vec<(f32, u32, Look)>,
    eyes: Eyes,
}

impl Searcher {
    /// Best documents for a query, best first. Documents without any word of the query, in them or
    /// beside them, are not among them.
    pub fn search(&self, query: &Query<'_>, scratch: &mut Scratch) -> Vec<Ranked> {
        let plan = self.plan(query.text);
        if plan.terms.is_empty() || query.top == 0 {
            return Vec::new();
        }
        let weights = &self.weights;
        self.score_documents(&plan, scratch);
        let spread = self.spread(&scratch.documents);
        let mut passage_share = 0.0;
        if let Some(passages) = &self.passages {
            self.score_passages(passages, &plan, scratch);
            passage_share =
                weights.passage.at(self.context) * share(spread, self.spread(&scratch.passages));
        }
        let mut parent_share = 0.0;
        if let Some(family) = &self.family {
            self.score_parents(family, &plan, scratch);
            let deviation = deviation(scratch.parents.iter().copied());
            parent_share = weights.parent * share(spread, deviation);
        }
        let Scratch {
            documents,
            passages,
            parents,
            ranked,
            looks,
            eyes,
            ..
        } = scratch;
        ranked.clear();
        for document in self.documents() {
            let at = document as usize;
            let mut score = documents[at];
            // Passages are not scored in a collection without context; the buffer is stale then.
            if passage_share > 0.0 {
                score += passage_share * passages[at];
            }
            // Before the whole is added: a session must not lift turns that have none of the words.
            if score <= 0.0 {
                continue;
            }
            if let Some(family) = &self.family
                && let Some(parent) = parents.get(family.parent[at] as usize)
            {
                score += parent_share * parent;
            }
            ranked.push((score, document));
        }
        self.keep_best(ranked, CANDIDATES.max(query.top));
        let wanted: Vec<Wanted> = (0..self.parts.len())
            .map(|part| Wanted::new(&plan, part))
            .collect();
        let wholes = self.wholes(&plan);
        looks.clear();
        eyes.rest();
        for (score, document) in ranked.iter() {
            let look = self.look(*document, &plan, &wanted, &wholes, eyes);
            let score =
                score + weights.near * look.near + spread * self.priors(*document, query.now);
            looks.push((score, *document, look));
        }
        looks.sort_unstable_by(|a, b| self.order((a.0, a.1), (b.0, b.1)));
        // Before the cut to `top`: margins need the crowd behind the shown hits.
        let evidence = Evidence::new(self, &plan, looks);
        looks.truncate(query.top);
        let mut hits: Vec<Ranked> = looks
            .iter()
            .map(|(score, document, look)| Ranked {
                document: *document as usize,
                score: *score,
                confidence: evidence.confidence(*score, *look),
            })
            .collect();
        if weights.rules && is_request(query.text) {
            // Last: rules take places by rank alone and must not shift the margins of confidence.
            self.place_rules(&mut hits, query.top, scratch);
        }
        hits
    }

    /// Hits with their features, for a fit of the confidence.
    pub fn measured(&self, query: &Query<'_>) -> Vec<(Ranked, [f32; FEATURES])> {
        let mut scratch = Scratch::default();
        let hits = self.search(query, &mut scratch);
        let plan = self.plan(query.text);
        let evidence = Evidence::new(self, &plan, &scratch.looks);
        let looks = scratch.looks.iter();
        let features = |hit: &Ranked| {
            let look = looks.clone().find(|look| look.1 as usize == hit.document)?;
            Some((*hit, evidence.features(look.0, look.2)))
        };
        hits.iter().filter_map(features).collect()
    }

    fn spread(&self, scores: &[f32]) -> f32 {
        let left = scores.iter().zip(&self.gone).filter(|(_, gone)| !**gone);
        deviation(left.map(|(score, _)| *score))
    }

    fn priors(&self, document: u32, now: i64) -> f32 {
        let entry = self.entry(document);
        let mut bonus = self.weights.prior * entry.prior.clamp(0.0, 1.0);
        if now > 0 && entry.time > 0 {
            bonus += self.weights.recency * recency(now.saturating_sub(entry.time));
        }
        bonus
    }

    fn keep_best(&self, ranked: &mut Vec<(f32, u32)>, most: usize) {
        if ranked.len() > most && most > 0 {
            ranked.select_nth_unstable_by(most - 1, |a, b| self.order(*a, *b));
            ranked.truncate(most);
        }
    }

    /// Better first; of equals, by payload, so that the order of insertion does not matter.
    fn order(&self, a: (f32, u32), b: (f32, u32)) -> Ordering {
        b.0.total_cmp(&a.0)
            .then_with(|| self.payload_order(a.1, b.1))
    }
}

/// Factor between two scales, by their standard deviations.
fn share(spread: f32, other: f32) -> f32 {
    if other > 0.0 { spread / other } else { 0.0 }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "ages in milliseconds are below 2^52, and the result is between 0 and 1"
)]
fn recency(age: i64) -> f32 {
    // A time in the future counts as now.
    (-(age.max(0) as f64) / RECENCY_HALF_LIFE).exp2() as f32
}
