//! Memory directory: consistent reads, atomic changes.
//!
//! # Model
//! Readers never wait. They note where the journal ends, read the files, and then lay the journal's
//! later changes over them; so they see all of a change or nothing of it. Writers read and plan as
//! readers do, and then take turns. Each first finishes a change that a crash interrupted, then
//! compares the states of the files with those it planned on: only files that changed meanwhile are
//! opened under the lock, and only then is the change planned again.
//!
//! # Not here
//! The content of a change (`dormouse_memory::write`); checking it (`commit`) and its way to disk
//! ([`crate::pending`]).

use crate::disk::{CACHE_FOLDER, Disk, MOST_READ, PENDING};
use crate::error::MemdirError;
use crate::pending::Writer;
use crate::scan::trusted;
use dormouse_core::units::Millis;
use dormouse_guard::paths::{MOST_COMPONENTS, SafePath};
use dormouse_memory::journal::JournalEntry;
use dormouse_memory::snapshot::{Snapshot, StoredFile};
use dormouse_memory::transaction::Transaction;
use dormouse_system::{Access, FileError, Files, OptionalFile as _, Stamp, System, Walked};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most attempts of a reader before it gives up. It starts again only if contents vanish that it
/// needs, which purging does; sixteen purges in a row are no accident.
const MOST_READS: usize = 16;

type Result<T> = std::result::Result<T, MemdirError>;

/// Memory directory, opened for reading and writing.
#[derive(Clone, Debug)]
pub struct MemoryDir {
    pub(crate) disk: Disk,
    pub(crate) system: System,
}

/// Snapshot with the files that could not be part of it.
#[derive(Debug, Default)]
pub struct Look {
    /// Files that mean something.
    pub snapshot: Snapshot,
    /// Files that are left out.
    pub skipped: Vec<Skipped>,
}

/// Directory as it was read, with the states that its files had then.
#[derive(Debug, Default)]
pub struct Foreseen {
    look: Look,
    /// Stamps of files in the snapshot; one that is not believed matches no file.
    stamps: HashMap<PathBuf, Stamp>,
}

/// File that is left out of a snapshot.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// Path below the root.
    pub path: PathBuf,
    /// Reason for people, one line.
    pub why: String,
}

impl Foreseen {
    /// All files that mean something, in one state.
    pub const fn snapshot(&self) -> &Snapshot {
        &self.look.snapshot
    }
}

impl Skipped {
    pub(crate) fn too_deep(path: PathBuf) -> Self {
        let why = format!("folders are nested deeper than {MOST_COMPONENTS} levels here");
        Self { path, why }
    }
}

impl MemoryDir {
    /// Opens a directory and creates it if need be.
    pub fn open(system: &System, root: &Path, access: Access) -> Result<Self> {
        let blame = |source| MemdirError::Files {
            root: root.to_owned(),
            source,
        };
        system.files.create_dir_all(root, access).map_err(blame)?;
        let files = system.files.beneath(root).map_err(blame)?;
        Ok(Self {
            disk: Disk::new(root.to_owned(), access, files),
            system: system.clone(),
        })
    }

    /// Opens a directory if it exists; creates nothing.
    pub fn find(system: &System, root: &Path, access: Access) -> Result<Option<Self>> {
        let files = system.files.beneath(root).optional();
        let files = files.map_err(|source| MemdirError::Files {
            root: root.to_owned(),
            source,
        })?;
        Ok(files.map(|files| Self {
            disk: Disk::new(root.to_owned(), access, files),
            system: system.clone(),
        }))
    }

    /// Opens a directory below another if it exists; creates nothing. `base` is reached as it is,
    /// the way from there on by handle: a link on it is an error, wherever it leads.
    pub fn find_below(
        system: &System,
        base: &Path,
        way: &Path,
        access: Access,
    ) -> Result<Option<Self>> {
        let files = system.files.beneath(base).optional();
        let below = |files: Option<Arc<dyn Files>>| match files {
            Some(files) => files.beneath(way).optional(),
            None => Ok(None),
        };
        let root = base.join(way);
        match files.and_then(below) {
            Ok(files) => Ok(files.map(|files| Self {
                disk: Disk::new(root, access, files),
                system: system.clone(),
            })),
            Err(source) => Err(MemdirError::Files { root, source }),
        }
    }

    /// Opens a directory below another, as [`MemoryDir::find_below`], and creates it if need be.
    pub fn open_below(system: &System, base: &Path, way: &Path, access: Access) -> Result<Self> {
        let root = base.join(way);
        let opened = system.files.beneath(base).and_then(|files| {
            files.create_dir_all(way, access)?;
            files.beneath(way)
        });
        match opened {
            Ok(files) => Ok(Self {
                disk: Disk::new(root, access, files),
                system: system.clone(),
            }),
            Err(source) => Err(MemdirError::Files { root, source }),
        }
    }

    /// Path of the directory.
    pub fn root(&self) -> &Path {
        &self.disk.root
    }

    /// Handle below which everything of the directory lies, for files beside the memories.
    pub fn handle(&self) -> &dyn dormouse_system::Files {
        self.disk.files()
    }

    /// Makes the folder of caches, which git ignores.
    pub fn make_cache_folder(&self) -> Result<()> {
        self.disk.create_own_dir(Path::new(CACHE_FOLDER))
    }

    /// All files that mean something, in one state.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.look()?.snapshot)
    }

    /// All files that mean something, in one state, and those left out.
    pub fn look(&self) -> Result<Look> {
        Ok(self.foresee()?.look)
    }

    /// Reads the directory without the lock, and notes the state in which each file was read.
    pub fn foresee(&self) -> Result<Foreseen> {
        for _ in 0..MOST_READS {
            // Before the files: a change that ends in between has its line behind this head.
            let head = self.disk.head()?;
            let (mut foreseen, _) = self.read_since(Foreseen::default())?;
            let Some(overlay) = self.disk.overlay_since(head)? else {
                continue;
            };
            let Foreseen { look, stamps } = &mut foreseen;
            for (path, file) in overlay {
                // The file was unreadable before the change and is known now.
                look.skipped
                    .retain(|skipped| skipped.path != path.as_path());
                // The file on disk may still be the old one.
                stamps.remove(path.as_path());
                match file {
                    Some(file) => look.snapshot.insert(path, file),
                    None => look.snapshot.remove(&path),
                };
            }
            // Told, because files of a change that is not understood may be half of it.
            if let Some(why) = self.disk.pending_fault()? {
                look.skipped.push(Skipped {
                    path: PathBuf::from(PENDING),
                    why,
                });
            }
            return Ok(foreseen);
        }
        Err(self.restless())
    }

    pub(crate) fn restless(&self) -> MemdirError {
        MemdirError::ChangedDuringScan {
            root: self.disk.root.clone(),
        }
    }

    /// Reads the directory as it is. Files that are still in a state in which they were read before
    /// are not opened again. The second part is true if nothing differs from before.
    fn read_since(&self, before: Foreseen) -> Result<(Foreseen, bool)> {
        let mut now = Foreseen::default();
        let (files, deep) = self.disk.walk(&|_| false)?;
        let (known, stamps) = (before.look.snapshot, before.stamps);
        let deep = deep.into_iter().map(Skipped::too_deep);
        now.look.skipped.extend(deep);
        let mut same = true;
        for walked in files {
            let stamp = stamps.get(&walked.path);
            if stamp == Some(&walked.stamp)
                && let Ok(path) = safe_path(&walked.path)
                && now.look.snapshot.adopt(&known, &path)
            {
                now.stamps.insert(walked.path, walked.stamp);
                continue;
            }
            // A file that had come to rest when it was read cannot change behind its stamp later.
            let trusted = trusted(walked.stamp, self.system.clock.now());
            match self.read_one(&walked) {
                Ok(Some((path, file))) => {
                    same &= known.get(&path) == Some(&file);
                    now.look.snapshot.insert(path, file);
                    now.stamps.insert(walked.path, trusted);
                }
                Ok(None) => {}
                Err(Unread::Skip(why)) => now.look.skipped.push(Skipped {
                    path: walked.path,
                    why,
                }),
                Err(Unread::Fail(error)) => return Err(self.disk.blame(error)),
            }
        }
        // Every file of now was one of before, so fewer of them mean that some are gone.
        same &= now.look.snapshot.len() == known.len();
        Ok((now, same))
    }

    /// File that was found; `None` if it is gone since.
    pub(crate) fn read_one(
        &self,
        walked: &Walked,
    ) -> std::result::Result<Option<(SafePath, StoredFile)>, Unread> {
        let path = safe_path(&walked.path)?;
        let content = self.disk.files().read(&walked.path, MOST_READ).optional();
        let content = content.map_err(Unread::of)?;
        Ok(content.map(|content| {
            let modified = modified(walked.stamp);
            (path, StoredFile { content, modified })
        }))
    }

    /// One file, in its state after every change that happened.
    pub fn read(&self, path: &SafePath) -> Result<Option<StoredFile>> {
        for _ in 0..MOST_READS {
            let head = self.disk.head()?;
            let facts = self.disk.metadata(path.as_path())?;
            let content = self.disk.read(path.as_path(), MOST_READ)?;
            let Some(mut overlay) = self.disk.overlay_since(head)? else {
                continue;
            };
            if let Some(file) = overlay.remove(path) {
                return Ok(file);
            }
            let modified = facts.map_or_else(Millis::default, |facts| facts.modified);
            return Ok(content.map(|content| StoredFile { content, modified }));
        }
        Err(self.restless())
    }

    pub(crate) fn writer(&self) -> Result<Writer<'_>> {
        Writer::new(&self.disk, &self.system)
    }

    /// Makes a change that depends on the present files. `None` if nothing had to be done.
    ///
    /// Files are read and the change is planned before the lock is taken. Under the lock the states
    /// of the files are compared; `change` is asked once more, about the directory as it is then,
    /// if another process changed it meanwhile. It must not write to the directory itself.
    pub fn update<E: From<MemdirError>>(
        &self,
        change: impl FnMut(&Snapshot) -> std::result::Result<Transaction, E>,
    ) -> std::result::Result<Option<JournalEntry>, E> {
        self.update_since(self.foresee()?, change)
    }

    /// Like [`MemoryDir::update`], for a caller that has read the directory before: files that have
    /// not changed since are not read again.
    pub fn update_since<E: From<MemdirError>>(
        &self,
        foreseen: Foreseen,
        mut change: impl FnMut(&Snapshot) -> std::result::Result<Transaction, E>,
    ) -> std::result::Result<Option<JournalEntry>, E> {
        let planned = change(&foreseen.look.snapshot)?;
        let writer = self.writer()?;
        let (now, same) = self.read_since(foreseen)?;
        let transaction = if same {
            planned
        } else {
            change(&now.look.snapshot)?
        };
        Ok(writer.commit_to(transaction, now.look)?)
    }

    /// Makes a change, if the files are what it expects. `None` if nothing had to be done.
    pub fn apply(&self, transaction: Transaction) -> Result<Option<JournalEntry>> {
        self.writer()?.commit(transaction)
    }
}

/// Reason why a file is not part of a snapshot.
#[derive(Debug)]
pub(crate) enum Unread {
    /// Never part of one: too long, unreadable, or with a name that is no path.
    Skip(String),
    /// File system error that may hide a memory, so the snapshot fails.
    Fail(FileError),
}

impl Unread {
    pub(crate) fn of(error: FileError) -> Self {
        if error.too_large() {
            return Self::Skip(format!("longer than {MOST_READ} bytes"));
        }
        // A pipe or a link among the files reports invalid input; it must not hide all memories.
        if error.permission_denied() || error.kind() == std::io::ErrorKind::InvalidInput {
            return Self::Skip(error.source.to_string());
        }
        Self::Fail(error)
    }
}

pub(crate) fn safe_path(path: &Path) -> std::result::Result<SafePath, Unread> {
    let text = path
        .to_str()
        .ok_or_else(|| Unread::Skip("the name is no text".to_owned()))?;
    SafePath::parse(text).map_err(|refusal| Unread::Skip(refusal.to_string()))
}

pub(crate) fn modified(stamp: Stamp) -> Millis {
    Millis(i64::try_from(stamp.modified_ns / 1_000_000).unwrap_or(0))
}

#[cfg(test)]
#[path = "dir_tests.rs"]
mod tests;
