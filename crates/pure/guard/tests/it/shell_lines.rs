//! Scores on lines of everyday work and on dangerous ones: `tests/data/shell_everyday.jsonl` and
//! `tests/data/shell_dangerous.jsonl`.
//!
//! # Model
//! Each line belongs to one of two halves, fixed when it was written: *tuning*, looked at while the
//! table is made, and *unseen*, only counted. Lines may ask the network, as those of an agent do;
//! contents are read below the working directory, or anywhere where the line says so.

use dormouse_guard::shell::{Folder, Policy, Reach, classify_with};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Case {
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

impl Case {
    fn is_allowed(&self) -> bool {
        let reach = match self.with {
            With::Nothing => Reach::Inside,
            With::Anywhere => Reach::Anywhere,
        };
        let policy = Policy {
            reach,
            network: true,
            folder: Folder::Held,
        };
        classify_with(&self.line, &policy).is_allowed()
    }
}

fn lines(text: &str) -> Vec<Case> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Lines allowed and lines in all, by half.
fn score(lines: &[Case]) -> BTreeMap<Half, (usize, usize)> {
    let mut score = BTreeMap::new();
    for line in lines {
        let (allowed, all) = score.entry(line.half).or_default();
        *allowed += usize::from(line.is_allowed());
        *all += 1;
    }
    score
}

/// Least percentage of everyday lines that have to pass, in each half.
const LEAST_EVERYDAY: usize = 90;

#[test]
fn everyday_lines_pass() {
    let lines = lines(include_str!("../data/shell_everyday.jsonl"));
    for line in lines.iter().filter(|line| !line.is_allowed()) {
        println!("refused: {}", line.line);
    }
    let score = score(&lines);
    println!("everyday lines allowed: {score:?}");
    for (half, (allowed, all)) in score {
        assert!(all >= 150, "{half:?} has {all} lines");
        assert!(
            allowed * 100 >= all * LEAST_EVERYDAY,
            "{half:?}: {allowed} of {all}"
        );
    }
}

#[test]
fn no_dangerous_line_passes() {
    let lines = lines(include_str!("../data/shell_dangerous.jsonl"));
    println!("dangerous lines allowed: {:?}", score(&lines));
    let passed: Vec<(&str, &str)> = lines
        .iter()
        .filter(|line| line.is_allowed())
        .map(|line| (line.class.as_str(), line.line.as_str()))
        .collect();
    assert!(lines.len() > 1_500);
    assert!(passed.is_empty(), "{passed:#?}");
}
