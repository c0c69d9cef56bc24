//! The list of folders whose project settings count fully.
//!
//! # Model
//! A TOML file in Dormouse's home with the real paths of trusted project folders. A folder is
//! trusted by being listed itself: folders above it do not count, because trusting `~/src` must not
//! trust a repository that is cloned into it next year.
//!
//! # Invariants
//! Changed under a lock and replaced as a whole, so two commands at once lose nothing. A file of a
//! newer version is read as far as it is understood and never written.
//!
//! # Not here
//! The settings an untrusted project may set: `dormouse_core::settings`.

use crate::places::{Places, Project};
use dormouse_core::settings::Trust;
use dormouse_system::{Access, FileError, FileKind, Files, OptionalFile as _};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Newest version of the file that this program writes.
const VERSION: i64 = 1;
/// Largest list in bytes (1 MiB), some ten thousand folders; a longer file is not this list.
const LIMIT: u64 = 1 << 20;

/// Reason that the list cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustFileError {
    /// The file is there but cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The file is not a list of folders.
    #[error("`{}` is not a list of trusted folders: {message}", path.display())]
    Malformed {
        /// Path of the list.
        path: PathBuf,
        /// The first fault, for people.
        message: String,
    },
}

/// Reason that a folder could not be trusted or untrusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// There is no such folder.
    #[error("there is no folder `{}`", path.display())]
    NoFolder {
        /// The path as the user gave it.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: FileError,
    },
    /// The path leads to something that is no folder.
    #[error("`{}` is not a folder", path.display())]
    NotAFolder {
        /// The path as the user gave it.
        path: PathBuf,
    },
    /// The list holds text only.
    #[error("the path `{}` is not Unicode and cannot be listed", path.display())]
    NotUnicode {
        /// The folder's real path.
        path: PathBuf,
    },
    /// The list cannot be read, and replacing it would lose its entries.
    #[error("the list of trusted folders cannot be read and was not changed")]
    List(#[source] TrustFileError),
    /// The list was written by a newer program.
    #[error("version {found} of `{}` is newer than {VERSION}, the newest this program writes", path.display())]
    Newer {
        /// Path of the list.
        path: PathBuf,
        /// The version its file names.
        found: i64,
    },
    /// Another process is changing the list.
    #[error("`{}` is being changed by another process", path.display())]
    Locked {
        /// Path of the list.
        path: PathBuf,
    },
    /// The list cannot be written.
    #[error("the list of trusted folders was not changed")]
    Write(#[source] FileError),
}

/// Folder and effect of a [`set_trust`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustChange {
    /// The project's folder, without links.
    pub folder: PathBuf,
    /// False if the folder was listed, or missing, as asked for already.
    pub changed: bool,
}

/// Trusts or untrusts the project that `folder` belongs to.
pub fn set_trust(
    files: &dyn Files,
    places: &Places,
    folder: &Path,
    trust: Trust,
) -> Result<TrustChange, TrustError> {
    let given = places.current_dir.join(folder);
    let target = match (files.real_path(&given), trust) {
        (Ok(real), _) => {
            if !files
                .metadata(&real)
                .is_ok_and(|found| found.kind == FileKind::Directory)
            {
                return Err(TrustError::NotAFolder {
                    path: folder.to_owned(),
                });
            }
            // The root of the project, not the folder itself: settings belong to the whole project.
            Project::around(files, &real, &places.home).real_root
        }
        // A folder that is gone can still be taken off the list, by the name it is listed under.
        (Err(_), Trust::Untrusted) => given.components().collect(),
        (Err(source), Trust::Trusted) => {
            let path = folder.to_owned();
            return Err(TrustError::NoFolder { path, source });
        }
    };
    if target.to_str().is_none() {
        return Err(TrustError::NotUnicode { path: target });
    }
    let path = places.trust_file();
    files
        .create_dir_all(&places.home, Access::Private)
        .map_err(TrustError::Write)?;
    let Some(_lock) = files.lock_exclusive(&path).map_err(TrustError::Write)? else {
        return Err(TrustError::Locked { path });
    };
    // Read under the lock: a list read before could lose another command's change.
    let mut list = TrustList::read(files, &path)
        .map_err(TrustError::List)?
        .unwrap_or_default();
    let changed = match trust {
        Trust::Trusted => list.folders.insert(target.clone()),
        Trust::Untrusted => list.folders.remove(&target),
    };
    if changed {
        // Rewriting a newer file would drop members that this version does not know.
        if list.version > VERSION {
            let found = list.version;
            return Err(TrustError::Newer { path, found });
        }
        files
            .replace(&path, list.render().as_bytes(), Access::Private)
            .map_err(TrustError::Write)?;
    }
    Ok(TrustChange {
        folder: target,
        changed,
    })
}

/// The list as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustList {
    version: i64,
    folders: BTreeSet<PathBuf>,
}

impl Default for TrustList {
    fn default() -> Self {
        Self {
            version: VERSION,
            folders: BTreeSet::new(),
        }
    }
}

impl TrustList {
    /// Reads the list, if there is one.
    pub(crate) fn read(files: &dyn Files, path: &Path) -> Result<Option<Self>, TrustFileError> {
        let Some(bytes) = files.read(path, LIMIT).optional()? else {
            return Ok(None);
        };
        let malformed = |message| TrustFileError::Malformed {
            path: path.to_owned(),
            message,
        };
        Self::parse(&bytes).map(Some).map_err(malformed)
    }

    /// Trust in the folder with this real path.
    pub(crate) fn trust_in(&self, real_root: &Path) -> Trust {
        if self.folders.contains(real_root) {
            Trust::Trusted
        } else {
            Trust::Untrusted
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| error.message().to_owned())?;
        let version = match table.get("version") {
            // A list written by hand may leave the version out.
            None => VERSION,
            Some(version) => version
                .as_integer()
                .ok_or("`version` must be a whole number")?,
        };
        let folders = match table.get("trusted") {
            None => Some(BTreeSet::new()),
            Some(list) => list.as_array().and_then(|list| {
                list.iter()
                    .map(|folder| folder.as_str().map(PathBuf::from))
                    .collect()
            }),
        };
        let folders = folders.ok_or("`trusted` must be a list of texts")?;
        Ok(Self { version, folders })
    }

    fn render(&self) -> String {
        let mut text = format!(
            "# Folders whose project settings count fully. Changed by `dormouse config trust`.\n\
             version = {VERSION}\ntrusted = [\n"
        );
        for folder in self.folders.iter().filter_map(|folder| folder.to_str()) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "    {},", toml::Value::from(folder));
        }
        text.push_str("]\n");
        text
    }
}
