//! The port to the processes of the machine.
//!
//! # Model
//! A number does not name a process for long: numbers are used again, after a reboot at the latest.
//! A number together with the moment the process started does. A lock file that holds both
//! ([`ProcessId`]) can tell a living holder from a dead one.
//!
//! # Not here
//! Starting or ending processes.

use std::fmt;

/// Facts about the processes of the machine.
pub trait Processes: fmt::Debug + Send + Sync {
    /// The process this code runs in.
    fn own(&self) -> ProcessId;

    /// Start of the process with this number; `None` if no such process runs.
    fn start_of(&self, pid: u32) -> Option<ProcessStart>;

    /// True if this very process still runs. Where the system does not tell when a process started,
    /// any process of the number counts: waiting for a stranger is safe, breaking its lock is not.
    fn is_running(&self, id: &ProcessId) -> bool {
        self.start_of(id.pid)
            .is_some_and(|start| start.may_be(&id.start))
    }
}

/// One process, never to be mixed up with a later one of the same number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessId {
    /// Its number, which the system uses again after its end.
    pub pid: u32,
    /// The moment it started, which tells two processes of one number apart.
    pub start: ProcessStart,
}

/// Start of a process, as an opaque text: equal texts mean the same moment of the same run of the
/// machine.
/// the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessStart(String);

/// Text for a moment the system does not tell; written to lock files, so it must never change.
const UNKNOWN: &str = "unknown";

impl ProcessStart {
    /// The moment that [`Self::as_str`] wrote down.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A moment the system does not tell.
    pub fn unknown() -> Self {
        Self(UNKNOWN.to_owned())
    }

    /// Text for a lock file; [`Self::new`] reads it back.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if both can be the same moment: they are equal, or one of them is not known.
    pub fn may_be(&self, other: &Self) -> bool {
        // In doubt the same: breaking the lock of a living process loses data, waiting only time.
        self == other || self.0 == UNKNOWN || other.0 == UNKNOWN
    }
}

impl fmt::Display for ProcessStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
