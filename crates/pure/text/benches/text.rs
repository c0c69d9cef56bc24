//! Cost of the text methods: `cargo bench -p dormouse-text`.
//!
//! The texts are generated from a vocabulary with a long tail, in the mixture of sessions: prose,
//! lists, code, logs, names. They are the same in every run.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use dormouse_text::dates::dates;
use dormouse_text::duplicates::{Index, NEAR, Sketch, clusters};
use dormouse_text::segment::segment;
use dormouse_text::summary::{Budget, Passage, Voice, summarise};
use dormouse_text::words::Tokeniser;
use jiff::civil::date;

fn main() {
    divan::main();
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Number with a long-tailed distribution, as word frequencies have.
    fn word(&mut self, out: &mut String) {
        const SYLLABLES: [&str; 16] = [
            "ka", "ro", "ten", "mi", "sul", "par", "se", "lin", "do", "vex", "an", "ter", "gul",
            "pho", "ri", "bas",
        ];
        const COMMON: [&str; 12] = [
            "the", "of", "and", "is", "to", "in", "that", "error", "file", "we", "not", "test",
        ];
        // A quarter of running text consists of a dozen stop words.
        if self.roll(4) == 0 {
            return out.push_str(COMMON[self.pick(COMMON.len())]);
        }
        let rank = self.pick(60) * self.pick(60);
        for shift in [0, 4, 8] {
            out.push_str(SYLLABLES[(rank >> shift) % SYLLABLES.len()]);
        }
    }

    fn pick(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll(sides as u64)).unwrap_or_default()
    }

    fn sentence(&mut self, out: &mut String) {
        let words = 5 + self.roll(18);
        for _ in 0..words {
            self.word(out);
            out.push(' ');
        }
        match self.roll(8) {
            0 => out.push_str("in src/engine/merge.rs:88. "),
            1 => out.push_str("took 212 ms. "),
            2 => out.push_str("next Friday? "),
            _ => out.push_str("done. "),
        }
    }
}

fn text(seed: u64, length: usize) -> String {
    let mut dice = Dice(seed);
    let mut out = String::new();
    while out.len() < length {
        match dice.roll(12) {
            0 => out.push_str("\n- "),
            1 => out.push_str("\n\n"),
            2 => out.push_str("\n```\nlet value = compute(&input)?;\n```\n"),
            3 => out.push_str("\n2026-03-12T10:00:00Z INFO "),
            _ => {}
        }
        dice.sentence(&mut out);
    }
    out
}

/// Bytes of the texts: a message, a long file, a session; three decades show the growth.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

#[divan::bench(sample_count = 20, args = SIZES)]
fn summary_of_a_tenth(bencher: Bencher<'_, '_>, size: usize) {
    let text = text(1, size);
    bencher.counter(BytesCount::new(size)).bench(|| {
        let passages = [Passage {
            text: black_box(&text),
            voice: Voice::Document,
        }];
        summarise(&passages, Budget::Chars(size / 10))
    });
}

#[divan::bench(sample_count = 20, args = SIZES)]
fn segments(bencher: Bencher<'_, '_>, size: usize) {
    let text = text(1, size);
    bencher
        .counter(BytesCount::new(size))
        .bench(|| segment(black_box(&text)));
}

#[divan::bench(sample_count = 20, args = SIZES)]
fn terms(bencher: Bencher<'_, '_>, size: usize) {
    let text = text(1, size);
    let tokeniser = Tokeniser::for_text(&text);
    bencher
        .counter(BytesCount::new(size))
        .bench(|| tokeniser.terms(black_box(&text)));
}

#[divan::bench(sample_count = 20, args = SIZES)]
fn date_mentions(bencher: Bencher<'_, '_>, size: usize) {
    let text = text(1, size);
    let today = date(2026, 3, 11);
    bencher
        .counter(BytesCount::new(size))
        .bench(|| dates(black_box(&text), today));
}

/// Notes of about the length of a memory file.
fn notes(count: u64) -> Vec<String> {
    (0..count).map(|seed| text(seed + 2, 900)).collect()
}

fn index(notes: &[String]) -> Index {
    let mut index = Index::new(NEAR);
    for note in notes {
        index.insert(Sketch::new(note));
    }
    index
}

#[divan::bench(sample_count = 20, args = [2_000, 10_000])]
fn duplicates_index_built(bencher: Bencher<'_, '_>, count: u64) {
    let notes = notes(count);
    bencher.bench(|| index(black_box(&notes)));
}

#[divan::bench(sample_count = 20, args = [2_000, 10_000])]
fn duplicates_one_looked_up(bencher: Bencher<'_, '_>, count: u64) {
    let notes = notes(count);
    let index = index(&notes);
    bencher.bench(|| index.find(&Sketch::new(black_box(&notes[7]))));
}

#[divan::bench(sample_count = 20, args = [2_000, 10_000])]
fn duplicates_clusters(bencher: Bencher<'_, '_>, count: u64) {
    let notes = notes(count);
    let sketches: Vec<Sketch> = notes.iter().map(|note| Sketch::new(note)).collect();
    bencher.bench(|| clusters(black_box(&sketches).iter().cloned(), NEAR));
}
