//! The port to programs that may read but not change anything.
//!
//! # Model
//! A [`Task`] is one program (or one line of shell), a directory, a time limit and a limit for its
//! output. It runs with the least it needs: a small environment, no input, its own process group,
//! and, where the kernel can do it, without the right to change any file or to use the network.
//! [`Finished`] holds its end, its output, and the strength of the confinement.
//!
//! # Scope of the confinement
//! On Linux it is Landlock. [`Confinement::Full`] means: no file or directory can be created,
//! written, truncated, renamed or removed (`/dev/null` excepted), no TCP connection made or
//! accepted, no signal sent out, no abstract socket of others reached. Landlock has no word for
//! UDP, for sockets that have a path, nor for changes of permissions, owners and times, so the
//! caller judges a task beforehand too.
//!
//! # Not here
//! Judging whether a command line is harmless: `dormouse-guard`.

use bytes::Bytes;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Runs programs that may only read.
pub trait Sandbox: fmt::Debug + Send + Sync {
    /// Runs a task to its end, which its time limit brings about at the latest. It can read
    /// whatever the user can.
    fn run(&self, task: &Task) -> Result<Finished, SandboxError>;

    /// Like [`Self::run`], but where the kernel can do it the program reads nothing but these files
    /// and directories and what is below them, and the system's own programs and settings: a link
    /// in a project cannot lead it to the user's keys. Nothing in these directories can be started
    /// as a program, and git does not see the user's own settings.
    fn run_below(&self, task: &Task, readable: &[PathBuf]) -> Result<Finished, SandboxError>;
}

/// Program to run, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The program, with or without a shell.
    pub program: Program,
    /// Working directory of the program.
    pub directory: PathBuf,
    /// Time after which the program and its children are killed.
    pub time_limit: Duration,
    /// Bytes of output that are kept, both streams together. Further output is read and dropped, so
    /// that the program does not block on a full pipe.
    pub output_limit: usize,
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A line for the shell.
    Line(String),
    /// A program with its arguments, and no shell.
    Direct {
        /// Its name or path.
        program: OsString,
        /// Its arguments, passed on without a shell.
        arguments: Vec<OsString>,
    },
}

/// A task that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its end: exit code, signal or time limit.
    pub end: End,
    /// Its standard output, up to the limit.
    pub stdout: Bytes,
    /// Its standard error, up to the limit.
    pub stderr: Bytes,
    /// Bytes of output beyond the limit.
    pub dropped: u64,
    /// The confinement that was in force.
    pub confinement: Confinement,
}

/// End of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal, of this number.
    Signal(i32),
    /// By its time limit.
    TimedOut,
}

/// Strength of a confinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// As described in this module.
    Full,
    /// The kernel knows only some of it; the text says which.
    Partial(String),
    /// No confinement, with the reason.
    None(String),
}

/// Reason that a task did not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The program could not be started.
    #[error("failed to start `{program}` in `{}`", directory.display())]
    Start {
        /// Name of the program.
        program: String,
        /// Directory in which it should have run.
        directory: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The system refuses a thread to watch over it; a program that had started was killed.
    #[error("failed to start a thread that watches the program")]
    Watch(#[source] io::Error),
}
