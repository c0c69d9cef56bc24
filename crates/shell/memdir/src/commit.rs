//! Commit: a change is checked against the files as they are, and made.
//!
//! # Not here
//! Reading the directory (`dir`); the steps of a change on disk ([`crate::pending`]).

use crate::dir::{Look, Unread, modified, safe_path};
use crate::disk::{CACHE, MOST_READ};
use crate::error::MemdirError;
use crate::pending::Writer;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::journal::{Change, JournalEntry};
use dormouse_memory::snapshot::{INDEX, Snapshot, StoredFile, belongs, is_topic};
use dormouse_memory::transaction::Transaction;
use dormouse_system::OptionalFile as _;
use std::path::Path;

pub(crate) const OUTSIDE: &str = "changed without Dormouse";

type Result<T> = std::result::Result<T, MemdirError>;

impl Writer<'_> {
    /// Checks a change against the files as they are, and makes it.
    pub(crate) fn commit(&self, transaction: Transaction) -> Result<Option<JournalEntry>> {
        let mut look = Look::default();
        for walked in self.disk.walk(&|_| false)?.0 {
            if let Ok(path) = safe_path(&walked.path) {
                // Names suffice for the gate; reading every file would cost more than the change.
                look.snapshot.insert(path, unread(modified(walked.stamp)));
            }
        }
        self.commit_to(transaction, look)
    }

    /// Commits to a directory that was walked since the lock was taken: all names are known, so
    /// that only the files of the change are read once more. An editor may have saved one
    /// meanwhile.
    pub(crate) fn commit_to(
        &self,
        transaction: Transaction,
        look: Look,
    ) -> Result<Option<JournalEntry>> {
        // Before its files are read: an index that is one of them would fail without a remedy.
        self.index_is_readable(&transaction)?;
        let snapshot = self.touched(&transaction, look)?;
        transaction.vet(&snapshot)?;
        transaction.check(&snapshot)?;
        let transaction = transaction.without_idle(&snapshot);
        if transaction.is_empty() {
            return Ok(None);
        }
        match self.make(&transaction, &snapshot) {
            Err(error) if error.is_full() => self.make_on_full_disk(&transaction, &snapshot, error),
            made => made,
        }
        .map(Some)
    }

    /// Makes a change that was checked.
    fn make(&self, transaction: &Transaction, snapshot: &Snapshot) -> Result<JournalEntry> {
        // Contents first, synced, before anything refers to them.
        let contents = transaction.operations.iter().flat_map(|operation| {
            let before = snapshot.get(&operation.path).map(|file| &file.content);
            before.into_iter().chain(&operation.content)
        });
        self.disk.keep_all(contents)?;
        self.record(transaction, snapshot)
    }

    /// Makes a change whose contents are kept.
    fn record(&self, transaction: &Transaction, snapshot: &Snapshot) -> Result<JournalEntry> {
        let id = self.system.ids.fresh();
        let entry = JournalEntry::of(transaction, snapshot, id, self.now());
        self.catch_up(&entry)?;
        self.perform(&entry)?;
        Ok(entry)
    }

    /// Makes a change for which the disk has no room. The cache goes first, since it can be made again.
    /// If that is not enough, files that the change removes go before anything is written, and what
    /// they held is not kept: a user who forgets to make room must not need room for that.
    fn make_on_full_disk(
        &self,
        transaction: &Transaction,
        snapshot: &Snapshot,
        error: MemdirError,
    ) -> Result<JournalEntry> {
        self.disk.remove_durably(Path::new(CACHE))?;
        let error = match self.make(transaction, snapshot) {
            Err(again) if again.is_full() => error,
            made => return made,
        };
        let removed = transaction.operations.iter();
        let removed = removed.filter(|operation| operation.content.is_none());
        let removed: Vec<&Path> = removed.map(|operation| operation.path.as_path()).collect();
        if removed.is_empty() {
            return Err(error);
        }
        self.disk.remove_all_durably(&removed)?;
        let written = transaction.operations.iter();
        self.disk
            .keep_all(written.filter_map(|operation| operation.content.as_ref()))?;
        self.record(transaction, snapshot)
    }

    /// Fails if memories change while the index cannot be read: their lines would be left behind.
    fn index_is_readable(&self, transaction: &Transaction) -> Result<()> {
        let Ok(index) = SafePath::parse(INDEX) else {
            return Ok(());
        };
        let mut paths = transaction.operations.iter().map(|done| &done.path);
        if !paths.any(|path| is_topic(path) || *path == index) {
            return Ok(());
        }
        match self
            .disk
            .files()
            .read(index.as_path(), MOST_READ)
            .optional()
        {
            Ok(_) => Ok(()),
            Err(source) => match Unread::of(source) {
                Unread::Skip(why) => Err(MemdirError::IndexUnreadable {
                    path: self.disk.root.join(INDEX),
                    why,
                }),
                Unread::Fail(error) => Err(self.disk.blame(error)),
            },
        }
    }

    /// Records changes to some files that were made without Dormouse since the journal last had
    /// them.
    pub(crate) fn note_gaps(&self, paths: &[&SafePath]) -> Result<()> {
        let known = self.disk.last_known(paths)?;
        let mut gaps = Vec::new();
        for (path, known) in paths.iter().zip(known) {
            let now = self.current(path)?;
            if let Some(change) = gap(path, known, now.as_deref().map(Hash::of)) {
                if let Some(content) = now {
                    self.disk.keep(&content)?;
                }
                gaps.push(change);
            }
        }
        if !gaps.is_empty() {
            self.note_outside(gaps, OUTSIDE)?;
        }
        Ok(())
    }

    /// Directory as far as a change has to know it: all names, and the current contents of the
    /// files it touches. Names of files that could not be read count too, so that no new file
    /// collides with one of them.
    fn touched(&self, transaction: &Transaction, look: Look) -> Result<Snapshot> {
        let Look {
            mut snapshot,
            skipped,
        } = look;
        for path in skipped.iter().flat_map(|skipped| safe_path(&skipped.path)) {
            snapshot.insert(path, unread(Millis::default()));
        }
        for operation in &transaction.operations {
            let path = &operation.path;
            if !belongs(path) {
                // Refused by the gate in a moment; not to be read before.
                continue;
            }
            let modified = snapshot
                .remove(path)
                .map_or_else(Millis::default, |file| file.modified);
            if let Some(content) = self.current(path)? {
                snapshot.insert(path.clone(), StoredFile { content, modified });
            }
        }
        Ok(snapshot)
    }

    /// Records changes to the files of a transaction that were made without Dormouse since the
    /// journal last had them, so that the history has no gap. Their contents are kept already.
    fn catch_up(&self, entry: &JournalEntry) -> Result<()> {
        let paths: Vec<&SafePath> = entry.changes.iter().map(|change| &change.path).collect();
        let known = self.disk.last_known(&paths)?;
        let gaps: Vec<Change> = entry
            .changes
            .iter()
            .zip(known)
            .filter_map(|(change, known)| gap(&change.path, known, change.before))
            .collect();
        if !gaps.is_empty() {
            self.note_outside(gaps, OUTSIDE)?;
        }
        Ok(())
    }
}

/// File of which only the name matters.
fn unread(modified: Millis) -> StoredFile {
    StoredFile {
        content: bytes::Bytes::new(),
        modified,
    }
}

/// Unrecorded change of a file, if there was one.
pub(crate) fn gap(path: &SafePath, known: Option<Hash>, now: Option<Hash>) -> Option<Change> {
    (known != now).then(|| Change {
        path: path.clone(),
        before: known,
        after: now,
    })
}
