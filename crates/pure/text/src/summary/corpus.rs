//! Segments of all passages as vectors of terms.

use super::cues::{self, Cues};
use super::{Feature, Passage, Score, Voice};
use crate::hash::{self, HashedMap};
use crate::segment::{Kind, segment};
use crate::words::{Stemming, StopWords, Tokeniser, detect};
use std::collections::HashSet;
use std::ops::Range;

/// Weight of the similarity to the centroid; the unit that the other weights relate to.
const CENTROID: f32 = 1.0;
/// Greatest bonus for the position: enough to decide among equals, and less than the user's voice
/// adds.
const POSITION: f32 = 0.4;
/// Bytes of all passages used for language detection; a few thousand words suffice.
const SAMPLE: usize = 20_000;
/// Number of terms in the centroid. The long tail of rare terms would favour sentences full of odd
/// words.
const CENTROID_TERMS: usize = 200;

/// Segment with its terms.
pub(super) struct Sentence {
    pub(super) passage: usize,
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
    /// Term and weight, sorted by term; the vector has length one.
    pub(super) terms: Vec<(u32, f32)>,
    /// Distance from the start of its passage, and below from its end, in segments.
    from_start: usize,
    to_end: usize,
}

/// Segments to select from, with their vectors.
pub(super) struct Corpus {
    pub(super) sentences: Vec<Sentence>,
    pub(super) repeated: usize,
    /// Number of different terms.
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

    /// Scores by centroid, position and cues, which need no comparison between sentences.
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
        // Scaled to the best sentence, so that the weights mean the same for texts of any length.
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

    /// Sum of the vectors of all sentences, reduced to the heaviest terms.
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

    /// Bonus by position, from 0 to 1. The start of a passage states its subject and the end its
    /// result; the first and the last passages are the task and its present state.
    #[expect(clippy::cast_precision_loss, reason = "a ratio of small counts")]
    fn position(&self, sentence: &Sentence) -> f32 {
        let near = |distance: usize| 1.0 / (1.0 + distance as f32);
        let inside = near(sentence.from_start).max(0.7 * near(sentence.to_end));
        // Of one or two passages, each is the first or the last.
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
    // The user and the model write in the session's language; tools print in their own.
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
    /// Number of each term, by its hash.
    numbers: HashedMap<u32>,
    /// Number of sentences that contain each term.
    documents: Vec<u32>,
    /// Hashes of the sentences seen so far.
    seen: HashSet<u64>,
}

impl Builder {
    fn passage(&mut self, index: usize, text: &str, tokeniser: &Tokeniser) {
        let segments = segment(text);
        let count = segments.len();
        for (at, segment) in segments.into_iter().enumerate() {
            // Markup without content of its own.
            if matches!(segment.kind, Kind::Fence | Kind::Blank) {
                continue;
            }
            let range = segment.trimmed(text);
            let mut terms = Vec::new();
            tokeniser.each(&text[range.clone()], |term, _| terms.push(hash::text(term)));
            if terms.is_empty() {
                continue;
            }
            // Compared by letters: a line with other case or punctuation is still a repetition.
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
                // Sublinear: a word used five times is not five times as important.
                (number, 1.0 + count.ln())
            })
            .collect();
        counted.sort_unstable_by_key(|(number, _)| *number);
        counted
    }

    /// Converts counts into TF-IDF weights: a term in every sentence distinguishes none of them.
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
