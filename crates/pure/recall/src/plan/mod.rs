//! Plan of recall: memories to show, candidates for a model, and reasons for the others.
//!
//! # Model
//! Three moments, one budget. With a prompt: [`plan`]. When the small model has answered:
//! [`plan_selected`]. When the work has moved on to other files or commands: [`plan_work`]. Rules
//! that the work triggers come before memories that merely resemble the prompt. A hit below the bar
//! is never shown by itself: nothing is better than noise.
//!
//! # Not here
//! Checking claims (`verify`), the shown text (`render`), finding hits (`rank`).

mod decide;
mod documentation;
mod history;
mod ignore;
#[cfg(test)]
mod tests;

pub use decide::{plan, plan_selected, plan_work};
pub use history::history;
use history::overrules;

use crate::triggers::Match;
use crate::work::Work;
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_memory::trust::Trust;
use jiff::civil::Date;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Memory that the ranker found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// File, relative to its memory directory.
    pub path: SafePath,
    /// Worth of the hit, comparable within one search.
    pub score: f32,
    /// Probability, from 0 to 1, that it helps; comparable between searches.
    pub confidence: f32,
}

/// Memory that the conversation has already. A compaction empties it, because shown memories are
/// gone with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Memories that were shown.
    pub surfaced: BTreeSet<SafePath>,
    /// Bytes of their content that were shown, towards `recall.session_bytes`.
    pub bytes: u64,
    /// Memory files that the agent read itself.
    pub read: BTreeSet<SafePath>,
}

/// Memories that the ranker hands to the small model: their names and descriptions are a page or two,
/// and a memory that ranks lower is hardly ever the one that is meant.
pub const CANDIDATES: usize = 50;

/// Limits of showing, from the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budgets {
    /// Most memories at once (`recall.files`).
    pub files: usize,
    /// Most memories that the small model chooses from (`recall.candidates`).
    pub candidates: usize,
    /// Most lines of one memory (`recall.file_lines`).
    pub file_lines: usize,
    /// Most bytes of one memory (`recall.file_bytes`).
    pub file_bytes: usize,
    /// Most bytes of all memories of a session (`recall.session_bytes`).
    pub session_bytes: u64,
    /// Least confidence for a memory to be shown by itself, from 0 to 1.
    pub confidence: f32,
}

/// Inputs of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Last message of the user.
    pub prompt: &'a str,
    /// Hits of the ranker, best first.
    pub hits: &'a [Hit],
    /// Facts of the memories: those of the hits, and those with triggers.
    pub cards: &'a [Card],
    /// Tools, files and commands that the agent uses.
    pub work: &'a Work,
    /// Memory that the conversation has already.
    pub seen: &'a Seen,
    /// Limits, from the settings.
    pub budgets: Budgets,
    /// Day in the user's time zone: memories may have a last day.
    pub today: Date,
}

/// Reason why nothing at all is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skip {
    /// Prompt of one word or less.
    TooShort,
    /// No bytes left of `recall.session_bytes`.
    BudgetSpent,
    /// User says not to use memory.
    ToldToIgnore,
}

/// Reason why a memory is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Triggered by the work at hand.
    Triggered(Match),
    /// Confidence of the ranker above the bar.
    Ranked {
        /// Confidence, from 0 to 1.
        confidence: f32,
    },
    /// Chosen by the small model.
    Selected,
}

/// Memory to be shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pick {
    /// File, relative to its memory directory.
    pub path: SafePath,
    /// Reason for showing it.
    pub why: Why,
    /// Most bytes that it takes of the budget.
    pub bytes: u64,
}

/// Reason why a memory is not shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Shown in this conversation already.
    Surfaced,
    /// Read by the agent itself.
    ReadByAgent,
    /// Trust too low, and not approved by the user.
    Untrusted(Trust),
    /// Overtaken by another memory or by the calendar.
    Over,
    /// Called wrong by the user, and not of use since.
    Wrong,
    /// Contradicted by a memory that is said later, or believed more.
    Contradicted {
        /// File of the memory that holds.
        by: SafePath,
    },
    /// Manual of a tool that is in use anyway.
    Documentation {
        /// Name of the tool.
        tool: String,
    },
    /// Confidence too low, and no place left among the small model's candidates.
    Unsure {
        /// Confidence, from 0 to 1.
        confidence: f32,
    },
    /// Limit on memories at once reached.
    TooMany,
    /// More bytes than the session has left.
    NoRoom,
    /// No card for the file: removed since it was indexed.
    Unknown,
}

/// Memory that is not shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// File, relative to its memory directory.
    pub path: SafePath,
    /// Reason for leaving it out.
    pub reason: Reason,
}

/// Plan with its reasons.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Surfacing {
    /// Reason why nothing is done, if so.
    pub skipped: Option<Skip>,
    /// Memories to show now, in this order.
    pub now: Vec<Pick>,
    /// Candidates for the small model, best first.
    pub candidates: Vec<SafePath>,
    /// Every other memory that was looked at.
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
            Self::Wrong => f.write_str("called wrong by the user"),
            Self::Contradicted { by } => write!(f, "contradicted by {by}, which holds"),
            Self::Documentation { tool } => write!(f, "explains `{tool}`, which is in use"),
            Self::Unsure { confidence } => write!(f, "not sure to help ({confidence:.2})"),
            Self::TooMany => f.write_str("enough memories go in already"),
            Self::NoRoom => f.write_str("larger than what the session has left"),
            Self::Unknown => f.write_str("no such memory"),
        }
    }
}
