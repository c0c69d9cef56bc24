//! What comes of a command.

use bytes::Bytes;
use dormouse_guard::paths::SafePath;

/// What a command answers, and what it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The content of the tool's result.
    pub text: String,
    /// Whether the result is marked as an error. An error changes nothing.
    pub is_error: bool,
    /// To be applied together, before the text is handed over. Each path occurs at most once.
    pub operations: Vec<Change>,
}

/// One file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file holds this from now on.
    Put {
        /// Which file, below the root.
        path: SafePath,
        /// All of it.
        content: Bytes,
    },
    /// The file is gone. A directory is gone with its last file.
    Delete {
        /// Which file, below the root.
        path: SafePath,
    },
}

impl Answer {
    pub(super) fn error(text: String) -> Self {
        Self {
            text,
            is_error: true,
            operations: Vec::new(),
        }
    }

    pub(super) fn told(text: String) -> Self {
        Self::changed(text, Vec::new())
    }

    pub(super) fn changed(text: String, operations: Vec<Change>) -> Self {
        Self {
            text,
            is_error: false,
            operations,
        }
    }
}
