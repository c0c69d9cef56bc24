//! Problems of a layer. None stops the program: the rest of the layer still counts.

use super::origin::Origin;
use std::fmt;

/// Something in a layer that could not be used. Never contains the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsIssue {
    /// The file is not TOML; all of it is ignored.
    #[error("{path}:{line}:{column}: {message}; the whole file is ignored")]
    Syntax {
        /// Path of the file, as given.
        path: String,
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error, from 1.
        column: usize,
        /// Message of the TOML parser.
        message: String,
    },
    /// No setting has this key.
    #[error("{origin}: unknown setting `{key}`{}", suggestion(*.nearest))]
    UnknownKey {
        /// Place of the key.
        origin: Origin,
        /// Key as it was written.
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
        /// Place of the value.
        origin: Origin,
        /// Key of the setting.
        key: String,
        /// Values that would be right, in words.
        expected: String,
        /// The value that is there, shortened; hidden for secrets.
        found: String,
    },
    /// A flag without `=`, which separates key and value.
    #[error("{text} is not of the form key=value")]
    NotAPair {
        /// Text of the flag, shortened.
        text: String,
    },
    /// Only the managed file may lock.
    #[error("{origin}: only the managed settings file may lock settings")]
    LockNotAllowed {
        /// Place of the lock.
        origin: Origin,
    },
    /// A lock that holds no setting, most likely misspelt.
    #[error("{origin}: `locked` names `{pattern}`, which is no setting{}", suggestion(*.nearest))]
    UnknownLock {
        /// Place of the lock.
        origin: Origin,
        /// The name or pattern as it was written.
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

// Suggested only where a key comes close: a wrong guess would cost more than none.
fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!("; did you mean `{key}`?"))
}
