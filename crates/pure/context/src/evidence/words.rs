//! Looking for any of many words in one pass.
//!
//! Every text of a session is mined once. Searching it for one word after the other reads it a
//! dozen times, and lowering its case first copies it; most texts hold none of the words. [`Words`]
//! reads a text once, ignores the case of ASCII letters on the way, and can tell from the JSON of a
//! text that there is nothing in it before it is decoded.

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;
use std::ops::Range;

/// Letters whose lower case is, or begins with, an ASCII letter: the Kelvin sign and the capital I
/// with a dot. Texts with one of them are compared in lower case.
const FOLDED: [&str; 2] = ["\u{212A}", "\u{130}"];

/// The apostrophe that word processors write.
const APOSTROPHE: char = '’';

/// Words to look for: lower case, no line ends.
#[derive(Debug)]
pub(super) struct Words {
    words: &'static [&'static str],
    /// None only if it could not be built; then the words are looked for one by one.
    automaton: Option<AhoCorasick>,
}

impl Words {
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
            // A few dozen words make a small table, and it is the fastest to walk.
            .kind(Some(AhoCorasickKind::DFA))
            .build(all)
            .ok();
        Self { words, automaton }
    }

    /// Places where words stand, within other words included, in the order of the text. Where
    /// several overlap, the one that ends first: so each line that holds a word has a place, and
    /// the first in a line is the one that ends first.
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

    /// Whether one of them stands in the text as whole words, whatever the case of any letter.
    pub(super) fn stand_in(&self, text: &str) -> bool {
        let automaton = self.automaton.as_ref();
        let Some(automaton) = automaton.filter(|_| !has_folded(text.as_bytes())) else {
            return stand_in_lower(self.words, &text.to_lowercase());
        };
        // Where words overlap, only one of them may be whole.
        let mut found = automaton.find_overlapping_iter(text);
        found.any(|found| is_whole(text, &found.range()))
    }

    /// Whether one of them may stand in the JSON of a text. Only the no is certain.
    pub(super) fn may_stand_in_json(&self, json: &[u8]) -> bool {
        let Some(automaton) = &self.automaton else {
            return true;
        };
        // Words hold nothing that JSON must escape, but a writer may escape any letter.
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

/// The same, one word after the other.
pub(super) fn stand_in_lower(words: &[&str], lower: &str) -> bool {
    let lower = lower.replace(APOSTROPHE, "'");
    words.iter().any(|word| {
        let mut places = lower.match_indices(word);
        places.any(|(at, _)| is_whole(&lower, &(at..at + word.len())))
    })
}
