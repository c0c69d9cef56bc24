//! Who dreams: the lock of consolidation.
//!
//! # Model
//! `.consolidate-lock` is lock and memory at once. Idle, it is empty, and its time of change says
//! when memory was last consolidated. Held, its body is `<pid> <process start> <previous time>`, and
//! its time of change is when it was taken. It is only ever replaced whole, its time already set,
//! under a file lock of its own, so that of any number of contenders one wins.
//!
//! | found | held | last consolidation |
//! |---|---|---|
//! | no file | no | never |
//! | empty | no | its time |
//! | body of a living process, younger than the age limit | yes | the previous time in the body |
//! | the same, process dead, or number used again, or too old | no | the previous time in the body |
//! | only a number (another tool's) of a living process, young | yes | unknown: its time |
//! | only a number of a dead process, or anything else | no | its time |
//! | a time more than five minutes in the future, not held | no | never, reported |
//!
//! A holder whose body is no longer there has lost the lock and must change nothing more.
//!
//! # Not here
//! When it is time to dream, and dreaming.

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
/// The file.
const FILE: &str = ".consolidate-lock";
/// A body is one short line.
const LONGEST: u64 = 4096;
/// How long a look into the file may take others.
const WAIT: Duration = Duration::from_mins(1);
/// A clock may be wrong by this much.
const FUTURE: i64 = 5 * 60 * 1000;
/// Some file systems keep times only this precisely.
const COARSE: u64 = 2_000;
/// Stands for a previous time that never was.
const NEVER: &str = "-";

type Result<T> = std::result::Result<T, MemdirError>;

/// The lock of consolidation of a memory directory.
#[derive(Clone, Debug)]
pub struct ConsolidationLock {
    dir: MemoryDir,
    most_age: Duration,
}

/// Who dreams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The number of the process.
    pub pid: u32,
    /// When it started; `None` if another tool holds the lock and does not say.
    pub start: Option<ProcessStart>,
    /// Since when it holds the lock.
    pub since: Millis,
}

/// Something odd about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// There is no file.
    NoFile,
    /// Its time, or the previous one, lies in the future: it does not count.
    Future(Millis),
    /// The holder is gone without letting go.
    HolderGone(u32),
    /// The holder has held it for too long.
    TooOld(u32),
    /// The body is not understood.
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

/// What the lock says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockStatus {
    /// When memory was last consolidated; `None` if never.
    pub last_consolidated: Option<Millis>,
    /// Who dreams now.
    pub holder: Option<Holder>,
    /// What is odd.
    pub remark: Option<Remark>,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Somebody dreams.
    #[error("process {} has been consolidating this memory since {}", .0.pid, .0.since)]
    Held(Holder),
    /// The file could not be used.
    #[error(transparent)]
    Memdir(#[from] MemdirError),
}

/// Why a holder could not let go as it wanted.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// Somebody else has it.
    #[error("the lock of consolidation was taken by somebody else meanwhile; nothing was changed")]
    NotMine,
    /// The file could not be used.
    #[error(transparent)]
    Memdir(#[from] MemdirError),
}

/// The file as it was found.
struct Found {
    body: String,
    modified: Millis,
}

impl MemoryDir {
    /// The lock of consolidation; holders older than `most_age` no longer count.
    pub fn consolidation_lock(&self, most_age: Duration) -> ConsolidationLock {
        ConsolidationLock {
            dir: self.clone(),
            most_age,
        }
    }
}

impl ConsolidationLock {
    /// What the lock says now. Nobody is waited for.
    pub fn status(&self) -> Result<LockStatus> {
        Ok(self.judge(self.found()?))
    }

    /// Takes the lock, unless somebody dreams.
    pub fn try_take(&self) -> std::result::Result<Taken, TakeError> {
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
        // Read before it is asked for its time: should it be replaced in between, a holder's body
        // cannot be taken together with the time of an earlier one. `try_take` and releasing
        // are safe from that by the guard.
        let body = match self.dir.disk.files().read(path, LONGEST) {
            Ok(body) => String::from_utf8_lossy(&body).into_owned(),
            Err(error) if error.not_found() => return Ok(None),
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

    /// Whether the process lives; it holds the lock if that is also young.
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

/// A time that has not come yet says nothing.
fn in_the_past(mut status: LockStatus, now: Millis) -> LockStatus {
    if let Some(at) = status.last_consolidated
        && at.0 > now.0.saturating_add(FUTURE)
    {
        status.last_consolidated = None;
        status.remark = Some(Remark::Future(at));
    }
    status
}

/// The lock, held. Dropping it counts as failure.
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
    /// When it was taken.
    pub fn since(&self) -> Millis {
        self.since
    }

    /// When memory was consolidated before; `None` if never.
    pub fn previous(&self) -> Option<Millis> {
        self.previous
    }

    /// Whether it is still held. To be asked before the result of a dream is put in place.
    pub fn still_mine(&self) -> Result<bool> {
        Ok(self.lock.found()?.is_some_and(|found| {
            // The same process may have taken it twice; then the times differ.
            let apart = found.modified.0.abs_diff(self.since.0);
            found.body == self.body && apart <= COARSE
        }))
    }

    /// The dream succeeded: memory was consolidated when it began.
    pub fn succeed(mut self) -> std::result::Result<(), ReleaseError> {
        self.release(Some(self.since))
    }

    /// The dream failed: as if it had never begun.
    pub fn fail(mut self) -> std::result::Result<(), ReleaseError> {
        self.release(self.previous)
    }

    fn release(&mut self, modified: Option<Millis>) -> std::result::Result<(), ReleaseError> {
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

/// What a holder writes.
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
