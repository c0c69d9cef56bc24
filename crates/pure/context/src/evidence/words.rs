//! Multi-pattern search for words in one pass.
//!
//! Every text of a session is mined once. Searching it for one word after the other would read it a
//! dozen times, and lowering its case first would copy it; most texts contain none of the words.
//! [`Words`] reads a text once, ASCII case-insensitively, and can rule a text out from its JSON
//! before it is decoded.

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;
use std::ops::Range;

/// Letters whose lower case is, or begins with, an ASCII letter: the Kelvin sign and the capital I
/// with a dot. ASCII folding misses them, so texts that contain one are compared in lower case.
const FOLDED: [&str; 2] = ["\u{212A}", "\u{130}"];

/// Typographic apostrophe, which word processors write for `'`.
const APOSTROPHE: char = '’';

/// Words to search for: lower case, without line ends.
#[derive(Debug)]
pub(super) struct Words {
    words: &'static [&'static str],
    /// `None` only if it could not be built; the words are then searched one by one.
    automaton: Option<AhoCorasick>,
}

impl Words {
    /// Builds the automaton, with a typographic variant of every word that has an apostrophe.
    pub(super) fn new(words: &'static [&'static str]) -> Self {
        let written = words.iter().filter(|word| word.contains('\''));
        let written = written.map(|word| word.replace('\'', &APOSTROPHE.to_string()));
        let all: Vec<String> = words
            .iter()
            .map(|word| (*word).to_owned())
            .chain(written)
            .collect();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            // A few dozen words make a small table, and a DFA is the fastest to run.
            .kind(Some(AhoCorasickKind::DFA))
            .build(all)
            .ok();
        Self { words, automaton }
    }

    /// Occurrences of the words, also inside other words, in text order. Of overlapping ones the
    /// one that ends first; so every line with a word has an occurrence, and the first in a line is
    /// the one that ends first.
    pub(super) fn places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let found = self.automaton.iter().flat_map(move |automaton| {
            let found = automaton.find_iter(text);
            found.map(|found| found.range())
        });
        let slowly = self.automaton.is_none().then(|| self.one_by_one(text));
        found.chain(slowly.into_iter().flatten())
    }

    fn one_by_one(&self, text: &str) -> Vec<Range<usize>> {
        let lower = text.to_ascii_lowercase();
        let places = |word: &&str| {
            let found = lower.match_indices(*word);
            let found = found.map(|(at, found)| at..at + found.len());
            found.collect::<Vec<_>>()
        };
        let mut all: Vec<Range<usize>> = self.words.iter().flat_map(places).collect();
        all.sort_unstable_by_key(|place| place.end);
        all
    }

    /// True if one of the words occurs as a whole word, in any case.
    pub(super) fn stand_in(&self, text: &str) -> bool {
        let automaton = self.automaton.as_ref();
        let Some(automaton) = automaton.filter(|_| !has_folded(text.as_bytes())) else {
            return stand_in_lower(self.words, &text.to_lowercase());
        };
        // Of overlapping words only one may be whole, so all overlaps are checked.
        let mut found = automaton.find_overlapping_iter(text);
        found.any(|found| is_whole(text, &found.range()))
    }

    /// True if one of the words may occur in the JSON of a text. False positives are possible,
    /// false negatives are not.
    pub(super) fn may_stand_in_json(&self, json: &[u8]) -> bool {
        let Some(automaton) = &self.automaton else {
            return true;
        };
        // Words contain nothing that JSON must escape, but a writer may escape any letter.
        automaton.is_match(json) || memmem::find(json, b"\\u").is_some() || has_folded(json)
    }
}

fn has_folded(text: &[u8]) -> bool {
    !text.is_ascii()
        && FOLDED
            .iter()
            .any(|letter| memmem::find(text, letter.as_bytes()).is_some())
}

fn is_whole(text: &str, place: &Range<usize>) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric();
    !text[..place.start].ends_with(is_part) && !text[place.end..].starts_with(is_part)
}

/// [`Words::stand_in`] by one search per word, for text in lower case.
pub(super) fn stand_in_lower(words: &[&str], lower: &str) -> bool {
    let lower = lower.replace(APOSTROPHE, "'");
    words.iter().any(|word| {
        let mut places = lower.match_indices(word);
        places.any(|(at, _)| is_whole(&lower, &(at..at + word.len())))
    })
}
