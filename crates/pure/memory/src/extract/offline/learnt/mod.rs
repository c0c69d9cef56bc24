//! Judgement by weights: is a sentence worth keeping, and as what.
//!
//! # Model
//! People say most rules and facts without any word that marks them as such, and say the words that
//! mark rules in most sentences that are none. So the signs of a sentence ([`signs`]) are weighed
//! instead: `weights.txt` has, for each sign, how much it speaks for each sort. The weights are
//! learnt from the sentences in `data/sentences`, which were written for it, by
//! `tests/it/learning.rs`; a test there compares the two. No model is asked, and the same sentence
//! is judged the same everywhere.
//!
//! # Not here
//! Sentences that are quoted, asked or supposed (`sentence.rs`) and sorts that are never
//! saved ([`super::super::never`]): both are told by rules, whatever the weights say.

mod signs;

pub use signs::signs;

use crate::topic::Kind;
use std::collections::HashMap;
use std::sync::OnceLock;

const WEIGHTS: &str = include_str!("weights.txt");
/// Parts of one in the table's figures.
pub const SCALE: f32 = 100.0;
/// Sorts in the order of the table's columns; the first is for what is better left.
pub const SORTS: [Option<Kind>; 5] = [
    None,
    Some(Kind::Feedback),
    Some(Kind::Project),
    Some(Kind::User),
    Some(Kind::Reference),
];

/// Verdict of the weights on a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Probability, from 0 to 1, that it is worth keeping.
    pub worth: f32,
    /// Type that it would be kept as.
    pub kind: Kind,
}

/// Weighs a sentence by the signs in it: is it worth keeping, and as which type?
pub fn judge(text: &str) -> Judgement {
    let mut sums = [0.0_f32; SORTS.len()];
    let table = table();
    for sign in signs(text) {
        if let Some(weights) = table.get(sign.as_str()) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += f32::from(*weight) / SCALE;
            }
        }
    }
    // Against the greatest, so that no power overflows.
    let most = sums.iter().copied().fold(f32::MIN, f32::max);
    let powers = sums.map(|sum| (sum - most).exp());
    let all: f32 = powers.iter().sum();
    let mut kept = SORTS.iter().zip(powers).skip(1);
    let mut best = (Kind::Feedback, 0.0);
    for (kind, power) in kept.by_ref() {
        if let Some(kind) = kind
            && power > best.1
        {
            best = (*kind, power);
        }
    }
    Judgement {
        worth: 1.0 - powers[0] / all,
        kind: best.0,
    }
}

fn table() -> &'static HashMap<&'static str, [i16; SORTS.len()]> {
    static TABLE: OnceLock<HashMap<&'static str, [i16; SORTS.len()]>> = OnceLock::new();
    TABLE.get_or_init(|| rows(WEIGHTS).collect())
}

/// Rows of a table of weights: a sign, a tab, and its figures.
pub fn rows(text: &str) -> impl Iterator<Item = (&str, [i16; SORTS.len()])> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (sign, figures) = line.split_once('\t')?;
        let mut row = [0; SORTS.len()];
        let mut figures = figures.split(' ');
        for figure in &mut row {
            *figure = figures.next()?.parse().ok()?;
        }
        Some((sign, row))
    })
}
