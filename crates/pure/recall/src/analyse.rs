//! From text to terms, the same way for documents and queries.
//!
//! # Model
//! Words are folded and stemmed, identifiers split, scripts without blanks cut into pairs
//! (`dormouse_text::words`). A word gives up to three terms: its stem; its form, if the stem is
//! another; and behind the last word of an identifier the identifier. Stop words stay terms; a
//! query marks them.
//!
//! A body is read line by line. Words of fenced code count half, words of the first paragraph a
//! quarter more; a long body is cut into units.
//!
//! # Not here
//! Which terms weigh how much in a search: `rank`.

use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser, detect};
use std::collections::HashSet;
use std::ops::Range;

/// Bytes looked at to tell the language of a collection.
const SAMPLE: usize = 64 * 1024;
/// A body with more words than this is cut into units.
const LONG_BODY: usize = 200;
/// Lines are joined to units of at least so many words …
const UNIT_LEAST: usize = 20;
/// … and a line with more than so many is cut.
const UNIT_MOST: usize = 100;
/// The first paragraph ends at an empty line, or after so many words.
const LEAD_MOST: usize = 60;
/// What a word counts, in quarters: in prose, in the first paragraph, in fenced code.
const PROSE: u8 = 4;
const LEAD: u8 = 6;
const CODE: u8 = 2;
/// Stands before the form of a word, so that it is no stem. No word begins with it.
const FORM: char = '=';

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

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// The stem of a word. Only these have a place in the order of words.
    Stem,
    /// The word as it is written, if its stem is not.
    Form,
    /// An identifier as a whole.
    Whole,
}

/// A term of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term<'a> {
    pub(crate) text: &'a str,
    pub(crate) sort: Sort,
}

/// A term of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryTerm {
    pub(crate) text: String,
    pub(crate) sort: Sort,
    /// From a word that every text has.
    pub(crate) stop_word: bool,
}

/// What a body consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitEvent<'a> {
    /// A term of the present unit, and what it counts in quarters.
    Term(Term<'a>, u8),
    /// A new unit begins.
    Next,
}

/// Turns text into terms.
#[derive(Debug)]
pub(crate) struct Analyser {
    tokeniser: Tokeniser,
    /// The same without stop words, to know which terms come from one.
    without_stop_words: Tokeniser,
}

impl Analyser {
    pub(crate) fn new(language: Language) -> Self {
        let tokeniser = |stop_words| Tokeniser::new(Some(language), stop_words, Stemming::On);
        Self {
            tokeniser: tokeniser(StopWords::Keep),
            without_stop_words: tokeniser(StopWords::Drop),
        }
    }

    /// Calls `found` with each term, in order.
    pub(crate) fn each(&self, text: &str, mut found: impl FnMut(Term<'_>)) {
        self.each_with_range(text, |term, _| found(term));
    }

    /// The terms of a query, in order.
    pub(crate) fn query(&self, text: &str) -> Vec<QueryTerm> {
        let mut speaking = HashSet::new();
        self.without_stop_words.each(text, |_, range| {
            speaking.insert((range.start, range.end));
        });
        let mut terms = Vec::new();
        self.each_with_range(text, |term, range| {
            terms.push(QueryTerm {
                text: term.text.to_owned(),
                sort: term.sort,
                stop_word: !speaking.contains(&(range.start, range.end)),
            });
        });
        terms
    }

    /// The terms of a body, cut into units: one, or for a long body several.
    pub(crate) fn units(&self, body: &str, mut found: impl FnMut(UnitEvent<'_>)) {
        let mut words = 0;
        self.tokeniser.each(body, |_, _| words += 1);
        let (least, most) = if words > LONG_BODY {
            (UNIT_LEAST, UNIT_MOST)
        } else {
            (usize::MAX, usize::MAX)
        };
        let (mut inside, mut read) = (0, 0);
        let (mut code, mut lead) = (false, true);
        for line in body.lines() {
            if line.trim_start().starts_with("```") {
                (code, lead) = (!code, false);
                continue;
            }
            lead &= read == 0 || !line.trim().is_empty();
            if inside >= least {
                found(UnitEvent::Next);
                inside = 0;
            }
            self.each(line, |term| {
                if term.sort == Sort::Stem {
                    if inside >= most {
                        found(UnitEvent::Next);
                        inside = 0;
                    }
                    inside += 1;
                    read += 1;
                }
                let count = match () {
                    () if code => CODE,
                    () if lead && read <= LEAD_MOST => LEAD,
                    () => PROSE,
                };
                found(UnitEvent::Term(term, count));
            });
        }
    }

    fn each_with_range(&self, text: &str, mut found: impl FnMut(Term<'_>, &Range<usize>)) {
        let mut last = usize::MAX..usize::MAX;
        let mut form = String::new();
        self.tokeniser.each(text, |term, range| {
            // An identifier comes after its parts and begins before the last of them.
            let whole = last.start != usize::MAX && range.start < last.start;
            let sort = if whole { Sort::Whole } else { Sort::Stem };
            found(Term { text: term, sort }, &range);
            if !whole && write_form(&text[range.clone()], term, &mut form) {
                let form = Term {
                    text: &form,
                    sort: Sort::Form,
                };
                found(form, &range);
            }
            last = range;
        });
    }
}

/// Writes down how a word is written, without case; whether that is another than its stem.
fn write_form(word: &str, stem: &str, form: &mut String) -> bool {
    form.clear();
    form.push(FORM);
    form.extend(
        word.chars()
            .flat_map(char::to_lowercase)
            .take(stem.len() + 8),
    );
    form[FORM.len_utf8()..] != *stem
}
