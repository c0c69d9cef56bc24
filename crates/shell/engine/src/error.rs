//! Why a session cannot go on.

use dormouse_context::undo::UndoError;
use dormouse_core::id::RecordId;
use dormouse_core::units::Tokens;
use dormouse_model::ModelError;
use dormouse_store::{AppendError, BlobError, ReadError};
use dormouse_system::FileError;

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A record could not be appended. What was answered is not lost: it is in the error's source
    /// or was shown already.
    #[error("the session's log cannot be written")]
    Append(#[from] AppendError),
    /// The log could not be read.
    #[error("the session's log cannot be read")]
    Read(#[from] ReadError),
    /// A blob could not be stored.
    #[error("a part of the prompt cannot be stored")]
    Blob(#[from] BlobError),
    /// A file of the session could not be written.
    #[error("a file of the session cannot be written")]
    File(#[from] FileError),
    /// The model did not answer.
    #[error("the model did not answer")]
    Model(#[from] ModelError),
    /// The window is full and compaction cannot help.
    #[error(
        "the window is full: {used} tokens are in use, requests stop at {limit}, and compaction \
         cannot help"
    )]
    Blocked {
        /// Tokens in use.
        used: Tokens,
        /// Where requests stop.
        limit: Tokens,
    },
    /// There is nothing to say to the model.
    #[error("there is nothing to send: the last word is the model's")]
    NothingToSend,
    /// Undo is not possible.
    #[error("nothing was undone")]
    Undo(#[from] UndoError),
    /// Compaction is switched off.
    #[error("compaction is switched off by the setting `compact`")]
    CompactionOff,
    /// A message that is not in view.
    #[error("message {0} is not in view")]
    NoSuchMessage(u64),
    /// The turn made more requests than allowed.
    #[error("the turn was ended after {0} requests")]
    TooManyRequests(usize),
    /// A record that the log does not have.
    #[error("there is no record {0}")]
    NoSuchRecord(RecordId),
    /// Request parameters could not be put together.
    #[error("the request's parameters cannot be serialised")]
    Params(#[source] serde_json::Error),
}
