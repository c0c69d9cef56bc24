//! Sets for a memory that tells the truth, run through the code that a session runs.
//!
//! All parts of each set are counted by language. Misses of the parts to tune on are printed, of
//! the unseen one nothing but totals; `cargo test -p dormouse-keeper truth -- --nocapture` shows
//! them. The bounds are the figures that were reached: a change may not fall below them.

mod pairs;
mod questions;
mod sentences;

use std::collections::BTreeMap;
use std::fmt;

/// Part of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Half {
    Tuning,
    /// Cases of a second author, to tune on as well.
    Second,
    Unseen,
    /// Cases of a third author, counted once after the tuning had ended.
    Third,
    /// Cases of a fourth author, counted once when the fit had seen sixteen stores of others.
    Fourth,
}

/// Lines of a set without comments, cut into fields.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| !is_skipped(line));
    lines.map(|line| line.split(" | ").map(str::trim).collect())
}

fn is_skipped(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// Counts under a label, such as a language.
#[derive(Debug, Default)]
struct Table(BTreeMap<String, (usize, usize)>);

impl Table {
    fn add(&mut self, label: impl Into<String>, holds: bool) {
        let entry = self.0.entry(label.into()).or_default();
        entry.0 += usize::from(holds);
        entry.1 += 1;
    }

    /// Cases that hold, and all, under a label.
    fn of(&self, label: &str) -> (usize, usize) {
        self.0.get(label).copied().unwrap_or_default()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (label, (hold, all)) in &self.0 {
            write!(f, "  {label} {hold}/{all}")?;
        }
        Ok(())
    }
}

/// Prints a miss, if the half may be looked at.
fn show(half: Half, miss: impl FnOnce() -> String) {
    if !matches!(half, Half::Unseen | Half::Third | Half::Fourth) {
        println!("{}", miss());
    }
}
