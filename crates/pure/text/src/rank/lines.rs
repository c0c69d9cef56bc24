//! The lines of the best texts that answer to a query.
//!
//! # Model
//! A search of a history is asked for one fact, and a fact stands on one line. Whole passages of the
//! best texts fill a budget with the neighbourhood of a few hits, and often with the same lines
//! again, because a session reads the same file several times. So lines are ranked one by one,
//! each by the words of the query that it has and by the worth of the text around it, and each
//! different line is shown once.
//!
//! # Not here
//! Passages of several lines that explain themselves ([`super::Passage`]).

use super::Index;
use std::collections::HashSet;
use std::ops::Range;

/// Number of the best texts whose lines are looked at: more than a budget of a few thousand tokens
/// has lines for.
const DOCUMENTS: usize = 400;
/// Part of its text's score that a line gets beside its own words: the subject of a passage is often
/// named some lines above the fact.
const SURROUNDINGS: f64 = 0.5;
/// Longest line in bytes that is shown whole; of a longer one the part around its matches is.
const LONGEST: usize = 240;

/// A line that answers to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct LineHit {
    /// Position of the text among those indexed.
    pub document: usize,
    /// Bytes of the line in its text, or of the part around its matches.
    pub range: Range<usize>,
    /// Score of the line; comparable within one search only.
    pub score: f64,
}

impl Index {
    /// The best lines for a query among the texts for which `wanted` is true, best first, each
    /// different line once, together not longer than `budget` bytes.
    pub fn lines(
        &self,
        texts: &[&str],
        query: &str,
        budget: usize,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<LineHit> {
        let terms = self.query(query);
        let hits = self.search(query, usize::MAX);
        let mut found = Vec::new();
        for hit in hits
            .into_iter()
            .filter(|hit| wanted(hit.document))
            .take(DOCUMENTS)
        {
            let Some(text) = texts.get(hit.document) else {
                continue;
            };
            let mut start = 0;
            for line in text.split_inclusive('\n') {
                let range = start..start + line.len();
                start = range.end;
                let mut seen = vec![false; terms.len()];
                let mut own = 0.0;
                let mut first = None;
                self.tokeniser.each(line, |term, at| {
                    if let Some(known) = terms.iter().position(|(known, _)| known == term)
                        && !std::mem::replace(&mut seen[known], true)
                    {
                        own += terms[known].1;
                        first = first.or(Some(at.start));
                    }
                });
                found.push(LineHit {
                    document: hit.document,
                    range: shown(line, range, first.unwrap_or(0)),
                    score: own + SURROUNDINGS * hit.score,
                });
            }
        }
        found.sort_by(|a, b| {
            let by_score = b.score.total_cmp(&a.score);
            by_score.then((a.document, a.range.start).cmp(&(b.document, b.range.start)))
        });
        let mut left = budget;
        let mut known: HashSet<&str> = HashSet::new();
        found.retain(|hit| {
            let text = &texts[hit.document][hit.range.clone()];
            let fits = !text.is_empty() && text.len() < left;
            if fits && known.insert(without_number(text)) {
                left -= text.len() + 1;
                return true;
            }
            false
        });
        found
    }
}

/// A line without the number that a tool put in front of it: an edit above shifts the numbers, and the
/// lines are the same.
fn without_number(line: &str) -> &str {
    line.trim_start_matches(|letter: char| {
        letter.is_ascii_digit() || letter.is_whitespace() || letter == '→'
    })
}

/// Part of a line that is shown: all of it without the blanks around, or the surroundings of its
/// first match.
fn shown(line: &str, range: Range<usize>, first: usize) -> Range<usize> {
    let trimmed = line.trim();
    let lead = line.len() - line.trim_start().len();
    if trimmed.len() <= LONGEST {
        return range.start + lead..range.start + lead + trimmed.len();
    }
    let from = line.floor_char_boundary(first.saturating_sub(LONGEST / 4).max(lead));
    let to = line.floor_char_boundary((from + LONGEST).min(lead + trimmed.len()));
    range.start + from..range.start + to
}
