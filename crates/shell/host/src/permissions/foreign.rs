//! Rules in the settings files of Claude Code.

use dormouse_core::show;
use dormouse_system::Files;
use serde::Deserialize;
use std::path::Path;

/// Bytes of a settings file that are read; real ones have a few thousand.
const LARGEST: u64 = 1024 * 1024;

/// Rules of one file, as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ForeignRules {
    #[serde(default)]
    pub(super) allow: Vec<String>,
    #[serde(default)]
    pub(super) ask: Vec<String>,
    #[serde(default)]
    pub(super) deny: Vec<String>,
    #[serde(default, rename = "additionalDirectories")]
    pub(super) folders: Vec<String>,
}

/// The one member of the file that is of interest.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    permissions: Option<ForeignRules>,
}

impl ForeignRules {
    /// Rules of a file; `None` if there is no such file or it has none.
    ///
    /// # Errors
    /// The reason in words, if the file is there and cannot be read.
    pub(super) fn read(files: &dyn Files, path: &Path) -> Result<Option<Self>, String> {
        let bytes = match files.read(path, LARGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.not_found() => return Ok(None),
            Err(error) => return Err(show::chain(&error)),
        };
        let read: Result<File, _> = serde_json::from_slice(&bytes);
        read.map(|file| file.permissions)
            .map_err(|error| format!("the rules of `{}`: {error}", path.display()))
    }
}
