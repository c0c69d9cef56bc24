//! From text to terms, the same way for documents and queries.
//!
//! # Model
//! Words are folded and stemmed, identifiers split, scripts without blanks cut into pairs
//! (`dormouse_text::words`). Stop words stay terms: they are marked, and count for little.
//!
//! # Not here
//! Which terms weigh how much: `rank`.

use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser, detect};
use std::collections::HashSet;
use std::ops::Range;

/// Bytes looked at to tell the language of a collection.
const SAMPLE: usize = 64 * 1024;
/// A document with more words than this is cut into units.
pub(crate) const LONG_DOCUMENT: usize = 200;
/// Lines are joined to units of at least so many words …
const UNIT_LEAST: usize = 20;
/// … and a line with more is cut.
const UNIT_MOST: usize = 100;

/// The language of a collection, from the beginnings of its texts; English if it cannot be told.
///
/// One language serves documents and queries: what is cut differently is not found.
pub fn language_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Language {
    let mut sample = String::new();
    for text in texts {
        if sample.len() >= SAMPLE {
            break;
        }
        let end = text.floor_char_boundary(SAMPLE - sample.len());
        sample.push_str(&text[..end]);
        sample.push('\n');
    }
    detect(&sample).unwrap_or(Language::English)
}

/// A term of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term<'a> {
    pub(crate) text: &'a str,
    /// An identifier as a whole, behind the words it consists of.
    pub(crate) whole: bool,
}

/// Turns text into terms.
#[derive(Debug)]
pub(crate) struct Analyser {
    tokeniser: Tokeniser,
    /// The same without stop words, to know which terms come from one.
    without_stop_words: Tokeniser,
}

/// A term of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryTerm {
    pub(crate) text: String,
    /// From a word that every text has.
    pub(crate) stop_word: bool,
    pub(crate) whole: bool,
}

impl Analyser {
    pub(crate) fn new(language: Language) -> Self {
        Self {
            tokeniser: Tokeniser::new(Some(language), StopWords::Keep, Stemming::On),
            without_stop_words: Tokeniser::new(Some(language), StopWords::Drop, Stemming::On),
        }
    }

    /// Calls `found` with each term, in order.
    pub(crate) fn each(&self, text: &str, mut found: impl FnMut(Term<'_>)) {
        let mut last = usize::MAX..usize::MAX;
        self.tokeniser.each(text, |term, range| {
            let whole = is_whole(&range, &last);
            found(Term { text: term, whole });
            last = range;
        });
    }

    /// The terms of a query, in order.
    pub(crate) fn query(&self, text: &str) -> Vec<QueryTerm> {
        let mut speaking = HashSet::new();
        self.without_stop_words.each(text, |_, range| {
            speaking.insert((range.start, range.end));
        });
        let mut terms = Vec::new();
        let mut last = usize::MAX..usize::MAX;
        self.tokeniser.each(text, |term, range| {
            terms.push(QueryTerm {
                text: term.to_owned(),
                stop_word: !speaking.contains(&(range.start, range.end)),
                whole: is_whole(&range, &last),
            });
            last = range;
        });
        terms
    }

    /// The terms of a body, cut into units: one, or for a long body several.
    pub(crate) fn units(&self, body: &str, mut found: impl FnMut(UnitEvent<'_>)) {
        let mut words = 0;
        self.each(body, |term| words += usize::from(!term.whole));
        if words <= LONG_DOCUMENT {
            return self.each(body, |term| found(UnitEvent::Term(term)));
        }
        let mut inside = 0;
        for line in body.lines() {
            if inside >= UNIT_LEAST {
                found(UnitEvent::Next);
                inside = 0;
            }
            self.each(line, |term| {
                if inside >= UNIT_MOST && !term.whole {
                    found(UnitEvent::Next);
                    inside = 0;
                }
                inside += usize::from(!term.whole);
                found(UnitEvent::Term(term));
            });
        }
    }
}

/// An identifier comes after its parts and begins before the last of them.
fn is_whole(range: &Range<usize>, last: &Range<usize>) -> bool {
    last.start != usize::MAX && range.start < last.start
}

/// What a body consists of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnitEvent<'a> {
    /// A term of the present unit.
    Term(Term<'a>),
    /// A new unit begins.
    Next,
}
