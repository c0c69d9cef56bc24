//! Files and locks held open on a disk in memory.

use super::disk::is_down;
use super::files::{MemoryFiles, sync};
use super::tree::{Inode, length};
use super::world::locked;
use crate::error::{During as _, FileResult, Operation};
use crate::files::{AppendFile, RandomRead};
use std::path::PathBuf;

/// An opened file, for reading or for appending.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) files: MemoryFiles,
    pub(super) inode: Inode,
    pub(super) path: PathBuf,
    pub(super) epoch: u64,
}

impl Handle {
    // A handle from before a crash belongs to a process that is gone.
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
            // An offset behind the end reads nothing, as on disk.
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

/// A held lock, released on drop.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) files: MemoryFiles,
    pub(super) path: PathBuf,
    pub(super) number: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        locked(&self.files.disk).unlock(&self.path, self.number);
    }
}
