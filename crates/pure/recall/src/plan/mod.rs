//! Which memories go in, which a model may choose from, and why the others do not.
//!
//! # Model
//! Three moments, one budget. With a prompt: [`plan`]. When the small model has answered:
//! [`plan_selected`]. When the work has moved on to other files or commands: [`plan_work`]. Rules
//! that the work triggers come before memories that merely resemble the prompt. What the ranker is
//! not sure of never goes in by itself: nothing is better than noise.
//!
//! # Not here
//! Whether a memory still holds (`verify`) and how it is shown (`render`).

mod decide;
mod documentation;
mod ignore;
#[cfg(test)]
mod tests;

pub use decide::{plan, plan_selected, plan_work};

use crate::triggers::Match;
use crate::work::Work;
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_memory::trust::Trust;
use jiff::civil::Date;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// A memory that the ranker found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The file.
    pub path: SafePath,
    /// What it is worth, comparable within one search.
    pub score: f32,
    /// How sure the ranker is that it helps, from 0 to 1.
    pub confidence: f32,
}

/// What the conversation has of memory already. A compaction makes it empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Memories that were brought in.
    pub surfaced: BTreeSet<SafePath>,
    /// Bytes of their content that were shown.
    pub bytes: u64,
    /// Memory files that the agent read itself.
    pub read: BTreeSet<SafePath>,
}

/// Memories that the ranker hands to the small model: their names and descriptions are a page or two,
/// and a memory that ranks lower is hardly ever the one that is meant.
pub const CANDIDATES: usize = 50;

/// The limits, from the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budgets {
    /// Memories at once.
    pub files: usize,
    /// Memories that the small model chooses from.
    pub candidates: usize,
    /// Lines of one memory.
    pub file_lines: usize,
    /// Bytes of one memory.
    pub file_bytes: usize,
    /// Bytes of all memories of a session.
    pub session_bytes: u64,
    /// What the ranker must be sure of for a memory to go in by itself, from 0 to 1.
    pub confidence: f32,
}

/// All that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What the user wrote last.
    pub prompt: &'a str,
    /// What the ranker found, best first.
    pub hits: &'a [Hit],
    /// Facts of the memories: those of the hits, and those with triggers.
    pub cards: &'a [Card],
    /// What the agent works on.
    pub work: &'a Work,
    /// What the conversation has already.
    pub seen: &'a Seen,
    /// The limits.
    pub budgets: Budgets,
    /// The day in the user's time zone: memories may have a last day.
    pub today: Date,
}

/// Why nothing at all is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skip {
    /// The prompt has one word or less.
    TooShort,
    /// The session has had as much memory as it may have.
    BudgetSpent,
    /// The user says not to use memory.
    ToldToIgnore,
}

/// Why a memory goes in.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The work at hand triggers it.
    Triggered(Match),
    /// The ranker is sure of it.
    Ranked {
        /// How sure, from 0 to 1.
        confidence: f32,
    },
    /// The small model chose it.
    Selected,
}

/// A memory that goes in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pick {
    /// The file.
    pub path: SafePath,
    /// Why.
    pub why: Why,
    /// Bytes that it takes of the budget at most.
    pub bytes: u64,
}

/// Why a memory does not go in.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It is in the conversation already.
    Surfaced,
    /// The agent read the file itself.
    ReadByAgent,
    /// It is not believed, and nobody approved it.
    Untrusted(Trust),
    /// It was overtaken, or its time is over.
    Over,
    /// It explains a tool that is in use anyway.
    Documentation {
        /// The tool.
        tool: String,
    },
    /// The ranker is not sure of it, and the small model may not choose it any more.
    Unsure {
        /// How sure, from 0 to 1.
        confidence: f32,
    },
    /// As many memories as may go in at once do so already.
    TooMany,
    /// It would take more bytes than the session has left.
    NoRoom,
    /// Nothing is known of the file.
    Unknown,
}

/// A memory that does not go in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The file.
    pub path: SafePath,
    /// Why.
    pub reason: Reason,
}

/// The plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Surfacing {
    /// Why nothing is done, if so.
    pub skipped: Option<Skip>,
    /// What goes in now, in this order.
    pub now: Vec<Pick>,
    /// What the small model may choose from, best first.
    pub candidates: Vec<SafePath>,
    /// Everything else that was looked at.
    pub left_out: Vec<LeftOut>,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooShort => "the prompt has one word or less",
            Self::BudgetSpent => "this session has had as much memory as it may have",
            Self::ToldToIgnore => "the user says not to use memory",
        })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Triggered(found) => found.fmt(f),
            Self::Ranked { confidence } => write!(f, "fits the prompt ({confidence:.2})"),
            Self::Selected => f.write_str("chosen by the small model"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Surfaced => f.write_str("in the conversation already"),
            Self::ReadByAgent => f.write_str("read by the agent itself"),
            Self::Untrusted(trust) => write!(f, "not approved (trust: {trust})"),
            Self::Over => f.write_str("overtaken or over"),
            Self::Documentation { tool } => write!(f, "explains `{tool}`, which is in use"),
            Self::Unsure { confidence } => write!(f, "not sure to help ({confidence:.2})"),
            Self::TooMany => f.write_str("enough memories go in already"),
            Self::NoRoom => f.write_str("larger than what the session has left"),
            Self::Unknown => f.write_str("no such memory"),
        }
    }
}
