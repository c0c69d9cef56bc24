//! History of the memory directory.
//!
//! # Model
//! A [`JournalEntry`] says who changed which files when and why, each file by the hash of what it held
//! before and after; the contents lie beside the journal under their hashes. Undoing is a
//! transaction that puts the contents before back, and it has an entry of its own: history grows,
//! it is not rewritten. Only purging removes contents, never entries.
//!
//! # Not here
//! Files of the journal and of the contents (`dormouse-memdir`).

use crate::snapshot::Snapshot;
use crate::transaction::{Author, Expected, Operation, Transaction};
use crate::trust::Origin;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;
use serde::{Deserialize, Serialize};

/// Version of the entry format. Readers refuse a newer one, because an undo from an entry that is
/// only half understood could lose bytes.
pub const FORMAT: u32 = 1;

/// Change of one file within an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// File, relative to the memory directory.
    pub path: SafePath,
    /// Hash of the content before; `None` if the file did not exist.
    pub before: Option<Hash>,
    /// Hash of the content after; `None` if the file was deleted.
    pub after: Option<Hash>,
}

/// One applied transaction, as the journal records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Always [`FORMAT`] in entries written by this version.
    pub format: u32,
    /// Unique id; ids sort in the order in which entries were made.
    pub id: String,
    /// Time of the change, from the caller's clock.
    pub time: Millis,
    /// Component that made the change, as the history shows it.
    pub author: Author,
    /// Reason for people, one line; an undo repeats it.
    pub reason: String,
    /// Span of a log that the change stems from; automation has one whenever it writes a memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Origin>,
    /// Id of the entry that this one took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Changed files, each at most once.
    pub changes: Vec<Change>,
}

impl JournalEntry {
    /// The entry of a transaction on a snapshot.
    pub fn of(transaction: &Transaction, snapshot: &Snapshot, id: String, time: Millis) -> Self {
        let change = |operation: &Operation| Change {
            path: operation.path.clone(),
            before: snapshot
                .get(&operation.path)
                .map(|file| Hash::of(&file.content)),
            after: operation.content.as_deref().map(Hash::of),
        };
        Self {
            format: FORMAT,
            id,
            time,
            author: transaction.author,
            // A reason may quote the user; the journal outlives every memory.
            reason: secrets::redact(&transaction.reason).into_owned(),
            source: transaction.source.clone(),
            undoes: transaction.undoes.clone(),
            changes: transaction.operations.iter().map(change).collect(),
        }
    }
}

/// Reason why an entry cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// Content before is purged: only its hash is left.
    #[error("what `{0}` held before was purged; it cannot be brought back")]
    Purged(SafePath),
    /// Undone already, by an undo that still stands: id of the entry, id of the undo.
    #[error("entry {0} was undone already, by {1}")]
    Already(String, String),
}

/// The transaction that takes an entry back. It expects the files as the entry left them, so that
/// nothing newer is lost.
pub fn undo(
    entry: &JournalEntry,
    history: &[JournalEntry],
    mut content: impl FnMut(Hash) -> Option<Bytes>,
) -> Result<Transaction, UndoError> {
    // A second undo would expect files that are no longer there and end in a conflict; this says
    // why.
    if let Some(by) = undone_by(&entry.id, history) {
        return Err(UndoError::Already(entry.id.clone(), by.to_owned()));
    }
    let mut transaction = Transaction::by(Author::User, format!("undo: {}", entry.reason));
    transaction.undoes = Some(entry.id.clone());
    for change in &entry.changes {
        let before = match change.before {
            Some(hash) => match content(hash) {
                Some(bytes) => Some(bytes),
                // Half an undo would leave a directory that never existed, so one missing file
                // stops all.
                None => return Err(UndoError::Purged(change.path.clone())),
            },
            None => None,
        };
        transaction.operations.push(Operation {
            path: change.path.clone(),
            expected: change.after.map_or(Expected::Absent, Expected::Is),
            content: before,
        });
    }
    Ok(transaction)
}

/// Id of the entry that took `id` back, unless that one was itself undone.
pub fn undone_by<'a>(id: &str, history: &'a [JournalEntry]) -> Option<&'a str> {
    let by = history
        .iter()
        .rev()
        // Newest first: an entry may be undone, redone and undone again, and only the last one
        // counts.
        .find(|entry| entry.undoes.as_deref() == Some(id))?;
    // An undo that was itself undone took nothing back.
    undone_by(&by.id, history).is_none().then_some(&by.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::StoredFile;
    use pretty_assertions::assert_eq;
    use std::collections::HashMap;

    #[test]
    fn undoing_restores_every_byte_and_can_itself_be_undone() {
        let path = SafePath::parse("a.md").unwrap();
        let mut before = Snapshot::new();
        before.insert(
            path.clone(),
            StoredFile {
                content: "old".into(),
                modified: Millis(0),
            },
        );
        let mut change = Transaction::by(Author::Agent, "edit");
        change.put(&before, path, "new");
        let blobs: HashMap<Hash, Bytes> = ["old", "new"]
            .map(|text| (Hash::of(text.as_bytes()), text.into()))
            .into();
        let content = |hash| blobs.get(&hash).cloned();
        let first = JournalEntry::of(&change, &before, "1".into(), Millis(1));
        let after = change.applied(&before, Millis(1));
        let back = undo(&first, std::slice::from_ref(&first), content).unwrap();
        assert_eq!(back.check(&after), Ok(()));
        let restored = back.applied(&after, Millis(2));
        assert_eq!(restored.version(), before.version());
        let second = JournalEntry::of(&back, &after, "2".into(), Millis(2));
        let history = [first.clone(), second.clone()];
        let already = Err(UndoError::Already("1".into(), "2".into()));
        assert_eq!(undo(&first, &history, content), already);
        let again = undo(&second, &history, content).unwrap();
        assert_eq!(
            again.applied(&restored, Millis(3)).version(),
            after.version()
        );
    }
}
