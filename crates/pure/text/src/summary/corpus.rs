//! The segments of all passages as vectors of terms.

use super::cues::{self, Cues};
use super::{Feature, Passage, Score, Voice};
use crate::hash::{self, HashedMap};
use crate::segment::{Kind, segment};
use crate::words::{Stemming, StopWords, Tokeniser, detect};
use std::collections::HashSet;
use std::ops::Range;

/// Share of the similarity to the centroid in the score.
const CENTROID: f32 = 1.0;
/// Most that a place can add.
const POSITION: f32 = 0.4;
/// Bytes of all passages that the language is told from.
const SAMPLE: usize = 20_000;
/// Terms of the centroid. The tail of rare terms would favour sentences full of odd words.
const CENTROID_TERMS: usize = 200;

/// A segment with its terms.
pub(super) struct Sentence {
    pub(super) passage: usize,
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
    /// Term and weight, by term; of length one as a vector.
    pub(super) terms: Vec<(u32, f32)>,
    /// How far into its passage, and how far from its end, in segments.
    from_start: usize,
    to_end: usize,
}

/// What the sentences are picked from.
pub(super) struct Corpus {
    pub(super) sentences: Vec<Sentence>,
    pub(super) repeated: usize,
    /// How many different terms there are.
    pub(super) terms: usize,
    passages: usize,
}

impl Corpus {
    pub(super) fn new(passages: &[Passage<'_>]) -> Self {
        let tokeniser = Tokeniser::new(detect(&sample(passages)), StopWords::Drop, Stemming::On);
        let mut builder = Builder::default();
        for (index, passage) in passages.iter().enumerate() {
            builder.passage(index, passage.text, &tokeniser);
        }
        builder.weigh();
        Self {
            sentences: builder.sentences,
            repeated: builder.repeated,
            terms: builder.documents.len(),
            passages: passages.len(),
        }
    }

    /// The scores that need no comparison of sentences with each other.
    pub(super) fn linear_scores(&self, passages: &[Passage<'_>]) -> Vec<Score> {
        let centroid = self.centroid();
        let likeness: Vec<f32> = self
            .sentences
            .iter()
            .map(|sentence| {
                let terms = sentence.terms.iter();
                terms
                    .map(|(term, weight)| weight * centroid[*term as usize])
                    .sum()
            })
            .collect();
        let highest = likeness.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let each = self.sentences.iter().zip(likeness);
        each.map(|(sentence, likeness)| {
            let passage = &passages[sentence.passage];
            let text = &passage.text[sentence.range.clone()];
            let mut score = Score::default();
            score.add(Feature::Centroid, CENTROID * likeness / highest);
            score.add(Feature::Position, POSITION * self.position(sentence));
            cues::score(
                &Cues::read(text, passage.voice),
                sentence,
                passage.voice,
                &mut score,
            );
            score
        })
        .collect()
    }

    /// The heaviest terms of all sentences together.
    fn centroid(&self) -> Vec<f32> {
        let mut sums = vec![0.0; self.terms];
        for (term, weight) in self.sentences.iter().flat_map(|sentence| &sentence.terms) {
            sums[*term as usize] += weight;
        }
        let mut order: Vec<_> = (0..sums.len()).collect();
        order.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]).then(a.cmp(b)));
        for tail in order.into_iter().skip(CENTROID_TERMS) {
            sums[tail] = 0.0;
        }
        sums
    }

    /// The start of a passage says what it is about and its end what came of it; the first and the
    /// last passages are the task and where it stands.
    #[expect(clippy::cast_precision_loss, reason = "a ratio of small counts")]
    fn position(&self, sentence: &Sentence) -> f32 {
        let near = |distance: usize| 1.0 / (1.0 + distance as f32);
        let inside = near(sentence.from_start).max(0.7 * near(sentence.to_end));
        if self.passages < 3 {
            return inside;
        }
        let place = sentence.passage as f32 / (self.passages - 1) as f32;
        let among = (2.0 * place - 1.0).abs();
        0.5 * inside + 0.5 * among * among
    }
}

fn sample(passages: &[Passage<'_>]) -> String {
    let mut sample = String::new();
    // What people and the model say tells the language; tools print in their own.
    let spoken = passages
        .iter()
        .filter(|passage| passage.voice != Voice::Tool);
    for passage in spoken.chain(passages) {
        let room = SAMPLE.saturating_sub(sample.len());
        let end = passage
            .text
            .floor_char_boundary(room.min(passage.text.len()));
        sample.push_str(&passage.text[..end]);
        sample.push('\n');
        if sample.len() >= SAMPLE {
            break;
        }
    }
    sample
}

#[derive(Default)]
struct Builder {
    sentences: Vec<Sentence>,
    repeated: usize,
    /// Hash of a term to its number.
    numbers: HashedMap<u32>,
    /// In how many sentences each term is.
    documents: Vec<u32>,
    /// Hashes of sentences seen.
    seen: HashSet<u64>,
}

impl Builder {
    fn passage(&mut self, index: usize, text: &str, tokeniser: &Tokeniser) {
        let segments = segment(text);
        let count = segments.len();
        for (at, segment) in segments.into_iter().enumerate() {
            if matches!(segment.kind, Kind::Fence | Kind::Blank) {
                continue;
            }
            let range = segment.trimmed(text);
            let mut terms = Vec::new();
            tokeniser.each(&text[range.clone()], |term, _| terms.push(hash::text(term)));
            if terms.is_empty() {
                continue;
            }
            if !self.seen.insert(hash::letters(&text[range.clone()])) {
                self.repeated += 1;
                continue;
            }
            let terms = self.count(terms);
            self.sentences.push(Sentence {
                passage: index,
                range,
                kind: segment.kind,
                terms,
                from_start: at,
                to_end: count - 1 - at,
            });
        }
    }

    fn count(&mut self, mut terms: Vec<u64>) -> Vec<(u32, f32)> {
        terms.sort_unstable();
        let mut counted: Vec<_> = terms
            .chunk_by(|a, b| a == b)
            .map(|same| {
                let next = u32::try_from(self.documents.len()).unwrap_or(u32::MAX);
                let number = *self.numbers.entry(same[0]).or_insert(next);
                if number == next {
                    self.documents.push(0);
                }
                self.documents[number as usize] += 1;
                #[expect(clippy::cast_precision_loss, reason = "a count of words")]
                let count = same.len() as f32;
                (number, 1.0 + count.ln())
            })
            .collect();
        counted.sort_unstable_by_key(|(number, _)| *number);
        counted
    }

    /// Turns counts into weights: a term that every sentence has tells none of them apart.
    #[expect(clippy::cast_precision_loss, reason = "counts of sentences")]
    fn weigh(&mut self) {
        let all = self.sentences.len() as f32;
        for sentence in &mut self.sentences {
            for (term, weight) in &mut sentence.terms {
                *weight *= (1.0 + all / self.documents[*term as usize] as f32).ln();
            }
            let squares: f32 = sentence
                .terms
                .iter()
                .map(|(_, weight)| weight * weight)
                .sum();
            let length = squares.sqrt().max(f32::MIN_POSITIVE);
            for (_, weight) in &mut sentence.terms {
                *weight /= length;
            }
        }
    }
}
