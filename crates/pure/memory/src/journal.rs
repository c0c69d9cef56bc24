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

use crate::snapshot::{INDEX, Snapshot};
use crate::transaction::{Author, Expected, Operation, Transaction};
use crate::trust::Origin;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffTag, capture_diff_slices};

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
    /// Files that were changed since, and what changed them.
    #[error("nothing was undone: {}", list(.0))]
    ChangedSince(Vec<Obstacle>),
}

/// File that stands in the way of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// File that is no longer as the entry left it.
    pub path: SafePath,
    /// Newest entry that changed it since: id, author, reason.
    pub by: Option<(String, Author, String)>,
}

fn list(obstacles: &[Obstacle]) -> String {
    let texts = obstacles.iter().map(|Obstacle { path, by }| match by {
        Some((id, Author::Outside, _)) => {
            format!("`{path}` was changed since without Dormouse (entry {id})")
        }
        Some((id, author, reason)) => {
            format!("`{path}` was changed since by {author} ({reason}; entry {id})")
        }
        None => format!("`{path}` was changed since"),
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// Newest change that a command or automation made and that still stands; an undo is none. Edits
/// made without Dormouse are a person's and are taken back only by their id.
pub fn newest_command(history: &[JournalEntry]) -> Option<&JournalEntry> {
    history.iter().rev().find(|entry| {
        entry.author != Author::Outside
            && entry.undoes.is_none()
            && undone_by(&entry.id, history).is_none()
    })
}

/// The transaction that takes an entry back. It expects the files as the entry left them, so that
/// nothing newer is lost. In the index, which every change touches, the lines of the entry are taken
/// back and all others stay.
pub fn undo(
    entry: &JournalEntry,
    history: &[JournalEntry],
    mut content: impl FnMut(Hash) -> Option<Bytes>,
    current: impl Fn(&SafePath) -> Option<Bytes>,
) -> Result<Transaction, UndoError> {
    // A second undo would expect files that are no longer there and end in a conflict; this says
    // why.
    if let Some(by) = undone_by(&entry.id, history) {
        return Err(UndoError::Already(entry.id.clone(), by.to_owned()));
    }
    let mut transaction = Transaction::by(Author::User, format!("undo: {}", entry.reason));
    transaction.undoes = Some(entry.id.clone());
    let mut obstacles = Vec::new();
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
        let now = current(&change.path);
        let unchanged = now.as_deref().map(Hash::of) == change.after;
        let wanted = if unchanged {
            Some(before)
        } else if change.path.as_str() == INDEX {
            let after = change.after.and_then(&mut content);
            lines_back(before.as_deref(), after.as_deref(), now.as_deref())
        } else {
            None
        };
        let Some(wanted) = wanted else {
            obstacles.push(Obstacle {
                path: change.path.clone(),
                by: changed_by(&change.path, entry, history),
            });
            continue;
        };
        transaction.operations.push(Operation {
            path: change.path.clone(),
            expected: now.map_or(Expected::Absent, |now| Expected::Is(Hash::of(&now))),
            content: wanted,
        });
    }
    if obstacles.is_empty() {
        Ok(transaction)
    } else {
        Err(UndoError::ChangedSince(obstacles))
    }
}

/// Newest entry after `entry` that changed a file.
fn changed_by(
    path: &SafePath,
    entry: &JournalEntry,
    history: &[JournalEntry],
) -> Option<(String, Author, String)> {
    let later = history
        .iter()
        .rev()
        .take_while(|other| other.id != entry.id);
    let mut touching =
        later.filter(|other| other.changes.iter().any(|change| change.path == *path));
    let by = touching.next()?;
    Some((by.id.clone(), by.author, by.reason.clone()))
}

/// Text with the lines of a change taken back and all others kept: `Some(None)` if nothing is left of
/// a file that the change made, `None` if the lines of the change are not there as it left them.
#[expect(
    clippy::option_option,
    reason = "cannot be taken back, no file left, or a text: three answers"
)]
fn lines_back(
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    now: Option<&[u8]>,
) -> Option<Option<Bytes>> {
    let [old, new, now] = [before.unwrap_or_default(), after?, now?];
    let [old, new] =
        [old, new].map(|text| text.split_inclusive(|b| *b == b'\n').collect::<Vec<_>>());
    let mut lines: Vec<&[u8]> = now.split_inclusive(|b| *b == b'\n').collect();
    let operations = capture_diff_slices(Algorithm::Myers, &old, &new);
    // From the end, so that the places of earlier hunks stay right.
    for operation in operations.iter().rev() {
        let (tag, was, is) = operation.as_tag_tuple();
        if tag == DiffTag::Equal {
            continue;
        }
        let (put, gone) = (&old[was], &new[is.clone()]);
        let at = if gone.is_empty() {
            place(&lines, new.get(..is.start)?.last(), new.get(is.end))
        } else {
            only(&lines, gone)?
        };
        lines.splice(at..at + gone.len(), put.iter().copied());
    }
    let text: Vec<u8> = lines.concat();
    Some((before.is_some() || !text.is_empty()).then(|| text.into()))
}

/// Place of lines that occur once, next to each other.
fn only(lines: &[&[u8]], wanted: &[&[u8]]) -> Option<usize> {
    let mut found = (0..lines.len()).filter(|at| lines[*at..].starts_with(wanted));
    let at = found.next()?;
    found.next().is_none().then_some(at)
}

/// Place for lines that come back: behind the line they followed, before the one that followed them,
/// or at the end.
fn place(lines: &[&[u8]], behind: Option<&&[u8]>, ahead: Option<&&[u8]>) -> usize {
    let behind = behind.and_then(|line| only(lines, &[line]));
    let ahead = ahead.and_then(|line| only(lines, &[line]));
    behind.map_or_else(|| ahead.unwrap_or(lines.len()), |at| at + 1)
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
        let is = |text: &'static str| move |_: &SafePath| Some(Bytes::from(text));
        let back = undo(&first, std::slice::from_ref(&first), content, is("new")).unwrap();
        assert_eq!(back.check(&after), Ok(()));
        let restored = back.applied(&after, Millis(2));
        assert_eq!(restored.version(), before.version());
        let second = JournalEntry::of(&back, &after, "2".into(), Millis(2));
        let history = [first.clone(), second.clone()];
        let already = Err(UndoError::Already("1".into(), "2".into()));
        assert_eq!(undo(&first, &history, content, is("old")), already);
        let again = undo(&second, &history, content, is("old")).unwrap();
        assert_eq!(
            again.applied(&restored, Millis(3)).version(),
            after.version()
        );
    }

    #[test]
    fn in_an_index_only_the_lines_of_the_change_are_taken_back() {
        let cases: [(&str, &str, &str, Option<&str>); 8] = [
            // Lines were added since, above and below.
            (
                "a\nb\n",
                "a\nb\nNEW\n",
                "mine\na\nb\nNEW\nlater\n",
                Some("mine\na\nb\nlater\n"),
            ),
            // A line that the change removed comes back to its place.
            (
                "a\nb\nc\n",
                "a\nc\n",
                "a\nc\nlater\n",
                Some("a\nb\nc\nlater\n"),
            ),
            ("a\nb\n", "b\n", "b\nx\n", Some("a\nb\nx\n")),
            // Its neighbours are gone: to the end.
            ("a\nb\nc\n", "a\nc\n", "x\n", Some("x\nb\n")),
            // Replaced and changed again, or there twice: a person has to decide.
            ("a\nold\n", "a\nnew\n", "a\nnewer\n", None),
            ("a\n", "a\nNEW\n", "NEW\na\nNEW\n", None),
            ("a\nold\nb\n", "a\nnew\nb\n", "b\nnew\n", Some("b\nold\n")),
            ("", "NEW\n", "NEW\nmine", Some("mine")),
        ];
        for (before, after, now, expected) in cases {
            let texts = [before, after, now].map(|text| Some(text.as_bytes()));
            let back = lines_back(texts[0], texts[1], texts[2]);
            let back = back.map(|text| String::from_utf8(text.unwrap().to_vec()).unwrap());
            assert_eq!(back.as_deref(), expected, "{before:?} {after:?} {now:?}");
        }
        assert_eq!(lines_back(None, Some(b"NEW\n"), Some(b"NEW\n")), Some(None));
    }
}
