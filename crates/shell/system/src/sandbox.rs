//! The port to programs that may read but not change anything.
//!
//! # Model
//! A [`Task`] is one program (or one line of shell), a directory, a time limit and a limit for its
//! output. It runs with the least it needs: a small environment, no input, its own process group,
//! and, where the kernel can do it, without the right to change any file or to use the network.
//! [`Finished`] holds its end, its output, and the strength of the confinement.
//!
//! # Scope of the confinement
//! On Linux it is Landlock and a filter of system calls. [`Confinement::Full`] means: no file or
//! directory can be created, written, truncated, renamed or removed (`/dev/null` excepted), nor
//! its rights, owner, times or attributes changed; no socket of any kind opened; no signal sent
//! out. With [`Confinement::Partial`] only the last may be missing. The caller judges a task
//! beforehand too.
//!
//! # Not here
//! Judging whether a command line is harmless: `dormouse-guard`.

use bytes::Bytes;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Variables that every program gets, besides its search path, the home and the language: no pager,
/// no question, no start-up file, no network, and as few programs as possible that settings name.
/// This is the one list; the judge of command lines counts on it.
///
/// A bare repository that lies unpacked among other files, and could be placed there by a model,
/// is excluded (`safe.bareRepository`).
pub const ENVIRONMENT: [(&str, &str); 34] = [
    ("BASH_ENV", ""),
    ("ENV", ""),
    ("LESSOPEN", ""),
    ("PAGER", "cat"),
    ("RIPGREP_CONFIG_PATH", ""),
    ("GH_PAGER", "cat"),
    ("GH_PROMPT_DISABLED", "1"),
    ("CARGO_NET_OFFLINE", "true"),
    ("RUSTC_WRAPPER", ""),
    ("RUSTC_WORKSPACE_WRAPPER", ""),
    ("GOTOOLCHAIN", "local"),
    ("GIT_PAGER", "cat"),
    // No lock files for the sake of speed.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // The machine's settings are not readable in the sandbox, and git would give up.
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_COUNT", "8"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_1", "/dev/null"),
    ("GIT_CONFIG_KEY_2", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_2", "explicit"),
    ("GIT_CONFIG_KEY_3", "log.showSignature"),
    ("GIT_CONFIG_VALUE_3", "false"),
    ("GIT_CONFIG_KEY_4", "diff.autoRefreshIndex"),
    ("GIT_CONFIG_VALUE_4", "false"),
    ("GIT_CONFIG_KEY_5", "protocol.allow"),
    ("GIT_CONFIG_VALUE_5", "never"),
    ("GIT_CONFIG_KEY_6", "core.sshCommand"),
    ("GIT_CONFIG_VALUE_6", "false"),
    ("GIT_CONFIG_KEY_7", "credential.helper"),
    ("GIT_CONFIG_VALUE_7", ""),
];

/// Runs programs that may only read.
pub trait Sandbox: fmt::Debug + Send + Sync {
    /// Runs a task to its end, which its time limit brings about at the latest. It can read
    /// whatever the user can.
    fn run(&self, task: &Task) -> Result<Finished, SandboxError>;

    /// Like [`Self::run`], but never without confinement, and the program reads nothing but these
    /// files and directories and what is below them, the system's own programs, and the few
    /// settings that all of them need: a link in a project cannot lead it to the user's keys. Nothing in these directories can be started
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
    /// All but what the text says.
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
    /// The machine cannot confine the program, which the task demands.
    #[error("nothing confines programs here: {why}")]
    Unconfined {
        /// Reason as a clause.
        why: String,
    },
    /// The system refuses a thread to watch over it; a program that had started was killed.
    #[error("failed to start a thread that watches the program")]
    Watch(#[source] io::Error),
}
