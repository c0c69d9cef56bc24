//! Sentence, reduced to the parts that count.
//!
//! Two views: its words in order decide if it repeats another ([`Sentence::repeats`]), its terms
//! decide if another could be its source (`support`). Numbers and negations are never a matter of
//! degree.

use dormouse_core::fragment;
use dormouse_text::segment::{Kind, segment};
use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser};
use std::collections::{BTreeSet, HashMap};

/// Words that negate a statement.
const NEGATIONS: [&str; 27] = [
    "not",
    "no",
    "never",
    "none",
    "nor",
    "don't",
    "doesn't",
    "didn't",
    "won't",
    "can't",
    "cannot",
    "isn't",
    "aren't",
    "wasn't",
    "shouldn't",
    "mustn't",
    "without",
    "avoid",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "nie",
    "niemals",
    "ohne",
    "pas",
    "jamais",
];

/// Words whose absence changes nothing.
const FILLERS: [&str; 6] = ["a", "an", "the", "also", "just", "please"];

/// Reader of sentences. The language is fixed, because both sides of a comparison must be cut
/// alike.
pub(super) struct Reader {
    plain: Tokeniser,
    stemmed: Tokeniser,
}

/// Sentence as words and terms.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    /// Text as it is written.
    pub(super) text: String,
    /// Words in order, stemmed, without fillers.
    pub(super) words: Vec<String>,
    /// Stems of its words except stop words, each once.
    pub(super) terms: BTreeSet<String>,
    /// True if it contains a negation.
    pub(super) negated: bool,
    /// True for a heading, which states little by itself.
    pub(super) heading: bool,
    /// True if it is, or contains, a quotation of words that others said.
    pub(super) quoted: bool,
}

impl Reader {
    pub(super) fn new() -> Self {
        let english = Some(Language::English);
        Self {
            plain: Tokeniser::new(None, StopWords::Keep, Stemming::Off),
            stemmed: Tokeniser::new(english, StopWords::Keep, Stemming::On),
        }
    }

    /// Sentences of a body; code in fences is none.
    pub(super) fn sentences(&self, text: &str) -> Vec<Sentence> {
        let parts = segment(text).into_iter();
        let worded = parts.filter(|part| !matches!(part.kind, Kind::Fence | Kind::Blank));
        worded
            .map(|part| {
                let mut sentence = self.sentence(&text[part.trimmed(text)]);
                sentence.heading = part.kind == Kind::Heading;
                sentence.quoted |= part.kind == Kind::Quote;
                sentence
            })
            .collect()
    }

    /// One sentence, whatever its length.
    pub(super) fn sentence(&self, text: &str) -> Sentence {
        let mut negated = false;
        let mut stops = BTreeSet::new();
        self.plain.each(text, |word, range| {
            negated |= NEGATIONS.contains(&word);
            // Looked up before stemming, since the list has whole words; offsets join the two
            // passes.
            if Language::English.is_stop_word(word) {
                stops.insert(range.start);
            }
        });
        let (mut words, mut terms) = (Vec::new(), BTreeSet::new());
        self.stemmed.each(text, |word, range| {
            if !FILLERS.contains(&word) {
                words.push(word.to_owned());
            }
            if !stops.contains(&range.start) {
                terms.insert(word.to_owned());
            }
        });
        Sentence {
            text: text.trim().to_owned(),
            words,
            terms,
            negated,
            heading: false,
            quoted: !fragment::reported(text).is_empty(),
        }
    }
}

impl Sentence {
    /// True if the other one says all of this: its words in the same order, and no other negation.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        if self.negated != other.negated {
            return false;
        }
        // One shared iterator: each word must come behind the one before it.
        let mut rest = other.words.iter();
        self.words
            .iter()
            .all(|word| rest.any(|theirs| theirs == word))
    }

    /// Terms with a digit in them.
    pub(super) fn figures(&self) -> impl Iterator<Item = &String> {
        self.terms.iter().filter(|term| is_figure(term))
    }
}

/// Sentences that were said, by their words, so that a repetition is found without reading all.
#[derive(Default)]
pub(super) struct Spoken {
    numbers: HashMap<String, usize>,
    /// Sentences with a word, by its number.
    by_word: Vec<Vec<usize>>,
    /// Words of each sentence in order, and its sign.
    said: Vec<(Vec<usize>, bool)>,
}

impl Spoken {
    pub(super) fn add(&mut self, sentence: &Sentence) {
        let id = self.said.len();
        let mut words = Vec::with_capacity(sentence.words.len());
        for word in &sentence.words {
            let next = self.by_word.len();
            let number = *self.numbers.entry(word.clone()).or_insert(next);
            if number == next {
                self.by_word.push(Vec::new());
            }
            if self.by_word[number].last() != Some(&id) {
                self.by_word[number].push(id);
            }
            words.push(number);
        }
        self.said.push((words, sentence.negated));
    }

    /// True if one of the sentences says all of this one; see [`Sentence::repeats`].
    pub(super) fn has(&self, sentence: &Sentence) -> bool {
        let words = sentence.words.iter().map(|word| self.numbers.get(word));
        let Some(words) = words.collect::<Option<Vec<&usize>>>() else {
            return false;
        };
        let rarest = words.iter().map(|word| &self.by_word[**word]);
        let Some(rarest) = rarest.min_by_key(|list| list.len()) else {
            return self.said.iter().any(|(_, sign)| *sign == sentence.negated);
        };
        rarest.iter().any(|id| {
            let (said, negated) = &self.said[*id];
            let mut rest = said.iter();
            *negated == sentence.negated
                && words.iter().all(|word| rest.any(|other| other == *word))
        })
    }
}

/// Text without the targets of its links to files: the target is no statement, and it changes when
/// files are merged.
pub(super) fn unlinked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', ']']) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let target = [("[[", "]]"), ("](", ")")]
            .iter()
            .find_map(|(open, close)| {
                let inner = tail.strip_prefix(open)?;
                let inner = &inner[..inner.find(close)?];
                // Brackets around prose are no link.
                let file = !inner.contains(char::is_whitespace);
                file.then_some(open.len() + inner.len() + close.len())
            });
        out.push(' ');
        rest = &tail[target.unwrap_or(1)..];
    }
    out.push_str(rest);
    out
}

/// True for a term with a digit in it.
pub(super) fn is_figure(term: &str) -> bool {
    term.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_links_lead_is_no_statement() {
        let text = "See [[a]], [[b c]] and [this](d.md), [x].";
        assert_eq!(unlinked(text), "See  ,   b c   and  this ,  x .");
    }

    #[test]
    fn a_sentence_repeats_another_only_if_that_one_says_all_of_it() {
        let reader = Reader::new();
        let whole = reader.sentence("The tests must hit a real database on port 5432.");
        for (text, expected) in [
            ("tests must hit the real database", true),
            ("Tests must hit real database, on port 5432", true),
            ("tests must hit a real database on port 6543", false),
            ("tests must not hit a real database", false),
            ("a real database must hit the tests", false),
            ("tests should hit a real database", false),
            ("**", true),
        ] {
            assert_eq!(reader.sentence(text).repeats(&whole), expected, "{text}");
            let mut spoken = Spoken::default();
            spoken.add(&reader.sentence("Something else."));
            assert!(!spoken.has(&whole));
            spoken.add(&whole);
            assert_eq!(spoken.has(&reader.sentence(text)), expected, "{text}");
        }
    }
}
