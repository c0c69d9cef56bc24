//! Usefulness of memories that were shown.
//!
//! # Model
//! A memory is surfaced; then it is cited (named in the answer or in a call) or used (words of its
//! own turn up that the prompt did not have), or nothing comes of it. The [`Book`] counts that for
//! every memory. It is kept as lines of JSON that are appended one event at a time, and rewritten,
//! one line a memory, when it has grown. The counts are a weak hint for the ranker
//! ([`Counts::prior`]) and for dreams ([`Book::forgettable`]).
//!
//! # Not here
//! The file with the lines (`dormouse-memdir`).

mod detect;

pub use detect::{Aftermath, detect};

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most memories of a book; those not surfaced for longest are dropped. A line has about a hundred
/// bytes, so the book stays near two megabytes.
pub const MOST_MEMORIES: usize = 20_000;
/// Most bytes of a line; a longer one was not written by us.
const LONGEST_LINE: usize = 4_096;
/// Showings without any use that make a memory a candidate for forgetting. Fewer may be bad luck.
const OFTEN: u32 = 5;
/// Weight of the neutral expectation, in showings: the counts begin to outweigh it at the fifth.
const INERTIA: f64 = 4.0;

/// Event in the life of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// Shown in a conversation.
    Surfaced,
    /// Words of its own turned up in the answer or in calls.
    Used,
    /// Named in the answer or in calls.
    Cited,
}

/// Counts of a memory's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Times it was shown.
    #[serde(default)]
    pub surfaced: u32,
    /// Times its words turned up.
    #[serde(default)]
    pub used: u32,
    /// Times it was named.
    #[serde(default)]
    pub cited: u32,
    /// Time of the latest event.
    #[serde(default)]
    pub last: Millis,
}

impl Counts {
    /// Favour that a memory has earned, from 0 to 1; a half without any events.
    pub fn prior(&self) -> f64 {
        // Capped, since one showing may be followed by several uses.
        let helped = f64::from(self.used.saturating_add(self.cited).min(self.surfaced));
        (helped + INERTIA / 2.0) / (f64::from(self.surfaced) + INERTIA)
    }

    fn add(&mut self, event: Event, at: Millis) {
        let count = match event {
            Event::Surfaced => &mut self.surfaced,
            Event::Used => &mut self.used,
            Event::Cited => &mut self.cited,
        };
        *count = count.saturating_add(1);
        // The maximum, because lines of two processes may come in any order.
        self.last = self.last.max(at);
    }
}

/// Line of the book: one event, or the counts so far.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    path: SafePath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<Event>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
}

/// Counts of all memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    counts: BTreeMap<SafePath, Counts>,
}

/// Event as a line to be appended, with its newline.
pub fn encode_event(path: &SafePath, event: Event, at: Millis) -> String {
    encode(&Line {
        path: path.clone(),
        event: Some(event),
        at: Some(at),
        counts: None,
    })
}

fn encode(line: &Line) -> String {
    // Strings and numbers always serialise.
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

impl Book {
    /// Empty book, before any line is read.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads lines. Broken ones and those of a later form are passed over.
    pub fn decode(text: &str) -> Self {
        let mut book = Self::new();
        let lines = text.lines().filter(|line| line.len() <= LONGEST_LINE);
        for line in lines.filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            if let Some(counts) = line.counts {
                // Replaces the events before it: a rewritten book begins with the sums.
                book.counts.insert(line.path, counts);
            } else if let Some(event) = line.event {
                book.note(&line.path, event, line.at.unwrap_or_default());
            }
        }
        book
    }

    /// One line a memory, of the memories that still exist, at most [`MOST_MEMORIES`].
    pub fn encode(&self, exists: impl Fn(&SafePath) -> bool) -> String {
        let mut kept: Vec<(&SafePath, &Counts)> = self
            .counts
            .iter()
            .filter(|(path, _)| exists(path))
            .collect();
        if kept.len() > MOST_MEMORIES {
            kept.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.last));
            kept.truncate(MOST_MEMORIES);
            // By path again, so that two rewrites of the same counts are equal.
            kept.sort_by_key(|(path, _)| *path);
        }
        kept.into_iter()
            .map(|(path, counts)| {
                encode(&Line {
                    path: path.clone(),
                    event: None,
                    at: None,
                    counts: Some(*counts),
                })
            })
            .collect()
    }

    /// Counts an event of a memory, known or new.
    pub fn note(&mut self, path: &SafePath, event: Event, at: Millis) {
        self.counts.entry(path.clone()).or_default().add(event, at);
    }

    /// Counts of a memory; zeros if nothing was recorded.
    pub fn counts(&self, path: &SafePath) -> Counts {
        self.counts.get(path).copied().unwrap_or_default()
    }

    /// All memories with events, ordered by path.
    pub fn iter(&self) -> impl Iterator<Item = (&SafePath, &Counts)> {
        self.counts.iter()
    }

    /// Memories that were shown again and again and never were of use, the worst first. Those that
    /// `keep` names (rules, pinned ones) are not among them.
    pub fn forgettable(&self, keep: impl Fn(&SafePath) -> bool) -> Vec<SafePath> {
        let mut found: Vec<(&SafePath, &Counts)> = self
            .counts
            .iter()
            .filter(|(path, counts)| {
                counts.surfaced >= OFTEN && counts.used == 0 && counts.cited == 0 && !keep(path)
            })
            .collect();
        found.sort_by_key(|(path, counts)| (std::cmp::Reverse(counts.surfaced), *path));
        found.into_iter().map(|(path, _)| path.clone()).collect()
    }
}

#[cfg(test)]
#[path = "usage/tests.rs"]
mod tests;
