//! A change to the memory directory, as a value.
//!
//! # Model
//! A transaction lists what each file should hold, and what it must hold for that to be right
//! ([`Expected`]). It is applied whole or not at all. [`Transaction::vet`] is the one gate that
//! every change passes, by any author: automation has no door around it.
//!
//! # Not here
//! Applying it to a disk (`dormouse-memdir`); judging the change itself (`write`, `extract`,
//! `dream`).

use crate::snapshot::{self, INDEX, Snapshot, StoredFile};
use crate::trust::Origin;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Longest memory, in bytes. A page, not an archive: recall shows the first few KiB of a memory
/// (`recall.file_bytes`), and the rest of a longer one would hardly be read.
pub const MOST_BYTES: usize = 100 * 1024;
/// Most files. Far above any directory that people and models fill; a writer in a loop ends here.
pub const MOST_FILES: usize = 200_000;

/// Component that makes a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The user, by a command or by approving.
    User,
    /// The agent of the conversation.
    Agent,
    /// Extraction from a conversation, layer 5.
    Extractor,
    /// Consolidation between sessions, layer 6.
    Dream,
    /// An importer that the user called.
    Import,
    /// A file that was changed without Dormouse.
    Outside,
}

impl Author {
    /// True for authors without a user's request: they need a source and leave pinned files alone.
    pub(crate) const fn is_automation(self) -> bool {
        matches!(self, Self::Extractor | Self::Dream)
    }

    /// True for authors that must leave pinned files alone and may not pin: all but the user.
    const fn spares_pinned(self) -> bool {
        matches!(
            self,
            Self::Agent | Self::Extractor | Self::Dream | Self::Import
        )
    }

    /// Lower-case name, as the journal has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Extractor => "extractor",
            Self::Dream => "dream",
            Self::Import => "import",
            Self::Outside => "outside",
        }
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Content that a file must have for a change to be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// Any content, or no file at all.
    Any,
    /// No file at this path.
    Absent,
    /// Exactly the bytes with this hash.
    Is(Hash),
}

impl Expected {
    /// Expectation that a snapshot fulfils now.
    pub fn now(snapshot: &Snapshot, path: &SafePath) -> Self {
        snapshot
            .get(path)
            .map_or(Self::Absent, |file| Self::Is(Hash::of(&file.content)))
    }

    /// True if a file's content (`None`: no file) is as expected.
    pub fn holds(self, content: Option<&[u8]>) -> bool {
        match (self, content) {
            (Self::Any, _) | (Self::Absent, None) => true,
            (Self::Is(hash), Some(content)) => Hash::of(content) == hash,
            (Self::Absent, Some(_)) | (Self::Is(_), None) => false,
        }
    }
}

/// New content of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// File, relative to the memory directory.
    pub path: SafePath,
    /// Precondition; if it fails, the whole transaction is a conflict.
    pub expected: Expected,
    /// New content; `None` deletes the file.
    pub content: Option<Bytes>,
}

/// A change to the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Component that makes it; decides which rules of [`Transaction::vet`] apply.
    pub author: Author,
    /// Reason for people, one line; shown by the journal.
    pub reason: String,
    /// Span of a log it stems from; automation must have one. A user's command is its own source.
    pub source: Option<Origin>,
    /// Id of the journal entry that it takes back.
    pub undoes: Option<String>,
    /// Operations, each file at most once.
    pub operations: Vec<Operation>,
}

/// Reason why a transaction may not be applied at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A file is named twice.
    #[error("`{0}` is changed twice in one step; change each file once")]
    Twice(SafePath),
    /// File of Dormouse's own, such as the journal.
    #[error("`{0}` is hidden: memories are files whose names do not begin with a dot")]
    Hidden(SafePath),
    /// Automation writes a file that is no Markdown.
    #[error("`{0}` is not a Markdown file; the name of a memory ends in `.md`")]
    NotMarkdown(SafePath),
    /// A program touches a pinned file, or would pin one.
    #[error("`{0}` is pinned; only the user changes pinned memories")]
    Pinned(SafePath),
    /// Automation writes without a source.
    #[error("`{0}` has no source in a log; a memory written by automation needs one")]
    NoSource(SafePath),
    /// There is a credential in it.
    #[error(
        "`{path}` line {line} holds a credential ({rule}); memories never hold secrets: leave it out, name where it is kept instead"
    )]
    Secret {
        /// File that would hold the credential.
        path: SafePath,
        /// Name of the rule that matched.
        rule: &'static str,
        /// Line number, from 1.
        line: usize,
    },
    /// Credential in the name of a file, by a rule of the scanner. The message does not repeat it.
    #[error(
        "the name of a file would contain a credential ({rule}); memories never hold secrets: name where it is kept instead"
    )]
    SecretName {
        /// File that would have the name.
        path: SafePath,
        /// Name of the rule that matched.
        rule: &'static str,
    },
    /// Content longer than [`MOST_BYTES`].
    #[error(
        "`{path}` would have {bytes} bytes; a memory has at most {MOST_BYTES}: split it, or keep the text elsewhere and say where"
    )]
    TooLong {
        /// File that would be too long.
        path: SafePath,
        /// Length it would have.
        bytes: usize,
    },
    /// Invalid UTF-8 in the new content.
    #[error("`{0}` is not UTF-8 text")]
    NotText(SafePath),
    /// Two names that some file systems take for one.
    #[error("`{path}` and `{other}` are the same name on some file systems; use the existing one")]
    SameName {
        /// File to be created.
        path: SafePath,
        /// File that exists, or an earlier one of the same transaction.
        other: SafePath,
    },
    /// The directory is full.
    #[error("the directory holds {MOST_FILES} files already; forget or dream before adding more")]
    Full,
}

/// Files that are not what a transaction expects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("changed in the meantime: {}", names(.0))]
pub struct Conflict(pub Vec<SafePath>);

fn names(paths: &[SafePath]) -> String {
    let names: Vec<&str> = paths.iter().map(SafePath::as_str).collect();
    names.join(", ")
}

impl Transaction {
    /// Empty transaction; operations are added by [`Self::put`] and [`Self::delete`].
    pub fn by(author: Author, reason: impl Into<String>) -> Self {
        Self {
            author,
            reason: reason.into(),
            source: None,
            undoes: None,
            operations: Vec::new(),
        }
    }

    /// Adds: this file shall hold this, given what the snapshot holds.
    pub fn put(&mut self, snapshot: &Snapshot, path: SafePath, content: impl Into<Bytes>) {
        let expected = Expected::now(snapshot, &path);
        let content = Some(content.into());
        self.operations.push(Operation {
            path,
            expected,
            content,
        });
    }

    /// Adds: this file shall go, given what the snapshot holds.
    pub fn delete(&mut self, snapshot: &Snapshot, path: SafePath) {
        let expected = Expected::now(snapshot, &path);
        self.operations.push(Operation {
            path,
            expected,
            content: None,
        });
    }

    /// True if there are no operations.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Gate for every change. Only written content is judged: odd files that stay are left alone.
    pub fn vet(&self, snapshot: &Snapshot) -> Result<(), Refusal> {
        let mut growth = snapshot.len();
        let names = self.names(snapshot);
        let mut seen = HashSet::new();
        for operation in &self.operations {
            let path = &operation.path;
            if !seen.insert(path) {
                return Err(Refusal::Twice(path.clone()));
            }
            if !snapshot::belongs(path) {
                return Err(Refusal::Hidden(path.clone()));
            }
            if self.author.spares_pinned() && snapshot::is_pinned_on_any_disk(path) {
                return Err(Refusal::Pinned(path.clone()));
            }
            // Deleting needs no look at the content, whatever is wrong with it.
            let Some(content) = &operation.content else {
                continue;
            };
            let new = snapshot.get(path).is_none();
            growth += usize::from(new);
            let twin = || {
                names
                    .get(&path.folded())?
                    .iter()
                    .find(|other| **other != path)
            };
            if new && let Some(other) = twin() {
                return Err(Refusal::SameName {
                    path: path.clone(),
                    other: (*other).clone(),
                });
            }
            // An undo brings back bytes that were there: a person's file is not lost for its name or
            // content.
            if self.undoes.is_none() {
                // A file that has its name already may still change.
                if new && let Some(rule) = secret_in_name(path) {
                    let path = path.clone();
                    return Err(Refusal::SecretName { path, rule });
                }
                self.vet_content(path, content)?;
                // Bytes of a person's index that are not understood would be lost.
                if path.as_str() == INDEX && !snapshot.is_text(path) {
                    return Err(Refusal::NotText(path.clone()));
                }
            }
        }
        // Counted growth only: a directory that is too full may still change and shrink.
        if growth > MOST_FILES && growth > snapshot.len() {
            return Err(Refusal::Full);
        }
        Ok(())
    }

    fn vet_content(&self, path: &SafePath, content: &[u8]) -> Result<(), Refusal> {
        let markdown = path.as_str().to_lowercase().ends_with(".md");
        // A model may keep other texts by the provider's tool; automation writes memories only.
        if self.author.is_automation() && !markdown {
            return Err(Refusal::NotMarkdown(path.clone()));
        }
        let Ok(text) = std::str::from_utf8(content) else {
            return Err(Refusal::NotText(path.clone()));
        };
        // Daily logs and indexes grow by nature; their readers have limits of their own.
        let grows = markdown && !snapshot::is_topic(path);
        if !grows && content.len() > MOST_BYTES {
            let (path, bytes) = (path.clone(), content.len());
            return Err(Refusal::TooLong { path, bytes });
        }
        // The index repeats what files with sources say, so it needs none of its own.
        if self.author.is_automation() && self.source.is_none() && path.file_name() != INDEX {
            return Err(Refusal::NoSource(path.clone()));
        }
        match secrets::scan(text).first() {
            Some(found) => Err(Refusal::Secret {
                path: path.clone(),
                rule: found.rule,
                line: found.line,
            }),
            None => Ok(()),
        }
    }

    /// Files there will be, by the name that a case-insensitive file system sees. Empty unless a
    /// file is new, because folding every path of a large directory takes time.
    fn names<'a>(&'a self, snapshot: &'a Snapshot) -> HashMap<String, Vec<&'a SafePath>> {
        let mut names: HashMap<String, Vec<&SafePath>> = HashMap::new();
        let new = |operation: &&Operation| {
            operation.content.is_some() && snapshot.get(&operation.path).is_none()
        };
        let mut news = self.operations.iter().filter(new).peekable();
        if news.peek().is_none() {
            return names;
        }
        let gone: HashSet<&SafePath> = self
            .operations
            .iter()
            .filter(|operation| operation.content.is_none())
            .map(|operation| &operation.path)
            .collect();
        let there = snapshot.files().map(|(path, _)| path);
        for path in there
            .filter(|path| !gone.contains(path))
            .chain(news.map(|new| &new.path))
        {
            names.entry(path.folded()).or_default().push(path);
        }
        names
    }

    /// Compares every file with its expectation and names all that differ.
    pub fn check(&self, snapshot: &Snapshot) -> Result<(), Conflict> {
        let wrong = self.operations.iter().filter(|operation| {
            let content = snapshot.get(&operation.path).map(|file| &*file.content);
            !operation.expected.holds(content)
        });
        let wrong: Vec<SafePath> = wrong.map(|operation| operation.path.clone()).collect();
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(Conflict(wrong))
        }
    }

    /// Directory after the change, without checking it.
    #[must_use]
    pub fn applied(&self, snapshot: &Snapshot, now: Millis) -> Snapshot {
        let mut after = snapshot.clone();
        for operation in &self.operations {
            match &operation.content {
                Some(content) => {
                    let file = StoredFile {
                        content: content.clone(),
                        modified: now,
                    };
                    after.insert(operation.path.clone(), file);
                }
                None => {
                    after.remove(&operation.path);
                }
            }
        }
        after
    }

    /// Drops operations that change nothing, so that the journal has no empty entries.
    #[must_use]
    pub fn without_idle(mut self, snapshot: &Snapshot) -> Self {
        self.operations.retain(|operation| {
            let now = snapshot.get(&operation.path).map(|file| &file.content);
            now != operation.content.as_ref()
        });
        self
    }
}

/// Transaction that turns one directory into another, file by file.
pub fn between(before: &Snapshot, after: &Snapshot, author: Author, reason: &str) -> Transaction {
    let mut change = Transaction::by(author, reason);
    for (path, file) in after.files() {
        if before
            .get(path)
            .is_none_or(|old| old.content != file.content)
        {
            change.put(before, path.clone(), file.content.clone());
        }
    }
    for (path, _) in before.files() {
        if after.get(path).is_none() {
            change.delete(before, path.clone());
        }
    }
    change
}

/// Rule of the scanner that finds a credential in a name, as it is or with the separators that names
/// have in place of blanks.
fn secret_in_name(path: &SafePath) -> Option<&'static str> {
    let name = path.as_str();
    let spaced = name.trim_end_matches(".md").replace(['_', '/'], " ");
    let found = secrets::scan(name)
        .into_iter()
        .chain(secrets::scan(&spaced))
        .next();
    found.map(|found| found.rule)
}

#[cfg(test)]
#[path = "transaction_tests.rs"]
mod tests;
