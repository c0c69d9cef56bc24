//! The places in the best texts that answer to a query.

use super::Index;
use crate::segment::{Segment, segment};
use std::ops::Range;

/// Longest passage in bytes: about ten lines, enough to judge a match by its surroundings.
const WINDOW: usize = 800;
/// Bytes of a passage that may stand before its first match: a quarter, since text behind a match
/// explains more.
const LEAD: usize = WINDOW / 4;
/// Number of the best texts that are looked into: passages of worse ones do not fit a budget any
/// more.
const DOCUMENTS: usize = 64;
/// Passages of one text at most, so that one long text does not take the whole budget.
const PER_DOCUMENT: usize = 3;

/// A place in a text that answers to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The position of the text among those indexed.
    pub document: usize,
    /// Bytes of the text, at the borders of sentences or lines where these are near.
    pub range: Range<usize>,
    /// Score of the place; comparable within one search only.
    pub score: f64,
}

/// A word of the query in a text.
struct Match {
    range: Range<usize>,
    term: usize,
}

/// A place that could be shown.
struct Window {
    start: usize,
    /// End of its last match.
    end: usize,
    /// Bytes from its first match to its last.
    spread: usize,
    /// Sum of the rarities of the words it has.
    worth: f64,
}

impl Window {
    fn is_better_than(&self, other: &Self) -> bool {
        let by_worth = self.worth.total_cmp(&other.worth);
        by_worth.then(other.spread.cmp(&self.spread)).is_gt()
    }
}

impl Index {
    /// The best places for a query, best first, together not longer than `budget` bytes. `texts`
    /// are those that were indexed, in the same order.
    ///
    /// A place is worth what its text is worth, times the share of the query that it has.
    pub fn passages(&self, texts: &[&str], query: &str, budget: usize) -> Vec<Passage> {
        let terms = self.query(query);
        let whole: f64 = terms.iter().map(|(_, rarity)| rarity).sum();
        if whole <= 0.0 {
            return Vec::new();
        }
        let mut found = Vec::new();
        for hit in self.search(query, DOCUMENTS) {
            let Some(text) = texts.get(hit.document) else {
                continue;
            };
            let mut matches = self.matches(text, &terms);
            let segments = segment(text);
            for _ in 0..PER_DOCUMENT {
                let Some((range, worth)) = best_window(text, &segments, &matches, &terms, budget)
                else {
                    break;
                };
                // The next passage of this text must not repeat the same matches.
                matches.retain(|one| one.range.end <= range.start || range.end <= one.range.start);
                found.push(Passage {
                    document: hit.document,
                    range,
                    score: hit.score * worth / whole,
                });
            }
        }
        found.sort_by(|a, b| {
            let by_score = b.score.total_cmp(&a.score);
            by_score.then((a.document, a.range.start).cmp(&(b.document, b.range.start)))
        });
        let mut left = budget;
        let mut taken: Vec<Passage> = Vec::new();
        for passage in found {
            let clear = |one: &Passage| {
                one.document != passage.document
                    || one.range.end <= passage.range.start
                    || passage.range.end <= one.range.start
            };
            // A shorter passage may still fit where a longer one does not.
            if passage.range.len() <= left && taken.iter().all(clear) {
                left -= passage.range.len();
                taken.push(passage);
            }
        }
        taken
    }

    fn matches(&self, text: &str, terms: &[(String, f64)]) -> Vec<Match> {
        let mut matches = Vec::new();
        self.tokeniser.each(text, |term, range| {
            let known = terms.iter().position(|(known, _)| known == term);
            matches.extend(known.map(|term| Match { range, term }));
        });
        matches
    }
}

/// The window with most of the query in it, and how much; of equals, the one that has it closest
/// together, then the earlier one.
fn best_window(
    text: &str,
    segments: &[Segment],
    matches: &[Match],
    terms: &[(String, f64)],
    budget: usize,
) -> Option<(Range<usize>, f64)> {
    let longest = WINDOW.min(budget);
    let mut best: Option<Window> = None;
    for (at, first) in matches.iter().enumerate() {
        let start = start_of(text, segments, first.range.start, longest / 4);
        let inside = matches[at..]
            .iter()
            .take_while(|one| one.range.end <= start + longest);
        let mut seen = vec![false; terms.len()];
        let mut worth = 0.0;
        let mut end = None;
        for one in inside {
            if !std::mem::replace(&mut seen[one.term], true) {
                worth += terms[one.term].1;
                end = Some(one.range.end);
            }
        }
        let window = end.map(|end| Window {
            start,
            end,
            spread: end - first.range.start,
            worth,
        });
        if let Some(window) = window
            && best.as_ref().is_none_or(|best| window.is_better_than(best))
        {
            best = Some(window);
        }
    }
    let best = best?;
    let end = end_of(text, segments, best.end, best.start + longest);
    let range = trimmed(text, best.start..end);
    (!range.is_empty()).then_some((range, best.worth))
}

/// The start of the sentence or line, unless that is too far in front.
fn start_of(text: &str, segments: &[Segment], at: usize, lead: usize) -> usize {
    let index = segments.partition_point(|segment| segment.range.start <= at);
    let start = index
        .checked_sub(1)
        .map_or(0, |index| segments[index].range.start);
    if at - start <= lead.min(LEAD) {
        start
    } else {
        text.ceil_char_boundary(at - lead.min(LEAD))
    }
}

/// The last end of a sentence or line between the two, or else the limit itself.
fn end_of(text: &str, segments: &[Segment], least: usize, most: usize) -> usize {
    let index = segments.partition_point(|segment| segment.range.end <= most);
    index
        .checked_sub(1)
        .map(|index| segments[index].range.end)
        .filter(|end| *end >= least)
        .unwrap_or_else(|| text.floor_char_boundary(most))
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + inside.len() - inside.trim_start().len();
    let end = start + inside.trim().len();
    start..end
}
