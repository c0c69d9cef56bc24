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

/// What is known about processes.
pub trait Processes: fmt::Debug + Send + Sync {
    /// This process.
    fn own(&self) -> ProcessId;

    /// When the process with this number started; `None` if there is none.
    fn start_of(&self, pid: u32) -> Option<ProcessStart>;

    /// Whether this very process still runs. Where the system does not say when a process started,
    /// any process of the number counts: better to wait for a stranger than to barge in.
    fn is_running(&self, id: &ProcessId) -> bool {
        self.start_of(id.pid)
            .is_some_and(|start| start.may_be(&id.start))
    }
}

/// One process, never to be mixed up with a later one of the same number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it started.
    pub start: ProcessStart,
}

/// When a process started, as an opaque text: equal texts mean the same moment of the same run of
/// the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessStart(String);

/// What stands for a moment the system does not tell.
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

    /// The text to write down.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both can be the same moment: they are equal, or one of them is not known.
    pub fn may_be(&self, other: &Self) -> bool {
        self == other || self.0 == UNKNOWN || other.0 == UNKNOWN
    }
}

impl fmt::Display for ProcessStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
