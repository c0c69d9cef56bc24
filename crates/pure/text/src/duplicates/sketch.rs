//! Sketch of a text: the features by which duplicates are recognised.

use super::Likeness;
use super::minhash::{self, Signature};
use crate::hash;
use crate::words::{Stemming, StopWords, Tokeniser};

/// Words per shingle. Single words would make all texts of a language similar by its stop words;
/// with three, a changed word affects half as many shingles again.
const PAIR: usize = 2;

/// Words that negate a statement, in English, German and French.
const NEGATIONS: [&str; 22] = [
    "not", "no", "never", "none", "don't", "doesn't", "didn't", "won't", "can't", "cannot",
    "isn't", "aren't", "without", "nicht", "kein", "keine", "keinen", "nie", "niemals", "ohne",
    "pas", "jamais",
];

/// Features of a text as sets that can be compared.
#[derive(Clone, Debug)]
pub struct Sketch {
    bytes: u64,
    words: u64,
    /// Hashes of pairs of neighbouring words, sorted and unique.
    shingles: Vec<u64>,
    /// Hashes of words that contain a digit, sorted and unique.
    figures: Vec<u64>,
    negations: usize,
    signature: Signature,
}

impl Sketch {
    /// Sketch of a text.
    pub fn new(text: &str) -> Self {
        // Stop words are kept: without them "do not" and "do" would be the same.
        let tokeniser = Tokeniser::new(None, StopWords::Keep, Stemming::Off);
        let (mut words, mut figures, mut negations) = (Vec::new(), Vec::new(), 0);
        tokeniser.each(text, |term, _| {
            let hashed = hash::text(term);
            words.push(hashed);
            if term.bytes().any(|byte| byte.is_ascii_digit()) {
                figures.push(hashed);
            }
            negations += usize::from(NEGATIONS.contains(&term));
        });
        // Texts without a single word, such as a row of dashes, are similar only if equal.
        let bytes = hash::text(text);
        if words.is_empty() && !text.trim().is_empty() {
            words.push(hash::text(text.trim()));
        }
        // A text of one word has no pair; the word itself is the shingle.
        let width = PAIR.min(words.len()).max(1);
        let mut shingles: Vec<_> = words.windows(width).map(hash::sequence).collect();
        sort_unique(&mut shingles);
        sort_unique(&mut figures);
        Self {
            bytes,
            words: hash::sequence(&words),
            signature: minhash::signature(&shingles),
            shingles,
            figures,
            negations,
        }
    }

    /// Overlap of the two sets of pairs.
    pub fn overlap(&self, other: &Self) -> Overlap {
        let shared = shared(&self.shingles, &other.shingles);
        let (mine, theirs) = (self.shingles.len(), other.shingles.len());
        Overlap {
            jaccard: ratio(shared, mine + theirs - shared),
            of_this: ratio(shared, mine),
            of_other: ratio(shared, theirs),
        }
    }

    /// Degree of similarity, given the overlap from which on texts count as near duplicates. `None`
    /// if they are not similar.
    pub fn likeness(&self, other: &Self, near: f64) -> Option<Likeness> {
        self.judge(other, &self.overlap(other), near)
    }

    pub(super) fn judge(&self, other: &Self, overlap: &Overlap, near: f64) -> Option<Likeness> {
        if self.bytes == other.bytes {
            Some(Likeness::Exact)
        } else if self.words == other.words {
            Some(Likeness::Same)
        } else if overlap.jaccard < near {
            None
        } else if self.figures == other.figures && self.negations == other.negations {
            Some(Likeness::Near)
        } else {
            Some(Likeness::Variant)
        }
    }

    /// True if the sizes alone permit an overlap of `near`.
    pub(super) fn may_overlap(&self, other: &Self, near: f64) -> bool {
        let (mine, theirs) = (self.shingles.len(), other.shingles.len());
        ratio(mine.min(theirs), mine.max(theirs)) >= near.min(1.0)
    }

    /// Hash of the words in their order.
    pub(super) fn words(&self) -> u64 {
        self.words
    }

    pub(super) fn signature(&self) -> &Signature {
        &self.signature
    }
}

/// Overlap of two texts in pairs of neighbouring words, each figure from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// Shared pairs as a share of all pairs (Jaccard).
    pub jaccard: f64,
    /// Shared pairs as a share of the first text's: 1 if the second contains all of it.
    pub of_this: f64,
    /// Shared pairs as a share of the second text's.
    pub of_other: f64,
}

/// Quotient of two counts; two empty sets count as equal.
#[expect(clippy::cast_precision_loss, reason = "counts of words")]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

/// Number of values that two sorted lists share.
fn shared(mine: &[u64], theirs: &[u64]) -> usize {
    let (mut at, mut count) = (0, 0);
    for value in mine {
        while theirs.get(at).is_some_and(|other| other < value) {
            at += 1;
        }
        if theirs.get(at) == Some(value) {
            count += 1;
            at += 1;
        }
    }
    count
}

fn sort_unique(values: &mut Vec<u64>) {
    values.sort_unstable();
    values.dedup();
}
