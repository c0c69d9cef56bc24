//! Name that passed all rules.

use super::refusal::PathRefusal;
use super::rules;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Relative path, separated by `/`, in Unicode normal form C, without empty, `.` or `..`
/// components. Joined to a directory it stays below it, as far as text can tell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SafePath(String);

impl SafePath {
    /// Checks a name, or returns the defect and the remedy.
    pub fn parse(text: &str) -> Result<Self, PathRefusal> {
        rules::check(text)?;
        Ok(Self(text.to_owned()))
    }

    /// Path as text, with `/` as the separator.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Path to be joined to a directory.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Last component of the path.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Path of the containing folder; none at the top.
    pub fn parent(&self) -> Option<Self> {
        let (folder, _) = self.0.rsplit_once('/')?;
        Some(Self(folder.to_owned()))
    }

    /// Path of a name, or of several, below this one.
    pub fn join(&self, name: &str) -> Result<Self, PathRefusal> {
        // Checked alone first, so that an absolute or empty name is reported as such.
        rules::check(name)?;
        Self::parse(&format!("{self}/{name}"))
    }

    /// Components from the top.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// True if any component begins with a dot.
    pub fn is_hidden(&self) -> bool {
        self.components().any(|name| name.starts_with('.'))
    }

    /// Common spelling of all names that some file system treats as equal: case-insensitive, in
    /// NFKC. For comparisons and keys, never to be opened.
    pub fn folded(&self) -> String {
        rules::folded(&self.0)
    }

    /// True if both would be one file on some file system.
    pub fn same_on_any_disk(&self, other: &Self) -> bool {
        self == other || self.folded() == other.folded()
    }
}

impl fmt::Display for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl AsRef<Path> for SafePath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl TryFrom<String> for SafePath {
    type Error = PathRefusal;

    fn try_from(text: String) -> Result<Self, PathRefusal> {
        rules::check(&text)?;
        Ok(Self(text))
    }
}

impl From<SafePath> for String {
    fn from(path: SafePath) -> Self {
        path.0
    }
}

#[cfg(test)]
#[path = "safe_path_tests.rs"]
mod tests;
