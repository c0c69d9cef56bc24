//! The port to programs that may look but not touch.
//!
//! # Model
//! A [`Task`] is one program (or one line of shell), a directory, a time limit and a limit for its
//! output. It runs with nothing but what it needs: a small environment, no input, its own process
//! group, and, where the kernel can do it, without the right to change any file or to use the
//! network. [`Finished`] says how it ended, what it printed, and how well it was confined.
//!
//! # What confinement covers
//! On Linux it is Landlock. [`Confinement::Full`] means: no file or directory can be created,
//! written, truncated, renamed or removed (`/dev/null` excepted), no TCP connection made or
//! accepted, no signal sent out, no abstract socket of others reached. Landlock has no word for
//! UDP, for sockets that have a path, nor for changes of permissions, owners and times, so whoever
//! runs a task judges it beforehand too.
//!
//! # Not here
//! Judging whether a command line is harmless.

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

/// What to run, and within which limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The program.
    pub program: Program,
    /// Where it runs.
    pub directory: PathBuf,
    /// After this the program and what it started are killed.
    pub time_limit: Duration,
    /// How many bytes of output are kept, both streams together. What comes after is read and
    /// dropped, so that the program does not stand still.
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
        /// Its arguments.
        arguments: Vec<OsString>,
    },
}

/// A task that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// What it printed.
    pub stdout: Bytes,
    /// What it complained about.
    pub stderr: Bytes,
    /// How many bytes of output were dropped.
    pub dropped: u64,
    /// How it was confined.
    pub confinement: Confinement,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// By its time limit.
    TimedOut,
}

/// How well a task was confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// As described in this module.
    Full,
    /// The kernel knows only some of it.
    Partial(String),
    /// Not at all, and why.
    None(String),
}

/// Why a task did not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The program could not be started.
    #[error("failed to start `{program}` in `{}`", directory.display())]
    Start {
        /// The program.
        program: String,
        /// Where it should have run.
        directory: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// There is no thread to watch over it.
    #[error("failed to watch over a program")]
    Watch(#[source] io::Error),
}
