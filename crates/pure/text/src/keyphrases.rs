//! What a text is about, in a few phrases.
//!
//! # Model
//! Candidates are runs of words without a stop word or punctuation between them, of at most
//! [`LONGEST`] words, and the names in the text, kept whole: paths, identifiers, error codes, flags
//! ([`crate::atoms`]). A word is worth more the more often it stands beside other words than alone,
//! a phrase the sum of its words, weighed by how often, how early and in how many parts of the text
//! it is used. A phrase inside a better one is dropped if it is hardly ever used without it.
//!
//! # Not here
//! Comparison with other texts: there is no corpus, so a word common in all of a project's texts
//! is not recognised as such.

use crate::atoms::{Shape, atoms};
use crate::hash::{self, HashedMap};
use crate::segment::{Kind, segment};
use crate::words::{Language, Tokeniser, detect};
use std::ops::Range;

/// Most words in a phrase.
pub const LONGEST: usize = 4;

/// A phrase and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyphrase {
    /// As it is written where it first occurs.
    pub text: String,
    /// [`Shape::Word`] for phrases of words, else what sort of name it is.
    pub shape: Shape,
    /// Higher is better; comparable within one text only.
    pub score: f64,
    /// How often it occurs.
    pub count: usize,
    /// Where it first occurs.
    pub first: Range<usize>,
}

/// The `top` best phrases of a text, the best first.
pub fn keyphrases(text: &str, top: usize) -> Vec<Keyphrase> {
    let mut collector = Collector::new(text);
    for segment in segment(text) {
        if segment.kind != Kind::Fence {
            collector.segment(segment.range, segment.kind);
        }
    }
    collector.best(top)
}

struct Candidate {
    text: Range<usize>,
    shape: Shape,
    words: Vec<u64>,
    count: usize,
    /// Parts of the text it occurs in, as bits.
    parts: u16,
}

struct Collector<'a> {
    text: &'a str,
    language: Option<Language>,
    tokeniser: Tokeniser,
    /// In order of first occurrence, and by the hash of their words.
    candidates: Vec<Candidate>,
    known: HashedMap<usize>,
    /// How often a word occurs, and with how many neighbours.
    words: HashedMap<(u32, u32)>,
    open: Vec<(u64, Range<usize>)>,
}

impl<'a> Collector<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            language: detect(text),
            tokeniser: Tokeniser::for_text(text),
            candidates: Vec::new(),
            known: HashedMap::default(),
            words: HashedMap::default(),
            open: Vec::new(),
        }
    }

    fn segment(&mut self, range: Range<usize>, kind: Kind) {
        // The words of code are its identifiers; keywords between them make no phrase.
        let phrases = !matches!(kind, Kind::Code | Kind::Trace);
        for atom in atoms(&self.text[range.clone()]) {
            let place = range.start + atom.range.start..range.start + atom.range.end;
            if atom.shape.is_name() {
                self.close();
                self.name(place, atom.shape);
            } else if phrases && atom.shape == Shape::Word {
                self.word(place);
            } else {
                self.close();
            }
        }
        self.close();
    }

    fn name(&mut self, place: Range<usize>, shape: Shape) {
        // Hashes and links name one thing, but nobody looks for a text by them.
        if matches!(shape, Shape::Hash | Shape::Url) || place.len() > 120 {
            return;
        }
        let word = hash::text(&self.text[place.clone()]);
        self.words.entry(word).or_default().0 += 1;
        self.add(vec![word], place, shape);
    }

    fn word(&mut self, place: Range<usize>) {
        let word = &self.text[place.clone()];
        let folded = word.to_lowercase().replace('’', "'");
        let stop = self
            .language
            .is_some_and(|language| language.is_stop_word(&folded));
        // A clause in a script without blanks is no word.
        let odd = word.len() > 60 || (word.len() < 2 && word.is_ascii());
        if stop || odd || !word.contains(char::is_alphabetic) {
            self.close();
            return;
        }
        // Punctuation between two words ends a phrase; it was cut off the atoms.
        if let Some((_, last)) = self.open.last()
            && !self.text[last.end..place.start]
                .chars()
                .all(char::is_whitespace)
        {
            self.close();
        }
        let mut terms = self.tokeniser.terms(word);
        let key = match terms.len() {
            1 => hash::text(&terms.remove(0)),
            _ => hash::text(&folded),
        };
        self.open.push((key, place));
    }

    /// Ends a run of words and takes the phrases in it.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        for (word, _) in &open {
            let neighbours = u32::try_from(open.len().min(LONGEST) - 1).unwrap_or_default();
            let entry = self.words.entry(*word).or_default();
            entry.0 += 1;
            entry.1 += neighbours;
        }
        for length in 1..=LONGEST.min(open.len()) {
            for window in open.windows(length) {
                let words = window.iter().map(|(word, _)| *word).collect();
                let place = window[0].1.start..window[length - 1].1.end;
                self.add(words, place, Shape::Word);
            }
        }
    }

    fn add(&mut self, words: Vec<u64>, text: Range<usize>, shape: Shape) {
        let part = text.start * 16 / self.text.len().max(1);
        let next = self.candidates.len();
        let place = *self.known.entry(hash::sequence(&words)).or_insert(next);
        if place == next {
            self.candidates.push(Candidate {
                text,
                shape,
                words,
                count: 0,
                parts: 0,
            });
        }
        let candidate = &mut self.candidates[place];
        candidate.count += 1;
        candidate.parts |= 1 << part.min(15);
    }

    fn best(self, top: usize) -> Vec<Keyphrase> {
        let mut scored: Vec<_> = self
            .candidates
            .iter()
            .map(|candidate| (self.score(candidate), candidate))
            .collect();
        scored.sort_by(|(x, a), (y, b)| y.total_cmp(x).then(a.text.start.cmp(&b.text.start)));
        let mut best: Vec<(f64, &Candidate)> = Vec::new();
        for (score, candidate) in scored {
            if best.len() == top {
                break;
            }
            let covered = best.iter().any(|(_, better)| covers(better, candidate));
            if !covered {
                best.push((score, candidate));
            }
        }
        best.into_iter()
            .map(|(score, candidate)| Keyphrase {
                text: self.text[candidate.text.clone()]
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "),
                shape: candidate.shape,
                score,
                count: candidate.count,
                first: candidate.text.clone(),
            })
            .collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and offsets")]
    fn score(&self, candidate: &Candidate) -> f64 {
        let words = candidate.words.iter().map(|word| {
            let (count, neighbours) = self.words.get(word).copied().unwrap_or((1, 0));
            1.0 + f64::from(neighbours) / f64::from(count.max(1))
        });
        let worth = words.sum::<f64>().sqrt();
        let count = candidate.count as f64;
        // A run of words that occurs once is a sentence's accident; a name is one by its shape.
        let (worth, uses) = match (candidate.shape, candidate.words.len()) {
            (Shape::Word, 1) => (worth * 0.8, count.ln_1p()),
            (Shape::Word, _) => (worth, (count - 0.5).ln_1p()),
            _ => (1.8, count.ln_1p()),
        };
        let spread = 1.0 + f64::from(candidate.parts.count_ones()) / 16.0;
        let place = candidate.text.start as f64 / self.text.len().max(1) as f64;
        worth * uses * spread * (1.2 - 0.4 * place)
    }
}

/// Whether a phrase is part of another and hardly used without it, or the other way round.
fn covers(better: &Candidate, other: &Candidate) -> bool {
    let within = |long: &Candidate, short: &Candidate| {
        long.words
            .windows(short.words.len().max(1))
            .any(|window| window == short.words)
    };
    (within(better, other) && other.count <= better.count * 2)
        || (within(other, better) && other.count * 2 <= better.count)
}

#[cfg(test)]
mod tests {
    use super::keyphrases;
    use crate::atoms::Shape;

    const TEXT: &str = "The connection pool of the billing service runs dry. Each request opens a new \
        connection because `PgPool::connect` is called in src/billing/handler.rs. The connection pool must be \
        shared: see src/billing/handler.rs and error ECONNREFUSED in the log. After the fix the connection pool \
        holds, and the billing service answers in 12 ms.";

    #[test]
    fn phrases_and_names_are_found_whole() {
        let phrases = keyphrases(TEXT, 6);
        let texts: Vec<_> = phrases.iter().map(|phrase| phrase.text.as_str()).collect();
        for wanted in [
            "connection pool",
            "billing service",
            "src/billing/handler.rs",
            "ECONNREFUSED",
        ] {
            assert!(texts.contains(&wanted), "{wanted} is not in {texts:?}");
        }
        let path = phrases.iter().find(|phrase| phrase.shape == Shape::Path);
        assert_eq!(
            path.map(|path| (path.count, &TEXT[path.first.clone()])),
            Some((2, "src/billing/handler.rs"))
        );
        assert!(phrases.is_sorted_by(|a, b| a.score >= b.score));
    }

    #[test]
    fn a_part_of_a_better_phrase_is_left_out() {
        let phrases = keyphrases(TEXT, 20);
        assert!(
            !phrases.iter().any(|phrase| phrase.text == "pool"),
            "{phrases:?}"
        );
    }
}
