//! Extractive summary: the most informative sentences within a budget.
//!
//! # Model
//! The input is a list of [`Passage`]s, each with its speaker. Their segments are scored by four
//! criteria: centrality (similarity to the centroid of all terms, and rank in the graph of similar
//! sentences, `graph`), position, and cues that a sentence states a fact or a rule (`cues`). Then
//! segments are selected greedily, each time the one that adds most beyond those already selected
//! (`select`), and returned in their original order with the reasons.
//!
//! The graph is the only part that is not linear in the length. It covers at most [`GRAPH_LIMIT`]
//! segments: those with the best score by the other criteria.
//!
//! # Not here
//! Rewriting, shortening or joining sentences: a pick is a range of the source. The caller makes
//! the sections of a compaction summary and the evidence.

mod corpus;
mod cues;
mod graph;
mod select;
#[cfg(test)]
mod tests;

use crate::segment::Kind;
use corpus::Corpus;
use std::fmt;
use std::ops::Range;

/// Upper bound on segments compared with each other; the others are scored without the graph.
/// Without the bound, comparing all pairs would be quadratic in the length of a session.
pub const GRAPH_LIMIT: usize = 1_500;

/// Speaker of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// User: short, and the most valuable.
    User,
    /// Model: its visible answers.
    Assistant,
    /// Output of a tool: long, and mostly of little value.
    Tool,
    /// Document of its own, or an unknown speaker.
    Document,
}

/// Text with its speaker.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// Text that picks are ranges of.
    pub text: &'a str,
    /// Speaker of the text.
    pub voice: Voice,
}

/// Length limit of a summary, separators included.
#[derive(Clone, Copy)]
pub enum Budget<'a> {
    /// Limit in characters of Unicode.
    Chars(usize),
    /// Limit in another unit, such as tokens of a certain model.
    Measured {
        /// Upper bound on the sum of the costs.
        limit: usize,
        /// Cost of a text. The cost of a whole must not exceed the sum over its parts, or the
        /// summary may exceed the limit.
        cost: &'a dyn Fn(&str) -> usize,
    },
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chars(limit) => f.debug_tuple("Chars").field(limit).finish(),
            Self::Measured { limit, .. } => f
                .debug_struct("Measured")
                .field("limit", limit)
                .finish_non_exhaustive(),
        }
    }
}

impl Budget<'_> {
    fn limit(&self) -> usize {
        match self {
            Self::Chars(limit) | Self::Measured { limit, .. } => *limit,
        }
    }

    fn cost(&self, text: &str) -> usize {
        match self {
            Self::Chars(_) => text.chars().count(),
            Self::Measured { cost, .. } => cost(text),
        }
    }
}

/// Criterion by which a segment was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Similarity to the terms of all passages.
    Centroid,
    /// Similarity to sentences that are central themselves.
    Graph,
    /// Position in its passage and among the passages.
    Position,
    /// Statement of the user.
    UserVoice,
    /// Request or rule of the user.
    Request,
    /// Decision, reason or rule.
    Decision,
    /// Report of an error or a failure.
    Error,
    /// Question of any speaker.
    Question,
    /// Numbers in the sentence.
    Number,
    /// Name of a file, symbol, flag, version or error code.
    Name,
    /// Kind of text: code, logs, tool output and fragments count less, headings more.
    Kind,
}

/// Criterion with its contribution to the score; negative if it counts against the segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reason {
    /// Criterion that made the contribution.
    pub feature: Feature,
    /// Contribution to the score.
    pub weight: f32,
}

/// Segment of the summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    /// Index of its passage.
    pub passage: usize,
    /// Range in the passage, without surrounding blanks.
    pub range: Range<usize>,
    /// Kind of the segment.
    pub kind: Kind,
    /// Sum of the contributions.
    pub score: f32,
    /// Contributions, the largest first.
    pub reasons: Vec<Reason>,
}

/// Picked segments, with figures about the selection.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Picks in the order of the passages.
    pub picks: Vec<Pick>,
    /// Cost of all picks, separators included.
    pub cost: usize,
    /// Number of segments to choose from.
    pub considered: usize,
    /// Number of segments that repeated an earlier one verbatim.
    pub repeated: usize,
    /// Number of segments compared with each other; lower than `considered` above [`GRAPH_LIMIT`].
    pub compared: usize,
}

impl Summary {
    /// Text of the picks, one per line.
    pub fn text(&self, passages: &[Passage<'_>]) -> String {
        let mut text = String::new();
        for pick in &self.picks {
            let part = passages
                .get(pick.passage)
                .and_then(|passage| passage.text.get(pick.range.clone()));
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(part.unwrap_or_default());
        }
        text
    }
}

/// Selects the most informative segments within the budget.
pub fn summarise(passages: &[Passage<'_>], budget: Budget<'_>) -> Summary {
    let corpus = Corpus::new(passages);
    let mut scores = corpus.linear_scores(passages);
    let pool = pool(&scores);
    let graph = graph::Graph::new(&corpus, &pool);
    for (place, rank) in pool.iter().zip(graph.rank()) {
        scores[*place].add(Feature::Graph, graph::WEIGHT * rank);
    }
    let costs: Vec<_> = corpus
        .sentences
        .iter()
        .map(|sentence| budget.cost(&passages[sentence.passage].text[sentence.range.clone()]))
        .collect();
    // Picks are joined by newlines, which count towards the limit.
    let separator = budget.cost("\n");
    let selection = select::Selection::new(&scores, &costs, separator, budget.limit());
    let chosen = selection.choose(&pool, &graph);
    let mut cost = 0;
    let picks = chosen
        .into_iter()
        .map(|place| {
            cost += costs[place] + if cost == 0 { 0 } else { separator };
            let sentence = &corpus.sentences[place];
            let score = &mut scores[place];
            score.reasons.sort_by(|a, b| b.weight.total_cmp(&a.weight));
            Pick {
                passage: sentence.passage,
                range: sentence.range.clone(),
                kind: sentence.kind,
                score: score.total,
                reasons: std::mem::take(&mut score.reasons),
            }
        })
        .collect();
    Summary {
        picks,
        cost,
        considered: corpus.sentences.len(),
        repeated: corpus.repeated,
        compared: pool.len(),
    }
}

/// Indices of the segments in the graph: the best by score, then sorted by position.
fn pool(scores: &[Score]) -> Vec<usize> {
    let mut pool: Vec<_> = (0..scores.len()).collect();
    if pool.len() > GRAPH_LIMIT {
        pool.sort_by(|a, b| scores[*b].total.total_cmp(&scores[*a].total).then(a.cmp(b)));
        pool.truncate(GRAPH_LIMIT);
        // By position again: `select` searches the pool by bisection.
        pool.sort_unstable();
    }
    pool
}

/// Score with its contributions.
#[derive(Clone, Debug, Default)]
struct Score {
    total: f32,
    reasons: Vec<Reason>,
}

impl Score {
    fn add(&mut self, feature: Feature, weight: f32) {
        if weight != 0.0 {
            self.total += weight;
            self.reasons.push(Reason { feature, weight });
        }
    }
}
