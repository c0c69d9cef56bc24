//! Where files come from.

use bytes::Bytes;
use std::path::{Path, PathBuf};

/// Reads files for the loader. Links are followed everywhere.
pub trait Source {
    /// Reads a file of at most `limit` bytes.
    fn read(&self, path: &Path, limit: u64) -> SourceResult;

    /// What lies in a directory, in any order; nothing if it is none or cannot be read.
    fn list(&self, directory: &Path) -> Vec<Listed>;

    /// Whether a regular file is there. Nothing of it is read.
    fn is_file(&self, path: &Path) -> bool;

    /// The absolute path without links, `.` and `..`; `None` if nothing is there.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;
}

/// What reading gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceResult {
    /// No regular file is there, or it may not be read.
    Missing,
    /// It has more bytes than asked for.
    TooLarge {
        /// How many it has.
        bytes: u64,
    },
    /// It is known not to hold text. A source need not look; the loader does.
    NotText,
    /// The whole file.
    Content {
        /// Its path without links.
        real: PathBuf,
        /// All of it.
        bytes: Bytes,
    },
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Whether it leads to a directory.
    pub is_directory: bool,
}
