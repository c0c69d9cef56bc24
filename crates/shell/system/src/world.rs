//! The ports to everything outside that is not a file: time, environment, fresh ids.
//!
//! # Not here
//! Files ([`crate::Files`]), processes ([`crate::Processes`]), programs ([`crate::Sandbox`]).

use dormouse_core::units::Millis;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Wall clock and monotonic clock of the machine.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The wall clock. It may jump, also backwards; use it for times that are shown or stored.
    fn now(&self) -> Millis;

    /// A clock that never goes backwards; use it to measure timeouts and durations.
    fn ticks(&self) -> Ticks;
}

/// A reading of a clock that never goes backwards. Only differences mean anything, and only
/// between readings of the same clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticks(Duration);

impl Ticks {
    /// A reading, as the time since some fixed moment.
    pub const fn new(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// The time from `earlier` to `self`; zero if they are the wrong way round.
    pub const fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Variables and well-known directories of the process.
pub trait Environment: fmt::Debug + Send + Sync {
    /// The value of a variable, as the operating system keeps it.
    fn var(&self, name: &str) -> Option<OsString>;

    /// The value of a variable as text. One that is not Unicode counts as not set.
    fn text(&self, name: &str) -> Option<String> {
        self.var(name)?.into_string().ok()
    }

    /// The user's home directory.
    fn home_dir(&self) -> Option<PathBuf>;

    /// The directory the process works in.
    fn current_dir(&self) -> Result<PathBuf, EnvironmentError>;
}

/// A question to the environment that has no answer.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The working directory was removed, or is out of reach.
    #[error("failed to determine the current directory")]
    CurrentDir(#[source] io::Error),
}

/// Source of fresh ids for records and sessions.
pub trait Ids: fmt::Debug + Send + Sync {
    /// A version 7 UUID in its usual text form. Ids from one source sort in the order they were
    /// made.
    fn fresh(&self) -> String;
}
