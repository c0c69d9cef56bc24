//! What is wrong with a layer. Nothing here stops the program: the rest of the layer still counts.

use super::origin::Origin;

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

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!("; did you mean `{key}`?"))
}
