//! Open files: their operations do not depend on the way they were found.

use crate::error::{During as _, FileResult, Operation};
use crate::files::{AppendFile, LockGuard, RandomRead, write_fully};
use bytes::Bytes;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct RealRead {
    pub(super) file: File,
    pub(super) path: PathBuf,
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

/// Content of a pipe, kept for reads at any offset.
#[derive(Debug)]
pub(super) struct PipeRead(pub(super) Bytes);

impl RandomRead for PipeRead {
    fn len(&self) -> FileResult<u64> {
        Ok(u64::try_from(self.0.len()).unwrap_or(u64::MAX))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.0.len());
        let rest = &self.0[start..];
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }
}

#[derive(Debug)]
pub(super) struct RealAppend {
    pub(super) file: File,
    pub(super) path: PathBuf,
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

/// The whole content, unless it is longer than `limit`.
pub(super) fn read_limited(file: &File, limit: u64) -> io::Result<Bytes> {
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Before reading: a giant must not be read up to the limit only to be refused.
    if found.len() > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // The length is only a first guess: the file may grow meanwhile, and devices report none.
    let mut content = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
    let read = file
        // One byte more than allowed, to notice a file that grew beyond the limit.
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    if u64::try_from(read).is_ok_and(|read| read <= limit) {
        Ok(content.into())
    } else {
        Err(io::ErrorKind::FileTooLarge.into())
    }
}

/// Locks an opened lock file on behalf of the file at `path`.
pub(super) fn try_lock(file: File, path: &Path) -> FileResult<Option<LockGuard>> {
    match file.try_lock() {
        // Closing the file releases the lock, also when the process dies.
        Ok(()) => Ok(Some(LockGuard::new(path, file))),
        // A held lock is an ordinary answer.
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).during(Operation::Lock, path),
    }
}

fn read_fully_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let position = offset.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        match read_once_at(file, rest, position) {
            // The end of the file: fewer bytes than asked for are the answer, not an error.
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
