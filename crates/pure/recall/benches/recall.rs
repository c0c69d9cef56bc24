//! Cost of a search. `cargo bench -p dormouse-recall`
//!
//! Memories of about 150 words are made up from a vocabulary with a long tail; they are the same in
//! every run. Queries are a dozen words, half of them common.

use bytes::Bytes;
use divan::{Bencher, black_box};
use dormouse_recall::{Document, Query, Scratch, Searcher, Segment, language_of};

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

    /// Four in ten words are among a dozen small ones; the rest are seldom, as words are.
    fn word(&mut self, out: &mut String) {
        const SYLLABLES: [&str; 16] = [
            "ka", "ro", "ten", "mi", "sul", "par", "se", "lin", "do", "vex", "an", "ter", "gul",
            "pho", "ri", "bas",
        ];
        const COMMON: [&str; 12] = [
            "the", "of", "and", "is", "to", "in", "that", "error", "file", "we", "not", "test",
        ];
        if self.roll(10) < 4 {
            let pick = usize::try_from(self.roll(12)).unwrap_or_default();
            return out.push_str(COMMON[pick]);
        }
        let rank = self.roll(60) * self.roll(60) * self.roll(12);
        for shift in [0, 4, 8, 12] {
            let pick = usize::try_from((rank >> shift) % 16).unwrap_or_default();
            out.push_str(SYLLABLES[pick]);
        }
    }

    fn text(&mut self, words: usize) -> String {
        let mut out = String::new();
        for word in 1..=words {
            self.word(&mut out);
            out.push(if word % 12 == 0 { '\n' } else { ' ' });
        }
        out
    }
}

struct Memory {
    name: String,
    description: String,
    body: String,
}

fn memories(count: usize) -> Vec<Memory> {
    let mut dice = Dice(11);
    let mut memory = || Memory {
        name: dice.text(3),
        description: dice.text(12),
        body: dice.text(150),
    };
    (0..count).map(|_| memory()).collect()
}

fn segment(memories: &[Memory]) -> Bytes {
    let language = language_of(memories.iter().map(|memory| memory.body.as_str()));
    let documents = memories.iter().map(|memory| Document {
        name: &memory.name,
        description: &memory.description,
        body: &memory.body,
        payload: memory.name.as_bytes(),
        ..Document::default()
    });
    let bytes = Segment::build(language, documents);
    bytes.map(Bytes::from).unwrap_or_default()
}

fn queries() -> Vec<String> {
    let mut dice = Dice(5);
    (0..64).map(|_| dice.text(12)).collect()
}

fn searcher(bytes: &Bytes) -> Option<Searcher> {
    Segment::open(bytes.clone()).ok().map(Searcher::new)
}

fn query(text: &str) -> Query<'_> {
    Query {
        text,
        top: 50,
        ..Query::default()
    }
}

#[divan::bench(sample_count = 200, sample_size = 5, args = [2_000, 10_000, 100_000])]
fn search(bencher: Bencher<'_, '_>, count: usize) {
    let Some(searcher) = searcher(&segment(&memories(count))) else {
        return;
    };
    let queries = queries();
    let mut scratch = Scratch::default();
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        searcher.search(&query(&queries[turn % queries.len()]), &mut scratch)
    });
}

/// A prompt with a log pasted into it.
#[divan::bench(sample_count = 50, sample_size = 1, args = [10_000])]
fn search_with_400_words(bencher: Bencher<'_, '_>, count: usize) {
    let Some(searcher) = searcher(&segment(&memories(count))) else {
        return;
    };
    let prompt = Dice(23).text(400);
    let mut scratch = Scratch::default();
    bencher.bench_local(|| searcher.search(&query(black_box(&prompt)), &mut scratch));
}

#[divan::bench(sample_count = 50, sample_size = 1, args = [10_000, 100_000])]
fn open_and_search_once(bencher: Bencher<'_, '_>, count: usize) {
    let bytes = segment(&memories(count));
    let queries = queries();
    bencher.bench_local(|| {
        let searcher = searcher(black_box(&bytes))?;
        Some(searcher.search(&query(&queries[3]), &mut Scratch::default()))
    });
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn change_ten_of_10_000_and_search(bencher: Bencher<'_, '_>) {
    let memories = memories(10_000);
    let bytes = segment(&memories);
    let queries = queries();
    bencher.bench_local(|| {
        let base = Segment::open(bytes.clone()).ok()?;
        let added = memories.iter().take(10).map(|memory| Document {
            body: &memory.body,
            payload: memory.name.as_bytes(),
            ..Document::default()
        });
        let removed: Vec<usize> = (0..10).collect();
        let searcher = Searcher::with_changes(base, &removed, added).ok()?;
        Some(searcher.search(&query(&queries[3]), &mut Scratch::default()))
    });
}

#[divan::bench(sample_count = 5, sample_size = 1, args = [2_000, 10_000])]
fn build(bencher: Bencher<'_, '_>, count: usize) {
    let memories = memories(count);
    bencher.bench_local(|| segment(black_box(&memories)));
}
