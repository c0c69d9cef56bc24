//! Faults found while loading. None of them stops the program.
//!
//! # Not here
//! Errors that do stop it: [`crate::LoaderError`].

use crate::trust::TrustFileError;
use dormouse_core::models::ModelTableError;
use dormouse_core::settings::SettingsIssue;
use dormouse_core::show::chain;
use dormouse_system::FileError;
use std::path::PathBuf;
use std::sync::Arc;

/// A file, value or variable that could not be used; everything else counts. Never contains a
/// secret.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigIssue {
    /// A key or value in a settings file or a variable.
    #[error(transparent)]
    Setting(#[from] SettingsIssue),
    /// A settings file is there but cannot be read.
    #[error("the settings file `{}` is left out", path.display())]
    Unreadable {
        /// Path of the settings file.
        path: PathBuf,
        /// The error of the operating system. Shared, because an issue is handed to every follower
        /// of the settings.
        #[source]
        source: Arc<FileError>,
    },
    /// A file is not UTF-8 text.
    #[error("the file `{}` is not text and is left out", path.display())]
    NotText {
        /// Path of the file.
        path: PathBuf,
    },
    /// A variable holds bytes that are no text.
    #[error("environment variable {name} is not Unicode text and counts as not set")]
    NotUnicode {
        /// Name of the variable.
        name: &'static str,
    },
    /// A model file that a setting names is not there.
    #[error("there is no model file `{}`", path.display())]
    ModelsMissing {
        /// Path that the setting names, expanded.
        path: PathBuf,
    },
    /// The user's model file cannot be read.
    #[error("the model file `{}` is left out", path.display())]
    ModelsUnreadable {
        /// Path of the model file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: Arc<FileError>,
    },
    /// The user's model file is no valid table of models.
    #[error("the model file `{}` is left out", path.display())]
    Models {
        /// Path of the model file.
        path: PathBuf,
        /// The first fault of its content.
        #[source]
        source: ModelTableError,
    },
    /// The list of trusted folders cannot be used.
    #[error("the list of trusted folders is left out")]
    Trust(#[source] Arc<TrustFileError>),
}

impl PartialEq for ConfigIssue {
    /// Two issues are the same if they read the same; errors of the operating system know no
    /// other comparison.
    fn eq(&self, other: &Self) -> bool {
        chain(self) == chain(other)
    }
}
