//! Forgetting, pinning and unpinning memories.

use super::names;
use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::MemoryDir;
use dormouse_memory::index;
use dormouse_memory::journal::JournalEntry;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::{Author, Transaction, between};
use dormouse_memory::write::{self, WriteError};
use serde::Serialize;

/// Treatment of the journal when a memory is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// The journal keeps the text, so that forgetting can be undone.
    Keep,
    /// The text goes from the journal too; this cannot be undone.
    Contents,
}

/// The outcome of forgetting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forgotten {
    /// The files that are gone, in the order named.
    pub forgotten: Vec<SafePath>,
    /// The entry of the journal.
    pub entry: Option<String>,
    /// Set if the journal has lost the texts too.
    pub purged: bool,
    /// True if an undo brings them back. A full disk has no room to keep what they held.
    pub undoable: bool,
    /// Lines of the index that still link to one of them: prose, or beside other links.
    pub mentioned: Vec<usize>,
}

/// The outcome of pinning or unpinning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The memory's file from now on.
    pub path: Option<SafePath>,
    /// The entry of the journal, by which the move can be undone.
    pub entry: Option<String>,
}

/// True if the journal has everything that a change replaced or removed.
fn is_kept(dir: &MemoryDir, entry: &JournalEntry) -> Result<bool, HostError> {
    for hash in entry.changes.iter().filter_map(|change| change.before) {
        if dir.content(hash)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Host {
    /// Forgets memories by their names, in one change, for a reason that the journal keeps.
    ///
    /// # Errors
    /// When a name means no single memory or is only a part of one, or the directory cannot be
    /// changed. Nothing is forgotten then.
    pub fn forget(
        &self,
        which: &Which,
        names: &[String],
        reason: Option<&str>,
        purge: Purge,
    ) -> Result<Forgotten, HostError> {
        let mut found = self.find(which)?;
        let mut forgotten = Vec::new();
        let mut mentioned = Vec::new();
        let reason = reason.map_or_else(|| format!("forget {}", names.join(", ")), str::to_owned);
        let entry = found.update(|snapshot| {
            // Asked again if another process changed the directory meanwhile.
            forgotten.clear();
            let mut after = snapshot.clone();
            for name in names {
                let file = names::find_whole(snapshot, name)?;
                // A memory that was named twice is forgotten once.
                if !forgotten.contains(&file) {
                    let one = write::forget(&after, &file, Author::User, &reason)?;
                    after = one.applied(&after, Millis::default());
                    forgotten.push(file);
                }
            }
            let links = index::entries(&after.index()).into_iter();
            let links = links.filter(|link| forgotten.contains(&link.path));
            mentioned = links.map(|link| link.line).collect();
            mentioned.dedup();
            Ok(between(snapshot, &after, Author::User, &reason))
        })?;
        // After all are forgotten: purging is for good, and a wrong name before it should stop it.
        if purge == Purge::Contents {
            let dir = found.open()?;
            for path in &forgotten {
                dir.purge(path)?;
            }
        }
        // A full disk has no room for what they held.
        let undoable = match &entry {
            Some(entry) if purge == Purge::Keep => is_kept(&found.open()?, entry)?,
            _ => purge == Purge::Keep,
        };
        Ok(Forgotten {
            forgotten,
            undoable,
            entry: entry.map(|entry| entry.id),
            purged: purge == Purge::Contents,
            mentioned,
        })
    }

    /// Puts a memory where automation does not touch it.
    ///
    /// # Errors
    /// When the name means no single memory, or it is pinned already.
    pub fn pin(&self, which: &Which, name: &str) -> Result<Moved, HostError> {
        self.moved(which, name, write::pin)
    }

    /// Lets automation touch a memory again.
    ///
    /// # Errors
    /// When the name means no single memory, or it is not pinned.
    pub fn unpin(&self, which: &Which, name: &str) -> Result<Moved, HostError> {
        self.moved(which, name, write::unpin)
    }

    fn moved(
        &self,
        which: &Which,
        name: &str,
        change: impl Fn(&Snapshot, &SafePath) -> Result<Transaction, WriteError>,
    ) -> Result<Moved, HostError> {
        let entry = self.find(which)?.update(|snapshot| {
            let path = names::find(snapshot, name)?;
            Ok(change(snapshot, &path)?)
        })?;
        // A move is a deletion and a creation; the created file has no state before.
        let new = entry.as_ref().and_then(|entry| {
            let mut changes = entry.changes.iter();
            changes.find(|change| change.before.is_none())
        });
        Ok(Moved {
            path: new.map(|change| change.path.clone()),
            entry: entry.map(|entry| entry.id),
        })
    }
}
