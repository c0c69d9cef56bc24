//! Queue of the callers that wait for a lock, so that they get it in the order in which they came.
//!
//! # Model
//! A lock that is polled goes to the caller whose pause ends first, and one in fifty waits for a
//! hundred others. So a caller that has to wait takes a ticket: a file beside the lock with the next
//! free number in its name, which it keeps locked. Its turn is when no ticket before it is held.
//! The system drops the locks of a process that dies, so a ticket that can be locked is abandoned,
//! and the next in line removes it. The lock alone excludes others; the queue only orders the
//! callers, and two that get the same number by a race are merely in no order.
//!
//! # Not here
//! The lock itself ([`super::opened`]).
#![expect(
    clippy::disallowed_methods,
    reason = "waiting for a lock needs the clock of the machine"
)]

use crate::error::FileResult;
use crate::files::{DirEntry, Files, LockGuard, lock_path};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Pause of the first in line, and the step by which others pause longer: the lock is usually held
/// for one write, which takes about as long.
const STEP: Duration = Duration::from_millis(1);

/// Longest pause: a caller far behind is at the front some time, and should notice.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Way to open a file that is to be locked.
pub(super) type OpenFile<'a> = &'a dyn Fn(&Path) -> io::Result<File>;

/// Lock with the files beside it.
pub(super) struct Line<'a> {
    /// Files that the lock is one of.
    pub(super) files: &'a dyn Files,
    /// File that the lock belongs to.
    pub(super) path: &'a Path,
    /// Makes a file that must not exist yet.
    pub(super) create: OpenFile<'a>,
    /// Opens a file that must exist.
    pub(super) open: OpenFile<'a>,
}

impl Line<'_> {
    fn lock(&self) -> FileResult<Option<LockGuard>> {
        self.files.lock_exclusive(self.path)
    }

    /// Path of a ticket: the lock's, with the number behind it.
    fn ticket(&self, number: u64) -> PathBuf {
        let mut name = lock_path(self.path).into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// Numbers of the tickets that lie there, held or abandoned.
    fn tickets(&self) -> FileResult<Vec<u64>> {
        let lock = lock_path(self.path);
        let name = lock.file_name().unwrap_or_default().as_encoded_bytes();
        let number = |entry: &DirEntry| -> Option<u64> {
            let rest = entry.name.as_encoded_bytes().strip_prefix(name)?;
            let digits = rest.strip_prefix(b".")?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        };
        let folder = lock.parent().unwrap_or(Path::new(""));
        let entries = self.files.list(folder)?;
        Ok(entries.iter().filter_map(number).collect())
    }

    fn remove(&self, number: u64) {
        // Gone already, or never to be removed: the next in line tries again.
        drop(self.files.remove_file(&self.ticket(number)));
    }
}

/// Place in the queue, given up when it is dropped.
struct Ticket<'a> {
    line: &'a Line<'a>,
    number: u64,
    /// Open and locked as long as the caller waits.
    _file: File,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.line.remove(self.number);
    }
}

/// Waits for the lock, behind those that came before, but no longer than `most`.
pub(super) fn wait(line: &Line<'_>, most: Duration) -> FileResult<Option<LockGuard>> {
    if most.is_zero() {
        return line.lock();
    }
    // Only past an empty queue: otherwise a caller that just came would overtake all.
    if line.tickets()?.is_empty()
        && let Some(guard) = line.lock()?
    {
        return Ok(Some(guard));
    }
    let start = Instant::now();
    let mut ticket = None;
    loop {
        // Without a ticket (a full disk) the caller waits without a place.
        if ticket.is_none() {
            ticket = take(line)?;
        }
        let before = match &ticket {
            Some(ticket) => before(line, ticket.number)?,
            None => 0,
        };
        if before == 0
            && let Some(guard) = line.lock()?
        {
            return Ok(Some(guard));
        }
        let left = most.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        // Polled, because waiting inside the kernel cannot be given a time limit.
        let steps = u32::try_from(before.max(1)).unwrap_or(u32::MAX);
        thread::sleep(STEP.saturating_mul(steps).min(LONGEST_PAUSE).min(left));
    }
}

/// Ticket with the next number; `None` if another caller was faster.
fn take<'a>(line: &'a Line<'a>) -> FileResult<Option<Ticket<'a>>> {
    let last = line.tickets()?.into_iter().max().unwrap_or(0);
    let number = last.saturating_add(1);
    let Ok(file) = (line.create)(&line.ticket(number)) else {
        return Ok(None);
    };
    // Between making and locking it, the next in line may have taken it for abandoned.
    let locked = file.try_lock().is_ok() && (line.open)(&line.ticket(number)).is_ok();
    Ok(locked.then(|| Ticket {
        line,
        number,
        _file: file,
    }))
}

/// Number of callers in line before a ticket; abandoned tickets right before it are removed.
fn before(line: &Line<'_>, number: u64) -> FileResult<usize> {
    let mut earlier = line.tickets()?;
    earlier.retain(|other| *other < number);
    earlier.sort_unstable();
    while let Some(last) = earlier.last() {
        let Ok(file) = (line.open)(&line.ticket(*last)) else {
            earlier.pop();
            continue;
        };
        if file.try_lock().is_err() {
            break;
        }
        line.remove(*last);
        earlier.pop();
    }
    Ok(earlier.len())
}
