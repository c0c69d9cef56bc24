//! Files in memory.
//!
//! # Model
//! A handle on a shared [`Disk`]. Each operation of [`Files`] is made of the same steps as the real
//! one, and every step can be spoilt, so a crash can be put between any two of them.
//!
//! # Not modelled
//! Symbolic links, owners, and permission bits as a hindrance (use [`Fault::fail`] for that).
//! Shared access behaves as under the umask `022`.

use super::disk::{Disk, is_down};
use super::fault::{Fault, Performed, Survives};
use super::tree::{Inode, Node, length, normal};
use super::world::{ManualClock, locked};
use crate::error::{During as _, FileResult, Operation};
use crate::files::{
    Access, AppendFile, DirEntry, Files, LockGuard, Metadata, RandomRead, TEMPORARY_PREFIX,
    TEMPORARY_SUFFIX, lock_path, write_fully,
};
use crate::world::Clock;
use bytes::Bytes;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A file system in memory. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryFiles {
    disk: Arc<Mutex<Disk>>,
    clock: Arc<dyn Clock>,
}

/// The levers.
impl MemoryFiles {
    /// An empty disk whose files take their times from `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            disk: Arc::default(),
            clock,
        }
    }

    /// Puts a file there, with its parents, safely on disk and out of reach of any fault.
    pub fn put(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = normal(path.as_ref());
        let now = self.clock.now();
        let mut disk = locked(&self.disk);
        let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
        while let Some(parent) = parents.pop() {
            if !disk.live.is_dir(parent) {
                let node = Node::Directory {
                    mode: 0o700,
                    modified: now,
                };
                disk.insert(parent.to_owned(), node);
                disk.sync_dir(parent.parent().unwrap_or(parent));
            }
        }
        let inode = disk.create_file(path.clone(), 0o600, now);
        let mut file = locked(&inode);
        file.data = content.as_ref().to_vec();
        file.synced = file.data.len();
        drop(file);
        disk.sync_dir(path.parent().unwrap_or(&path));
    }

    /// What a file holds now, asked behind the back of faults and of [`Self::performed`].
    pub fn content(&self, path: impl AsRef<Path>) -> Option<Bytes> {
        let inode = locked(&self.disk).live.file(&normal(path.as_ref())).ok()?;
        let content = Bytes::copy_from_slice(&locked(&inode).data);
        Some(content)
    }

    /// Adds a fault to those still to come.
    pub fn inject(&self, fault: Fault) {
        locked(&self.disk).inject(fault);
    }

    /// The faults that have not struck. A test that injects one should find none left.
    pub fn waiting_faults(&self) -> Vec<Fault> {
        locked(&self.disk).script.waiting()
    }

    /// Drops all faults, struck or not.
    pub fn clear_faults(&self) {
        locked(&self.disk).script.clear();
    }

    /// Leaves room for this many bytes. The write that needs more is cut short and the next fails;
    /// removing or replacing files gives their room back. `None` takes the limit away.
    pub fn set_free_space(&self, bytes: Option<u64>) {
        locked(&self.disk).free = bytes;
    }

    /// The machine goes down in the write that would exceed this many bytes, counted from now over
    /// all files. Everything fails then until [`Self::crash`].
    pub fn go_down_after(&self, bytes: u64) {
        locked(&self.disk).until_crash = Some(bytes);
    }

    /// Whether the machine went down and has not been started again.
    pub fn is_down(&self) -> bool {
        locked(&self.disk).down
    }

    /// Cuts the power and starts the machine again: what was not synced is lost, locks are free,
    /// and handles from before are dead. Faults stay.
    pub fn crash(&self) {
        self.crash_with(Survives::Synced);
    }

    /// Like [`Self::crash`], with a say in what is left.
    pub fn crash_with(&self, survives: Survives) {
        locked(&self.disk).crash(survives);
    }

    /// Every operation attempted so far, in order.
    pub fn performed(&self) -> Vec<Performed> {
        locked(&self.disk).performed.clone()
    }
}

impl Default for MemoryFiles {
    /// An empty disk with a clock that stands still.
    fn default() -> Self {
        Self::new(Arc::new(ManualClock::default()))
    }
}

/// The steps.
impl MemoryFiles {
    /// Does one step, unless the script spoils it. `path` is as the caller gave it.
    fn step<T>(
        &self,
        operation: Operation,
        path: &Path,
        work: impl FnOnce(&mut Disk, &Path) -> io::Result<T>,
    ) -> FileResult<T> {
        let normal = normal(path);
        let mut disk = locked(&self.disk);
        disk.begin(operation, &normal)
            .and_then(|_| work(&mut disk, &normal))
            .during(operation, path)
    }

    fn write(&self, path: &Path, inode: &Inode, bytes: &[u8]) -> FileResult<()> {
        let normal = normal(path);
        write_fully(bytes, |part| {
            locked(&self.disk).write_once(&normal, inode, part, self.clock.now())
        })
        .during(Operation::Write, path)
    }

    fn sync_parent(&self, path: &Path) -> FileResult<()> {
        let path = normal(path);
        self.step(
            Operation::SyncDir,
            path.parent().unwrap_or(&path),
            |disk, directory| {
                disk.sync_dir(directory);
                Ok(())
            },
        )
    }

    fn handle(&self, path: &Path, inode: Inode) -> Handle {
        let epoch = locked(&self.disk).epoch;
        Handle {
            files: self.clone(),
            inode,
            path: path.to_owned(),
            epoch,
        }
    }

    /// The part of a replacement between the temporary file's birth and its end.
    fn fill_and_rename(
        &self,
        path: &Path,
        temporary: &Path,
        inode: &Inode,
        content: &[u8],
    ) -> FileResult<()> {
        self.write(path, inode, content)?;
        self.step(Operation::SyncData, path, |_, _| {
            sync(inode);
            Ok(())
        })?;
        self.step(Operation::Rename, path, |disk, target| {
            if disk.live.is_dir(target) {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            // Taken out first, and not through `Disk::remove`, because its bytes stay on disk.
            disk.live.remove(temporary);
            disk.insert(target.to_owned(), Node::File(Arc::clone(inode)));
            Ok(())
        })
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &Path, limit: u64) -> FileResult<Bytes> {
        self.step(Operation::Read, path, |disk, path| {
            let inode = disk.live.file(path)?;
            let content = locked(&inode);
            if length(content.data.len()) > limit {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok(Bytes::copy_from_slice(&content.data))
        })
    }

    fn open(&self, path: &Path) -> FileResult<Arc<dyn RandomRead>> {
        let inode = self.step(Operation::Open, path, |disk, path| disk.live.file(path))?;
        Ok(Arc::new(self.handle(path, inode)))
    }

    fn append(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        let inode = self.step(Operation::OpenAppend, path, |disk, path| {
            match disk.live.file(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    disk.live.check_parent(path)?;
                    Ok(disk.create_file(
                        path.to_owned(),
                        masked(access.file_mode()),
                        self.clock.now(),
                    ))
                }
                found => found,
            }
        })?;
        if locked(&inode).data.is_empty() {
            self.sync_parent(path)?;
        }
        Ok(Box::new(self.handle(path, inode)))
    }

    fn create_new(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        let inode = self.step(Operation::CreateFile, path, |disk, path| {
            disk.live.check_parent(path)?;
            if disk.live.metadata(path).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Ok(disk.create_file(
                path.to_owned(),
                masked(access.file_mode()),
                self.clock.now(),
            ))
        })?;
        self.sync_parent(path)?;
        Ok(Box::new(self.handle(path, inode)))
    }

    fn replace(&self, path: &Path, content: &[u8], access: Access) -> FileResult<()> {
        let (temporary, inode) = self.step(Operation::CreateFile, path, |disk, path| {
            disk.live.check_parent(path)?;
            let mode = match disk.live.file(path) {
                Ok(old) => locked(&old).mode,
                Err(_) => masked(access.file_mode()),
            };
            let number = disk.next_number();
            let name = format!("{TEMPORARY_PREFIX}{number}{TEMPORARY_SUFFIX}");
            let temporary = path.with_file_name(name);
            Ok((
                temporary.clone(),
                disk.create_file(temporary, mode, self.clock.now()),
            ))
        })?;
        let done = self.fill_and_rename(path, &temporary, &inode, content);
        let mut disk = locked(&self.disk);
        if done.is_err() && !disk.down {
            disk.remove(&temporary);
        }
        drop(disk);
        done?;
        self.sync_parent(path)
    }

    fn list(&self, path: &Path) -> FileResult<Vec<DirEntry>> {
        self.step(Operation::List, path, |disk, path| disk.live.list(path))
    }

    fn metadata(&self, path: &Path) -> FileResult<Metadata> {
        self.step(Operation::Metadata, path, |disk, path| {
            disk.live.metadata(path)
        })
    }

    fn real_path(&self, path: &Path) -> FileResult<PathBuf> {
        self.step(Operation::Metadata, path, |disk, path| {
            disk.live.metadata(path)?;
            Ok(path.to_owned())
        })
    }

    fn create_dir_all(&self, path: &Path, access: Access) -> FileResult<()> {
        let full = normal(path);
        let missing: Vec<&Path> = {
            let disk = locked(&self.disk);
            full.ancestors()
                .take_while(|ancestor| !disk.live.is_dir(ancestor))
                .collect()
        };
        for directory in missing.into_iter().rev() {
            self.step(Operation::CreateDir, path, |disk, _| {
                disk.live.check_parent(directory)?;
                if disk.live.get(directory).is_some() && !disk.live.is_dir(directory) {
                    return Err(io::ErrorKind::NotADirectory.into());
                }
                let mode = masked(access.dir_mode());
                let node = Node::Directory {
                    mode,
                    modified: self.clock.now(),
                };
                disk.insert(directory.to_owned(), node);
                Ok(())
            })?;
            self.sync_parent(directory)?;
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> FileResult<()> {
        self.step(Operation::Remove, path, |disk, path| {
            disk.live.file(path)?;
            disk.remove(path);
            Ok(())
        })
    }

    fn remove_dir(&self, path: &Path) -> FileResult<()> {
        self.step(Operation::Remove, path, |disk, path| {
            if !disk.live.list(path)?.is_empty() {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            disk.remove(path);
            Ok(())
        })
    }

    fn lock_exclusive(&self, path: &Path) -> FileResult<Option<LockGuard>> {
        let number = self.step(Operation::Lock, path, |disk, locked_path| {
            let file = lock_path(locked_path);
            disk.live.check_parent(&file)?;
            if disk.live.get(&file).is_none() {
                disk.create_file(file, Access::Private.file_mode(), self.clock.now());
            }
            Ok(disk.lock(locked_path))
        })?;
        Ok(number.map(|number| {
            LockGuard::new(
                path,
                Held {
                    files: self.clone(),
                    path: normal(path),
                    number,
                },
            )
        }))
    }
}

/// An opened file, for reading or for appending.
#[derive(Debug)]
struct Handle {
    files: MemoryFiles,
    inode: Inode,
    path: PathBuf,
    epoch: u64,
}

impl Handle {
    fn check_alive(&self, operation: Operation) -> FileResult<()> {
        let alive = locked(&self.files.disk).epoch == self.epoch;
        if alive {
            Ok(())
        } else {
            Err(is_down()).during(operation, &self.path)
        }
    }

    fn length(&self) -> FileResult<u64> {
        self.check_alive(Operation::Metadata)?;
        self.files.step(Operation::Metadata, &self.path, |_, _| {
            Ok(length(locked(&self.inode).data.len()))
        })
    }
}

impl RandomRead for Handle {
    fn len(&self) -> FileResult<u64> {
        self.length()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        self.check_alive(Operation::ReadAt)?;
        self.files.step(Operation::ReadAt, &self.path, |_, _| {
            let content = locked(&self.inode);
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            let rest = content.data.get(from..).unwrap_or_default();
            let read = rest.len().min(buffer.len());
            buffer[..read].copy_from_slice(&rest[..read]);
            Ok(read)
        })
    }
}

impl AppendFile for Handle {
    fn append(&mut self, bytes: &[u8]) -> FileResult<()> {
        self.check_alive(Operation::Write)?;
        self.files.write(&self.path, &self.inode, bytes)
    }

    fn sync_data(&mut self) -> FileResult<()> {
        self.check_alive(Operation::SyncData)?;
        self.files.step(Operation::SyncData, &self.path, |_, _| {
            sync(&self.inode);
            Ok(())
        })
    }

    fn len(&self) -> FileResult<u64> {
        self.length()
    }
}

/// A held lock.
#[derive(Debug)]
struct Held {
    files: MemoryFiles,
    path: PathBuf,
    number: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        locked(&self.files.disk).unlock(&self.path, self.number);
    }
}

fn sync(inode: &Inode) {
    let mut content = locked(inode);
    content.synced = content.data.len();
}

const fn masked(mode: u32) -> u32 {
    mode & !0o022
}
