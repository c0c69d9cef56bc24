//! Result of a command.

use bytes::Bytes;
use dormouse_guard::paths::SafePath;

/// Text for the model with the changes that make it true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAnswer {
    /// Content of the tool's result.
    pub text: String,
    /// Marks the result as an error. An error changes nothing.
    pub is_error: bool,
    /// Changes to be applied together, before the text is handed over. Each path occurs at most
    /// once.
    pub operations: Vec<Change>,
}

/// Change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// New or replaced file.
    Put {
        /// File below the root.
        path: SafePath,
        /// Whole content afterwards, no patch.
        content: Bytes,
    },
    /// Removed file. A directory is gone with its last file.
    Delete {
        /// File below the root.
        path: SafePath,
    },
}

impl CommandAnswer {
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
