//! Errors of a memory directory, each with the remedy in its text.

use dormouse_core::hash::Hash;
use dormouse_guard::paths::SafePath;
use dormouse_memory::journal::UndoError;
use dormouse_memory::transaction::{Conflict, Refusal};
use dormouse_system::FileError;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

/// Reason why an operation on a memory directory failed.
#[derive(Debug, thiserror::Error)]
pub enum MemdirError {
    /// File system error below the root.
    #[error("the memory directory `{}` cannot be used", root.display())]
    Files {
        /// Memory directory, as it was opened.
        root: PathBuf,
        /// File below it, and the cause.
        #[source]
        source: FileError,
    },
    /// Timeout while other processes were writing.
    #[error(
        "no turn to write to this memory within {} s: other processes hold `{}`, one after the other or one that hangs; try again when they are done",
        waited.as_secs(), lock.display()
    )]
    Busy {
        /// File of the lock.
        lock: PathBuf,
        /// Time that was waited.
        waited: Duration,
    },
    /// Index that is a link, too long, or not to be read by this user.
    #[error(
        "`{}` cannot be read ({why}), and memories are not changed without their index; make it a plain file again, or move it away",
        path.display()
    )]
    IndexUnreadable {
        /// File of the index.
        path: PathBuf,
        /// Reason for people, one line.
        why: String,
    },
    /// Change that the gate refuses.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Files differ from the change's expectations.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// Change that was begun, failed and was taken back.
    #[error("the change could not be made and was taken back; nothing is lost")]
    TakenBack(#[source] Box<Self>),
    /// Change that was begun; neither completing it nor taking it back succeeded.
    #[error(
        "the change {id} is recorded but not finished; every reader sees it, and the next change finishes it once the cause is gone"
    )]
    Unfinished {
        /// Id of its journal entry.
        id: String,
        /// Cause that stopped it.
        #[source]
        source: Box<Self>,
    },
    /// Earlier change that can neither be completed nor taken back.
    #[error(
        "an earlier change of `{path}` was interrupted and what it held ({missing}) is missing from `{}`; bring that file back from a backup, or remove `{}` to keep the memory as it is now",
        blobs.display(), pending.display()
    )]
    Stuck {
        /// Memory that it changes.
        path: SafePath,
        /// Hash of the missing content.
        missing: Hash,
        /// Folder that should have it.
        blobs: PathBuf,
        /// File that describes the change.
        pending: PathBuf,
    },
    /// Description of an interrupted change that is not understood.
    #[error(
        "`{}` describes an interrupted change and is not understood ({why}); finish it with the version of Dormouse that wrote it, or remove the file to keep the memory as it is now",
        path.display()
    )]
    BadPending {
        /// File with the description.
        path: PathBuf,
        /// Fault of the description.
        why: String,
    },
    /// Directory that changed during every attempt to read it.
    #[error("`{}` changes faster than it can be read; try again later", root.display())]
    ChangedDuringScan {
        /// Memory directory, as it was opened.
        root: PathBuf,
    },
    /// More text than an index can hold.
    #[error("`{}` holds too much text to be searched; move some of it elsewhere", root.display())]
    TooMuchText {
        /// Memory directory, as it was opened.
        root: PathBuf,
    },
    /// Journal of a newer version.
    #[error(
        "line {line} of `{}` was written by a newer version of Dormouse (format {found}); use that version to undo changes",
        path.display()
    )]
    Newer {
        /// File of the journal.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Format of that line.
        found: u32,
    },
    /// Id that the journal does not have.
    #[error("the journal has no entry `{0}`")]
    NoEntry(String),
    /// Entry that cannot be taken back.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// Id that the inbox does not have.
    #[error("nothing in the inbox is called `{0}`")]
    NoItem(String),
    /// Limit of the inbox reached.
    #[error("{0} writes wait for approval already")]
    InboxFull(usize),
    /// Value that could not be encoded.
    #[error("failed to write `{}`", path.display())]
    Encode {
        /// File that was to be written.
        path: PathBuf,
        /// Cause from the encoder.
        #[source]
        source: serde_json::Error,
    },
}

impl MemdirError {
    /// True if the disk, or the user's share of it, is full.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Files { source, .. } => matches!(
                source.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            ),
            Self::TakenBack(source) | Self::Unfinished { source, .. } => source.is_full(),
            _ => false,
        }
    }
}
