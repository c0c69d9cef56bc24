//! Files of the operating system.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the place the ban on file functions points to"
)]

use super::world::millis;
use crate::error::{During as _, FileResult, Operation};
use crate::files::{
    Access, AppendFile, DirEntry, FileKind, Files, LockGuard, Metadata, RandomRead,
    TEMPORARY_PREFIX, TEMPORARY_SUFFIX, lock_path, parent_of, write_fully,
};
use bytes::Bytes;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The machine's file systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &Path, limit: u64) -> FileResult<Bytes> {
        read_limited(path, limit).during(Operation::Read, path)
    }

    fn open(&self, path: &Path) -> FileResult<Arc<dyn RandomRead>> {
        let file = open_regular(path).during(Operation::Open, path)?;
        Ok(Arc::new(RealRead {
            file,
            path: path.to_owned(),
        }))
    }

    fn append(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        let file = options(access.file_mode())
            .append(true)
            .create(true)
            .open(path)
            .during(Operation::OpenAppend, path)?;
        let length = file.metadata().during(Operation::Metadata, path)?.len();
        if length == 0 {
            // We may just have created it. Asking by length also mends a crash between an earlier
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
        let directory = parent_of(path);
        let mut temporary =
            create_temporary(directory, access).during(Operation::CreateFile, path)?;
        if let Ok(old) = fs::symlink_metadata(path)
            && old.is_file()
        {
            temporary
                .as_file()
                .set_permissions(old.permissions())
                .during(Operation::CreateFile, path)?;
        }
        write_fully(content, |bytes| temporary.write(bytes)).during(Operation::Write, path)?;
        temporary
            .as_file()
            .sync_data()
            .during(Operation::SyncData, path)?;
        temporary
            .persist(path)
            .map_err(|failed| failed.error)
            .during(Operation::Rename, path)?;
        sync_dir(directory)
    }

    fn list(&self, path: &Path) -> FileResult<Vec<DirEntry>> {
        list_sorted(path).during(Operation::List, path)
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
                Ok(found) if found.is_dir() => break,
                Ok(_) => {
                    return Err(io::ErrorKind::NotADirectory.into())
                        .during(Operation::CreateDir, path);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(directory),
                Err(error) => return Err(error).during(Operation::CreateDir, path),
            }
        }
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
            .truncate(false)
            .open(lock_path(path))
            .during(Operation::Lock, path)?;
        match file.try_lock() {
            // Closing the file releases the lock, also when the process dies.
            Ok(()) => Ok(Some(LockGuard::new(path, file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).during(Operation::Lock, path),
        }
    }
}

#[derive(Debug)]
struct RealRead {
    file: File,
    path: PathBuf,
}

impl RandomRead for RealRead {
    fn len(&self) -> FileResult<u64> {
        Ok(self
            .file
            .metadata()
            .during(Operation::Metadata, &self.path)?
            .len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        read_fully_at(&self.file, offset, buffer).during(Operation::ReadAt, &self.path)
    }
}

#[derive(Debug)]
struct RealAppend {
    file: File,
    path: PathBuf,
}

impl AppendFile for RealAppend {
    fn append(&mut self, bytes: &[u8]) -> FileResult<()> {
        write_fully(bytes, |part| self.file.write(part)).during(Operation::Write, &self.path)
    }

    fn sync_data(&mut self) -> FileResult<()> {
        self.file
            .sync_data()
            .during(Operation::SyncData, &self.path)
    }

    fn len(&self) -> FileResult<u64> {
        Ok(self
            .file
            .metadata()
            .during(Operation::Metadata, &self.path)?
            .len())
    }
}

fn read_limited(path: &Path, limit: u64) -> io::Result<Bytes> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if found.len() > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // The length is only a first guess: the file may grow meanwhile, and devices report none.
    let mut content = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
    let read = file
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    if u64::try_from(read).is_ok_and(|read| read <= limit) {
        Ok(content.into())
    } else {
        Err(io::ErrorKind::FileTooLarge.into())
    }
}

fn open_regular(path: &Path) -> io::Result<File> {
    // Asked before opening, because opening a pipe would wait for somebody to write into it.
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    File::open(path)
}

fn read_fully_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let position = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        match read_once_at(file, rest, position) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(unix)]
fn read_once_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_once_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
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
            // Somebody removed it between the listing and the question.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
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
    }
}

#[cfg(unix)]
fn options(mode: u32) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.mode(mode);
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
        // Somebody else was faster: as good as our own.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result,
    }
}

/// Forces the entries of a directory to disk, as far as the platform lets us.
fn sync_dir(path: &Path) -> FileResult<()> {
    #[cfg(unix)]
    match File::open(path).and_then(|directory| directory.sync_all()) {
        // A directory we may write to but not read cannot be opened, and some file systems do not
        // sync directories at all. The entry is made; refusing to go on would help nobody.
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
