//! Quality of the ranker, measured on documents with questions whose answers are known.
//!
//! # Model
//! Entries and questions belong to groups; a question is ranked among the entries of its group
//! alone, in an index of their own, whose pieces and wholes are told from the entries
//! (`families`). A [`Tally`] adds up the ranks of the relevant entries.
//!
//! # Not here
//! Reading files, and the clock: time is an argument.

mod families;
mod notes;
mod tally;

pub use families::join_conversation;
pub use notes::{Note, is_about_the_folder, note};
pub use tally::{CUTOFFS, Tally};

use crate::analyse::language_of;
use crate::document::Document;
use crate::rank::{Query, Scratch, Weights};
use crate::searcher::Searcher;
use crate::segment::{Segment, TooLarge};
use bytes::Bytes;
use families::Family;
use std::time::Duration;

/// Hits looked at: ten times the deepest cutoff, so that near misses can be shown.
const TOP: usize = 100;

/// Document of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorpusEntry {
    /// Name within its group.
    pub id: String,
    /// Text that is searched.
    pub text: String,
    /// Title, or a folder.
    pub name: String,
    /// Summary or caption; the time in words, if it was said.
    pub description: String,
    /// Whole that it is said to be a piece of.
    pub parent: Option<String>,
    /// Time at which it was said, as it is written.
    pub time: String,
}

/// Question of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Words of the question.
    pub text: String,
    /// Positions of the entries that answer it.
    pub relevant: Vec<usize>,
}

/// Result of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedAnswer {
    /// Positions of the best entries, best first.
    pub ranked: Vec<usize>,
    /// Confidence of the first of them; zero without hits.
    pub confidence: f32,
    /// Duration of the search.
    pub took: Duration,
}

/// Index of the entries of one group.
#[derive(Debug)]
pub struct Group {
    searcher: Searcher,
    scratch: Scratch,
}

impl Group {
    /// Indexes entries, in the order in which they were said.
    pub fn new(entries: &[CorpusEntry]) -> Result<Self, TooLarge> {
        Self::weighing(entries, Weights::default())
    }

    /// Indexes entries with other weights, for measurements.
    pub fn weighing(entries: &[CorpusEntry], weights: Weights) -> Result<Self, TooLarge> {
        let families = families::of(entries);
        // Big-endian, so that equals are ordered by position.
        let keys: Vec<[u8; 8]> = (0..entries.len() as u64).map(u64::to_be_bytes).collect();
        let documents = entries.iter().zip(&families).zip(&keys);
        let documents = documents.map(|((entry, family), key)| Document {
            name: &entry.name,
            description: &entry.description,
            body: &entry.text,
            payload: key,
            parent: family.as_ref().map(|family: &Family<'_>| family.parent),
            order: family.as_ref().map_or(0, |family| family.order),
            ..Document::default()
        });
        let language = language_of(entries.iter().map(|entry| entry.text.as_str()));
        let bytes = Segment::build(language, documents)?;
        // Bytes that were just built open, unless they outgrew the format.
        let segment = Segment::open(Bytes::from(bytes)).map_err(|_| TooLarge)?;
        Ok(Self {
            searcher: Searcher::new(segment).weighing(weights),
            scratch: Scratch::default(),
        })
    }

    /// Asks a question; `now` reads a clock that never goes backwards.
    pub fn ask(&mut self, question: &str, now: impl Fn() -> Duration) -> EvaluatedAnswer {
        let query = Query {
            text: question,
            top: TOP,
            ..Query::default()
        };
        let start = now();
        let hits = self.searcher.search(&query, &mut self.scratch);
        let took = now().saturating_sub(start);
        EvaluatedAnswer {
            ranked: hits.iter().map(|hit| hit.document).collect(),
            confidence: hits.first().map_or(0.0, |hit| hit.confidence),
            took,
        }
    }
}
