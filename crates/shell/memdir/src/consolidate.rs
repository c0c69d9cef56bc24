//! Lock of consolidation: one process dreams at a time.
//!
//! # Model
//! `.consolidate-lock` is lock and memory at once. Idle, it is empty, and its time of change is
//! that of the last consolidation. Held, its body is `<pid> <process start> <previous time>`, and
//! its time of change is when it was taken. It is only ever replaced whole, its time already set,
//! under a file lock of its own, so that of any number of contenders one wins.
//!
//! | found | held | last consolidation |
//! |---|---|---|
//! | no file | no | never |
//! | empty | no | its time |
//! | body of a living process, younger than the age limit | yes | the previous time in the body |
//! | the same, process dead, or id used again, or too old | no | the previous time in the body |
//! | only a number (another tool's) of a living process, young | yes | unknown: its time |
//! | only a number of a dead process, or anything else | no | its time |
//! | a time more than five minutes in the future, not held | no | never, reported |
//!
//! A holder whose body is no longer there has lost the lock and must change nothing more.
//!
//! # Not here
//! The gates that decide when to dream (`dormouse_memory::dream`), and dreaming
//! (`dormouse-keeper`).

use crate::dir::MemoryDir;
use crate::error::MemdirError;
use dormouse_core::units::Millis;
use dormouse_system::{Access, LockGuard, ProcessId, ProcessStart};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// Age from which a holder no longer counts, for everyone who dreams. A dream is ended after 50 minutes
/// unless the user allows it longer; a holder an hour old is a machine that went to sleep.
pub const LOCK_AGE: Duration = Duration::from_hours(1);
/// Name of the file. Another tool uses the same one, with a bare process id in it.
const FILE: &str = ".consolidate-lock";
/// Most bytes of a body, which is one short line; a longer one is garbage.
const LONGEST: u64 = 4096;
/// Longest wait for the file lock, which is held for one look or one replacement only.
const WAIT: Duration = Duration::from_mins(1);
/// Tolerated clock skew in milliseconds; the same five minutes as the gates of dreams.
const FUTURE: i64 = 5 * 60 * 1000;
/// Coarsest time stamp of common file systems, in milliseconds: FAT keeps two seconds.
const COARSE: u64 = 2_000;
/// Word for "never consolidated before" in a body.
const NEVER: &str = "-";

type Result<T> = std::result::Result<T, MemdirError>;

/// Lock of consolidation of a memory directory.
#[derive(Clone, Debug)]
pub struct ConsolidationLock {
    dir: MemoryDir,
    most_age: Duration,
}

/// Process that holds the lock and dreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id, which the system may use again.
    pub pid: u32,
    /// Start of the process, which tells it from a later one with the same id; `None` if another
    /// tool holds the lock and does not say.
    pub start: Option<ProcessStart>,
    /// Time at which it took the lock.
    pub since: Millis,
}

/// Oddity of the file, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// No file: never consolidated.
    NoFile,
    /// Time in the future, of the file or of the previous dream: ignored.
    Future(Millis),
    /// Holder that ended without releasing the lock.
    HolderGone(u32),
    /// Holder that has held it longer than [`LOCK_AGE`].
    TooOld(u32),
    /// Body that is not understood.
    Garbage,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => write!(f, "never consolidated: there is no `{FILE}`"),
            Self::Future(at) => write!(
                f,
                "`{FILE}` says {at}, which lies in the future; taken as never consolidated"
            ),
            Self::HolderGone(pid) => {
                write!(
                    f,
                    "process {pid} ended while it was dreaming; its dream does not count"
                )
            }
            Self::TooOld(pid) => {
                write!(
                    f,
                    "process {pid} has been dreaming for too long; its dream does not count"
                )
            }
            Self::Garbage => write!(f, "`{FILE}` holds something unknown, which is ignored"),
        }
    }
}

/// State of the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockStatus {
    /// Time of the last consolidation; `None` if never.
    pub last_consolidated: Option<Millis>,
    /// Process that dreams now.
    pub holder: Option<Holder>,
    /// Oddity, if there is one.
    pub remark: Option<Remark>,
}

/// Reason why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Held by another process.
    #[error("process {} has been consolidating this memory since {}", .0.pid, .0.since)]
    Held(Holder),
    /// File error of the directory.
    #[error(transparent)]
    Memdir(#[from] MemdirError),
}

/// Reason why a holder could not release the lock as it wanted.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// Taken over by another process.
    #[error("another process took the consolidation lock meanwhile; nothing was changed")]
    NotMine,
    /// File error of the directory.
    #[error(transparent)]
    Memdir(#[from] MemdirError),
}

/// File as it was found.
struct Found {
    body: String,
    modified: Millis,
}

impl MemoryDir {
    /// Lock of consolidation; holders older than `most_age` no longer count.
    pub fn consolidation_lock(&self, most_age: Duration) -> ConsolidationLock {
        ConsolidationLock {
            dir: self.clone(),
            most_age,
        }
    }
}

impl ConsolidationLock {
    /// State of the lock now, without waiting.
    pub fn status(&self) -> Result<LockStatus> {
        Ok(self.judge(self.found()?))
    }

    /// Takes the lock, unless another process holds it.
    pub fn try_take(&self) -> std::result::Result<Taken, TakeError> {
        // Without the guard two processes could both find it free and both replace it.
        let _guard = self.guard()?;
        let status = self.judge(self.found()?);
        if let Some(holder) = status.holder {
            return Err(TakeError::Held(holder));
        }
        let me = self.dir.system.processes.own();
        let since = self.dir.system.clock.now();
        let previous = status.last_consolidated;
        let body = Body { me, previous }.to_string();
        self.replace(&body, since)?;
        Ok(Taken {
            lock: self.clone(),
            body,
            since,
            previous,
            released: false,
        })
    }

    fn guard(&self) -> Result<LockGuard> {
        self.dir.disk.lock_of(Path::new(FILE), WAIT)
    }

    fn found(&self) -> Result<Option<Found>> {
        let path = Path::new(FILE);
        // Read before its time is asked for: should it be replaced in between, a holder's body
        // cannot be taken together with the time of an earlier one. `try_take` and releasing are
        // safe from that by the guard.
        let body = match self.dir.disk.files().read(path, LONGEST) {
            Ok(body) => String::from_utf8_lossy(&body).into_owned(),
            Err(error) if error.not_found() => return Ok(None),
            // A file of that size is not ours; treat it as garbage instead of failing every dream.
            Err(error) if error.too_large() => "?".to_owned(),
            Err(error) => return Err(self.dir.disk.blame(error)),
        };
        let facts = self.dir.disk.metadata(path)?;
        Ok(facts.map(|facts| Found {
            body,
            modified: facts.modified,
        }))
    }

    fn judge(&self, found: Option<Found>) -> LockStatus {
        let now = self.dir.system.clock.now();
        let mut status = LockStatus {
            last_consolidated: None,
            holder: None,
            remark: Some(Remark::NoFile),
        };
        let Some(found) = found else {
            return status;
        };
        status.remark = None;
        status.last_consolidated = Some(found.modified);
        // A clock that was set back does not make a lock old.
        let young = u128::from(now.since(found.modified)) < self.most_age.as_millis();
        let (alive, pid) = match Body::parse(&found.body) {
            Parsed::Empty => return in_the_past(status, now),
            Parsed::Garbage => {
                status.remark = Some(Remark::Garbage);
                return in_the_past(status, now);
            }
            Parsed::Foreign(pid) => (self.holder(pid, None, young, &found, &mut status), pid),
            Parsed::Ours(body) => {
                // While it is held, the file's own time is that of taking it.
                status.last_consolidated = body.previous;
                let pid = body.me.pid;
                (
                    self.holder(pid, Some(body.me), young, &found, &mut status),
                    pid,
                )
            }
        };
        if status.holder.is_none() {
            let why = if alive {
                Remark::TooOld(pid)
            } else {
                Remark::HolderGone(pid)
            };
            status.remark = Some(why);
        }
        in_the_past(status, now)
    }

    /// True if the process lives; it holds the lock if that is also young.
    fn holder(
        &self,
        pid: u32,
        known: Option<ProcessId>,
        young: bool,
        found: &Found,
        status: &mut LockStatus,
    ) -> bool {
        let processes = &self.dir.system.processes;
        let alive = match &known {
            Some(id) => processes.is_running(id),
            // A bare process id says nothing about reuse; the age limit has to do.
            None => processes.start_of(pid).is_some(),
        };
        if alive && young {
            status.holder = Some(Holder {
                pid,
                start: known.map(|id| id.start),
                since: found.modified,
            });
        }
        alive
    }

    fn replace(&self, body: &str, modified: Millis) -> Result<()> {
        let disk = &self.dir.disk;
        disk.said_by_file(disk.files().replace_dated(
            Path::new(FILE),
            body.as_bytes(),
            Access::Private,
            modified,
        ))
    }

    fn remove(&self) -> Result<()> {
        self.dir.disk.remove_durably(Path::new(FILE))
    }
}

/// Drops a time that has not come yet: a wrong clock would otherwise stop dreams until then.
fn in_the_past(mut status: LockStatus, now: Millis) -> LockStatus {
    if let Some(at) = status.last_consolidated
        && at.0 > now.0.saturating_add(FUTURE)
    {
        status.last_consolidated = None;
        status.remark = Some(Remark::Future(at));
    }
    status
}

/// Held lock. Dropping it counts as failure.
#[derive(Debug)]
#[must_use = "dropping it gives the lock back as if the dream had failed"]
pub struct Taken {
    lock: ConsolidationLock,
    body: String,
    since: Millis,
    previous: Option<Millis>,
    released: bool,
}

impl Taken {
    /// Time at which it was taken.
    pub fn since(&self) -> Millis {
        self.since
    }

    /// Time of the consolidation before; `None` if never.
    pub fn previous(&self) -> Option<Millis> {
        self.previous
    }

    /// True while it is held. To be asked before the result of a dream is put in place.
    pub fn still_mine(&self) -> Result<bool> {
        Ok(self.lock.found()?.is_some_and(|found| {
            // The same process may have taken it twice; then the times differ.
            let apart = found.modified.0.abs_diff(self.since.0);
            found.body == self.body && apart <= COARSE
        }))
    }

    /// Releases it after success: memory counts as consolidated when the dream began, so that
    /// sessions that ran during the dream count as new.
    pub fn succeed(mut self) -> std::result::Result<(), ReleaseError> {
        self.release(Some(self.since))
    }

    /// Releases it after failure: as if the dream had never begun.
    pub fn fail(mut self) -> std::result::Result<(), ReleaseError> {
        self.release(self.previous)
    }

    fn release(&mut self, modified: Option<Millis>) -> std::result::Result<(), ReleaseError> {
        // Before anything can fail: `drop` must not try a second time.
        self.released = true;
        let _guard = self.lock.guard()?;
        if !self.still_mine()? {
            return Err(ReleaseError::NotMine);
        }
        match modified {
            Some(modified) => self.lock.replace("", modified)?,
            None => self.lock.remove()?,
        }
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !self.released {
            // If this fails too, the end of the process gives the lock back.
            drop(self.release(self.previous));
        }
    }
}

/// Body that a holder writes.
struct Body {
    me: ProcessId,
    previous: Option<Millis>,
}

enum Parsed {
    Empty,
    Ours(Body),
    Foreign(u32),
    Garbage,
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.me.pid, self.me.start)?;
        match self.previous {
            Some(at) => write!(f, "{}", at.0),
            None => f.write_str(NEVER),
        }
    }
}

impl Body {
    fn parse(text: &str) -> Parsed {
        let words: Vec<&str> = text.split_whitespace().collect();
        let pid = words.first().and_then(|word| word.parse::<u32>().ok());
        match (&*words, pid) {
            ([], _) => Parsed::Empty,
            ([_], Some(pid)) => Parsed::Foreign(pid),
            ([_, start, previous], Some(pid)) => {
                let previous = match *previous {
                    NEVER => Some(None),
                    time => time.parse().ok().map(|time| Some(Millis(time))),
                };
                previous.map_or(Parsed::Garbage, |previous| {
                    let start = ProcessStart::new(*start);
                    let me = ProcessId { pid, start };
                    Parsed::Ours(Self { me, previous })
                })
            }
            _ => Parsed::Garbage,
        }
    }
}

#[cfg(test)]
#[path = "consolidate_tests.rs"]
mod tests;
