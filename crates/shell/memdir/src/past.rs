//! Past of a directory: its history, old contents, undo, purging.
//!
//! # Not here
//! The meaning of an undo (`dormouse_memory::journal::undo`); the journal's file (`log`).

use crate::dir::{MemoryDir, gap};
use crate::disk::{CACHE, JOURNAL};
use crate::error::MemdirError;
use crate::log::History;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::index;
use dormouse_memory::journal::{self, Change, JournalEntry};
use dormouse_memory::snapshot::INDEX;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const OUTSIDE: &str = "changed without Dormouse";

type Result<T> = std::result::Result<T, MemdirError>;

impl MemoryDir {
    /// History, as far as it was recorded.
    pub fn history(&self) -> Result<History> {
        self.disk.history()
    }

    /// Records changes to files that were made without Dormouse since the journal last had them.
    /// `None` if there are none. Transactions do this for the files they touch; this does it for
    /// all.
    pub fn note_outside_changes(&self) -> Result<Option<JournalEntry>> {
        let writer = self.writer()?;
        let mut known: BTreeMap<SafePath, Option<Hash>> = BTreeMap::new();
        for entry in self.disk.history()?.entries {
            let after = |change: Change| (change.path, change.after);
            known.extend(entry.changes.into_iter().map(after));
        }
        let snapshot = self.snapshot()?;
        let mut gaps = Vec::new();
        for (path, file) in snapshot.files() {
            let last = known.remove(path).flatten();
            if let Some(change) = gap(path, last, Some(Hash::of(&file.content))) {
                // Kept before the entry names its hash, as with every change.
                self.disk.keep(&file.content)?;
                gaps.push(change);
            }
        }
        // Paths that are left over: the journal has them, the directory does not.
        let gone = known.into_iter();
        gaps.extend(gone.filter_map(|(path, last)| gap(&path, last, None)));
        if gaps.is_empty() {
            return Ok(None);
        }
        writer.note_outside(gaps, OUTSIDE).map(Some)
    }

    /// Earlier content of a file; `None` if it was purged.
    pub fn content(&self, hash: Hash) -> Result<Option<Bytes>> {
        self.disk.kept(hash)
    }

    /// Takes a change back, if its files are still as it left them.
    pub fn undo(&self, id: &str) -> Result<Option<JournalEntry>> {
        let writer = self.writer()?;
        let history = self.disk.history()?;
        // A newer entry could be an undo of this one, which this version would not see.
        if let Some((line, found)) = history.newer {
            return Err(MemdirError::Newer {
                path: self.disk.root.join(JOURNAL),
                line,
                found,
            });
        }
        let entry = history.entries.iter().find(|entry| entry.id == id);
        let entry = entry.ok_or_else(|| MemdirError::NoEntry(id.to_owned()))?;
        let mut contents = BTreeMap::new();
        for hash in entry.changes.iter().filter_map(|change| change.before) {
            if let Some(content) = self.disk.kept(hash)? {
                contents.insert(hash, content);
            }
        }
        let content = |hash| contents.get(&hash).cloned();
        writer.commit(journal::undo(entry, &history.entries, content)?)
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
        Ok(removed)
    }

    /// True if an index that was kept has a line about a file.
    fn lists(&self, hash: Hash, path: &SafePath) -> Result<bool> {
        let kept = self.disk.kept(hash)?.unwrap_or_default();
        let entries = index::entries(&String::from_utf8_lossy(&kept));
        Ok(entries.iter().any(|entry| entry.target == path.as_str()))
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
