//! Files in memory.
//!
//! # Model
//! A handle on a shared [`Disk`]. Each operation of [`Files`] is made of the same steps as the real
//! one, and every step can be spoilt, so a crash can be put between any two of them.
//!
//! # Not modelled
//! Symbolic links, owners, and permission bits as a hindrance (use [`Fault::fail`] for that).
//! Shared access behaves as under the umask `022`.

use super::disk::Disk;
use super::fault::{Fault, Performed, Survives};
use super::handle::{Handle, Held};
use super::tree::{Inode, Node, length, normal};
use super::world::{ManualClock, locked};
use crate::error::{During as _, FileResult, Operation};
use crate::files::{
    Access, AppendFile, DirEntry, Files, LockGuard, Metadata, RandomRead, TEMPORARY_PREFIX,
    TEMPORARY_SUFFIX, Walked, lock_path, names_beneath, write_fully,
};
use crate::world::Clock;
use bytes::Bytes;
use dormouse_core::units::Millis;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Turns that other threads get to release a lock a caller waits for. Enough for a thread in the
/// middle of an operation; a test that waits in vain still ends at once.
const TURNS_TO_UNLOCK: u32 = 1_000;

/// A file system in memory. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryFiles {
    pub(super) disk: Arc<Mutex<Disk>>,
    clock: Arc<dyn Clock>,
    /// The directory that all paths are relative to and must not leave, if there is one.
    base: Option<PathBuf>,
}

/// Handles for tests: contents, faults, crashes.
impl MemoryFiles {
    /// An empty disk whose files take their times from `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            disk: Arc::default(),
            clock,
            base: None,
        }
    }

    /// Puts a file there, with its parents, durably and out of reach of any fault.
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
        // Durable at once, so that a crash in the test does not take the fixture away.
        disk.sync_dir(path.parent().unwrap_or(&path));
    }

    /// Content of a file now, read without passing faults and [`Self::performed`].
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

    /// True if the machine went down and has not been started again.
    pub fn is_down(&self) -> bool {
        locked(&self.disk).down
    }

    /// Cuts the power and starts the machine again: unsynced bytes are lost, locks are free, and
    /// handles from before are dead. Faults stay.
    pub fn crash(&self) {
        self.crash_with(Survives::Synced);
    }

    /// Like [`Self::crash`], with a choice of the bytes that survive.
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

/// Steps that the operations are made of; each can fail.
impl MemoryFiles {
    /// Path on the disk that a caller's path means.
    fn locate(&self, path: &Path) -> io::Result<PathBuf> {
        match &self.base {
            None => Ok(normal(path)),
            Some(base) => {
                let mut place = base.clone();
                place.extend(names_beneath(path)?);
                Ok(place)
            }
        }
    }

    /// Does one step, unless the script spoils it. `path` is as the caller gave it.
    pub(super) fn step<T>(
        &self,
        operation: Operation,
        path: &Path,
        work: impl FnOnce(&mut Disk, &Path) -> io::Result<T>,
    ) -> FileResult<T> {
        let place = self.locate(path).during(operation, path)?;
        let mut disk = locked(&self.disk);
        disk.begin(operation, &place)
            .and_then(|_| work(&mut disk, &place))
            .during(operation, path)
    }

    pub(super) fn write(&self, path: &Path, inode: &Inode, bytes: &[u8]) -> FileResult<()> {
        let place = self.locate(path).during(Operation::Write, path)?;
        write_fully(bytes, |part| {
            locked(&self.disk).write_once(&place, inode, part, self.clock.now())
        })
        .during(Operation::Write, path)
    }

    fn sync_parent(&self, path: &Path) -> FileResult<()> {
        let place = self.locate(path).during(Operation::SyncDir, path)?;
        self.sync_parent_of_place(&place)
    }

    fn sync_parent_of_place(&self, place: &Path) -> FileResult<()> {
        let directory = place.parent().unwrap_or(place);
        let mut disk = locked(&self.disk);
        disk.begin(Operation::SyncDir, directory)
            .during(Operation::SyncDir, directory)?;
        disk.sync_dir(directory);
        Ok(())
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

    /// Both kinds of replacement. Without a date the file has the time of its last write.
    fn replace_with(
        &self,
        path: &Path,
        content: &[u8],
        access: Access,
        modified: Option<Millis>,
    ) -> FileResult<()> {
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
        let done = self.write(path, &inode, content).and_then(|()| {
            if let Some(modified) = modified {
                locked(&inode).modified = modified;
            }
            self.sync_and_rename(path, &temporary, &inode)
        });
        let mut disk = locked(&self.disk);
        // A machine that is down cannot clean up: the temporary file stays, as on a real disk.
        if done.is_err() && !disk.down {
            disk.remove(&temporary);
        }
        drop(disk);
        done?;
        self.sync_parent(path)
    }

    fn sync_and_rename(&self, path: &Path, temporary: &Path, inode: &Inode) -> FileResult<()> {
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

    fn guard(&self, path: &Path, place: PathBuf, number: u64) -> LockGuard {
        let files = self.clone();
        LockGuard::new(
            path,
            Held {
                files,
                path: place,
                number,
            },
        )
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
                    // The same errors as a real file system, so that tests see what users will.
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
        // As the real one: a new entry, or one that a crash left unsynced.
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
        self.replace_with(path, content, access, None)
    }

    fn replace_dated(
        &self,
        path: &Path,
        content: &[u8],
        access: Access,
        modified: Millis,
    ) -> FileResult<()> {
        self.replace_with(path, content, access, Some(modified))
    }

    fn list(&self, path: &Path) -> FileResult<Vec<DirEntry>> {
        self.step(Operation::List, path, |disk, path| disk.live.list(path))
    }

    fn walk(&self, path: &Path, skip: &dyn Fn(&Path) -> bool) -> FileResult<Vec<Walked>> {
        self.step(Operation::List, path, |disk, path| {
            disk.live.walk(path, skip)
        })
    }

    fn metadata(&self, path: &Path) -> FileResult<Metadata> {
        self.step(Operation::Metadata, path, |disk, path| {
            disk.live.metadata(path)
        })
    }

    fn real_path(&self, path: &Path) -> FileResult<PathBuf> {
        self.step(Operation::Metadata, path, |disk, path| {
            disk.live.metadata(path)?;
            // Callers beneath a directory never see where it lies.
            let seen = match &self.base {
                Some(base) => path.strip_prefix(base).unwrap_or(path),
                None => path,
            };
            Ok(seen.to_owned())
        })
    }

    fn create_dir_all(&self, path: &Path, access: Access) -> FileResult<()> {
        let full = self.locate(path).during(Operation::CreateDir, path)?;
        // Decided at once; each creation is a step of its own that a fault can strike.
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
            self.sync_parent_of_place(directory)?;
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> FileResult<()> {
        self.step(Operation::Remove, path, |disk, path| {
            // A directory is refused here, as `unlink` refuses it.
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
        let (place, number) = self.step(Operation::Lock, path, |disk, place| {
            if self.base.as_deref() == Some(place) {
                // Its lock would lie outside of the base.
                return Err(io::ErrorKind::IsADirectory.into());
            }
            let file = lock_path(place);
            disk.live.check_parent(&file)?;
            // As on disk the lock file stays, and shows in listings.
            if disk.live.get(&file).is_none() {
                disk.create_file(file, Access::Private.file_mode(), self.clock.now());
            }
            Ok((place.to_owned(), disk.lock(place)))
        })?;
        Ok(number.map(|number| self.guard(path, place, number)))
    }

    fn lock_waiting(&self, path: &Path, most: Duration) -> FileResult<Option<LockGuard>> {
        // Through the usual step, so that faults and records see one attempt.
        let first = self.lock_exclusive(path)?;
        if first.is_some() || most.is_zero() {
            return Ok(first);
        }
        let place = self.locate(path).during(Operation::Lock, path)?;
        for _ in 0..TURNS_TO_UNLOCK {
            thread::yield_now();
            let number = locked(&self.disk).lock(&place);
            if let Some(number) = number {
                return Ok(Some(self.guard(path, place, number)));
            }
        }
        Ok(None)
    }

    fn beneath(&self, root: &Path) -> FileResult<Arc<dyn Files>> {
        let base = self.step(Operation::Open, root, |disk, place| {
            disk.live.list(place)?;
            Ok(place.to_owned())
        })?;
        Ok(Arc::new(Self {
            base: Some(base),
            ..self.clone()
        }))
    }
}

const fn masked(mode: u32) -> u32 {
    mode & !0o022
}

pub(super) fn sync(inode: &Inode) {
    let mut content = locked(inode);
    content.synced = content.data.len();
}
