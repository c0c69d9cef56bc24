//! Dreaming: consolidating the memory directory between sessions.
//!
//! # Model
//! A dream is a function from a snapshot to another one, and a proof. [`Gates`] decide on its time;
//! the work is done by a model in a staged copy ([`directive()`]) or without one ([`offline()`]).
//! Code writes down facts that a model is not asked about ([`stamped`]). [`check()`] decides if the
//! result may be swapped in, and treats both kinds of dream alike. Changes made by others in the
//! meantime win ([`rebase()`]).
//!
//! # Responsibilities
//! - State every change with its reason ([`Stated`]), so that it can be shown before and undone
//!   after.
//! - Refuse a result whole, with every objection there is, rather than mend it.
//! - Follow a running dream for a screen that shows it ([`Task`]).
//!
//! # Not here
//! The lock, the staged copy and the swap (`dormouse-memdir`); calling a model (`dormouse-keeper`).

mod carry;
mod check;
mod dating;
mod desk;
mod directive;
mod distil;
mod gates;
#[cfg(test)]
mod laws;
mod lineage;
mod lines;
mod merge;
mod objection;
mod offline;
mod rebase;
mod replace;
mod report;
#[cfg(test)]
mod scale_tests;
mod sentence;
mod support;
mod tally;
mod task;
#[cfg(test)]
mod testing;

pub use check::{CheckLimits, check};
pub use dating::{FileTimes, Writing};
pub use directive::{Brief, directive};
pub use gates::{
    Effect, Event, GateDecision, GateFacts, GateLimits, Gates, LastDream, Reason, gates,
};
pub use lineage::stamped;
pub use objection::Objection;
pub use offline::{OfflineFacts, offline};
pub use rebase::{Dropped, rebase};
pub(crate) use report::REPORT;
pub use report::Report;
pub use task::{Ending, Phase, Task, TaskEvent, Turn};

use crate::snapshot::Snapshot;
use crate::trust::{Origin, Trust};
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Kind of change that a dream made to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Other files were merged into it.
    Merged,
    /// Removed from the directory.
    Removed,
    /// Relative dates got the day they mean.
    Dated,
    /// Links follow a file that was merged.
    Linked,
    /// Contradicts another file: a number or a negation differs.
    Contradicts,
    /// Daily log that was read, or memory made from one.
    Distilled,
    /// Index with its lines mended.
    Indexed,
    /// Other change that the model gave a reason for.
    Changed,
}

/// Change with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    /// File, relative to the memory directory.
    pub path: SafePath,
    /// Kind of the change.
    pub what: What,
    /// Reason for people, one line.
    pub reason: String,
    /// Files that its present content stems from.
    pub sources: Vec<SafePath>,
}

/// Result of a dream, before it was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Directory afterwards. Files keep the time of their last change.
    pub after: Snapshot,
    /// Changes in the order in which they were made.
    pub changes: Vec<Stated>,
}

impl Draft {
    /// Declaration for the check.
    pub fn declared(&self, source: Origin) -> Declared {
        let mut declared = Declared::from(source);
        for change in &self.changes {
            match change.what {
                What::Removed => declared.losses.push(Loss {
                    path: change.path.clone(),
                    reason: change.reason.clone(),
                }),
                // A log that was only read has no sources and is no merge.
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

/// Memory that is gone, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// File that is gone.
    pub path: SafePath,
    /// Reason for people; a blank one does not count.
    pub reason: String,
}

/// File that was made of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// File that holds the result.
    pub into: SafePath,
    /// Files it was made of.
    pub sources: Vec<SafePath>,
}

/// Piece of a transcript that was gathered for a dream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Words as they were said.
    pub text: String,
    /// Trust of the speaker.
    pub trust: Trust,
    /// Day on which it was said, for relative dates.
    pub day: Option<Date>,
}

/// Declaration of a dream about itself, with the sources it had beside the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Memories that are gone.
    pub losses: Vec<Loss>,
    /// Files that were made of others.
    pub merges: Vec<Merge>,
    /// Excerpts that were read of transcripts.
    pub excerpts: Vec<Excerpt>,
    /// Dream itself, as the source of the change.
    pub source: Origin,
}

impl From<Origin> for Declared {
    /// Empty declaration: no losses, merges or excerpts.
    fn from(source: Origin) -> Self {
        Self {
            losses: Vec::new(),
            merges: Vec::new(),
            excerpts: Vec::new(),
            source,
        }
    }
}
