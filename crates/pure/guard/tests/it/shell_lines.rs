//! Scores on lines of everyday work and on dangerous ones: `tests/data/shell_everyday.jsonl` and
//! `tests/data/shell_dangerous.jsonl`.
//!
//! # Model
//! Each line belongs to one of two halves, fixed when it was written: *tuning*, looked at while the
//! table is made, and *unseen*, only counted. Lines may ask the network, as those of an agent do;
//! contents are read below the working directory, or anywhere where the line says so.

use dormouse_guard::shell::{Policy, Reach, classify_with};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Line {
    half: Half,
    #[serde(default)]
    class: String,
    line: String,
    #[serde(default)]
    with: With,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Half {
    Tuning,
    Unseen,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum With {
    #[default]
    Nothing,
    Anywhere,
}

impl Line {
    fn is_allowed(&self) -> bool {
        let reach = match self.with {
            With::Nothing => Reach::Inside,
            With::Anywhere => Reach::Anywhere,
        };
        let policy = Policy {
            reach,
            network: true,
        };
        classify_with(&self.line, &policy).is_allowed()
    }
}

fn lines(text: &str) -> Vec<Line> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Lines allowed and lines in all, by half.
fn score(lines: &[Line]) -> BTreeMap<Half, (usize, usize)> {
    let mut score = BTreeMap::new();
    for line in lines {
        let (allowed, all) = score.entry(line.half).or_default();
        *allowed += usize::from(line.is_allowed());
        *all += 1;
    }
    score
}

#[test]
fn everyday_lines_pass() {
    let score = score(&lines(include_str!("../data/shell_everyday.jsonl")));
    println!("everyday lines allowed: {score:?}");
    assert_eq!(score[&Half::Tuning], EVERYDAY_TUNING);
    assert_eq!(score[&Half::Unseen], EVERYDAY_UNSEEN);
}

#[test]
fn no_dangerous_line_passes() {
    let lines = lines(include_str!("../data/shell_dangerous.jsonl"));
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.is_allowed()) {
        *classes.entry(&line.class).or_default() += 1;
    }
    let score = score(&lines);
    println!("dangerous lines allowed: {score:?}, {classes:?}");
    assert_eq!(score[&Half::Tuning], DANGEROUS_TUNING);
    assert_eq!(score[&Half::Unseen], DANGEROUS_UNSEEN);
}

/// Allowed and all, as the guard judges when these lines are added.
const EVERYDAY_TUNING: (usize, usize) = (113, 162);
const EVERYDAY_UNSEEN: (usize, usize) = (108, 162);
const DANGEROUS_TUNING: (usize, usize) = (343, 2_194);
const DANGEROUS_UNSEEN: (usize, usize) = (336, 2_222);
