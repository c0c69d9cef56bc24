//! Writes that wait for approval.
//!
//! # Model
//! One file an item, `.inbox/<id>.json`, with the whole content and the reason for waiting.
//! Approving is the user's word: a transaction of the user's, made of the item by the caller. The
//! same content for the same file waits once, however often it is proposed.
//!
//! # Not here
//! The choice of writes that wait, and the trust of an approved memory: the caller's
//! (`dormouse_memory::extract`).

use crate::dir::MemoryDir;
use crate::disk::INBOX;
use crate::error::MemdirError;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;
use dormouse_memory::journal::JournalEntry;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::{Author, Expected, Operation, Transaction};
use dormouse_memory::trust::{Origin, Trust};
use dormouse_system::OptionalFile as _;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of the item format; items of a newer one are listed as unreadable, not lost.
const FORMAT: u32 = 1;
/// Most items. A person does not look through more, and a misled extractor must not fill the disk.
const MOST_ITEMS: usize = 1_000;
/// Most bytes of an item: ten times the longest memory, for JSON's escapes.
const MOST_BYTES: u64 = 1024 * 1024;

type Result<T> = std::result::Result<T, MemdirError>;

/// Write that shall wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// File, relative to the memory directory.
    pub path: SafePath,
    /// Whole new content of the file.
    pub content: String,
    /// Precondition, as it was when the write was proposed.
    pub expected: Expected,
    /// Component that proposes it.
    pub author: Author,
    /// Reason for the write.
    pub reason: String,
    /// Span of a log it stems from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Trust found by the judge.
    pub trust: Trust,
    /// Reason for waiting, shown to the user.
    pub waits_because: String,
}

/// Write that waits for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Version of the item's file.
    pub format: u32,
    /// Unique id, also the file's name.
    pub id: String,
    /// Time of the proposal.
    pub time: Millis,
    /// Write as it was proposed.
    #[serde(flatten)]
    pub proposal: Proposal,
}

impl std::ops::Deref for Item {
    type Target = Proposal;

    fn deref(&self) -> &Proposal {
        &self.proposal
    }
}

impl Item {
    /// Write as it was proposed, as a change by the user.
    pub fn transaction(&self) -> Transaction {
        let mut change = Transaction::by(Author::User, format!("approved: {}", self.reason));
        change.source.clone_from(&self.origin);
        change.operations.push(Operation {
            path: self.path.clone(),
            expected: self.expected,
            content: Some(self.content.clone().into()),
        });
        change
    }
}

/// Writes that wait for approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inbox {
    /// Items by time of proposal, oldest first.
    pub items: Vec<Item>,
    /// Files that are no items, each with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl MemoryDir {
    /// Writes that wait, without the writer's lock.
    pub fn inbox(&self) -> Result<Inbox> {
        let mut inbox = Inbox::default();
        for name in self.disk.list_names(Path::new(INBOX))? {
            let path = Path::new(INBOX).join(&name);
            // Hidden files are temporary or other tools'; neither is an item.
            let Some(id) = name.strip_suffix(".json").filter(|id| !id.starts_with('.')) else {
                continue;
            };
            // One bad entry (a pipe, a link, a file too long) must not hide the others.
            let text = match self.disk.files().read(&path, MOST_BYTES).optional() {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(error) => {
                    inbox.unreadable.push((path, error.source.to_string()));
                    continue;
                }
            };
            match serde_json::from_slice::<Item>(&text) {
                Ok(item) if item.format > FORMAT => {
                    let why = format!("written by a newer version (format {})", item.format);
                    inbox.unreadable.push((path, why));
                }
                // A copied item would otherwise be approved under a name that removes another file.
                Ok(item) if item.id != id => {
                    inbox
                        .unreadable
                        .push((path, format!("holds the item `{}`", item.id)));
                }
                Ok(item) => inbox.items.push(item),
                Err(error) => inbox.unreadable.push((path, error.to_string())),
            }
        }
        inbox
            .items
            .sort_by(|a, b| (a.time, &a.id).cmp(&(b.time, &b.id)));
        Ok(inbox)
    }

    /// Lets a write wait. A write that the gate refuses may not wait either. If the same already
    /// waits, that item is returned.
    pub fn propose(&self, proposal: Proposal) -> Result<Item> {
        // By the user's rules: automation's own were applied by the judge, and an approval is the
        // user's.
        let mut gate = Transaction::by(Author::User, "");
        gate.put(
            &Snapshot::new(),
            proposal.path.clone(),
            proposal.content.clone(),
        );
        gate.vet(&Snapshot::new())?;
        // The reasons are shown and kept as well, and may quote what was said.
        let clean = |text: &str| secrets::redact(text).into_owned();
        let proposal = Proposal {
            reason: clean(&proposal.reason),
            waits_because: clean(&proposal.waits_because),
            ..proposal
        };
        // Under the lock: two extractors may propose the same at once.
        let writer = self.writer()?;
        let items = self.inbox()?.items;
        let same =
            |item: &&Item| (&item.path, &item.content) == (&proposal.path, &proposal.content);
        if let Some(item) = items.iter().find(same) {
            return Ok(item.clone());
        }
        if items.len() >= MOST_ITEMS {
            return Err(MemdirError::InboxFull(items.len()));
        }
        let item = Item {
            format: FORMAT,
            id: self.system.ids.fresh(),
            time: writer.now(),
            proposal,
        };
        let path = item_path(&item.id);
        let text = serde_json::to_vec_pretty(&item).map_err(|source| MemdirError::Encode {
            path: self.disk.root.join(&path),
            source,
        })?;
        self.disk.create_own_dir(Path::new(INBOX))?;
        self.disk.replace_own(&path, &text)?;
        Ok(item)
    }

    /// Makes the write that waits, as the caller shapes it ([`Item::transaction`] is the write as
    /// proposed), and takes it out of the inbox. If it cannot be made it keeps waiting.
    pub fn approve<E: From<MemdirError>>(
        &self,
        id: &str,
        mut shape: impl FnMut(&Item, &Snapshot) -> std::result::Result<Transaction, E>,
    ) -> std::result::Result<Option<JournalEntry>, E> {
        let item = self.item(id)?;
        let entry = self.update(|snapshot| shape(&item, snapshot))?;
        // Behind the change: a crash in between leaves an item that is known already, and no loss.
        self.remove_item(&item.id)?;
        Ok(entry)
    }

    /// Takes a write out of the inbox and forgets it.
    pub fn reject(&self, id: &str) -> Result<Item> {
        let _writer = self.writer()?;
        let item = self.item(id)?;
        self.remove_item(&item.id)?;
        Ok(item)
    }

    fn item(&self, id: &str) -> Result<Item> {
        let items = self.inbox()?.items;
        let item = items.into_iter().find(|item| item.id == id);
        item.ok_or_else(|| MemdirError::NoItem(id.to_owned()))
    }

    pub(crate) fn remove_item(&self, id: &str) -> Result<()> {
        self.disk.remove_durably(&item_path(id))
    }
}

fn item_path(id: &str) -> PathBuf {
    Path::new(INBOX).join(format!("{id}.json"))
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
