//! Facts beside a result.

use serde::Serialize;
use std::path::PathBuf;

/// A fact beside a result that a person wants to know. Doors word it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "remark")]
#[non_exhaustive]
pub enum Remark {
    /// Some settings cannot be used.
    SettingsIssues {
        /// How many.
        count: usize,
    },
    /// A file of a memory directory is no part of the answer.
    MemoryLeftOut {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Team memory exists and is no part of the answer: its folder is not trusted.
    TeamUntrusted,
    /// Memory is no part of the answer.
    NoMemory {
        /// The reason.
        why: String,
    },
    /// The index of a memory directory nears its limits.
    IndexNearlyFull {
        /// The figures.
        what: String,
    },
    /// A transcript or folder is no part of the answer.
    LeftOut {
        /// The reason, with the path in it.
        why: String,
    },
    /// A folder below the one that was asked for cannot be listed.
    Unlisted {
        /// The reason, with the path in it.
        why: String,
    },
    /// Lines of a transcript could not be read in full.
    LinesSkipped {
        /// The transcript.
        file: PathBuf,
        /// How many.
        count: u64,
    },
    /// The work was done by rules alone.
    WithoutModel {
        /// The reason.
        why: String,
    },
}
