//! Reasons why a command could not be carried out.

use dormouse_ask::Failure;
use dormouse_context::undo::UndoError;
use dormouse_core::id::RecordId;
use dormouse_core::units::Tokens;

/// Reasons why a store did not take a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFailure {
    /// The log's head is not the one the batch was made for: another writer has been there.
    #[error("the log has moved on: {0}")]
    Conflict(String),
    /// The store refused or broke.
    #[error("{0}")]
    Failed(String),
}

/// Reasons why a command could not be carried out.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DriveError {
    /// The log cannot be written any more. Requests and tools have stopped.
    #[error("the session's log cannot be written: {0}")]
    Log(StoreFailure),
    /// One record cannot be written; the log goes on without it.
    #[error("a record cannot be written: {0}")]
    Record(String),
    /// The log could not be read.
    #[error("the session's log cannot be read: {0}")]
    Read(String),
    /// A file of the session could not be written.
    #[error("a file of the session cannot be written: {0}")]
    File(String),
    /// The model did not answer.
    #[error("the model did not answer: {}", .0.why)]
    Model(Box<Failure>),
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
    /// The last message is the assistant's.
    #[error("nothing to send: the last message is the assistant's")]
    NothingToSend,
    /// Undo is not possible.
    #[error("nothing was undone: {0}")]
    Undo(UndoError),
    /// Compaction is switched off.
    #[error("compaction is switched off by the setting `compact`")]
    CompactionOff,
    /// A message that is not in view.
    #[error("message {0} is not in view")]
    NoSuchMessage(u64),
    /// A record that is not on the path.
    #[error("there is no record {0}")]
    NoSuchRecord(RecordId),
    /// The turn made more requests than allowed.
    #[error("the turn was ended after {0} requests")]
    TooManyRequests(usize),
    /// Request parameters could not be put together.
    #[error("the request's parameters cannot be serialised: {0}")]
    Params(String),
    /// A cancel came first.
    #[error("cancelled")]
    Cancelled,
}
