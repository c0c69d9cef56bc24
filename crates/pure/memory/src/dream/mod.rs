//! Dreaming: consolidating the memory directory between sessions.
//!
//! # Model
//! A dream is a function from a snapshot to another one, and a proof. Whether it is time for one is
//! decided by [`Gates`]; what it does is done by a model in a staged copy ([`directive()`]) or without
//! one ([`offline()`]). Code writes down what a model is not asked about ([`stamped`]). Whether the
//! result may be swapped in is decided by [`check()`], which knows nothing of who dreamt. What others
//! wrote in the meantime wins ([`rebase()`]).
//!
//! # Responsibilities
//! - Say what changed and why ([`Stated`]), so that it can be shown before and undone after.
//! - Refuse a result whole, with every objection there is, rather than mend it.
//! - Follow a running dream for whoever watches it ([`Task`]).
//!
//! # Not here
//! The lock, the staged copy and the swap (`dormouse-memdir`); calling a model (`dormouse-keeper`).

mod carry;
mod check;
mod dating;
mod directive;
mod distil;
mod gates;
#[cfg(test)]
mod laws;
mod lineage;
mod merge;
mod objection;
mod offline;
mod rebase;
mod report;
mod sentence;
mod support;
mod task;
#[cfg(test)]
mod testing;
mod tidy;

pub use check::{CheckLimits, check};
pub use dating::{FileTimes, Writing};
pub use directive::{Brief, directive};
pub use gates::{
    CLOCK_SLACK, Effect, Event, GateDecision, GateFacts, GateLimits, Gates, LastDream, Reason,
    gates,
};
pub use lineage::stamped;
pub use objection::Objection;
pub use offline::{OfflineFacts, offline};
pub use rebase::{Dropped, rebase};
pub use report::{REPORT, Report};
pub use task::{Ending, Phase, Task, TaskEvent, Turn};

use crate::snapshot::Snapshot;
use crate::trust::{Origin, Trust};
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// What a dream did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Other files were merged into it.
    Merged,
    /// It was taken away.
    Removed,
    /// Relative dates got the day they mean.
    Dated,
    /// Links follow a file that was merged.
    Linked,
    /// It says something else about the same than another file.
    Contradicts,
    /// A daily log was read, or made into a memory.
    Distilled,
    /// The index was mended.
    Indexed,
    /// Something else that whoever dreamt gave a reason for.
    Changed,
}

/// A change and why it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    /// The file.
    pub path: SafePath,
    /// What was done to it.
    pub what: What,
    /// Why, for people.
    pub reason: String,
    /// The files that what it holds now stems from.
    pub sources: Vec<SafePath>,
}

/// The result of a dream, before it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The directory afterwards. Files keep the time of their last change.
    pub after: Snapshot,
    /// What was done, in the order it was done.
    pub changes: Vec<Stated>,
}

impl Draft {
    /// What the check must know of it.
    pub fn declared(&self, source: Origin) -> Declared {
        let mut declared = Declared::from(source);
        for change in &self.changes {
            match change.what {
                What::Removed => declared.losses.push(Loss {
                    path: change.path.clone(),
                    reason: change.reason.clone(),
                }),
                What::Merged | What::Distilled if !change.sources.is_empty() => {
                    declared.merges.push(Merge {
                        into: change.path.clone(),
                        sources: change.sources.clone(),
                    });
                }
                _ => {}
            }
        }
        declared
    }
}

/// A memory that is gone, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The file.
    pub path: SafePath,
    /// Why; a blank reason is none.
    pub reason: String,
}

/// A file that was made of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The file.
    pub into: SafePath,
    /// What it was made of.
    pub sources: Vec<SafePath>,
}

/// A piece of a transcript that was gathered for a dream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// What was said.
    pub text: String,
    /// How far it is believed: that of who said it.
    pub trust: Trust,
    /// When it was said.
    pub day: Option<Date>,
}

/// What a dream says of itself, and what it could draw on beside the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Memories that are gone.
    pub losses: Vec<Loss>,
    /// Files that were made of others.
    pub merges: Vec<Merge>,
    /// What was read of transcripts.
    pub excerpts: Vec<Excerpt>,
    /// The dream itself, as the source of the change.
    pub source: Origin,
}

impl From<Origin> for Declared {
    /// Nothing is declared yet.
    fn from(source: Origin) -> Self {
        Self {
            losses: Vec::new(),
            merges: Vec::new(),
            excerpts: Vec::new(),
            source,
        }
    }
}
