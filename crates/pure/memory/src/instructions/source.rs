//! Port through which instruction files are read.

use bytes::Bytes;
use std::path::{Path, PathBuf};

/// Reader of files for the loader. Links are followed everywhere.
pub trait Source {
    /// Reads a file of at most `limit` bytes.
    fn read(&self, path: &Path, limit: u64) -> SourceResult;

    /// Entries of a directory, in any order; none if it is no directory or cannot be read.
    fn list(&self, directory: &Path) -> Vec<Listed>;

    /// True for a regular file, behind links too. Nothing of it is read.
    fn is_file(&self, path: &Path) -> bool;

    /// Absolute path without links, `.` and `..`; `None` if nothing is there.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;
}

/// Result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceResult {
    /// No regular file is there, or it may not be read.
    Missing,
    /// More bytes than asked for.
    TooLarge {
        /// Length of the file.
        bytes: u64,
    },
    /// Known not to hold text. A source need not look; the loader does.
    NotText,
    /// Whole content of the file.
    Content {
        /// Path without links, as it was at the time of reading.
        real: PathBuf,
        /// Bytes of the file, all of them.
        bytes: Bytes,
    },
}

/// Entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Name without the directory.
    pub name: String,
    /// True for a directory, behind links too.
    pub is_directory: bool,
}
