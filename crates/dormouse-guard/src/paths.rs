//! Stand-in until the guard's own module lands.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// A relative path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SafePath(String);

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a path that may be used")]
pub struct PathRefusal(String);

impl SafePath {
    /// Parses.
    pub fn parse(text: &str) -> Result<Self, PathRefusal> {
        let bad = text.is_empty()
            || text.starts_with('/')
            || text.split('/').any(|part| matches!(part, "" | "." | ".."))
            || text.contains(['\0', '\\']);
        if bad {
            return Err(PathRefusal(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As a path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Its last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Its components.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SafePath {
    type Error = PathRefusal;
    fn try_from(text: String) -> Result<Self, PathRefusal> {
        Self::parse(&text)
    }
}

impl From<SafePath> for String {
    fn from(path: SafePath) -> Self {
        path.0
    }
}

impl SafePath {
    /// Whether some file system would take both for one.
    pub fn same_on_any_disk(&self, other: &Self) -> bool {
        self.0.to_lowercase() == other.0.to_lowercase()
    }
}
