//! Files of one memory directory, by a handle that nothing leads out of.
//!
//! # Model
//! All paths are relative to the directory. Errors name the directory.
//!
//! # Not here
//! The order of writes that makes a change atomic (`pending`); the journal's format (`log`).

use crate::error::MemdirError;
use bytes::Bytes;
use dormouse_guard::paths::MOST_COMPONENTS;
use dormouse_system::{
    Access, AppendFile, FileError, Files, LockGuard, Metadata, OptionalFile as _, RandomRead,
    Walked, lock_path,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of a file that is read. Memories have at most 100 KiB; this leaves room for logs and
/// indexes, and keeps a stray video out of a snapshot.
pub(crate) const MOST_READ: u64 = 4 * 1024 * 1024;
/// Most bytes of a journal that is read: at a few hundred bytes an entry, millions of changes.
pub(crate) const MOST_JOURNAL: u64 = 1024 * 1024 * 1024;
/// Longest wait of a writer for another. A change takes milliseconds; a minute means a stuck
/// process.
pub(crate) const LOCK_WAIT: Duration = Duration::from_mins(1);

pub(crate) const JOURNAL_FOLDER: &str = ".journal";
pub(crate) const JOURNAL: &str = ".journal/journal.jsonl";
pub(crate) const BLOBS: &str = ".journal/blobs";
/// File that tells git to leave a folder alone.
const IGNORE: &str = ".gitignore";
pub(crate) const PENDING: &str = ".journal/pending.json";
/// File whose lock, `.journal/write.lock`, every writer holds.
pub(crate) const WRITE: &str = ".journal/write";
pub(crate) const INBOX: &str = ".inbox";
pub(crate) const CACHE_FOLDER: &str = ".cache";
pub(crate) const CACHE: &str = ".cache/recall.index";
/// Texts that sessions of other agents were given.
pub(crate) const GUESTS: &str = ".cache/guests";
/// Created and removed to force the removal of another file to disk; named like a temporary file,
/// so that one left by a crash is not taken for a memory.
const SETTLE: &str = ".dormouse-settle.tmp";

/// Files below the root of a memory directory.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) root: PathBuf,
    pub(crate) access: Access,
    files: Arc<dyn Files>,
}

type Result<T> = std::result::Result<T, MemdirError>;

impl Disk {
    pub(crate) fn new(root: PathBuf, access: Access, files: Arc<dyn Files>) -> Self {
        Self {
            root,
            access,
            files,
        }
    }

    /// Error with the directory it belongs to.
    pub(crate) fn blame(&self, source: FileError) -> MemdirError {
        let root = self.root.clone();
        MemdirError::Files { root, source }
    }

    fn said<T>(&self, result: std::result::Result<T, FileError>) -> Result<T> {
        result.map_err(|source| self.blame(source))
    }

    /// Handle itself, for callers with a use for its errors.
    pub(crate) fn files(&self) -> &dyn Files {
        &*self.files
    }

    pub(crate) fn read(&self, path: &Path, limit: u64) -> Result<Option<Bytes>> {
        self.said(self.files.read(path, limit).optional())
    }

    pub(crate) fn metadata(&self, path: &Path) -> Result<Option<Metadata>> {
        self.said(self.files.metadata(path).optional())
    }

    pub(crate) fn open(&self, path: &Path) -> Result<Option<Arc<dyn RandomRead>>> {
        self.said(self.files.open(path).optional())
    }

    pub(crate) fn said_by_file<T>(&self, result: std::result::Result<T, FileError>) -> Result<T> {
        self.said(result)
    }

    /// Replaces a file of our own. Private even if the memories are shared: it may hold deleted
    /// text.
    pub(crate) fn replace_own(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.said(self.files.replace(path, content, Access::Private))
    }

    /// Replaces many memories, together.
    pub(crate) fn replace_many(&self, files: &[(&Path, &[u8])]) -> Result<()> {
        self.said(self.files.replace_many(files, self.access))
    }

    /// Replaces many files of our own, together.
    pub(crate) fn replace_many_own(&self, files: &[(&Path, &[u8])]) -> Result<()> {
        self.said(self.files.replace_many(files, Access::Private))
    }

    pub(crate) fn append(&self, path: &Path) -> Result<Box<dyn AppendFile>> {
        self.said(self.files.append(path, Access::Private))
    }

    /// Makes a folder for files of our own. It stays out of the repository that a directory is shared
    /// through, because it holds deleted contents, too. A cache stays out of any repository: people
    /// keep their own directory in one as well, and a cache would change with every question.
    pub(crate) fn create_own_dir(&self, path: &Path) -> Result<()> {
        self.said(self.files.create_dir_all(path, Access::Private))?;
        let top = path.components().next().map(Component::as_os_str);
        let ignored = self.access == Access::Shared || top == Some(OsStr::new(CACHE_FOLDER));
        if let Some(top) = top.filter(|_| ignored) {
            let ignore = Path::new(top).join(IGNORE);
            // Only if it is missing: the user may have changed it.
            if self.metadata(&ignore)?.is_none() {
                self.replace_own(&ignore, b"*\n")?;
            }
        }
        Ok(())
    }

    /// Makes the folder that a file will lie in.
    pub(crate) fn create_parent(&self, path: &Path) -> Result<()> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                self.said(self.files.create_dir_all(parent, self.access))
            }
            _ => Ok(()),
        }
    }

    /// Removes a file that may be gone already; it may come back after a power cut.
    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        self.said(self.files.remove_file(path).optional().map(|_| ()))
    }

    /// Removes a file that may be gone already, for good.
    pub(crate) fn remove_durably(&self, path: &Path) -> Result<()> {
        self.remove_all_durably(&[path])
    }

    /// Removes files that may be gone already, for good.
    pub(crate) fn remove_all_durably(&self, paths: &[&Path]) -> Result<()> {
        let mut folders = BTreeMap::new();
        for path in paths {
            self.remove(path)?;
            folders.insert(path.parent(), *path);
        }
        // Once for each folder, however many of its files went.
        folders.values().try_for_each(|path| self.settle(path))
    }

    /// Forces the removal of a file to disk.
    fn settle(&self, path: &Path) -> Result<()> {
        // Creating a file forces the entries of its folder to disk, the removal among them.
        let settle = path.with_file_name(SETTLE);
        self.remove(&settle)?;
        match self.files.create_new(&settle, Access::Private) {
            Ok(_) => self.remove(&settle),
            // Without the folder the file is gone too.
            Err(error) if error.not_found() => Ok(()),
            Err(error) => Err(self.blame(error)),
        }
    }

    pub(crate) fn list_names(&self, path: &Path) -> Result<Vec<String>> {
        let entries = self.said(self.files.list(path).optional())?;
        let names = entries.unwrap_or_default().into_iter();
        Ok(names
            .filter_map(|entry| entry.name.into_string().ok())
            .collect())
    }

    /// Files that may mean something: nothing hidden, and nothing deeper than a name of a memory can
    /// be: one stray tree must not hide all memories. The second part holds the folders that were left out for their depth.
    pub(crate) fn walk(&self, skip: &dyn Fn(&Path) -> bool) -> Result<(Vec<Walked>, Vec<PathBuf>)> {
        let deep = RefCell::new(BTreeSet::new());
        let skip = |path: &Path| {
            let too_deep = path.components().count() > MOST_COMPONENTS;
            if too_deep {
                deep.borrow_mut().extend(path.parent().map(Path::to_owned));
            }
            too_deep || is_hidden(path) || skip(path)
        };
        let walked = self.said(self.files.walk(Path::new(""), &skip))?;
        Ok((walked, deep.into_inner().into_iter().collect()))
    }

    /// Lock that every writer holds.
    pub(crate) fn lock(&self) -> Result<LockGuard> {
        self.create_own_dir(Path::new(JOURNAL_FOLDER))?;
        self.lock_of(Path::new(WRITE), LOCK_WAIT)
    }

    pub(crate) fn lock_of(&self, path: &Path, most: Duration) -> Result<LockGuard> {
        self.said(self.files.lock_waiting(path, most))?
            .ok_or_else(|| MemdirError::Busy {
                lock: self.root.join(lock_path(path)),
                waited: most,
            })
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}
