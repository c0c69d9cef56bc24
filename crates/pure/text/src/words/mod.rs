//! Terms: words in a form that can be counted and compared.
//!
//! # Model
//! A [`Tokeniser`] walks over a text and reports terms: case folded, identifiers split into their
//! words ([`identifier`]) and also reported whole, stop words dropped, endings stemmed
//! ([`Stemming`]). Scripts without blanks between words (Han, kana, hangul) give overlapping pairs
//! of characters, which needs no dictionary and finds every word of two characters or more.
//!
//! # Not here
//! Items to be kept whole, such as paths ([`crate::atoms`]). Thai, Lao and Khmer have no blanks
//! either and are treated as long words: splitting them needs a dictionary.

pub mod identifier;
mod language;
#[cfg(test)]
mod tests;

pub use language::{Language, detect};

use frostem::Stemmer;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// Longest term in bytes; longer runs are data such as base64, which would fill an index, and are
/// cut.
const LONGEST: usize = 64;

/// Handling of stop words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopWords {
    /// Stop words are dropped.
    Drop,
    /// Stop words are reported like others.
    Keep,
}

/// Handling of inflected endings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stemming {
    /// Words stay as written.
    Off,
    /// Endings are stemmed, so that "tests", "tested" and "testing" are one term.
    On,
}

/// Stems of the words that were met: a collection has the same words again and again.
#[derive(Debug, Default)]
pub struct Stems(HashMap<Box<str>, Box<str>>);

impl Stems {
    fn of(&mut self, word: &str, stemmer: &Stemmer) -> &str {
        if !self.0.contains_key(word) {
            self.0.insert(word.into(), stemmer.stem(word).into());
        }
        self.0.get(word).map_or("", |stem| stem)
    }
}

/// Converter of text into terms.
pub struct Tokeniser {
    language: Option<Language>,
    stop_words: StopWords,
    stemmer: Option<Stemmer>,
}

impl fmt::Debug for Tokeniser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokeniser")
            .field("language", &self.language)
            .field("stop_words", &self.stop_words)
            .field("stems", &self.stemmer.is_some())
            .finish()
    }
}

impl Tokeniser {
    /// Tokeniser for a language. Without one, nothing is dropped or stemmed.
    pub fn new(language: Option<Language>, stop_words: StopWords, stemming: Stemming) -> Self {
        let stemmer = language
            .filter(|_| stemming == Stemming::On)
            .map(|language| Stemmer::new(language.algorithm()));
        Self {
            language,
            stop_words,
            stemmer,
        }
    }

    /// Tokeniser for scoring a text: its own language, stop words dropped, endings stemmed.
    pub fn for_text(text: &str) -> Self {
        Self::new(detect(text), StopWords::Drop, Stemming::On)
    }

    /// All terms in order.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.each(text, |term, _| terms.push(term.to_owned()));
        terms
    }

    /// Calls `found` with each term and its range. An identifier gives its words and then itself.
    pub fn each(&self, text: &str, found: impl FnMut(&str, Range<usize>)) {
        self.walk(text, None, found);
    }

    /// The same for many texts: each word is stemmed once.
    pub fn each_of_many(
        &self,
        text: &str,
        stems: &mut Stems,
        found: impl FnMut(&str, Range<usize>),
    ) {
        self.walk(text, Some(stems), found);
    }

    fn walk(
        &self,
        text: &str,
        mut stems: Option<&mut Stems>,
        mut found: impl FnMut(&str, Range<usize>),
    ) {
        let mut folded = String::new();
        for word in Words::new(text) {
            match word.script {
                Script::Wide => pairs(text, word.range, &mut found),
                Script::Spaced => {
                    let stems = stems.as_deref_mut();
                    self.spaced(text, word.range, (&mut folded, stems), &mut found);
                }
            }
        }
    }

    fn spaced(
        &self,
        text: &str,
        range: Range<usize>,
        (folded, mut stems): (&mut String, Option<&mut Stems>),
        found: &mut impl FnMut(&str, Range<usize>),
    ) {
        let word = &text[range.clone()];
        let mut parts = 0;
        for part in identifier::parts(word) {
            parts += 1;
            let place = range.start + part.start..range.start + part.end;
            fold(&word[part], folded);
            self.report(folded, place, stems.as_deref_mut(), found);
        }
        // Whole as well: a search for `max_len` must rank its exact use first.
        if parts > 1 {
            fold(word, folded);
            folded.retain(|letter| letter != '_');
            found(folded, range);
        }
    }

    fn report(
        &self,
        folded: &str,
        range: Range<usize>,
        stems: Option<&mut Stems>,
        found: &mut impl FnMut(&str, Range<usize>),
    ) {
        // The possessive is no part of the term.
        let word = folded.strip_suffix("'s").unwrap_or(folded);
        if word.is_empty() {
            return;
        }
        let stop = self.stop_words == StopWords::Drop
            && self
                .language
                .is_some_and(|language| language.is_stop_word(word));
        if stop {
            return;
        }
        match &self.stemmer {
            // A word with digits is a name, not an inflected word.
            Some(stemmer) if !word.bytes().any(|byte| byte.is_ascii_digit()) => match stems {
                Some(stems) => found(stems.of(word, stemmer), range),
                None => found(&stemmer.stem(word), range),
            },
            _ => found(word, range),
        }
    }
}

/// Folds to lower case, one kind of apostrophe, no combining marks, at most [`LONGEST`] bytes or
/// little more.
fn fold(word: &str, folded: &mut String) {
    folded.clear();
    for letter in word.chars() {
        match letter {
            '’' => folded.push('\''),
            _ if is_combining(letter) => {}
            _ if letter.is_ascii() => folded.push(letter.to_ascii_lowercase()),
            _ => folded.extend(letter.to_lowercase().filter(|low| !is_combining(*low))),
        }
        if folded.len() > LONGEST {
            break;
        }
    }
}

/// Pairs of neighbouring characters; a lone character as it is.
fn pairs(text: &str, range: Range<usize>, found: &mut impl FnMut(&str, Range<usize>)) {
    let run = &text[range.clone()];
    let mut ends = run
        .char_indices()
        .map(|(at, letter)| range.start + at + letter.len_utf8());
    let Some(first) = ends.next() else { return };
    let (mut start, mut middle) = (range.start, first);
    let mut lone = true;
    for end in ends {
        found(&text[start..end], start..end);
        (start, middle) = (middle, end);
        lone = false;
    }
    if lone {
        found(run, range);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Script with blanks between words.
    Spaced,
    /// Script without blanks between words.
    Wide,
}

struct Word {
    range: Range<usize>,
    script: Script,
}

/// Iterator over maximal runs of letters and digits.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let rest = &self.text[self.at..];
        let start = rest.find(|letter: char| letter.is_alphanumeric() || letter == '_')?;
        let first = rest[start..].chars().next()?;
        let script = script(first);
        let mut end = start;
        let mut letters = rest[start..].chars().peekable();
        while let Some(letter) = letters.next() {
            let inside = match script {
                Script::Wide => self::script(letter) == Script::Wide && letter.is_alphanumeric(),
                Script::Spaced => {
                    // An apostrophe inside a word: "don't", but not a closing quote.
                    let joins = matches!(letter, '\'' | '’')
                        && letters.peek().is_some_and(|next| next.is_alphabetic());
                    self::script(letter) == Script::Spaced
                        && (letter.is_alphanumeric()
                            || letter == '_'
                            || is_combining(letter)
                            || joins)
                }
            };
            if !inside {
                break;
            }
            end += letter.len_utf8();
        }
        let range = self.at + start..self.at + end;
        self.at = range.end;
        Some(Word { range, script })
    }
}

fn script(letter: char) -> Script {
    // Kana, Han with its extensions, hangul, half-width forms.
    if matches!(u32::from(letter), 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x2_0000..=0x3_FFFF)
    {
        Script::Wide
    } else {
        Script::Spaced
    }
}

fn is_combining(letter: char) -> bool {
    matches!(u32::from(letter), 0x0300..=0x036F)
}
