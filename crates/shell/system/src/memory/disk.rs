//! A disk that remembers the synced state and fails by script.
//!
//! # Model
//! Two trees over shared contents: `live` is the state the running machine sees, `durable` the one
//! a power cut would leave. Syncing a file moves the mark in its content; syncing a directory
//! copies its entries from `live` to `durable`. A crash starts a new epoch: handles and locks of an
//! earlier one are dead, as their process is.
//!
//! # Not here
//! The port's operations ([`super::files`]) and the choice of faults ([`super::fault`]).

use super::fault::{Effect, Fault, Performed, Script, Survives};
use super::tree::{Content, Inode, Node, Tree, length};
use super::world::locked;
use crate::error::Operation;
use dormouse_core::units::Millis;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
pub(super) struct Disk {
    pub(super) live: Tree,
    pub(super) durable: Tree,
    pub(super) script: Script,
    pub(super) performed: Vec<Performed>,
    /// Bytes that still fit; no limit if `None`.
    pub(super) free: Option<u64>,
    /// Bytes that can still be written before the machine goes down.
    pub(super) until_crash: Option<u64>,
    pub(super) down: bool,
    pub(super) epoch: u64,
    /// Held locks, each with the number of the guard that holds it.
    locks: BTreeMap<PathBuf, u64>,
    numbers: u64,
}

impl Disk {
    /// Every operation passes here first: it is noted, and the script may spoil it. An effect that
    /// comes back concerns the number of bytes to write.
    pub(super) fn begin(
        &mut self,
        operation: Operation,
        path: &Path,
    ) -> io::Result<Option<Effect>> {
        // As with a real machine, nothing works until it is started again.
        if self.down {
            return Err(is_down());
        }
        self.performed.push(Performed {
            operation,
            path: path.to_owned(),
        });
        match self.script.strike(operation, path) {
            Some(Effect::Fail(kind)) => Err(kind.into()),
            Some(Effect::GoDown(_)) if operation != Operation::Write => {
                self.down = true;
                Err(is_down())
            }
            effect => Ok(effect),
        }
    }

    /// One write call, cut short or failed by the script, the crash budget and the free space.
    pub(super) fn write_once(
        &mut self,
        path: &Path,
        inode: &Inode,
        bytes: &[u8],
        now: Millis,
    ) -> io::Result<usize> {
        let mut part = bytes;
        let mut goes_down = false;
        match self.begin(Operation::Write, path)? {
            Some(Effect::Short(limit)) => part = first(part, limit),
            Some(Effect::GoDown(limit)) => {
                part = first(part, limit);
                goes_down = true;
            }
            Some(Effect::Fail(_)) | None => {}
        }
        // The write that crosses the budget is torn at exactly that byte.
        if let Some(left) = self.until_crash
            && left < length(part.len())
        {
            part = first(part, usize::try_from(left).unwrap_or(usize::MAX));
            goes_down = true;
        }
        if let Some(free) = self.free {
            // A real disk writes what fits and refuses only the next write; so does this one.
            if free == 0 && !part.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            part = first(part, usize::try_from(free).unwrap_or(usize::MAX));
        }
        for budget in [&mut self.free, &mut self.until_crash]
            .into_iter()
            .flatten()
        {
            *budget = budget.saturating_sub(length(part.len()));
        }
        let changes = self.next_number();
        let mut content = locked(inode);
        content.data.extend_from_slice(part);
        content.modified = now;
        // The clock may stand still; without this two states would have one stamp.
        content.changes = changes;
        // The bytes are in the file although the call fails: a torn write.
        if goes_down {
            self.down = true;
            return Err(is_down());
        }
        Ok(part.len())
    }

    /// Puts an empty file into the live tree.
    pub(super) fn create_file(&mut self, path: PathBuf, mode: u32, now: Millis) -> Inode {
        let number = self.next_number();
        let content = Content {
            data: Vec::new(),
            synced: 0,
            mode,
            modified: now,
            inode: number,
            changes: number,
        };
        let inode = Arc::new(Mutex::new(content));
        self.insert(path, Node::File(Arc::clone(&inode)));
        inode
    }

    /// Puts an entry into the live tree and frees the room of the one it replaces.
    pub(super) fn insert(&mut self, path: PathBuf, node: Node) {
        let old = self.live.insert(path, node);
        self.reclaim(old);
    }

    /// Takes an entry out of the live tree and frees its room.
    pub(super) fn remove(&mut self, path: &Path) {
        let old = self.live.remove(path);
        self.reclaim(old);
    }

    fn reclaim(&mut self, old: Option<Node>) {
        if let (Some(free), Some(Node::File(inode))) = (&mut self.free, old) {
            *free = free.saturating_add(length(locked(&inode).data.len()));
        }
    }

    pub(super) fn sync_dir(&mut self, path: &Path) {
        self.durable.copy_entries(&self.live, path);
    }

    /// Number of the new guard; `None` if the lock is held.
    pub(super) fn lock(&mut self, path: &Path) -> Option<u64> {
        if self.locks.contains_key(path) {
            return None;
        }
        let number = self.next_number();
        self.locks.insert(path.to_owned(), number);
        Some(number)
    }

    /// Releases a lock, unless a crash did already and another holder took it since.
    pub(super) fn unlock(&mut self, path: &Path, number: u64) {
        // By number: a guard from before a crash must not release its successor's lock.
        if self.locks.get(path) == Some(&number) {
            self.locks.remove(path);
        }
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Stops the machine, loses what `survives` says, and starts it again. The rest is on disk now.
    pub(super) fn crash(&mut self, survives: Survives) {
        self.down = false;
        self.until_crash = None;
        self.epoch += 1;
        self.locks.clear();
        let more = match survives {
            // A killed process: the operating system still has everything.
            Survives::Written => return,
            Survives::Synced => 0,
            Survives::SyncedAnd(more) => more,
        };
        // A directory that was never synced takes its synced files with it.
        self.durable.drop_orphans();
        self.live = self.durable.clone();
        for inode in self.live.inodes() {
            let mut content = locked(inode);
            let kept = content.synced.saturating_add(more).min(content.data.len());
            content.data.truncate(kept);
            content.synced = kept;
        }
    }

    pub(super) fn inject(&mut self, fault: Fault) {
        self.script.add(fault);
    }
}

fn first(bytes: &[u8], limit: usize) -> &[u8] {
    bytes.get(..limit).unwrap_or(bytes)
}

pub(super) fn is_down() -> io::Error {
    io::Error::other("the machine in memory is down")
}
