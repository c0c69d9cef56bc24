//! Memories that wait for approval.

use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use crate::remark::Remark;
use dormouse_core::units::Millis;
use dormouse_keeper::figures::{self, Figure};
use dormouse_memdir::{Inbox, Item, MemdirError, MemoryDir, Proposal};
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::topic::{self, Field, Topic};
use dormouse_memory::transaction::{Author, Transaction, between};
use dormouse_memory::trust::Trust;
use dormouse_memory::write::retext;
use serde::Serialize;

/// The memories that wait, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InboxList {
    /// One for each write that waits.
    pub items: Vec<WaitingItem>,
}

/// A write that waits, with its proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingItem {
    /// Version of the item's file.
    pub format: u32,
    /// Its id; ids sort in the order they were made.
    pub id: String,
    /// Time since which it waits.
    pub time: String,
    /// The write that waits.
    #[serde(flatten)]
    pub proposal: Proposal,
    /// The line that stands for it.
    #[serde(skip)]
    pub description: String,
    /// `time` as a number, to compute ages from.
    #[serde(skip)]
    pub at: Millis,
}

impl From<Item> for WaitingItem {
    fn from(item: Item) -> Self {
        Self {
            format: item.format,
            time: item.time.to_string(),
            description: Topic::read(&item.content).description,
            at: item.time,
            id: item.id,
            proposal: item.proposal,
        }
    }
}

/// The items that are decided about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// All items that wait.
    All,
    /// Items whose ids begin with one of these.
    Ids(Vec<String>),
}

/// The items that were decided about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Id and file of each item.
    pub items: Vec<(String, String)>,
}

impl Host {
    /// The memories that wait for approval.
    ///
    /// # Errors
    /// When memory is off, or the directory cannot be read.
    pub fn inbox(&self, which: &Which) -> Result<InboxList, HostError> {
        let inbox = match self.find(which)?.existing()? {
            Some(dir) => dir.inbox()?,
            None => Inbox::default(),
        };
        for (path, why) in inbox.unreadable {
            self.remark(Remark::MemoryLeftOut { path, why });
        }
        let items = inbox.items.into_iter().map(WaitingItem::from).collect();
        Ok(InboxList { items })
    }

    /// Approves memories. Approving is the user's word: from here on the memory is as good as said
    /// by the user. Where it came from stays written in it.
    ///
    /// # Errors
    /// When an id means no single item, or the directory cannot be changed.
    pub fn approve(&self, which: &Which, chosen: &Chosen) -> Result<Decided, HostError> {
        let dir = self.find(which)?.open()?;
        let items = items(&dir, chosen)?;
        if let [item] = items.as_slice() {
            dir.approve(&item.id, |item, snapshot| {
                Ok::<_, HostError>(approved(item, snapshot))
            })?;
            return Ok(decided(items));
        }
        // Several are one change, so that one undo takes them back.
        dir.update(|snapshot| Ok::<_, HostError>(all_approved(&items, snapshot)))?;
        for item in &items {
            dir.reject(&item.id)?;
        }
        Ok(decided(items))
    }

    /// Rejects memories: the items leave the inbox, and nothing is written.
    ///
    /// # Errors
    /// When an id means no single item, or the directory cannot be changed.
    pub fn reject(&self, which: &Which, chosen: &Chosen) -> Result<Decided, HostError> {
        let dir = self.find(which)?.open()?;
        let items = items(&dir, chosen)?;
        for item in &items {
            dir.reject(&item.id)?;
        }
        let figure = Figure {
            at: self.now(),
            rejected: u64::try_from(items.len()).unwrap_or(u64::MAX),
            ..Figure::default()
        };
        figures::note(&dir, &figure);
        Ok(decided(items))
    }
}

fn decided(items: Vec<Item>) -> Decided {
    let items = items.into_iter().map(|item| {
        let path = item.path.to_string();
        (item.id, path)
    });
    Decided {
        items: items.collect(),
    }
}

fn items(dir: &MemoryDir, chosen: &Chosen) -> Result<Vec<Item>, HostError> {
    let items = dir.inbox()?.items;
    let Chosen::Ids(ids) = chosen else {
        return Ok(items);
    };
    let mut chosen = Vec::new();
    for wanted in ids {
        let mut found = items
            .iter()
            .filter(|item| item.id.starts_with(wanted.as_str()));
        match (found.next(), found.next()) {
            (Some(item), None) => chosen.push(item.clone()),
            (None, _) => return Err(MemdirError::NoItem(wanted.clone()).into()),
            // Guessing between two would approve the wrong memory.
            (Some(_), Some(_)) => return Err(HostError::AmbiguousItem(wanted.clone())),
        }
    }
    Ok(chosen)
}

/// One change that approves several items. Each memory names its own source.
fn all_approved(items: &[Item], snapshot: &Snapshot) -> Transaction {
    let mut after = snapshot.clone();
    for item in items {
        after = approved(item, &after).applied(&after, Millis::default());
    }
    let reason = format!("approved {} memories", items.len());
    let mut change = between(snapshot, &after, Author::User, &reason);
    for operation in &mut change.operations {
        if let Some(item) = items.iter().find(|item| item.path == operation.path) {
            operation.expected = item.expected;
        }
    }
    change
}

fn approved(item: &Item, snapshot: &Snapshot) -> Transaction {
    let text = topic::edit(&item.content, &[Field::Trust(Trust::User)]);
    let reason = format!("approved: {}", item.reason);
    let mut change = retext(snapshot, &item.path, &text, Author::User, &reason);
    // The journal keeps the tool or page it came from, also after the user's approval.
    change.source.clone_from(&item.origin);
    for operation in &mut change.operations {
        if operation.path == item.path {
            // The file may have changed since the proposal was made; then the approval fails
            // instead of overwriting it.
            operation.expected = item.expected;
        }
    }
    change
}
