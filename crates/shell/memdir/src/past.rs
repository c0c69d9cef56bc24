//! Past of a directory: its history, old contents, undo, purging.
//!
//! # Not here
//! The meaning of an undo (`dormouse_memory::journal::undo`); the journal's file (`log`).

use crate::commit::{OUTSIDE, gap};
use crate::dir::MemoryDir;
use crate::disk::{CACHE, GUESTS, JOURNAL};
use crate::error::MemdirError;
use crate::log::History;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::index::{self, IndexPast};
use dormouse_memory::journal::{self, Change, JournalEntry};
use dormouse_memory::snapshot::{INDEX, Snapshot, is_topic};
use dormouse_memory::topic::Topic;
use dormouse_memory::transaction::Author;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Result<T> = std::result::Result<T, MemdirError>;

/// Contents of files after the last change that the journal has of them.
type Known = BTreeMap<SafePath, Option<Hash>>;

impl MemoryDir {
    /// History, as far as it was recorded.
    pub fn history(&self) -> Result<History> {
        self.disk.history()
    }

    /// Records changes to files that were made without Dormouse since the journal last had them.
    /// `None` if there are none. Transactions do this for the files they touch; this does it for
    /// all, those that the journal never had among them.
    pub fn note_outside_changes(&self) -> Result<Option<JournalEntry>> {
        self.note_changes(|_, _| true)
    }

    /// Records changes without Dormouse to files that the journal has. Others enter with their first
    /// change: a folder of thousands is not copied because its history is looked at.
    pub fn note_outside_edits(&self) -> Result<Option<JournalEntry>> {
        self.note_changes(BTreeMap::contains_key)
    }

    fn note_changes(
        &self,
        wanted: impl Fn(&Known, &SafePath) -> bool,
    ) -> Result<Option<JournalEntry>> {
        let snapshot = self.snapshot()?;
        let gaps = |known: &Known| -> Vec<Change> {
            let present = snapshot.files().filter_map(|(path, file)| {
                let last = known.get(path).copied().flatten();
                gap(path, last, Some(Hash::of(&file.content)))
            });
            let gone = known
                .iter()
                .filter(|(path, _)| snapshot.get(path).is_none());
            let gone = gone.filter_map(|(path, last)| gap(path, *last, None));
            let all = present.chain(gone);
            all.filter(|change| wanted(known, &change.path)).collect()
        };
        // Looked at without the lock first: usually there is nothing to record.
        if gaps(&self.known_contents()?).is_empty() {
            return Ok(None);
        }
        let writer = self.writer()?;
        let mut changes = gaps(&self.known_contents()?);
        // A file that changed since the look is seen the next time.
        changes.retain(|change| {
            // One that cannot be read is neither changed nor gone, as far as is known.
            let now = writer.current(&change.path);
            now.is_ok_and(|now| now.as_deref().map(Hash::of) == change.after)
        });
        for change in &changes {
            // Kept before the entry names its hash, as with every change.
            if let Some(file) = snapshot.get(&change.path) {
                self.disk.keep(&file.content)?;
            }
        }
        if changes.is_empty() {
            return Ok(None);
        }
        writer.note_outside(changes, OUTSIDE).map(Some)
    }

    /// Contents of files after the last change that the journal has of them.
    fn known_contents(&self) -> Result<Known> {
        let mut known = Known::new();
        for entry in self.disk.history()?.entries {
            let after = |change: Change| (change.path, change.after);
            known.extend(entry.changes.into_iter().map(after));
        }
        Ok(known)
    }

    /// Earlier content of a file; `None` if it was purged.
    pub fn content(&self, hash: Hash) -> Result<Option<Bytes>> {
        self.disk.kept(hash)
    }

    /// Takes a change back, if its files are still as it left them. In the index the lines of the
    /// change are taken back, whatever else was written there since.
    pub fn undo(&self, id: &str) -> Result<Option<JournalEntry>> {
        let writer = self.writer()?;
        // Before the history is read: an edit by hand that stands in the way has an entry then.
        let touched = |entry: &JournalEntry| entry.id == id;
        let history = self.disk.history()?;
        if let Some(entry) = history.entries.iter().find(|entry| touched(entry)) {
            let paths: Vec<&SafePath> = entry.changes.iter().map(|change| &change.path).collect();
            writer.note_gaps(&paths)?;
        }
        let history = self.disk.history()?;
        // A newer entry could be an undo of this one, which this version would not see.
        if let Some((line, found)) = history.newer {
            return Err(MemdirError::Newer {
                path: self.disk.root.join(JOURNAL),
                line,
                found,
            });
        }
        let entry = history.entries.iter().find(|entry| touched(entry));
        let entry = entry.ok_or_else(|| MemdirError::NoEntry(id.to_owned()))?;
        let mut contents = BTreeMap::new();
        let mut now = BTreeMap::new();
        for change in &entry.changes {
            for hash in change.before.into_iter().chain(change.after) {
                if let Some(content) = self.disk.kept(hash)? {
                    contents.insert(hash, content);
                }
            }
            now.insert(&change.path, writer.current(&change.path)?);
        }
        let content = |hash| contents.get(&hash).cloned();
        let current = |path: &SafePath| now.get(path).cloned().flatten();
        writer.commit(journal::undo(entry, &history.entries, content, current)?)
    }

    /// Forgets every content that a file ever had, but not that there were some: contents that only
    /// this file had are removed, indexes with a line about it, and items of the inbox under its
    /// name. Delete the file first; its present content is otherwise kept with its next change.
    /// Returns the number of contents removed.
    pub fn purge(&self, path: &SafePath) -> Result<usize> {
        let _writer = self.writer()?;
        let (mut its, mut others) = (BTreeSet::new(), BTreeSet::new());
        for entry in self.disk.history()?.entries {
            for change in entry.changes {
                let is_index = change.path.file_name() == INDEX;
                for hash in change.before.into_iter().chain(change.after) {
                    // The line of a memory in an index repeats its description.
                    let lists_it = is_index && self.lists(hash, path)?;
                    let set = if change.path == *path || lists_it {
                        &mut its
                    } else {
                        &mut others
                    };
                    set.insert(hash);
                }
            }
        }
        // A content that another file had too stays: that file's undo needs it.
        let removed = self.drop_contents(its.difference(&others))?;
        for item in self.inbox()?.items.iter().filter(|item| item.path == *path) {
            self.remove_item(&item.id)?;
        }
        // The cached index has the words of the file.
        self.disk.remove_durably(Path::new(CACHE))?;
        // So has what sessions of other agents were given.
        for name in self.disk.list_names(Path::new(GUESTS))? {
            self.disk.remove_durably(&Path::new(GUESTS).join(name))?;
        }
        Ok(removed)
    }

    /// True if an index that was kept has a line about a file.
    fn lists(&self, hash: Hash, path: &SafePath) -> Result<bool> {
        let kept = self.disk.kept(hash)?.unwrap_or_default();
        let entries = index::entries(&String::from_utf8_lossy(&kept));
        Ok(entries.iter().any(|entry| entry.path == *path))
    }

    /// Facts of the journal about the files that the index of a snapshot links to: what they held
    /// earlier, and which of them Dormouse removed.
    pub fn index_past(&self, snapshot: &Snapshot) -> Result<IndexPast> {
        /// Earlier contents of a file that are looked at, the newest: a line is rarely older than
        /// the last few, and a file in a loop of edits has thousands.
        const MOST_VERSIONS: usize = 32;
        let mut past = IndexPast::default();
        let mut asked = asked(snapshot);
        if asked.is_empty() {
            return Ok(past);
        }
        let mut index_then = None;
        for entry in self.disk.history()?.entries {
            let index = entry
                .changes
                .iter()
                .find(|change| change.path.as_str() == INDEX);
            // Before the change: that index still has the lines of a file which it removes.
            index_then = index.map_or(index_then, |index| index.before);
            for change in &entry.changes {
                let Some(versions) = asked.get_mut(&change.path) else {
                    continue;
                };
                versions
                    .contents
                    .extend(change.before.into_iter().chain(change.after));
                let removed = change.after.is_none() && entry.author != Author::Outside;
                versions.removed_from = if removed { index_then } else { None };
            }
            index_then = index.map_or(index_then, |index| index.after);
        }
        let mut removals: BTreeMap<Hash, BTreeSet<&SafePath>> = BTreeMap::new();
        for (path, versions) in &asked {
            let mut seen = BTreeSet::new();
            let newest = versions
                .contents
                .iter()
                .rev()
                .filter(|hash| seen.insert(**hash));
            for hash in newest.take(MOST_VERSIONS) {
                if let Some(content) = self.disk.kept(*hash)? {
                    past.add_version(path, &String::from_utf8_lossy(&content));
                }
            }
            if let Some(index) = versions.removed_from {
                removals.entry(index).or_default().insert(path);
            }
        }
        // One change often removes many: its index is read once.
        for (index, paths) in removals {
            if let Some(content) = self.disk.kept(index)? {
                past.add_removals(&paths, &String::from_utf8_lossy(&content));
            }
        }
        Ok(past)
    }

    /// Removes the contents that only changes before a moment refer to. Those changes can then no
    /// longer be taken back. Returns the number of contents removed.
    pub fn purge_before(&self, moment: Millis) -> Result<usize> {
        let _writer = self.writer()?;
        let (mut old, mut needed) = (BTreeSet::new(), BTreeSet::new());
        for entry in self.disk.history()?.entries {
            let set = if entry.time < moment {
                &mut old
            } else {
                &mut needed
            };
            for change in entry.changes {
                set.extend(change.before.into_iter().chain(change.after));
            }
        }
        self.drop_contents(old.difference(&needed))
    }

    fn drop_contents<'a>(&self, hashes: impl Iterator<Item = &'a Hash>) -> Result<usize> {
        let mut removed = 0;
        for hash in hashes {
            if self.disk.kept(*hash)?.is_some() {
                self.disk.drop_kept(*hash)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Past of one file, as the journal is read.
#[derive(Default)]
struct Versions {
    contents: Vec<Hash>,
    /// Index that Dormouse removed it from, if that was the last change of it.
    removed_from: Option<Hash>,
}

/// Files of the index whose past matters: a line that is made of the present content needs none.
fn asked(snapshot: &Snapshot) -> BTreeMap<SafePath, Versions> {
    let text = snapshot.index();
    let mut asked = BTreeMap::new();
    for entry in index::entries(&text) {
        let line = text[entry.range.clone()].trim_end_matches(['\r', '\n']);
        let file = snapshot.get(&entry.path).filter(|_| is_topic(&entry.path));
        let current = |topic: &Topic| index::line_of(&entry.path, topic) == line;
        if !file.is_some_and(|file| current(&Topic::read(&file.text()))) {
            asked.insert(entry.path, Versions::default());
        }
    }
    asked
}
