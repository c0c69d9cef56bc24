//! What is wrong with a layer. Nothing here stops the program: the rest of the layer still counts.

use super::origin::Origin;
use std::fmt;

/// Something in a layer that could not be used. Never contains the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsIssue {
    /// The file is not TOML; all of it is ignored.
    #[error("{path}:{line}:{column}: {message}; the whole file is ignored")]
    Syntax {
        /// The file.
        path: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// No setting has this key.
    #[error("{origin}: unknown setting `{key}`{}", suggestion(*.nearest))]
    UnknownKey {
        /// Where.
        origin: Origin,
        /// The key.
        key: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
    },
    /// An earlier version had this setting, or a later one will; the value changes nothing.
    #[error("{origin}: `{key}` has no effect: {why}")]
    NoEffect {
        /// Place of the value.
        origin: Origin,
        /// Key as it was written.
        key: String,
        /// Reason that the value is not used.
        why: NoEffect,
    },
    /// The value is not of the setting's kind.
    #[error("{origin}: `{key}` must be {expected}, not {found}")]
    WrongValue {
        /// Where.
        origin: Origin,
        /// The key.
        key: String,
        /// What would be right.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A flag without `=`.
    #[error("{text} is not of the form key=value")]
    NotAPair {
        /// The flag's text.
        text: String,
    },
    /// Only the managed file may lock.
    #[error("{origin}: only the managed settings file may lock settings")]
    LockNotAllowed {
        /// Where.
        origin: Origin,
    },
    /// A lock that names nothing.
    #[error("{origin}: `locked` names `{pattern}`, which is no setting{}", suggestion(*.nearest))]
    UnknownLock {
        /// Where.
        origin: Origin,
        /// The name.
        pattern: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
    },
}

/// Reason that a setting with a known name is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEffect {
    /// It was removed; its figure is a constant of the program now, or the feature is gone.
    Removed,
    /// Its name is reserved for a feature that this version lacks.
    NotYet,
}

impl fmt::Display for NoEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Removed => "the setting was removed",
            Self::NotYet => "this version does not use the setting yet",
        })
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!("; did you mean `{key}`?"))
}
