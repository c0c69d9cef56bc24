//! Similarity graph of sentences, and the rank of each sentence in it.
//!
//! Two sentences are neighbours if the cosine of their terms is at least [`LEAST`]. The rank is
//! that of a random walk along the edges, weighted by similarity, with occasional jumps to any
//! sentence (`PageRank`): a sentence ranks high if high-ranking sentences resemble it.

use super::corpus::Corpus;

/// Weight of the rank in the score: below the centroid's, which every segment has, while only those
/// of the pool have a rank.
pub(super) const WEIGHT: f32 = 0.6;
/// Smallest similarity of neighbours; below it two sentences share a word by chance.
const LEAST: f32 = 0.1;
/// Probability of following an edge instead of jumping; the usual value for `PageRank`.
const DAMPING: f32 = 0.85;
/// Iterations of the walk. The remaining error is 0.85^30, below one per cent, and the order
/// settles long before.
const ROUNDS: usize = 30;
/// Longest list of sentences for a term. A term in more sentences has a small weight anyway, and
/// would make the comparison quadratic.
const COMMON: usize = 200;

/// Neighbours of each sentence of the pool, by position in the pool.
pub(super) struct Graph {
    edges: Vec<Vec<(usize, f32)>>,
}

impl Graph {
    pub(super) fn new(corpus: &Corpus, pool: &[usize]) -> Self {
        let mut holders: Vec<Vec<(usize, f32)>> = vec![Vec::new(); corpus.terms];
        for (node, place) in pool.iter().enumerate() {
            for (term, weight) in &corpus.sentences[*place].terms {
                holders[*term as usize].push((node, *weight));
            }
        }
        let mut edges = vec![Vec::new(); pool.len()];
        let mut sums = vec![0.0_f32; pool.len()];
        let mut touched = Vec::new();
        for (node, place) in pool.iter().enumerate() {
            for (term, weight) in &corpus.sentences[*place].terms {
                let holders = &holders[*term as usize];
                if holders.len() > COMMON {
                    continue;
                }
                for (other, theirs) in holders {
                    if sums[*other] == 0.0 {
                        touched.push(*other);
                    }
                    sums[*other] += weight * theirs;
                }
            }
            touched.sort_unstable();
            for other in touched.drain(..) {
                let likeness = std::mem::take(&mut sums[other]);
                if other != node && likeness >= LEAST {
                    edges[node].push((other, likeness));
                }
            }
        }
        Self { edges }
    }

    pub(super) fn neighbours(&self, node: usize) -> &[(usize, f32)] {
        &self.edges[node]
    }

    /// Rank of each sentence, scaled so that the highest is one.
    #[expect(
        clippy::cast_precision_loss,
        reason = "at most a few thousand sentences"
    )]
    pub(super) fn rank(&self) -> Vec<f32> {
        let count = self.edges.len();
        let totals: Vec<f32> = self
            .edges
            .iter()
            .map(|edges| edges.iter().map(|(_, weight)| weight).sum())
            .collect();
        let mut rank = vec![1.0 / count as f32; count];
        for _ in 0..ROUNDS {
            // Sentences without neighbours distribute their rank to all; otherwise it would leak
            // away.
            let lonely: f32 = rank
                .iter()
                .zip(&totals)
                .filter(|(_, total)| **total == 0.0)
                .map(|(rank, _)| rank)
                .sum();
            let base = (1.0 - DAMPING + DAMPING * lonely) / count as f32;
            let mut next = vec![base; count];
            for ((edges, total), rank) in self.edges.iter().zip(&totals).zip(&rank) {
                for (other, weight) in edges {
                    next[*other] += DAMPING * rank * weight / total;
                }
            }
            rank = next;
        }
        let highest = rank.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        rank.iter().map(|rank| rank / highest).collect()
    }
}
