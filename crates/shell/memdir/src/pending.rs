//! Atomic change of several files.
//!
//! # Model
//! | step | a crash before it leaves |
//! |---|---|
//! | 1. contents before and after are kept as blobs, synced | the old state |
//! | 2. `pending.json` describes the change, by one rename | the old state |
//! | 3. each file is replaced or removed | the new state: readers overlay it, the next writer
//! finishes |
//! | 4. the journal's line is appended and synced | the new state, as in 3 |
//! | 5. `pending.json` is removed | the new state; the journal has it, so the file means nothing |
//!
//! The rename of step 2 is the moment the change happens: a write-ahead record. A change that
//! cannot be finished in this process for another reason than a crash (a full disk) is taken back,
//! with a line in the journal.
//!
//! # Not here
//! Permission for a change ([`crate::MemoryDir`]); the journal's lines (`log`).

use crate::disk::{BLOBS, Disk, MOST_READ, PENDING};
use crate::error::MemdirError;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::journal::{Change, FORMAT, JournalEntry};
use dormouse_memory::snapshot::StoredFile;
use dormouse_memory::transaction::Author;
use dormouse_system::{LockGuard, System};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Most bytes of a description. It holds hashes only; even a change of every file of a full
/// directory fits.
const MOST_PENDING: u64 = 256 * 1024 * 1024;

type Result<T> = std::result::Result<T, MemdirError>;

#[derive(Serialize, Deserialize)]
struct Pending {
    format: u32,
    entry: JournalEntry,
}

/// Files that changes since some moment touch, in their state afterwards; `None` for a removed
/// file.
pub(crate) type Overlay = BTreeMap<SafePath, Option<StoredFile>>;

/// Right to write, until it is dropped.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) disk: &'a Disk,
    pub(crate) system: &'a System,
    _lock: LockGuard,
}

impl Disk {
    /// Change under way, or interrupted by a crash.
    fn pending(&self) -> Result<Option<JournalEntry>> {
        let path = Path::new(PENDING);
        let Some(text) = self.read(path, MOST_PENDING)? else {
            return Ok(None);
        };
        let bad = |why: String| MemdirError::BadPending {
            path: self.root.join(path),
            why,
        };
        let pending: Pending =
            serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
        // A newer version may have steps that this one would skip.
        if pending.format > FORMAT {
            return Err(bad(format!("format {}", pending.format)));
        }
        Ok(Some(pending.entry))
    }

    /// Change under way, for a reader. A description that cannot be read stops writers; a reader
    /// sees the files as they are and is told ([`Disk::pending_fault`]).
    fn pending_to_read(&self) -> Result<Option<JournalEntry>> {
        match self.pending() {
            Err(error) if fault(&error).is_some() => Ok(None),
            pending => pending,
        }
    }

    /// Reason why the description of an interrupted change cannot be read, if there is one.
    pub(crate) fn pending_fault(&self) -> Result<Option<String>> {
        match self.pending() {
            Ok(_) => Ok(None),
            Err(error) => fault(&error).map(Some).ok_or(error),
        }
    }

    /// Changes since the journal had this head, so that a reader who has read files meanwhile can
    /// bring them all to one state. `None`: contents are missing or not understood, read again.
    ///
    /// The change under way is asked for first. One that is missed here began after the files were
    /// read; one that ends meanwhile has its line in the journal, which is read later.
    pub(crate) fn overlay_since(&self, head: u64) -> Result<Option<Overlay>> {
        let pending = self.pending_to_read()?;
        let under_way = pending.as_ref().map(|entry| &*entry.id);
        let Some(since) = self.entries_since(head, under_way)? else {
            return Ok(None);
        };
        let mut overlay = Overlay::new();
        for entry in &since.entries {
            let Some(files) = self.contents(entry, |change| change.after)? else {
                return Ok(None);
            };
            overlay.extend(files);
        }
        let ended = |entry: &JournalEntry| {
            let line = |done: &JournalEntry| {
                done.id == entry.id || done.undoes.as_deref() == Some(&*entry.id)
            };
            since.over || since.entries.iter().any(line)
        };
        if let Some(entry) = pending.filter(|entry| !ended(entry)) {
            // A change that cannot be completed will be taken back.
            let files = match self.contents(&entry, |change| change.after)? {
                Some(files) => Some(files),
                None => self.contents(&entry, |change| change.before)?,
            };
            overlay.extend(files.unwrap_or_default());
        }
        Ok(Some(overlay))
    }

    /// Files of an entry before or after it; `None` if a content is missing.
    fn contents(
        &self,
        entry: &JournalEntry,
        side: impl Fn(&Change) -> Option<Hash>,
    ) -> Result<Option<Overlay>> {
        let mut files = Overlay::new();
        for change in &entry.changes {
            let file = match side(change) {
                Some(hash) => match self.kept(hash)? {
                    Some(content) => Some(StoredFile {
                        content,
                        modified: entry.time,
                    }),
                    None => return Ok(None),
                },
                None => None,
            };
            files.insert(change.path.clone(), file);
        }
        Ok(Some(files))
    }
}

/// Lasting fault of a description: not understood, or no file that may be read. Any other error may
/// pass, and a reader that ignored it could see half a change.
fn fault(error: &MemdirError) -> Option<String> {
    match error {
        MemdirError::BadPending { why, .. } => Some(format!(
            "describes an interrupted change and is not understood ({why})"
        )),
        MemdirError::Files { source, .. } => {
            let lasting = source.too_large()
                || source.permission_denied()
                || source.kind() == std::io::ErrorKind::InvalidInput;
            lasting.then(|| format!("describes an interrupted change: {}", source.source))
        }
        _ => None,
    }
}

impl<'a> Writer<'a> {
    /// Waits for the right to write, and first finishes a change that a crash interrupted.
    pub(crate) fn new(disk: &'a Disk, system: &'a System) -> Result<Self> {
        let writer = Self {
            disk,
            system,
            _lock: disk.lock()?,
        };
        writer.recover()?;
        Ok(writer)
    }

    fn recover(&self) -> Result<()> {
        let Some(entry) = self.disk.pending()? else {
            return Ok(());
        };
        // The crash came between the last two steps; doing them again would make a second entry.
        if self.disk.knows(&entry.id)? {
            return self.disk.remove(Path::new(PENDING));
        }
        if self.disk.contents(&entry, |change| change.after)?.is_some() {
            return match self.finish(&entry) {
                // The files are as before: the writer that waits for the lock can go on.
                Err(MemdirError::TakenBack(_)) => Ok(()),
                done => done,
            };
        }
        self.missing(&entry)?;
        self.backward(&entry)
    }

    /// Fails if a content needed to take a change back is missing.
    fn missing(&self, entry: &JournalEntry) -> Result<()> {
        for change in &entry.changes {
            let Some(before) = change.before else {
                continue;
            };
            let there = self.current(&change.path)?.map(|now| Hash::of(&now)) == Some(before);
            if !there && self.disk.kept(before)?.is_none() {
                return Err(MemdirError::Stuck {
                    path: change.path.clone(),
                    missing: before,
                    blobs: self.disk.root.join(BLOBS),
                    pending: self.disk.root.join(PENDING),
                });
            }
        }
        Ok(())
    }

    /// Makes a change happen whose contents are kept.
    pub(crate) fn perform(&self, entry: &JournalEntry) -> Result<()> {
        // Before the change begins: a folder that cannot be made must not leave half a change.
        for change in entry.changes.iter().filter(|change| change.after.is_some()) {
            self.disk.create_parent(change.path.as_path())?;
        }
        self.begin(entry)?;
        self.finish(entry)
    }

    fn begin(&self, entry: &JournalEntry) -> Result<()> {
        let path = Path::new(PENDING);
        let pending = Pending {
            format: FORMAT,
            entry: entry.clone(),
        };
        let text = serde_json::to_vec(&pending).map_err(|source| MemdirError::Encode {
            path: self.disk.root.join(path),
            source,
        })?;
        let Err(error) = self.disk.replace_own(path, &text) else {
            return Ok(());
        };
        // The file may be there nevertheless. Either it goes, or the change counts.
        match self.disk.remove_durably(path) {
            Ok(()) => Err(error),
            Err(_) => Err(MemdirError::Unfinished {
                id: entry.id.clone(),
                source: Box::new(error),
            }),
        }
    }

    fn finish(&self, entry: &JournalEntry) -> Result<()> {
        let Err(error) = self.forward(entry) else {
            return Ok(());
        };
        let source = Box::new(error);
        // Checked first: a change must not be half taken back.
        match self.missing(entry).and_then(|()| self.backward(entry)) {
            Ok(()) => Err(MemdirError::TakenBack(source)),
            Err(_) => Err(MemdirError::Unfinished {
                id: entry.id.clone(),
                source,
            }),
        }
    }

    fn forward(&self, entry: &JournalEntry) -> Result<()> {
        self.put_all(entry, |change| change.after)?;
        self.disk.append_entry(entry)?;
        // If it stays, its line in the journal makes it void.
        drop(self.disk.remove(Path::new(PENDING)));
        Ok(())
    }

    fn backward(&self, entry: &JournalEntry) -> Result<()> {
        self.put_all(entry, |change| change.before)?;
        let turned = |change: &Change| Change {
            path: change.path.clone(),
            before: change.after,
            after: change.before,
        };
        // A line of its own, since readers may have seen the change already.
        self.disk.append_entry(&JournalEntry {
            format: FORMAT,
            id: self.system.ids.fresh(),
            time: self.now(),
            author: entry.author,
            reason: format!("could not be completed: {}", entry.reason),
            source: entry.source.clone(),
            undoes: Some(entry.id.clone()),
            changes: entry.changes.iter().map(turned).collect(),
        })?;
        self.disk.remove(Path::new(PENDING))
    }

    /// Brings the files of a change to their wanted states. Those that have them already are not
    /// touched. The order does not matter: until the journal has the change, all of it is done again.
    fn put_all(
        &self,
        entry: &JournalEntry,
        wanted: impl Fn(&Change) -> Option<Hash>,
    ) -> Result<()> {
        let (mut written, mut gone) = (Vec::new(), Vec::new());
        for change in &entry.changes {
            let wanted = wanted(change);
            if self.holds(change, wanted)? {
                continue;
            }
            let path = change.path.as_path();
            match wanted {
                None => gone.push(path),
                Some(hash) => {
                    let Some(content) = self.disk.kept(hash)? else {
                        return Err(MemdirError::Stuck {
                            path: change.path.clone(),
                            missing: hash,
                            blobs: self.disk.root.join(BLOBS),
                            pending: self.disk.root.join(PENDING),
                        });
                    };
                    self.disk.create_parent(path)?;
                    written.push((path, content));
                }
            }
        }
        let written: Vec<(&Path, &[u8])> = written.iter().map(|(p, text)| (*p, &**text)).collect();
        self.disk.replace_many(&written)?;
        self.disk.remove_all_durably(&gone)
    }

    /// True if a file is in its wanted state. An edit made meanwhile gets an entry, because it cannot
    /// stay.
    fn holds(&self, change: &Change, wanted: Option<Hash>) -> Result<bool> {
        let current = self.current(&change.path)?;
        let held = current.as_deref().map(Hash::of);
        if held == wanted {
            return Ok(true);
        }
        if let Some(content) = &current
            && held != change.before
            && held != change.after
        {
            // Edited by hand since: not lost, because the entry keeps it.
            let reason = "changed without Dormouse while a change was interrupted";
            self.disk.keep(content)?;
            let edit = Change {
                path: change.path.clone(),
                before: change.before,
                after: held,
            };
            self.note_outside(vec![edit], reason)?;
        }
        Ok(false)
    }

    /// Records changes that were made without Dormouse.
    pub(crate) fn note_outside(&self, changes: Vec<Change>, reason: &str) -> Result<JournalEntry> {
        let entry = JournalEntry {
            format: FORMAT,
            id: self.system.ids.fresh(),
            time: self.now(),
            author: Author::Outside,
            reason: reason.to_owned(),
            source: None,
            undoes: None,
            changes,
        };
        self.disk.append_entry(&entry)?;
        Ok(entry)
    }

    /// Present content of a file. Anything in its place that is no ordinary file is an error.
    pub(crate) fn current(&self, path: &SafePath) -> Result<Option<Bytes>> {
        self.disk.read(path.as_path(), MOST_READ)
    }

    pub(crate) fn now(&self) -> Millis {
        self.system.clock.now()
    }
}
