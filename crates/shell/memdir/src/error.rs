//! What can go wrong with a memory directory, and what to do about it.

use dormouse_core::hash::Hash;
use dormouse_guard::paths::SafePath;
use dormouse_memory::journal::UndoError;
use dormouse_memory::transaction::{Conflict, Refusal};
use dormouse_system::FileError;
use std::path::PathBuf;
use std::time::Duration;

/// Why something did not happen to a memory directory.
#[derive(Debug, thiserror::Error)]
pub enum MemdirError {
    /// A file could not be used.
    #[error("the memory directory `{}` cannot be used", root.display())]
    Files {
        /// The directory.
        root: PathBuf,
        /// The file below it, and why.
        #[source]
        source: FileError,
    },
    /// Another process has been writing for too long.
    #[error(
        "another process has been writing to this memory for {} s (it holds `{}`); let it finish, or end it, and try again",
        waited.as_secs(), lock.display()
    )]
    Busy {
        /// The file of the lock.
        lock: PathBuf,
        /// How long was waited.
        waited: Duration,
    },
    /// The change may not be made.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Files are not what the change expects.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The change was begun, did not succeed and was taken back.
    #[error("the change could not be made and was taken back; nothing is lost")]
    TakenBack(#[source] Box<Self>),
    /// The change was begun; neither completing it nor taking it back succeeded.
    #[error(
        "the change {id} is recorded but not finished; every reader sees it, and the next change finishes it once the cause is gone"
    )]
    Unfinished {
        /// Its entry.
        id: String,
        /// Why it is not finished.
        #[source]
        source: Box<Self>,
    },
    /// An earlier change can neither be completed nor taken back.
    #[error(
        "an earlier change of `{path}` was interrupted and what it held ({missing}) is missing from `{}`; bring that file back from a backup, or remove `{}` to keep the memory as it is now",
        blobs.display(), pending.display()
    )]
    Stuck {
        /// The memory.
        path: SafePath,
        /// The content that is missing.
        missing: Hash,
        /// Where it should be.
        blobs: PathBuf,
        /// What describes the change.
        pending: PathBuf,
    },
    /// The description of an interrupted change is not understood.
    #[error(
        "`{}` describes an interrupted change and is not understood ({why}); finish it with the version of Dormouse that wrote it, or remove the file to keep the memory as it is now",
        path.display()
    )]
    BadPending {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file changed all the time it was being read.
    #[error("`{}` changes faster than it can be read; try again later", root.display())]
    Restless {
        /// The directory.
        root: PathBuf,
    },
    /// The memories do not fit into an index.
    #[error("`{}` holds too much text to be searched; move some of it elsewhere", root.display())]
    TooMuchText {
        /// The directory.
        root: PathBuf,
    },
    /// The journal was written by a newer version.
    #[error(
        "line {line} of `{}` was written by a newer version of Dormouse (format {found}); use that version to undo changes",
        path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// The line.
        line: usize,
        /// Its format.
        found: u32,
    },
    /// There is no such entry.
    #[error("the journal has no entry `{0}`")]
    NoEntry(String),
    /// An entry cannot be taken back.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// There is no such item.
    #[error("nothing in the inbox is called `{0}`")]
    NoItem(String),
    /// The inbox is full.
    #[error("{0} writes wait for approval already")]
    InboxFull(usize),
    /// A value could not be written down.
    #[error("failed to write `{}`", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}
