//! Notes about an installation, so that it can be taken back.
//!
//! # Model
//! A file for each client in Dormouse's home. It is written before the first change, so that an
//! installation that is cut off can be taken back, too. Contents of settings are in none of it: they
//! may hold keys. They are in the backup beside the file, with the permissions of a private file.

use super::clients::Client;
use super::edit::{Notation, remove, whole};
use crate::error::HostError;
use crate::host::Host;
use dormouse_system::{Access, FileKind, Files, OptionalFile as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Folder in the home for receipts and for what is made for clients.
const FOLDER: &str = "clients";
/// Most bytes of a settings file; the longest seen have some hundred kilobytes of history.
pub(super) const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Notes about an installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Receipt {
    /// Files of the client that were changed.
    pub(super) files: Vec<ChangedFile>,
    /// Files that were made in Dormouse's home.
    pub(super) own: Vec<PathBuf>,
    /// Folders that were not there before, the inner ones first.
    pub(super) folders: Vec<PathBuf>,
    /// Folders in which the client keeps its copy, and which were not there before.
    pub(super) copies: Vec<PathBuf>,
    /// Command lines of the client that take the installation back.
    pub(super) undo: Vec<Vec<String>>,
}

/// A file of a client that was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ChangedFile {
    /// Path of the file, without links.
    pub(super) path: PathBuf,
    /// True for TOML, false for JSON with comments.
    #[serde(default)]
    pub(super) toml: bool,
    /// Copy of the file as it was; `None` if there was none.
    pub(super) backup: Option<PathBuf>,
    /// Entries that were added, by their keys.
    pub(super) entries: Vec<Vec<String>>,
    /// Containers that were not there before, from the outside in.
    pub(super) made: Vec<Vec<String>>,
    /// True if the client's own command changed the file, which then has the client's layout.
    #[serde(default)]
    pub(super) by_client: bool,
}

/// State of a file after the entries are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The bytes are those of the backup.
    Restored(String),
    /// Other changes came since: only the entries went.
    Cleaned(String),
    /// The file was made by the installation and holds nothing else.
    Gone,
}

impl ChangedFile {
    pub(super) const fn notation(&self) -> Notation {
        if self.toml {
            Notation::Toml
        } else {
            Notation::Json
        }
    }

    /// The text without the entries. `before` is the text of the backup.
    pub(super) fn settled(
        &self,
        current: &str,
        before: Option<&str>,
    ) -> Result<Settled, super::edit::EditRefusal> {
        let notation = self.notation();
        let mut text = current.to_owned();
        for entry in &self.entries {
            text = remove(notation, &text, entry, &self.made)?;
        }
        match before {
            None if is_bare(notation, &text) => Ok(Settled::Gone),
            None => Ok(Settled::Cleaned(text)),
            Some(before) => {
                let same = if self.by_client {
                    whole(&text)? == whole(before)?
                } else {
                    squeezed(&text) == squeezed(before)
                };
                Ok(if same {
                    Settled::Restored(before.to_owned())
                } else {
                    Settled::Cleaned(text)
                })
            }
        }
    }
}

/// True for a file without a setting: no value at all, or only empty containers and a version.
fn is_bare(notation: Notation, text: &str) -> bool {
    match notation {
        Notation::Toml => text.trim().is_empty(),
        Notation::Json => match whole(text) {
            Ok(None) => text.trim().is_empty(),
            Ok(Some(Value::Object(map))) => map.iter().all(|(key, value)| {
                key == "version" || value.as_object().is_some_and(serde_json::Map::is_empty)
            }),
            _ => false,
        },
    }
}

/// A text without blanks and commas, which are all that may differ once an entry came and went.
fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_whitespace() && *letter != ',')
        .collect()
}

impl Host {
    /// Folder of receipts and of files made for clients.
    pub(super) fn clients_folder(&self) -> PathBuf {
        self.places().home.join(FOLDER)
    }

    fn receipt_file(&self, client: Client) -> PathBuf {
        let name = format!("{}.json", client.name());
        self.clients_folder().join(name)
    }

    /// Notes about the installation in a client, if there is one.
    pub(super) fn receipt(&self, client: Client) -> Result<Option<Receipt>, HostError> {
        let files = &self.system().files;
        let bytes = files
            .read(&self.receipt_file(client), MOST_BYTES)
            .optional()?;
        // A receipt that cannot be read is none: entries are then recognised by their commands.
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn write_receipt(&self, client: Client, receipt: &Receipt) -> Result<(), HostError> {
        let bytes = serde_json::to_vec_pretty(receipt).unwrap_or_default();
        let files = &self.system().files;
        files.create_dir_all(&self.clients_folder(), Access::Private)?;
        Ok(files.replace(&self.receipt_file(client), &bytes, Access::Private)?)
    }

    pub(super) fn drop_receipt(&self, client: Client) -> Result<(), HostError> {
        let files = &self.system().files;
        files.remove_file(&self.receipt_file(client)).optional()?;
        // Only the last client leaves it empty.
        let _kept = files.remove_dir(&self.clients_folder());
        Ok(())
    }
}

/// Removes a folder with everything in it; one that is not there is no fault. Links go, not their
/// targets.
pub(super) fn remove_tree(files: &dyn Files, folder: &Path) -> Result<(), HostError> {
    let Some(entries) = files.list(folder).optional()? else {
        return Ok(());
    };
    for entry in entries {
        let path = folder.join(&entry.name);
        match entry.metadata.kind {
            FileKind::Directory => remove_tree(files, &path)?,
            _ => files.remove_file(&path)?,
        }
    }
    Ok(files.remove_dir(folder)?)
}

/// Folders above a path that do not exist, the inner ones first.
pub(super) fn missing_folders(files: &dyn Files, path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    above
        .take_while(|folder| files.metadata(folder).is_err())
        .map(Path::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn changed(by_client: bool) -> ChangedFile {
        let keys = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        ChangedFile {
            path: PathBuf::from("/settings.json"),
            toml: false,
            backup: None,
            entries: vec![keys("mcpServers.dormouse")],
            made: vec![keys("mcpServers")],
            by_client,
        }
    }

    #[test]
    fn a_file_that_nobody_else_changed_gets_its_old_bytes() {
        let before = "{ \"a\" : 1 }";
        let now = "{ \"a\" : 1, \"mcpServers\": { \"dormouse\": {} } }";
        assert_eq!(
            changed(false).settled(now, Some(before)),
            Ok(Settled::Restored(before.to_owned()))
        );
    }

    #[test]
    fn later_changes_stay_with_their_comments() {
        let before = "{\"a\": 1}";
        let now = "{\"a\": 1, // later\n\"mcpServers\": {\"dormouse\": {}}}";
        let Ok(Settled::Cleaned(text)) = changed(false).settled(now, Some(before)) else {
            panic!("not cleaned");
        };
        assert!(
            text.contains("// later") && !text.contains("dormouse"),
            "{text}"
        );
    }

    #[test]
    fn a_client_may_have_its_own_layout() {
        let before = "{\n   \"b\" : 2, \"a\":1}";
        let now = "{\"a\": 1, \"mcpServers\": {}, \"b\": 2}";
        assert_eq!(
            changed(true).settled(now, Some(before)),
            Ok(Settled::Restored(before.to_owned()))
        );
    }

    #[test]
    fn a_file_that_was_made_goes_unless_something_joined_it() {
        let alone = "{\"mcpServers\": {\"dormouse\": {}}}";
        assert_eq!(changed(false).settled(alone, None), Ok(Settled::Gone));
        let joined = "{\"mcpServers\": {\"dormouse\": {}, \"other\": {\"command\": \"x\"}}}";
        let Ok(Settled::Cleaned(text)) = changed(false).settled(joined, None) else {
            panic!("not cleaned");
        };
        assert!(text.contains("other"), "{text}");
    }
}
