//! Files of the operating system.
//!
//! # Not here
//! Files below one directory, safe against links: [`super::beneath`].
#![expect(
    clippy::disallowed_methods,
    reason = "this is the place the ban on file functions points to"
)]

use super::opened::{PipeRead, RealAppend, RealRead, read_limited, try_lock};
use super::queue::{self, Line};
use super::world::{millis, system_time};
use crate::error::{During as _, FileResult, Operation};
use crate::files::{
    Access, AppendFile, DirEntry, FileKind, Files, LockGuard, Metadata, RandomRead, Stamp,
    TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Walked, lock_path, parent_of, write_fully,
};
use bytes::Bytes;
use dormouse_core::units::Millis;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a pipe that are kept at most: it has to fit into memory, since it is read once.
const LONGEST_PIPE: u64 = 2 << 30;

/// The machine's file systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &Path, limit: u64) -> FileResult<Bytes> {
        open_regular(path)
            .and_then(|file| read_limited(&file, limit))
            .during(Operation::Read, path)
    }

    fn open(&self, path: &Path) -> FileResult<Arc<dyn RandomRead>> {
        let file = open_regular(path).during(Operation::Open, path)?;
        Ok(Arc::new(RealRead {
            file,
            path: path.to_owned(),
        }))
    }

    fn open_named(&self, path: &Path) -> FileResult<Arc<dyn RandomRead>> {
        match read_pipe(path).during(Operation::Open, path)? {
            Some(content) => Ok(Arc::new(PipeRead(content))),
            None => self.open(path),
        }
    }

    fn append(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        let file = options(access.file_mode())
            .append(true)
            .create(true)
            .open(path)
            .and_then(regular)
            .during(Operation::OpenAppend, path)?;
        let length = file.metadata().during(Operation::Metadata, path)?.len();
        if length == 0 {
            // Perhaps just created. Asking by length also repairs a crash between an earlier
            // creation and its sync.
            sync_dir(parent_of(path))?;
        }
        Ok(Box::new(RealAppend {
            file,
            path: path.to_owned(),
        }))
    }

    fn create_new(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        let file = options(access.file_mode())
            .append(true)
            .create_new(true)
            .open(path)
            .during(Operation::CreateFile, path)?;
        sync_dir(parent_of(path))?;
        Ok(Box::new(RealAppend {
            file,
            path: path.to_owned(),
        }))
    }

    fn replace(&self, path: &Path, content: &[u8], access: Access) -> FileResult<()> {
        replace_with(path, content, access, None)
    }

    fn replace_dated(
        &self,
        path: &Path,
        content: &[u8],
        access: Access,
        modified: Millis,
    ) -> FileResult<()> {
        replace_with(path, content, access, Some(modified))
    }

    fn list(&self, path: &Path) -> FileResult<Vec<DirEntry>> {
        list_sorted(path).during(Operation::List, path)
    }

    fn walk(&self, path: &Path, skip: &dyn Fn(&Path) -> bool) -> FileResult<Vec<Walked>> {
        walk(path, skip).during(Operation::List, path)
    }

    fn metadata(&self, path: &Path) -> FileResult<Metadata> {
        Ok(facts(
            &fs::metadata(path).during(Operation::Metadata, path)?,
        ))
    }

    fn real_path(&self, path: &Path) -> FileResult<PathBuf> {
        fs::canonicalize(path).during(Operation::Metadata, path)
    }

    fn create_dir_all(&self, path: &Path, access: Access) -> FileResult<()> {
        let mut missing = Vec::new();
        for directory in path
            .ancestors()
            .filter(|ancestor| !ancestor.as_os_str().is_empty())
        {
            match fs::metadata(directory) {
                // The nearest one that exists; all above it exist too.
                Ok(found) if found.is_dir() => break,
                Ok(_) => {
                    return Err(io::ErrorKind::NotADirectory.into())
                        .during(Operation::CreateDir, path);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(directory),
                Err(error) => return Err(error).during(Operation::CreateDir, path),
            }
        }
        // From the top down, each synced into its parent: a crash leaves a chain without gaps.
        for directory in missing.into_iter().rev() {
            create_dir(directory, access).during(Operation::CreateDir, path)?;
            sync_dir(parent_of(directory))?;
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> FileResult<()> {
        fs::remove_file(path).during(Operation::Remove, path)
    }

    fn remove_dir(&self, path: &Path) -> FileResult<()> {
        fs::remove_dir(path).during(Operation::Remove, path)
    }

    fn lock_exclusive(&self, path: &Path) -> FileResult<Option<LockGuard>> {
        let file = options(Access::Private.file_mode())
            .write(true)
            .create(true)
            // The content of the lock file, if any, is not ours to remove.
            .truncate(false)
            .open(lock_path(path))
            .and_then(regular)
            .during(Operation::Lock, path)?;
        try_lock(file, path)
    }

    fn lock_waiting(&self, path: &Path, most: Duration) -> FileResult<Option<LockGuard>> {
        let line = Line {
            files: self,
            path,
            create: &|ticket| {
                options(Access::Private.file_mode())
                    .write(true)
                    .create_new(true)
                    .open(ticket)
            },
            open: &|ticket| OpenOptions::new().write(true).open(ticket),
        };
        queue::wait(&line, most)
    }

    fn beneath(&self, root: &Path) -> FileResult<Arc<dyn Files>> {
        #[cfg(unix)]
        return super::beneath::open(root, super::resolve::Way::AtOnce);
        #[cfg(not(unix))]
        Err(io::ErrorKind::Unsupported.into()).during(Operation::Open, root)
    }
}

impl RealFiles {
    /// [`Files::beneath`] as it works where the kernel cannot resolve a whole path safely: name by
    /// name. Chosen by itself where needed; here so that both ways can be tested on one machine.
    #[cfg(unix)]
    pub fn beneath_by_name(&self, root: &Path) -> FileResult<Arc<dyn Files>> {
        super::beneath::open(root, super::resolve::Way::NameByName)
    }
}

/// Both kinds of replacement.
fn replace_with(
    path: &Path,
    content: &[u8],
    access: Access,
    modified: Option<Millis>,
) -> FileResult<()> {
    let directory = parent_of(path);
    let mut temporary = create_temporary(directory, access).during(Operation::CreateFile, path)?;
    // `symlink_metadata`, because a link must not pass its target's permissions on.
    if let Ok(old) = fs::symlink_metadata(path)
        && old.is_file()
    {
        temporary
            .as_file()
            .set_permissions(old.permissions())
            .during(Operation::CreateFile, path)?;
    }
    write_fully(content, |bytes| temporary.write(bytes)).during(Operation::Write, path)?;
    // Before the rename: otherwise a crash could leave the new name with empty content.
    sync_content(temporary.as_file(), modified).during(Operation::SyncData, path)?;
    temporary
        .persist(path)
        .map_err(|failed| failed.error)
        .during(Operation::Rename, path)?;
    sync_dir(directory)
}

/// Forces a new file to disk; a date set on it comes along.
pub(super) fn sync_content(file: &File, modified: Option<Millis>) -> io::Result<()> {
    match modified {
        None => file.sync_data(),
        Some(modified) => {
            file.set_modified(system_time(modified))?;
            file.sync_all()
        }
    }
}

#[cfg(unix)]
fn walk(path: &Path, skip: &dyn Fn(&Path) -> bool) -> io::Result<Vec<Walked>> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let start = rustix::fs::open(path, flags, Mode::empty())?;
    super::walk::walk(&start, skip, &super::walk::enter)
}

#[cfg(not(unix))]
fn walk(path: &Path, skip: &dyn Fn(&Path) -> bool) -> io::Result<Vec<Walked>> {
    use crate::files::{DEEPEST_WALK, MOST_WALKED, walk_too_deep, walk_too_long};
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(directory) = waiting.pop() {
        if directory.components().count() > DEEPEST_WALK {
            return Err(walk_too_deep());
        }
        for entry in list_sorted(&path.join(&directory))? {
            let path = directory.join(&entry.name);
            match entry.metadata.kind {
                _ if skip(&path) => {}
                FileKind::Directory => waiting.push(path),
                FileKind::File if found.len() == MOST_WALKED => return Err(walk_too_long()),
                FileKind::File => found.push(Walked {
                    path,
                    stamp: entry.metadata.stamp,
                }),
                FileKind::Symlink | FileKind::Other => {}
            }
        }
    }
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Content of a pipe up to its end; `None` if the path is no pipe.
#[cfg(unix)]
fn read_pipe(path: &Path) -> io::Result<Option<Bytes>> {
    use std::os::unix::fs::FileTypeExt as _;
    // A path that is not there goes on to the ordinary opening, which reports it.
    let is_pipe = fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    if !is_pipe {
        return Ok(None);
    }
    read_limited(&File::open(path)?, LONGEST_PIPE).map(Some)
}

#[cfg(not(unix))]
fn read_pipe(_: &Path) -> io::Result<Option<Bytes>> {
    Ok(None)
}

/// Opens a regular file for reading. Others may have put a pipe or device in its place: opening does
/// not wait for the other end, and the kind is asked of the opened file, which cannot be exchanged.
fn open_regular(path: &Path) -> io::Result<File> {
    options(0).read(true).open(path).and_then(regular)
}

/// The opened file, if it is a regular one.
fn regular(file: File) -> io::Result<File> {
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    Ok(file)
}

fn list_sorted(path: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(metadata) => {
                entries.push(DirEntry {
                    name: entry.file_name(),
                    metadata: facts(&metadata),
                });
            }
            // Removed between the listing and the question; an entry that is gone is no error.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    // File systems list in any order; callers and tests rely on one.
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn facts(metadata: &fs::Metadata) -> Metadata {
    let kind = metadata.file_type();
    #[cfg(unix)]
    let mode = {
        use std::os::unix::fs::PermissionsExt as _;
        Some(metadata.permissions().mode() & 0o7777)
    };
    #[cfg(not(unix))]
    let mode = None;
    Metadata {
        kind: if kind.is_file() {
            FileKind::File
        } else if kind.is_dir() {
            FileKind::Directory
        } else if kind.is_symlink() {
            FileKind::Symlink
        } else {
            FileKind::Other
        },
        len: metadata.len(),
        modified: metadata.modified().map(millis).unwrap_or_default(),
        mode,
        stamp: stamp(metadata),
    }
}

#[cfg(unix)]
fn stamp(metadata: &fs::Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt as _;
    let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    Stamp {
        inode: metadata.ino(),
        len: metadata.len(),
        modified_ns: nanos(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanos(metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(not(unix))]
fn stamp(metadata: &fs::Metadata) -> Stamp {
    let modified = metadata.modified().map(millis).unwrap_or_default();
    let modified_ns = i128::from(modified.0) * 1_000_000;
    Stamp {
        inode: 0,
        len: metadata.len(),
        modified_ns,
        changed_ns: modified_ns,
    }
}

#[cfg(unix)]
fn options(mode: u32) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    // Opening a pipe would wait for its other end, opening a terminal could make it ours. Regular
    // files are not affected.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.mode(mode).custom_flags(flags.bits().cast_signed());
    options
}

#[cfg(not(unix))]
fn options(_: u32) -> OpenOptions {
    OpenOptions::new()
}

fn create_temporary(directory: &Path, access: Access) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(access.file_mode()));
    }
    #[cfg(not(unix))]
    let _: Access = access;
    builder.tempfile_in(directory)
}

fn create_dir(path: &Path, access: Access) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(access.dir_mode());
    }
    #[cfg(not(unix))]
    let _: Access = access;
    match builder.create(path) {
        // Another process was faster: as good as our own.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result,
    }
}

/// Forces the entries of a directory to disk, as far as the platform lets us.
fn sync_dir(path: &Path) -> FileResult<()> {
    #[cfg(unix)]
    match File::open(path).and_then(|directory| directory.sync_all()) {
        // A directory we may write to but not read cannot be opened, and some file systems do not
        // sync directories at all. The entry is made; failing now would protect nothing.
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
            ) =>
        {
            return Err(error).during(Operation::SyncDir, path);
        }
        _ => {}
    }
    #[cfg(not(unix))]
    let _: &Path = path;
    Ok(())
}
