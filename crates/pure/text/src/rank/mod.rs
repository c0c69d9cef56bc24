//! Finding the texts that answer to some words, and the places in them.
//!
//! # Model
//! BM25: a text is worth more the more often it has the words of the query, with falling returns,
//! the rarer these words are among all texts, and the shorter it is. Stop words are kept, because
//! rarity already makes them cheap; endings are cut. An [`Index`] holds counts, not texts: a caller
//! that wants [`Index::passages`] has the texts anyway.
//!
//! Counts are kept as weights, so that words of a title could count for more than words of a body
//! (one sum per word over all fields, as BM25F has it) without a change of the search.
//!
//! # Not here
//! Synonyms and meaning; phrases; taking a text out again. The choice of texts (notes, memories) is
//! the caller's. Histories of any length are searched by lines ([`History`]).

mod history;
#[cfg(test)]
mod history_tests;
mod passages;
#[cfg(test)]
mod tests;

pub use history::{FoundLine, History};
pub use passages::Passage;

use crate::words::{Language, Stemming, StopWords, Tokeniser, detect};
use std::collections::HashMap;

/// Saturation of a repeated word (BM25's k1): the higher, the later repetitions stop adding. 1.2 is
/// the usual value.
const SATURATION: f64 = 1.2;
/// Penalty on long texts (BM25's b): 0 for none, 1 for full proportion. 0.75 is the usual value.
const LENGTH: f64 = 0.75;
/// Bytes that the language of all texts is told from; a few thousand words are enough.
const SAMPLE: usize = 64 * 1024;

/// The words of some texts, ready to be searched.
#[derive(Debug)]
pub struct Index {
    tokeniser: Tokeniser,
    postings: HashMap<String, Vec<Posting>>,
    lengths: Vec<f64>,
    total: f64,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    document: usize,
    weight: f64,
}

/// A text that has words of the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Its position among the texts indexed.
    pub document: usize,
    /// Score of the text; comparable within one search only.
    pub score: f64,
}

impl Index {
    /// Indexes texts; they are numbered in the order given.
    pub fn new<'a>(documents: impl IntoIterator<Item = &'a str>) -> Self {
        let documents: Vec<&str> = documents.into_iter().collect();
        let mut index = Self {
            tokeniser: tokeniser(&documents),
            postings: HashMap::new(),
            lengths: Vec::with_capacity(documents.len()),
            total: 0.0,
        };
        for document in documents {
            index.add(document);
        }
        index
    }

    /// Adds a text and says its number.
    pub fn add(&mut self, document: &str) -> usize {
        let number = self.lengths.len();
        let postings = &mut self.postings;
        let mut length = 0.0;
        self.tokeniser.each(document, |term, _| {
            length += 1.0;
            let Some(list) = postings.get_mut(term) else {
                let first = Posting {
                    document: number,
                    weight: 1.0,
                };
                postings.insert(term.to_owned(), vec![first]);
                return;
            };
            match list.last_mut() {
                Some(last) if last.document == number => last.weight += 1.0,
                _ => list.push(Posting {
                    document: number,
                    weight: 1.0,
                }),
            }
        });
        self.lengths.push(length);
        self.total += length;
        number
    }

    /// Number of texts in the index.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// True if the index has no text.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The best texts for a query, best first; of equals, the earlier one. Texts without any word
    /// of the query are not among them.
    pub fn search(&self, query: &str, top: usize) -> Vec<Hit> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        // In the order of the query, so that sums come out the same in every run.
        for (term, rarity) in self.query(query) {
            for posting in self.postings.get(&term).into_iter().flatten() {
                let score = rarity * self.saturated(*posting);
                *scores.entry(posting.document).or_default() += score;
            }
        }
        let mut hits: Vec<Hit> = scores
            .into_iter()
            .map(|(document, score)| Hit { document, score })
            .collect();
        hits.sort_by(|a, b| {
            let by_score = b.score.total_cmp(&a.score);
            by_score.then(a.document.cmp(&b.document))
        });
        hits.truncate(top);
        hits
    }

    /// The different words of a query that occur at all, each with its rarity.
    fn query(&self, query: &str) -> Vec<(String, f64)> {
        let mut terms: Vec<(String, f64)> = Vec::new();
        self.tokeniser.each(query, |term, _| {
            let Some(list) = self.postings.get(term) else {
                return;
            };
            if terms.iter().all(|(known, _)| known != term) {
                terms.push((term.to_owned(), self.rarity(list.len())));
            }
        });
        terms
    }

    /// Rarity of a word (BM25's IDF). Never below zero, also for a word that all texts have: a
    /// common word must not count against a text.
    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of texts are far below 2^52"
    )]
    fn rarity(&self, having: usize) -> f64 {
        let (all, having) = (self.len() as f64, having as f64);
        ((all - having + 0.5) / (having + 0.5)).ln_1p()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of texts are far below 2^52"
    )]
    fn saturated(&self, posting: Posting) -> f64 {
        let average = self.total / self.len().max(1) as f64;
        let length = self
            .lengths
            .get(posting.document)
            .copied()
            .unwrap_or(average);
        // A corpus of empty texts has the average 0; the division must not give NaN.
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * length / average.max(1.0));
        posting.weight * (SATURATION + 1.0) / (posting.weight + norm)
    }
}

/// One tokeniser for all texts and queries: a word that is cut differently is not found.
fn tokeniser(documents: &[&str]) -> Tokeniser {
    let mut sample = String::new();
    for document in documents {
        if sample.len() >= SAMPLE {
            break;
        }
        let end = document.floor_char_boundary(SAMPLE - sample.len());
        sample.push_str(&document[..end]);
        sample.push('\n');
    }
    let language = detect(&sample).unwrap_or(Language::English);
    Tokeniser::new(Some(language), StopWords::Keep, Stemming::On)
}
