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
//! Weights of terms in a search: `rank`.

use crate::asked::Asked;
use crate::glossary::Glossary;
pub(crate) use crate::glossary::is_wide;
use dormouse_text::synonyms::{is_weak, weak_han};
use dormouse_text::words::{Language, Stemming, Stems, StopWords, Tokeniser, detect};
use std::collections::HashSet;
use std::ops::Range;

/// Bytes looked at to tell the language of a collection: detection settles long before, and a large
/// collection is not read twice.
const SAMPLE: usize = 64 * 1024;
/// Most words of a body that stays one unit: about a screen, within which words are close enough.
const LONG_BODY: usize = 200;
/// Least words of a unit: shorter lines are joined, since a unit of five words matches by chance.
const UNIT_LEAST: usize = 20;
/// Most words of a unit: a longer line is cut, or it would be a passage as vague as the whole.
const UNIT_MOST: usize = 100;
/// Most words of the first paragraph, which otherwise ends at an empty line.
const LEAD_MOST: usize = 60;
/// Count of a word in quarters: in prose, in the first paragraph, in fenced code. Quarters, because
/// a posting has whole numbers only.
const PROSE: u8 = 4;
const LEAD: u8 = 6;
const CODE: u8 = 2;
/// Mark before the form of a word, so that it is no stem. No word begins with it.
const FORM: char = '=';

/// Language of a collection, from the beginnings of its texts; English if it cannot be told.
///
/// One language serves documents and queries: terms that are cut differently are not found.
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

/// Sort of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Stem of a word. Only these have a place in the order of words.
    Stem,
    /// Word as it is written, if its stem differs.
    Form,
    /// Identifier as a whole, beside its parts.
    Whole,
}

/// Term of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term<'a> {
    pub(crate) text: &'a str,
    pub(crate) sort: Sort,
}

/// Term of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryTerm {
    pub(crate) text: String,
    pub(crate) sort: Sort,
    /// Word as the query has it, without case.
    pub(crate) word: String,
    /// True for a word that every text has.
    pub(crate) stop_word: bool,
    /// True for a word that asks and says nothing about the subject.
    pub(crate) weak: bool,
    /// True for the thing that is asked for: "what port", "welche Version".
    pub(crate) focus: bool,
}

impl QueryTerm {
    /// True for a pair of characters of a script without blanks.
    pub(crate) fn is_wide(&self) -> bool {
        self.text.chars().all(is_wide)
    }
}

/// Event of reading a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitEvent<'a> {
    /// Term of the present unit, with its count in quarters.
    Term(Term<'a>, u8),
    /// Beginning of a new unit.
    Next,
}

/// Analyser of text into terms.
#[derive(Debug)]
pub(crate) struct Analyser {
    tokeniser: Tokeniser,
    /// Tokeniser that leaves words as they are, to count them.
    counting: Tokeniser,
    /// Tokeniser without stop words, to know which terms come from one.
    without_stop_words: Tokeniser,
    language: Language,
}

impl Analyser {
    pub(crate) fn new(language: Language) -> Self {
        let tokeniser = |stop_words| Tokeniser::new(Some(language), stop_words, Stemming::On);
        Self {
            language,
            tokeniser: tokeniser(StopWords::Keep),
            counting: Tokeniser::new(Some(language), StopWords::Keep, Stemming::Off),
            without_stop_words: tokeniser(StopWords::Drop),
        }
    }

    /// General tables in the terms of the collection, made when they are first asked for.
    pub(crate) fn glossary(&self) -> &'static Glossary {
        Glossary::of(self.language)
    }

    /// Calls `found` with each term, in order.
    pub(crate) fn each(&self, text: &str, stems: &mut Stems, mut found: impl FnMut(Term<'_>)) {
        self.each_with_range(text, stems, |term, _| found(term));
    }

    /// Terms of a query, in order. Stop words stay, because "to be or not to be" has nothing else.
    pub(crate) fn query(&self, text: &str) -> Vec<QueryTerm> {
        let mut speaking = HashSet::new();
        self.without_stop_words.each(text, |_, range| {
            speaking.insert((range.start, range.end));
        });
        let own = own_language(text);
        let asked = Asked::of(text);
        let mut asking = weak_han(text);
        for word in asked.implied_han() {
            asking.extend(text.match_indices(word).map(|(at, _)| at..at + word.len()));
        }
        let mut terms: Vec<QueryTerm> = Vec::new();
        let mut asks = false;
        self.each_with_range(text, &mut Stems::default(), |term, range| {
            let word = text[range.clone()].to_lowercase().replace('’', "'");
            let wide = word.chars().all(is_wide);
            let overlaps =
                |asking: &Range<usize>| asking.start < range.end && range.start < asking.end;
            // The question's own language as well: the collection's is that of most memories.
            let stop_word = !speaking.contains(&(range.start, range.end))
                || own.is_some_and(|language| language.is_stop_word(&word))
                || (wide && asking.iter().any(overlaps));
            let focus = asks && !stop_word && !wide;
            if term.sort == Sort::Stem {
                asks = ASKING.contains(&word.as_str());
            }
            terms.push(QueryTerm {
                text: term.text.to_owned(),
                sort: term.sort,
                stop_word,
                weak: is_weak(&word) || asked.implies(&word),
                focus,
                word,
            });
        });
        terms
    }

    /// Terms of a body, cut into units: one, or for a long body several.
    pub(crate) fn units(
        &self,
        body: &str,
        stems: &mut Stems,
        mut found: impl FnMut(UnitEvent<'_>),
    ) {
        let mut words = 0;
        self.counting.each(body, |_, _| words += 1);
        // A short body stays one unit, whatever its lines.
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
            // Blank lines before the first word do not end the first paragraph.
            lead &= read == 0 || !line.trim().is_empty();
            // Between lines only, so that a unit does not end inside a sentence if it can be
            // helped.
            if inside >= least {
                found(UnitEvent::Next);
                inside = 0;
            }
            self.each(line, stems, |term| {
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

    fn each_with_range(
        &self,
        text: &str,
        stems: &mut Stems,
        mut found: impl FnMut(Term<'_>, &Range<usize>),
    ) {
        let mut last = usize::MAX..usize::MAX;
        let mut form = String::new();
        self.tokeniser.each_of_many(text, stems, |term, range| {
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

/// Words before the thing that is asked for.
const ASKING: [&str; 11] = [
    "what", "which", "whose", "many", "much", "welche", "welcher", "welches", "welchen",
    "wieviele", "viele",
];

/// Language of a question, by its stop words alone: it is too short for more.
fn own_language(text: &str) -> Option<Language> {
    let count = |language: Language| {
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
        let folded = words.map(str::to_lowercase);
        folded.filter(|word| language.is_stop_word(word)).count()
    };
    let languages = [
        Language::English,
        Language::German,
        Language::French,
        Language::Spanish,
    ];
    let found = languages
        .into_iter()
        .map(|language| (count(language), language));
    // The first of equals: English words are the commonest in any prompt.
    let best = found.rev().max_by_key(|(count, _)| *count)?;
    (best.0 > 0).then_some(best.1)
}

/// Writes the word without case into `form`; true if that differs from its stem.
fn write_form(word: &str, stem: &str, form: &mut String) -> bool {
    form.clear();
    form.push(FORM);
    form.extend(
        word.chars()
            .flat_map(char::to_lowercase)
            // A stem is at most a few letters shorter than its word; an endless word must not be
            // copied.
            .take(stem.len() + 8),
    );
    form[FORM.len_utf8()..] != *stem
}
