//! The files below one directory.
//!
//! # Model
//! Every operation first gets a handle on the directory that holds the entry, by a resolution that
//! cannot be diverted ([`Root`]), and then acts on the bare name in it: nothing is found by its
//! path twice. A replacement is written to a temporary file in that same directory and renamed
//! there; renaming never follows a link, so an entry put at the name meanwhile is replaced itself,
//! and nothing outside is written to.
//!
//! # Not here
//! Files at any path ([`super::files`]) and the resolution itself ([`super::resolve`]).

#![expect(
    clippy::disallowed_methods,
    reason = "this is the place the ban on file and id functions points to"
)]

use super::files::sync_content;
use super::opened::{RealAppend, RealRead, read_limited, try_lock};
use super::queue::{self, Line};
use super::resolve::{Root, Way, check_ordinary, facts_of};
use super::walk;
use crate::error::{During as _, FileResult, Operation};
use crate::files::{
    Access, AppendFile, DirEntry, Files, LockGuard, Metadata, RandomRead, TEMPORARY_PREFIX,
    TEMPORARY_SUFFIX, Walked, lock_path, names_beneath, write_fully,
};
use bytes::Bytes;
use dormouse_core::units::Millis;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use std::collections::{HashMap, hash_map::Entry};
use std::ffi::OsStr;
#[cfg(target_os = "linux")]
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Files from which on one sync of the file system is cheaper than one for each: it may have to write
/// what other programs left.
#[cfg(target_os = "linux")]
const MANY: usize = 16;

/// The files below `root`, which itself may be reached over links.
pub(super) fn open(root: &Path, way: Way) -> FileResult<Arc<dyn Files>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty())
        .map_err(io::Error::from)
        .and_then(|directory| Root::new(directory, way))
        .during(Operation::Open, root)?;
    Ok(Arc::new(FilesBeneath { root }))
}

#[derive(Debug)]
struct FilesBeneath {
    root: Root,
}

impl FilesBeneath {
    fn open_file(&self, path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
        let names = names_beneath(path)?;
        self.root.file(&names, flags, Mode::from_raw_mode(mode))
    }

    fn replace_with(
        &self,
        path: &Path,
        content: &[u8],
        access: Access,
        modified: Option<Millis>,
    ) -> FileResult<()> {
        let names = names_beneath(path).during(Operation::CreateFile, path)?;
        let (directory, name) = self
            .root
            .parent(&names)
            .during(Operation::CreateFile, path)?;
        // Asked before anything is written, so that a refusal leaves no temporary file.
        let mode = mode_to_keep(&directory, name).during(Operation::Rename, path)?;
        let (temporary, file) =
            create_temporary(&directory, access).during(Operation::CreateFile, path)?;
        let done = fill(&file, content, mode, modified, path).and_then(|()| {
            rustix::fs::renameat(&directory, &temporary, &directory, name)
                .map_err(io::Error::from)
                .during(Operation::Rename, path)
        });
        if done.is_err() {
            // The error to report is the first one; a stray temporary file does no harm.
            let _removed = rustix::fs::unlinkat(&directory, &temporary, AtFlags::empty());
            return done;
        }
        sync_dir(&directory, path)
    }

    fn remove(&self, path: &Path, flags: AtFlags) -> FileResult<()> {
        names_beneath(path)
            .and_then(|names| {
                let (directory, name) = self.root.parent(&names)?;
                Ok(rustix::fs::unlinkat(directory, name, flags)?)
            })
            .during(Operation::Remove, path)
    }
}

impl Files for FilesBeneath {
    fn read(&self, path: &Path, limit: u64) -> FileResult<Bytes> {
        self.open_file(path, OFlags::RDONLY, 0)
            .and_then(|file| read_limited(&file, limit))
            .during(Operation::Read, path)
    }

    fn open(&self, path: &Path) -> FileResult<Arc<dyn RandomRead>> {
        let file = self
            .open_file(path, OFlags::RDONLY, 0)
            .during(Operation::Open, path)?;
        Ok(Arc::new(RealRead {
            file,
            path: path.to_owned(),
        }))
    }

    fn append(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let file = self
            .open_file(path, flags, access.file_mode())
            .during(Operation::OpenAppend, path)?;
        let length = file.metadata().during(Operation::Metadata, path)?.len();
        // Perhaps just created; asking by length also repairs a crash before an earlier sync.
        if length == 0 {
            self.sync_parent(path)?;
        }
        Ok(Box::new(RealAppend {
            file,
            path: path.to_owned(),
        }))
    }

    fn create_new(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        let file = match names_beneath(path) {
            // The root itself: it exists, and its error must not be that of a missing name.
            Ok(names) if names.is_empty() => Err(io::ErrorKind::AlreadyExists.into()),
            _ => self.open_file(path, flags, access.file_mode()),
        }
        .during(Operation::CreateFile, path)?;
        self.sync_parent(path)?;
        Ok(Box::new(RealAppend {
            file,
            path: path.to_owned(),
        }))
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

    #[cfg(target_os = "linux")]
    fn replace_many(&self, files: &[(&Path, &[u8])], access: Access) -> FileResult<()> {
        if files.len() < MANY {
            for (path, content) in files {
                self.replace(path, content, access)?;
            }
            return Ok(());
        }
        let mut staged = Staged::default();
        self.stage(files, access, &mut staged)?;
        staged.put_in_place()
    }

    fn list(&self, path: &Path) -> FileResult<Vec<DirEntry>> {
        names_beneath(path)
            .and_then(|names| walk::list(&self.root.directory(&names)?))
            .during(Operation::List, path)
    }

    fn walk(&self, path: &Path, skip: &dyn Fn(&Path) -> bool) -> FileResult<Vec<Walked>> {
        names_beneath(path)
            .and_then(|names| {
                let start = self.root.directory(&names)?;
                walk::walk(&start, skip, &|above, name| self.root.enter(above, name))
            })
            .during(Operation::List, path)
    }

    fn metadata(&self, path: &Path) -> FileResult<Metadata> {
        names_beneath(path)
            .and_then(|names| Ok(facts_of(&self.root.stat(&names)?)))
            .during(Operation::Metadata, path)
    }

    fn real_path(&self, path: &Path) -> FileResult<PathBuf> {
        names_beneath(path)
            .and_then(|names| {
                self.root.stat(&names)?;
                Ok(names.iter().collect())
            })
            .during(Operation::Metadata, path)
    }

    fn create_dir_all(&self, path: &Path, access: Access) -> FileResult<()> {
        let names = names_beneath(path).during(Operation::CreateDir, path)?;
        let mut directory = self
            .root
            .directory(&[])
            .during(Operation::CreateDir, path)?;
        for name in names {
            let made = make_dir(&directory, name, access).during(Operation::CreateDir, path)?;
            if made {
                sync_dir(&directory, path)?;
            }
            directory = self
                .root
                .enter(directory.as_fd(), name)
                .during(Operation::CreateDir, path)?;
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> FileResult<()> {
        self.remove(path, AtFlags::empty())
    }

    fn remove_dir(&self, path: &Path) -> FileResult<()> {
        self.remove(path, AtFlags::REMOVEDIR)
    }

    fn lock_exclusive(&self, path: &Path) -> FileResult<Option<LockGuard>> {
        let flags = OFlags::WRONLY | OFlags::CREATE;
        // The path itself is checked too: with `.lock` put to it, `..` would be an ordinary name.
        let file = names_beneath(path)
            .and_then(|names| self.root.parent(&names))
            .and_then(|_| self.open_file(&lock_path(path), flags, Access::Private.file_mode()))
            .during(Operation::Lock, path)?;
        try_lock(file, path)
    }

    fn lock_waiting(&self, path: &Path, most: Duration) -> FileResult<Option<LockGuard>> {
        let mode = Access::Private.file_mode();
        let line = Line {
            files: self,
            path,
            create: &|ticket| {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
                self.open_file(ticket, flags, mode)
            },
            open: &|ticket| self.open_file(ticket, OFlags::WRONLY, 0),
        };
        queue::wait(&line, most)
    }

    fn beneath(&self, root: &Path) -> FileResult<Arc<dyn Files>> {
        let inner = names_beneath(root)
            .and_then(|names| Root::new(self.root.directory(&names)?, self.root.way()))
            .during(Operation::Open, root)?;
        Ok(Arc::new(Self { root: inner }))
    }
}

#[cfg(target_os = "linux")]
impl FilesBeneath {
    /// Writes contents into temporary files beside those that they replace, and forces them to disk
    /// at once.
    fn stage<'a>(
        &self,
        files: &[(&'a Path, &[u8])],
        access: Access,
        staged: &mut Staged<'a>,
    ) -> FileResult<()> {
        let mut opened: HashMap<PathBuf, Rc<OwnedFd>> = HashMap::new();
        for (path, content) in files {
            let names = names_beneath(path).during(Operation::CreateFile, path)?;
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            // One handle for each directory: thousands would exceed the limit of a process.
            let directory = match opened.entry(folder) {
                Entry::Occupied(known) => Rc::clone(known.get()),
                Entry::Vacant(new) => {
                    let parent = self.root.parent(&names);
                    let (directory, _) = parent.during(Operation::CreateFile, path)?;
                    Rc::clone(new.insert(Rc::new(directory)))
                }
            };
            let Some(name) = path.file_name() else {
                let refused = Err(io::ErrorKind::InvalidInput.into());
                return refused.during(Operation::CreateFile, path);
            };
            let mode = mode_to_keep(&directory, name).during(Operation::Rename, path)?;
            let (temporary, file) =
                create_temporary(&directory, access).during(Operation::CreateFile, path)?;
            staged.files.push(StagedFile {
                directory,
                temporary,
                name: name.to_owned(),
                path,
            });
            write(&file, content, mode, path)?;
        }
        let Some(last) = staged.files.last() else {
            return Ok(());
        };
        // All are on one file system: a path beneath the root cannot lead into another.
        rustix::fs::syncfs(&*last.directory)
            .map_err(io::Error::from)
            .during(Operation::SyncData, last.path)
    }
}

/// Temporary files that have not taken their places yet; removed if they never do.
#[cfg(target_os = "linux")]
#[derive(Default)]
struct Staged<'a> {
    files: Vec<StagedFile<'a>>,
}

#[cfg(target_os = "linux")]
struct StagedFile<'a> {
    directory: Rc<OwnedFd>,
    temporary: String,
    name: OsString,
    path: &'a Path,
}

#[cfg(target_os = "linux")]
impl Staged<'_> {
    fn put_in_place(&mut self) -> FileResult<()> {
        let mut directories: Vec<(Rc<OwnedFd>, &Path)> = Vec::new();
        // From the end, so that those left over after an error are those not in place.
        while let Some(file) = self.files.last() {
            rustix::fs::renameat(
                &*file.directory,
                &file.temporary,
                &*file.directory,
                &file.name,
            )
            .map_err(io::Error::from)
            .during(Operation::Rename, file.path)?;
            if !directories
                .iter()
                .any(|(known, _)| Rc::ptr_eq(known, &file.directory))
            {
                directories.push((Rc::clone(&file.directory), file.path));
            }
            self.files.pop();
        }
        for (directory, path) in directories {
            sync_dir(&directory, path)?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
impl Drop for Staged<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            // The error to report is the first one; a stray temporary file does no harm.
            let _removed =
                rustix::fs::unlinkat(&*file.directory, &file.temporary, AtFlags::empty());
        }
    }
}

impl FilesBeneath {
    fn sync_parent(&self, path: &Path) -> FileResult<()> {
        // Resolved again: the entry is durable only if the directory it is now in is synced.
        let (directory, _) = names_beneath(path)
            .and_then(|names| self.root.parent(&names))
            .during(Operation::SyncDir, path)?;
        sync_dir(&directory, path)
    }
}

/// Permissions of the file to be replaced; `None` if there is none. A link, a directory or a file
/// with a second name is refused.
fn mode_to_keep(directory: &OwnedFd, name: &OsStr) -> io::Result<Option<Mode>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => {
            check_ordinary(&old)?;
            Ok(Some(Mode::from_raw_mode(old.st_mode & 0o777)))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn create_temporary(directory: &OwnedFd, access: Access) -> io::Result<(String, File)> {
    let name = format!(
        "{TEMPORARY_PREFIX}{}{TEMPORARY_SUFFIX}",
        // Random, so that a planted file of the same name is impossible to prepare.
        uuid::Uuid::new_v4().simple()
    );
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(access.file_mode());
    let file = rustix::fs::openat(directory, &name, flags, mode)?;
    Ok((name, file.into()))
}

fn fill(
    file: &File,
    content: &[u8],
    mode: Option<Mode>,
    modified: Option<Millis>,
    path: &Path,
) -> FileResult<()> {
    write(file, content, mode, path)?;
    sync_content(file, modified).during(Operation::SyncData, path)
}

fn write(mut file: &File, content: &[u8], mode: Option<Mode>, path: &Path) -> FileResult<()> {
    if let Some(mode) = mode {
        // Before the content is written: a private file must not be readable for a moment.
        rustix::fs::fchmod(file, mode)
            .map_err(io::Error::from)
            .during(Operation::CreateFile, path)?;
    }
    write_fully(content, |bytes| file.write(bytes)).during(Operation::Write, path)
}

/// True if the directory had to be made.
fn make_dir(above: &OwnedFd, name: &OsStr, access: Access) -> io::Result<bool> {
    match rustix::fs::mkdirat(above, name, Mode::from_raw_mode(access.dir_mode())) {
        Ok(()) => Ok(true),
        // Made by another process meanwhile, or there before; only the kind matters.
        Err(Errno::EXIST) => {
            let found = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(found.st_mode) {
                // A link is left to the caller's next step, which enters it and refuses.
                FileType::Directory | FileType::Symlink => Ok(false),
                _ => Err(io::ErrorKind::NotADirectory.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Forces the entries of a directory to disk, as far as the file system lets us.
fn sync_dir(directory: &OwnedFd, path: &Path) -> FileResult<()> {
    match rustix::fs::fsync(directory) {
        // Some file systems do not sync directories at all; the entry is made all the same.
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::ROFS) => Ok(()),
        Err(error) => Err(io::Error::from(error)).during(Operation::SyncDir, path),
    }
}
