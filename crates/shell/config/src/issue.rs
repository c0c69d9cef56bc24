//! What was wrong while loading. Nothing here stops the program.

use crate::trust::TrustFileError;
use dormouse_core::models::ModelTableError;
use dormouse_core::settings::SettingsIssue;
use dormouse_core::show::chain;
use dormouse_system::FileError;
use std::path::PathBuf;
use std::sync::Arc;

/// Something that could not be used; everything else counts. Never contains a secret.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigIssue {
    /// Something in a settings file or a variable.
    #[error(transparent)]
    Setting(#[from] SettingsIssue),
    /// A settings file is there but cannot be read.
    #[error("the settings file `{}` is left out", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why. Shared, because an issue is handed to everyone who follows the settings.
        #[source]
        source: Arc<FileError>,
    },
    /// A file is not UTF-8 text.
    #[error("the file `{}` is not text and is left out", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A variable holds something that is no text.
    #[error("environment variable {name} is not Unicode text and counts as not set")]
    NotUnicode {
        /// The variable.
        name: &'static str,
    },
    /// A model file that a setting names is not there.
    #[error("there is no model file `{}`", path.display())]
    ModelsMissing {
        /// The file.
        path: PathBuf,
    },
    /// The user's model file cannot be read.
    #[error("the model file `{}` is left out", path.display())]
    ModelsUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<FileError>,
    },
    /// The user's model file is not as it should be.
    #[error("the model file `{}` is left out", path.display())]
    Models {
        /// The file.
        path: PathBuf,
        /// What is wrong.
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
