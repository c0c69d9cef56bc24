//! Extractive summary: the sentences that say most, within a budget.
//!
//! # Model
//! The input is a list of [`Passage`]s, each with its speaker. Their segments get a score from four
//! sides: how central they are (similarity to the centroid of all terms, and rank in the graph of
//! similar sentences, `graph`), where they stand, and cues that a sentence carries a fact or a
//! rule (`cues`). Then segments are picked greedily, each time the one that adds most beyond what
//! is picked already (`select`), and returned in their original order with the reasons.
//!
//! The graph is the only part that is not linear in the length. It is built over at most
//! [`GRAPH_LIMIT`] segments: those with the best score of the other three sides.
//!
//! # Not here
//! Rewriting, shortening or joining sentences: what is picked is a range of the source. Sections of
//! a compaction summary and the evidence ledger are made by the caller.

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

/// Most segments that are compared with each other; the rest is scored without the graph.
pub const GRAPH_LIMIT: usize = 1_500;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// The user: short, and worth more than anything else.
    User,
    /// The model.
    Assistant,
    /// The output of a tool: long, and mostly worth little.
    Tool,
    /// A document of its own, or not known.
    Document,
}

/// A text and who says it.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// The text.
    pub text: &'a str,
    /// Who says it.
    pub voice: Voice,
}

/// How long a summary may be, separators included.
#[derive(Clone, Copy)]
pub enum Budget<'a> {
    /// Characters.
    Chars(usize),
    /// Anything else, such as tokens of a certain model.
    Measured {
        /// The most that the sum of the costs may be.
        limit: usize,
        /// The cost of a text. That of a whole may not exceed the sum of its parts.
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

/// Why a segment was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Its terms are those of the whole.
    Centroid,
    /// Sentences that are central themselves resemble it.
    Graph,
    /// It stands where important things stand.
    Position,
    /// The user said it.
    UserVoice,
    /// The user asks for something or sets a rule.
    Request,
    /// It states a decision, a reason or a rule.
    Decision,
    /// It reports an error or a failure.
    Error,
    /// It asks something.
    Question,
    /// It has a number in it.
    Number,
    /// It names a file, a symbol, a flag, a version or an error code.
    Name,
    /// What it is: code, logs, tool output and fragments are worth less, headings more.
    Kind,
}

/// A feature and what it added to the score; negative if it took away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reason {
    /// The feature.
    pub feature: Feature,
    /// Its share of the score.
    pub weight: f32,
}

/// A segment of the summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    /// Index of the passage.
    pub passage: usize,
    /// Where in it, without blank space around.
    pub range: Range<usize>,
    /// What it is.
    pub kind: Kind,
    /// The sum of the reasons.
    pub score: f32,
    /// What it was picked for, the heaviest first.
    pub reasons: Vec<Reason>,
}

/// The picked segments and what they were picked from.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// In the order of the passages.
    pub picks: Vec<Pick>,
    /// What they cost together, separators included.
    pub cost: usize,
    /// Segments there were to choose from.
    pub considered: usize,
    /// Segments that repeated an earlier one word for word.
    pub repeated: usize,
    /// Segments compared with each other; fewer than considered if there were too many.
    pub compared: usize,
}

impl Summary {
    /// The picked segments, one a line.
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

/// Picks the segments that say most within the budget.
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

/// The segments that take part in the graph, best first in score, then in order.
fn pool(scores: &[Score]) -> Vec<usize> {
    let mut pool: Vec<_> = (0..scores.len()).collect();
    if pool.len() > GRAPH_LIMIT {
        pool.sort_by(|a, b| scores[*b].total.total_cmp(&scores[*a].total).then(a.cmp(b)));
        pool.truncate(GRAPH_LIMIT);
        pool.sort_unstable();
    }
    pool
}

/// A score that remembers what it is made of.
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
