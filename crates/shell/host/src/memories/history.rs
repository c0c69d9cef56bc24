//! The journal: changes, their texts, and undoing them.

use super::names;
use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_memdir::{MemdirError, MemoryDir};
use dormouse_memory::journal::{Change, JournalEntry, newest_command, undone_by};
use dormouse_memory::snapshot::INDEX;
use dormouse_memory::transaction::Author;
use dormouse_memory::trust::Origin;
use serde::Serialize;

/// Text that stands for one that was purged: a reader sees that it is missing on purpose.
const PURGED: &str = "(purged)\n";

/// Changes of a directory, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryList {
    /// The directory; `None` if it does not exist.
    pub directory: Option<String>,
    /// One row for each change.
    pub entries: Vec<EntryRow>,
}

/// One change of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntryRow {
    /// Version of the journal's format.
    pub format: u32,
    /// Its id; ids sort in the order they were made.
    pub id: String,
    /// Time at which it was made.
    pub time: String,
    /// Author of the change: the user, an agent, the extractor, a dream, an import.
    pub author: Author,
    /// The author's reason, for people.
    pub reason: String,
    /// The words it comes from, for changes drawn from a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Origin>,
    /// The entry that it took back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Files with the hashes of their contents.
    pub changes: Vec<Change>,
    /// The entry that took it back.
    pub undone_by: Option<String>,
    /// `time` as a number, to compute ages from.
    #[serde(skip)]
    pub at: Millis,
    /// Beginning of the id that no other entry of the journal has; accepted in place of the whole.
    #[serde(skip)]
    pub short: String,
}

impl EntryRow {
    fn new(entry: &JournalEntry, all: &[JournalEntry]) -> Self {
        Self {
            short: short(&entry.id, all),
            format: entry.format,
            id: entry.id.clone(),
            time: entry.time.to_string(),
            author: entry.author,
            reason: entry.reason.clone(),
            source: entry.source.clone(),
            undoes: entry.undoes.clone(),
            changes: entry.changes.clone(),
            undone_by: undone_by(&entry.id, all).map(ToOwned::to_owned),
            at: entry.time,
        }
    }

    /// The files of the change, the index left out where it only follows.
    pub fn files(&self) -> Vec<&str> {
        let paths = self.changes.iter().map(|change| change.path.as_str());
        paths
            // Nearly every change touches the index; naming it each time would say nothing.
            .filter(|path| self.changes.len() == 1 || *path != INDEX)
            .collect()
    }
}

/// A change with the texts before and after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntryDiff {
    /// Id of the journal's entry.
    pub id: String,
    /// One difference per file, in the order of the change.
    pub changes: Vec<FileDiff>,
    /// The entry as a list shows it.
    #[serde(skip)]
    pub entry: EntryRow,
}

/// A file before and after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// The file, relative to its directory.
    pub path: String,
    /// Its text before; `None` if there was no file.
    pub before: Option<String>,
    /// Its text after; `None` if there is no file.
    pub after: Option<String>,
}

/// The outcome of an undo, which is a change of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Id of the entry that was taken back.
    pub undone: String,
    /// The entry that does so, if anything changed.
    pub entry: Option<String>,
    /// The entry that was taken back.
    #[serde(skip)]
    pub was: EntryRow,
}

impl Host {
    fn journal(&self, which: &Which) -> Result<Option<(MemoryDir, Vec<JournalEntry>)>, HostError> {
        let Some(dir) = self.find(which)?.existing()? else {
            return Ok(None);
        };
        // Edits by hand enter the history when it is looked at. A directory that cannot be written,
        // or is being written, is shown as far as it was recorded.
        if !dir.history()?.entries.is_empty() {
            drop(dir.note_outside_edits());
        }
        let entries = dir.history()?.entries;
        Ok(Some((dir, entries)))
    }

    /// Changes of a directory, or of one of its memories, newest first, at most `most`.
    ///
    /// # Errors
    /// When the name means no memory of now or then, or the journal cannot be read.
    pub fn history(
        &self,
        which: &Which,
        name: Option<&str>,
        most: usize,
    ) -> Result<HistoryList, HostError> {
        let Some((dir, entries)) = self.journal(which)? else {
            return Ok(HistoryList {
                directory: None,
                entries: Vec::new(),
            });
        };
        let wanted = match name {
            Some(name) => Some(past_name(&dir, &entries, name)?),
            None => None,
        };
        let touches = |entry: &&JournalEntry| {
            let has = |path: &String| {
                let mut changes = entry.changes.iter();
                changes.any(|change| change.path.as_str() == path)
            };
            wanted.as_ref().is_none_or(has)
        };
        let rows = entries.iter().rev().filter(touches).take(most);
        Ok(HistoryList {
            directory: Some(dir.root().display().to_string()),
            entries: rows.map(|entry| EntryRow::new(entry, &entries)).collect(),
        })
    }

    /// A change with its texts; the newest if none is named.
    ///
    /// # Errors
    /// When there is no such entry, or the journal cannot be read.
    pub fn entry_diff(&self, which: &Which, id: Option<&str>) -> Result<EntryDiff, HostError> {
        let (dir, entries) = self.journal(which)?.ok_or(HostError::NoChanges)?;
        let chosen = match id {
            Some(id) => chosen(&entries, id)?,
            None => entries.last().ok_or(HostError::NoChanges)?,
        };
        let text = |hash: Option<Hash>| -> Result<Option<String>, HostError> {
            let Some(hash) = hash else { return Ok(None) };
            let content = dir.content(hash)?;
            let text = content.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            // A hash without content is a purged text; no hash is a file that did not exist.
            Ok(Some(text.unwrap_or_else(|| PURGED.to_owned())))
        };
        let mut changes = Vec::new();
        for change in &chosen.changes {
            changes.push(FileDiff {
                path: change.path.to_string(),
                before: text(change.before)?,
                after: text(change.after)?,
            });
        }
        Ok(EntryDiff {
            id: chosen.id.clone(),
            changes,
            entry: EntryRow::new(chosen, &entries),
        })
    }

    /// Takes a change back; if none is named, the newest of a command or of automation that stands
    /// and is itself no undo, so that undoing twice goes back two steps. An edit made without
    /// Dormouse is only taken back by its id.
    ///
    /// # Errors
    /// When there is no such entry, or its files have changed since: then nothing is undone.
    pub fn undo(&self, which: &Which, id: Option<&str>) -> Result<Undone, HostError> {
        let (dir, entries) = self.journal(which)?.ok_or(HostError::NoChanges)?;
        let entry = match id {
            Some(id) => chosen(&entries, id)?,
            // Told apart from "all undone": the user may be in the wrong directory.
            None if entries.is_empty() => return Err(HostError::NoChanges),
            None => newest_command(&entries).ok_or(HostError::AllUndone)?,
        };
        undo(&dir, entry, &entries)
    }

    /// Takes the newest dream back that stands.
    ///
    /// # Errors
    /// When there is none, or its files have changed since.
    pub fn undo_dream(&self, which: &Which) -> Result<Undone, HostError> {
        let (dir, entries) = self.journal(which)?.ok_or(HostError::NoDream)?;
        let stands = |entry: &&JournalEntry| {
            entry.author == Author::Dream && undone_by(&entry.id, &entries).is_none()
        };
        let dream = entries
            .iter()
            .rev()
            .find(stands)
            .ok_or(HostError::NoDream)?;
        undo(&dir, dream, &entries)
    }
}

fn undo(dir: &MemoryDir, entry: &JournalEntry, all: &[JournalEntry]) -> Result<Undone, HostError> {
    let done = dir.undo(&entry.id)?;
    Ok(Undone {
        undone: entry.id.clone(),
        entry: done.map(|entry| entry.id),
        was: EntryRow::new(entry, all),
    })
}

/// Beginning of an id that no other entry has. Ids begin with their time; entries of one
/// millisecond need more of it.
fn short(id: &str, all: &[JournalEntry]) -> String {
    /// Letters that are always shown: the time and the first digits behind it.
    const LEAST: usize = 18;
    let others = all.iter().filter(|other| other.id != id);
    let shared = others
        .map(|other| {
            let pairs = id.bytes().zip(other.id.bytes());
            pairs.take_while(|(a, b)| a == b).count()
        })
        .max();
    let length = shared.map_or(LEAST, |shared| LEAST.max(shared + 1));
    id.get(..length).unwrap_or(id).to_owned()
}

/// The entry whose id begins with `wanted`; several are an error, since guessing would undo the
/// wrong one.
fn chosen<'a>(entries: &'a [JournalEntry], wanted: &str) -> Result<&'a JournalEntry, HostError> {
    // A whole id that another one begins with means itself.
    if let Some(exact) = entries.iter().find(|entry| entry.id == wanted) {
        return Ok(exact);
    }
    let begins = |entry: &&JournalEntry| entry.id.starts_with(wanted);
    let found: Vec<&JournalEntry> = entries.iter().filter(begins).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(MemdirError::NoEntry(wanted.to_owned()).into()),
        many => Err(HostError::AmbiguousEntry {
            id: wanted.to_owned(),
            count: many.len(),
        }),
    }
}

/// Path of a memory that is there, or was once. The journal is asked first: a forgotten memory has
/// a history, too.
fn past_name(dir: &MemoryDir, entries: &[JournalEntry], name: &str) -> Result<String, HostError> {
    let known = |path: &str| path == name || path.strip_suffix(".md") == Some(name);
    // Newest first: a name that was used twice means the later memory.
    let past = entries.iter().rev().flat_map(|entry| &entry.changes);
    let past = past
        .map(|change| change.path.as_str())
        .find(|path| known(path));
    match past {
        Some(path) => Ok(path.to_owned()),
        None => Ok(names::find(&dir.snapshot()?, name)?.to_string()),
    }
}
