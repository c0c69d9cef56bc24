//! Copy that a dream works on.
//!
//! # Model
//! A folder below the journal's, with the index, the topics, pinned files and logs; never the lock,
//! the journal or the inbox. It is removed when the dream has ended; copies that earlier dreams
//! left behind are removed when the next one begins that holds the lock. Everything is reached
//! through the directory's own handle, so that no link leads out of it. Writing a file with no
//! content deletes it.
//!
//! # Not here
//! The check of the result (`dormouse_memory::dream`); swapping it in (`dormouse-memdir`).

use super::SharedTask;
use crate::keeper::Keeper;
use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::MemoryDir;
use dormouse_memory::dream::TaskEvent;
use dormouse_memory::snapshot::{Snapshot, StoredFile};
use dormouse_memory::transaction::MOST_BYTES;
use dormouse_system::{Access, Clock, FileResult, Files, OptionalFile as _};
use dormouse_tools::MemoryWrites;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// Folder of the copies, below the memory directory. Hidden, so that no scan takes them for
/// memories.
const FOLDER: &str = ".journal/staging";
/// Most bytes of a file that is read; the index and logs may be longer than a topic.
const MOST_READ: u64 = 4 * 1024 * 1024;

/// Staged copy of a memory directory.
#[derive(Debug)]
pub(super) struct Staging {
    memory: MemoryDir,
    /// Handle of the copy itself, which nothing leads out of.
    handle: Arc<dyn Files>,
    /// Path of the copy below the memory directory.
    folder: PathBuf,
    path: PathBuf,
}

impl Staging {
    /// Copies a snapshot into a fresh folder.
    pub(super) fn make(keeper: &Keeper, snapshot: &Snapshot) -> FileResult<Self> {
        let memory = keeper.memory.clone();
        let folder = Path::new(FOLDER).join(keeper.system.ids.fresh());
        memory.handle().create_dir_all(&folder, Access::Private)?;
        let path = memory.root().join(&folder);
        let handle = keeper.system.files.beneath(&path)?;
        let staging = Self {
            memory,
            handle,
            folder,
            path,
        };
        for (name, file) in snapshot.files() {
            staging.put(name, &file.content)?;
        }
        Ok(staging)
    }

    /// Removes copies that earlier dreams left behind. Only for the holder of the lock: the copy of
    /// a dream that still runs would go too.
    pub(super) fn clean_up(memory: &MemoryDir) {
        let files = memory.handle();
        for left in files.list(Path::new(FOLDER)).unwrap_or_default() {
            remove_all(files, &Path::new(FOLDER).join(left.name));
        }
    }

    fn put(&self, name: &SafePath, content: &[u8]) -> FileResult<()> {
        put(&*self.handle, name, content)
    }

    /// Absolute path of the copy.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Port that tools write through.
    pub(super) fn writes(&self, task: SharedTask, clock: Arc<dyn Clock>) -> Arc<dyn MemoryWrites> {
        Arc::new(StagedWrites {
            handle: Arc::clone(&self.handle),
            task,
            clock,
        })
    }

    /// Present content of the copy. Files that were not touched keep the time they had in `before`.
    pub(super) fn snapshot(&self, before: &Snapshot) -> FileResult<Snapshot> {
        let mut snapshot = Snapshot::new();
        for walked in self.handle.walk(Path::new(""), &|_| false)? {
            let Some(name) = walked
                .path
                .to_str()
                .and_then(|name| SafePath::parse(name).ok())
            else {
                continue;
            };
            let content = self.handle.read(&walked.path, MOST_READ)?;
            // The tools cannot delete; an empty file stands for it.
            if content.is_empty() {
                continue;
            }
            let old = before.get(&name).filter(|old| old.content == content);
            let modified = old.map_or_else(
                || {
                    dormouse_core::units::Millis(
                        i64::try_from(walked.stamp.modified_ns / 1_000_000).unwrap_or_default(),
                    )
                },
                |old| old.modified,
            );
            snapshot.insert(name, StoredFile { content, modified });
        }
        Ok(snapshot)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        remove_all(self.memory.handle(), &self.folder);
    }
}

fn put(handle: &dyn Files, name: &SafePath, content: &[u8]) -> FileResult<()> {
    if let Some(parent) = name
        .as_path()
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        handle.create_dir_all(parent, Access::Private)?;
    }
    handle.replace(name.as_path(), content, Access::Private)
}

/// Removes a folder and its content. A failure is ignored: the next dream tries again.
fn remove_all(files: &dyn Files, path: &Path) {
    for entry in files.list(path).unwrap_or_default() {
        let inner = path.join(&entry.name);
        if entry.metadata.kind == dormouse_system::FileKind::Directory {
            remove_all(files, &inner);
        } else {
            let _gone = files.remove_file(&inner);
        }
    }
    let _gone = files.remove_dir(path);
}

/// Writes to the copy. The whole is checked later; only hopeless writes are refused at once.
#[derive(Debug)]
struct StagedWrites {
    handle: Arc<dyn Files>,
    task: SharedTask,
    clock: Arc<dyn Clock>,
}

impl MemoryWrites for StagedWrites {
    fn read(&self, path: &SafePath) -> Result<Option<Bytes>, String> {
        let read = self.handle.read(path.as_path(), MOST_READ).optional();
        read.map_err(|error| error.to_string())
    }

    fn write(&self, path: &SafePath, content: Bytes) -> Result<String, String> {
        // The check would refuse the whole dream for it; the model can still do something else.
        if dormouse_memory::snapshot::is_pinned(path) {
            return Err(format!(
                "{path} is pinned: it belongs to the user and stays as it is"
            ));
        }
        if !path.as_str().to_lowercase().ends_with(".md") {
            return Err(format!("{path} is no Markdown file; memories end in `.md`"));
        }
        if content.len() > MOST_BYTES {
            return Err(format!(
                "{path} would be too long; a memory has at most {MOST_BYTES} bytes"
            ));
        }
        put(&*self.handle, path, &content).map_err(|error| error.to_string())?;
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.handle(TaskEvent::Wrote(path.clone()), self.clock.now());
        let done = if content.is_empty() {
            "deleted"
        } else {
            "written"
        };
        Ok(format!("{path} was {done} in the copy."))
    }
}
