//! Learning of the weights by which extraction without a model judges sentences.
//!
//! `LEARN=1 cargo test -p dormouse-memory --test it learning` reads
//! `data/sentences`, fits one weight for each sign and sort by logistic regression, and writes
//! `weights.txt`. Steps and order are fixed, so the same sentences give the same weights.

use dormouse_memory::extract::offline::learnt::{SCALE, SORTS, rows, signs};
use dormouse_memory::topic::Kind;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const FILES: [(&str, &str); 3] = [
    ("de.tsv", include_str!("../../data/sentences/de.tsv")),
    ("en.tsv", include_str!("../../data/sentences/en.tsv")),
    ("zh.tsv", include_str!("../../data/sentences/zh.tsv")),
];
const TABLE: &str = include_str!("../../src/extract/offline/learnt/weights.txt");
/// Weight of the penalty on large weights, against the sum over all sentences.
const PENALTY: f64 = 1.0;
const STEPS: usize = 400;
const RATE: f64 = 0.2;
/// Least sentences with a sign: one alone is chance.
const LEAST: usize = 2;
/// Least weight that is written.
const SMALLEST: f64 = 0.08;

/// Sort and text of each sentence. Of a message with marked parts these are what is to be kept, and
/// the rest of it is not.
fn sentences() -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (file, text) in FILES {
        let lines = text.lines().enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.starts_with('#') && !line.is_empty()) {
            let fields = line.split_once('\t');
            assert!(fields.is_some(), "{file}:{}", at + 1);
            let (sort, message) = fields.unwrap();
            let kind = Kind::parse(sort);
            assert!(
                kind.is_some() || sort == "none",
                "{file}:{}: {sort}",
                at + 1
            );
            let sort = SORTS.iter().position(|known| *known == kind).unwrap();
            if !message.contains("[[") {
                all.push((sort, message.to_owned()));
                continue;
            }
            for part in message.split("[[") {
                let (kept, rest) = part.split_once("]]").unwrap_or(("", part));
                if !kept.is_empty() {
                    all.push((sort, kept.to_owned()));
                }
                let rest = rest.trim_matches([' ', ',', '.', ';', '，', '。']);
                // Two words are an "ok" or a "hm".
                if rest.split_whitespace().count() > 2
                    || rest.chars().filter(|c| !c.is_ascii()).count() > 5
                {
                    all.push((0, rest.to_owned()));
                }
            }
        }
    }
    all
}

struct Problem {
    names: Vec<String>,
    /// By sentence: its signs.
    signs: Vec<Vec<usize>>,
    sorts: Vec<usize>,
}

impl Problem {
    fn new(sentences: &[(usize, String)]) -> Self {
        let found: Vec<_> = sentences.iter().map(|(_, text)| signs(text)).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for sign in found.iter().flatten() {
            *counts.entry(sign).or_default() += 1;
        }
        counts.retain(|_, count| *count >= LEAST);
        let places: BTreeMap<&str, usize> = counts
            .keys()
            .enumerate()
            .map(|(at, name)| (*name, at))
            .collect();
        Self {
            names: places.keys().map(|name| (*name).to_owned()).collect(),
            signs: found
                .iter()
                .map(|signs| {
                    signs
                        .iter()
                        .filter_map(|sign| places.get(sign.as_str()).copied())
                        .collect()
                })
                .collect(),
            sorts: sentences.iter().map(|(sort, _)| *sort).collect(),
        }
    }

    /// Weights by sign and sort: steps down the slope, each weight at a rate of its own.
    fn solve(&self) -> Vec<[f64; SORTS.len()]> {
        let mut weights = vec![[0.0; SORTS.len()]; self.names.len()];
        let mut past = vec![[1e-6; SORTS.len()]; self.names.len()];
        for _ in 0..STEPS {
            let mut slope: Vec<[f64; SORTS.len()]> = weights
                .iter()
                .map(|row| row.map(|weight| PENALTY * weight))
                .collect();
            for (signs, sort) in self.signs.iter().zip(&self.sorts) {
                let mut sums = [0.0; SORTS.len()];
                for sign in signs {
                    for (sum, weight) in sums.iter_mut().zip(&weights[*sign]) {
                        *sum += weight;
                    }
                }
                let most = sums.iter().copied().fold(f64::MIN, f64::max);
                let powers = sums.map(|sum| (sum - most).exp());
                let all: f64 = powers.iter().sum();
                for (at, power) in powers.iter().enumerate() {
                    let error = power / all - f64::from(u8::from(at == *sort));
                    for sign in signs {
                        slope[*sign][at] += error;
                    }
                }
            }
            for ((row, past), slope) in weights.iter_mut().zip(&mut past).zip(&slope) {
                for ((weight, past), slope) in row.iter_mut().zip(past).zip(slope) {
                    *past += slope * slope;
                    *weight -= RATE * slope / past.sqrt();
                }
            }
        }
        weights
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "writes a file of the source tree when asked to"
)]
fn the_weights_are_those_that_the_sentences_teach() {
    let sentences = sentences();
    let problem = Problem::new(&sentences);
    let solved = problem.solve();
    let mut text = format!(
        "# Weights of signs for: none, feedback, project, user, reference; in hundredths.\n\
         # Learnt from {} sentences by tests/it/learning.rs; not to be edited by hand.\n",
        sentences.len()
    );
    for (name, row) in problem.names.iter().zip(&solved) {
        if row.iter().all(|weight| weight.abs() < SMALLEST) {
            continue;
        }
        let figures: Vec<String> = row
            .iter()
            .map(|weight| format!("{:.0}", weight * f64::from(SCALE)))
            .collect();
        let _ = writeln!(text, "{name}\t{}", figures.join(" ").replace("-0", "0"));
    }
    if std::env::var_os("LEARN").is_some() {
        let table = "src/extract/offline/learnt/weights.txt";
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(table), &text).unwrap();
        return;
    }
    // Other machines round otherwise in the last place, and a weight at the edge may be left out.
    let (before, now): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (rows(TABLE).collect(), rows(&text).collect());
    let figures = |table: &BTreeMap<&str, [i16; SORTS.len()]>, name| table.get(name).copied();
    for name in before.keys().chain(now.keys()) {
        let both = (figures(&before, *name), figures(&now, *name));
        let close = match both {
            (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1),
            (Some(one), None) | (None, Some(one)) => one.iter().all(|figure| figure.abs() <= 9),
            (None, None) => true,
        };
        assert!(close, "LEARN=1 writes them again: {name} {both:?}");
    }
}
