//! Where a value came from.

use super::value::Value;
use std::fmt;

/// The layers, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    /// Defaults of the program.
    BuiltIn,
    /// The administrator's file.
    Managed,
    /// The user's file.
    User,
    /// The project's file, committed with it.
    Project,
    /// The project's file for this checkout.
    ProjectLocal,
    /// Environment variables.
    Environment,
    /// Flags of the command.
    Flags,
}

impl LayerKind {
    /// The file lies in the project, so whoever wrote the project may have written it.
    pub(crate) fn is_project(self) -> bool {
        matches!(self, Self::Project | Self::ProjectLocal)
    }
}

impl fmt::Display for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "built-in",
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::ProjectLocal => "project local",
            Self::Environment => "environment",
            Self::Flags => "flags",
        })
    }
}

/// Where exactly a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The table's default.
    BuiltIn,
    /// A settings file.
    File {
        /// Which of the files.
        kind: LayerKind,
        /// Its path, as given.
        path: String,
        /// Line, from 1.
        line: Option<usize>,
    },
    /// An environment variable.
    Variable {
        /// Its name.
        name: &'static str,
    },
    /// A flag of the command.
    Flag,
}

impl Origin {
    /// The layer it belongs to.
    pub fn kind(&self) -> LayerKind {
        match self {
            Self::BuiltIn => LayerKind::BuiltIn,
            Self::File { kind, .. } => *kind,
            Self::Variable { .. } => LayerKind::Environment,
            Self::Flag => LayerKind::Flags,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in default"),
            Self::File {
                path,
                line: Some(line),
                ..
            } => write!(f, "{path}:{line}"),
            Self::File {
                path, line: None, ..
            } => f.write_str(path),
            Self::Variable { name } => write!(f, "environment variable {name}"),
            Self::Flag => f.write_str("command-line flag"),
        }
    }
}

/// A value and who gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The value.
    pub value: Value,
    /// Who gave it.
    pub origin: Origin,
}
