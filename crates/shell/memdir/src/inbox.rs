//! Writes that wait for approval.
//!
//! # Model
//! One file an item, `.inbox/<id>.json`, with the whole content and why it waits. Approving is the
//! user's word: a transaction of the user's, made of the item by the caller. The same content for
//! the same file waits once, however often it is proposed.
//!
//! # Not here
//! What has to wait, and what an approved memory says about its trust: the caller's.

use crate::dir::MemoryDir;
use crate::disk::INBOX;
use crate::error::MemdirError;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::journal::Entry;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::{Author, Expected, Operation, Transaction};
use dormouse_memory::trust::{Origin, Trust};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The format of items; a newer one is not understood.
const FORMAT: u32 = 1;
/// More than this nobody looks through.
const MOST_ITEMS: usize = 1_000;
/// The longest item.
const MOST_BYTES: u64 = 1024 * 1024;

type Result<T> = std::result::Result<T, MemdirError>;

/// A write that shall wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The file.
    pub path: SafePath,
    /// What it shall hold.
    pub content: String,
    /// What it must hold for that to be right.
    pub expected: Expected,
    /// Who wants it.
    pub author: Author,
    /// Why.
    pub reason: String,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How far it may be believed.
    pub trust: Trust,
    /// Why it waits.
    pub waits_because: String,
}

/// A write that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Version of the item's file.
    pub format: u32,
    /// What it is called.
    pub id: String,
    /// Since when it waits.
    pub time: Millis,
    /// The write.
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
    /// The write as it was proposed, as a change by the user.
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

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inbox {
    /// The items, oldest first.
    pub items: Vec<Item>,
    /// Files that are no items, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl MemoryDir {
    /// What waits for approval.
    pub fn inbox(&self) -> Result<Inbox> {
        let mut inbox = Inbox::default();
        for name in self.disk.list_names(Path::new(INBOX))? {
            let path = Path::new(INBOX).join(&name);
            let Some(id) = name.strip_suffix(".json").filter(|id| !id.starts_with('.')) else {
                continue;
            };
            let Some(text) = self.disk.read(&path, MOST_BYTES)? else {
                continue;
            };
            match serde_json::from_slice::<Item>(&text) {
                Ok(item) if item.format > FORMAT => {
                    let why = format!("written by a newer version (format {})", item.format);
                    inbox.unreadable.push((path, why));
                }
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

    /// Lets a write wait. What may not be written at all may not wait either. If the same already
    /// waits, that item is given back.
    pub fn propose(&self, proposal: Proposal) -> Result<Item> {
        let mut gate = Transaction::by(Author::User, "");
        gate.put(
            &Snapshot::new(),
            proposal.path.clone(),
            proposal.content.clone(),
        );
        gate.vet(&Snapshot::new())?;
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
        shape: impl FnOnce(&Item, &Snapshot) -> std::result::Result<Transaction, E>,
    ) -> std::result::Result<Option<Entry>, E> {
        let item = self.item(id)?;
        let entry = self.update(|snapshot| shape(&item, snapshot))?;
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
