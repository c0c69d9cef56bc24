//! The port to command lines that may change things.
//!
//! # Model
//! An [`Order`] is a line of shell, a folder and a file for its output. [`Commands::start`] starts it
//! in a process group of its own and returns at once; [`Running`] is waited for, watched or stopped.
//! Both streams go into the file in the order of writing. A line that prints without end fills the
//! file up to a limit and no memory at all; what comes behind is counted.
//!
//! A line runs as the user, or confined: then it writes only below the folders given, does not read the
//! places that are hidden from it, gets no variable that seems to hold a key, and opens no socket.
//! Confinement is asked for or not; an order that asks for it is not started without.
//!
//! Every process carries the mark of its session in its environment and further signs, so that
//! [`Commands::sweep`] finds those that moved to another group, too, and no process of others.
//!
//! A [`Piped`] program is spoken with through its standard streams, such as a server of tools. It runs
//! as the user, without the variables that seem to hold a key; its order names those it needs.
//!
//! A detached process ([`Commands::detach`]) is Dormouse itself, for work that a caller hands over.
//!
//! # Not here
//! The question whether a line may run: `dormouse-permit`. Lines that only read: [`crate::Sandbox`].

use crate::sandbox::{Confinement, End, SandboxError};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::time::Duration;

/// Variable that marks the processes of a session.
pub const MARK: &str = "DORMOUSE_RUN";

/// Starts command lines, and ends what they leave behind.
pub trait Commands: fmt::Debug + Send + Sync {
    /// Starts a line.
    ///
    /// # Errors
    /// When the shell or the output file cannot be opened, or nothing confines the line although
    /// the order asks for it.
    fn start(&self, order: &Order) -> Result<Arc<dyn Running>, SandboxError>;

    /// Starts a program and returns its standard streams.
    ///
    /// # Errors
    /// When the program cannot be started.
    fn converse(&self, order: &PipedOrder) -> Result<Piped, SandboxError>;

    /// Runs a line whose output touches no disk, such as one that prints a key. Blocks, at most so
    /// long; `None` if it took longer and was killed.
    ///
    /// # Errors
    /// When the shell cannot be started.
    fn capture(
        &self,
        line: &str,
        directory: &Path,
        most: Duration,
    ) -> Result<Option<(End, Vec<u8>)>, SandboxError>;

    /// Starts this very program once more, to go on after the caller has ended: in a group of its own,
    /// without streams, with the caller's environment. It is not waited for.
    ///
    /// # Errors
    /// When the program cannot be found or started.
    fn detach(&self, arguments: &[String], directory: &Path) -> Result<(), SandboxError>;

    /// Kills every process of the session with this mark, and returns how many there were. Processes
    /// that the caller started by other means are left alone.
    fn sweep(&self, mark: &str) -> usize;

    /// Confinement that an order would get here.
    fn confinement(&self) -> Confinement;
}

/// A line to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The line, for the shell.
    pub line: String,
    /// Folder in which it starts.
    pub directory: PathBuf,
    /// File for its output; must not exist yet.
    pub output: PathBuf,
    /// Bytes of output that are kept in the file.
    pub output_limit: u64,
    /// File in which the folder is left that the line ended in; `None` if nobody asks.
    pub folder_file: Option<PathBuf>,
    /// Mark of the session, for [`Commands::sweep`].
    pub mark: String,
    /// Files that the line may reach; `None` runs it as the user.
    pub confined_to: Option<Room>,
}

/// A program to speak with. Its values may be keys, so that no form of it prints them.
#[derive(Clone, PartialEq, Eq)]
pub struct PipedOrder {
    /// Name in the search path, or a path.
    pub program: String,
    /// Arguments, as the program gets them.
    pub arguments: Vec<String>,
    /// Variables beside those of this process that hold no key.
    pub variables: Vec<(String, String)>,
    /// Folder in which it starts.
    pub directory: PathBuf,
    /// Mark of the session, for [`Commands::sweep`].
    pub mark: String,
}

impl fmt::Debug for PipedOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipedOrder")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// A program that is spoken with. Its group is killed when its first process ends.
#[derive(Debug)]
pub struct Piped {
    /// Stream that it reads.
    pub input: ChildStdin,
    /// Stream that it answers on.
    pub output: ChildStdout,
    /// Stream for complaints, which are no part of the conversation.
    pub errors: ChildStderr,
    /// The process, to be waited for and stopped; it has no output of its own.
    pub running: Arc<dyn Running>,
}

/// Files that a confined line may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Folders below which it may write.
    pub writable: Vec<PathBuf>,
    /// Files and folders that it may not read, such as keys. Where one lies below a writable folder,
    /// nothing new can be made in the folders between the two.
    pub hidden: Vec<PathBuf>,
}

/// A line that was started.
pub trait Running: fmt::Debug + Send + Sync {
    /// Waits for the end of the line, at most so long; `None` if it still runs. Processes that it
    /// left in the background do not count.
    fn wait(&self, most: Duration) -> Option<End>;

    /// Kills the line with everything in its group.
    fn stop(&self);

    /// Bytes of output so far, and how many of them are not in the file.
    fn output(&self) -> Output;

    /// The confinement that is in force.
    fn confinement(&self) -> Confinement;
}

/// Output of a line so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Bytes in the file.
    pub kept: u64,
    /// Bytes beyond the limit, or that the disk did not take.
    pub dropped: u64,
}
