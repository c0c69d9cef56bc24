//! Temporary files of writers that were killed.
//!
//! # Not here
//! Changes that were interrupted: they are finished or taken back by the next writer
//! ([`crate::pending`]). Copies of dreams, which the next dream removes.

use crate::dir::{MemoryDir, modified};
use crate::error::MemdirError;
use dormouse_core::units::Millis;
use dormouse_system::{OptionalFile as _, is_temporary};
use std::path::{Path, PathBuf};

/// Temporary file that no writer comes back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Path below the root.
    pub path: PathBuf,
    /// Length in bytes, on disk.
    pub bytes: u64,
}

impl MemoryDir {
    /// Temporary files in every folder, hidden ones included, that were last written before a
    /// moment. A younger one may belong to a writer that is at work.
    pub fn leftovers(&self, before: Millis) -> Result<Vec<Leftover>, MemdirError> {
        let walked = self.disk.files().walk(Path::new(""), &|_| false);
        let walked = walked.map_err(|error| self.disk.blame(error))?;
        let mut found: Vec<Leftover> = walked
            .into_iter()
            .filter(|walked| walked.path.file_name().is_some_and(is_temporary))
            .filter(|walked| modified(walked.stamp) < before)
            .map(|walked| Leftover {
                bytes: walked.stamp.len,
                path: walked.path,
            })
            .collect();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Removes a temporary file that may be gone already.
    pub fn remove_leftover(&self, leftover: &Leftover) -> Result<(), MemdirError> {
        let removed = self.disk.files().remove_file(&leftover.path).optional();
        removed.map(|_| ()).map_err(|error| self.disk.blame(error))
    }
}
