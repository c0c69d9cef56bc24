//! Origins of values: the layer, and the place in it.

use super::value::Value;
use std::fmt;

/// The layers, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    /// Defaults of the program, from the table.
    BuiltIn,
    /// The administrator's file, which may lock settings.
    Managed,
    /// The user's file in the home.
    User,
    /// The project's file, committed with it.
    Project,
    /// The project's file for this checkout.
    ProjectLocal,
    /// Environment variables of the process.
    Environment,
    /// Flags of the command, given by `--set`.
    Flags,
}

impl LayerKind {
    /// True if the file lies in the project: its author is that of the project, not the user.
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

/// Exact place that a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The default of the table.
    BuiltIn,
    /// A settings file, with the line where that is known.
    File {
        /// The layer that the file belongs to.
        kind: LayerKind,
        /// Its path, as given by the loader.
        path: String,
        /// Line of the key, from 1.
        line: Option<usize>,
    },
    /// An environment variable of the process.
    Variable {
        /// Name of the variable.
        name: &'static str,
    },
    /// A flag of the command line.
    Flag,
}

impl Origin {
    /// The layer that the place belongs to.
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

/// A value and the place it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The value, already of the setting's kind.
    pub value: Value,
    /// Place that it came from.
    pub origin: Origin,
}
