//! Errors of commands and of the store.
//!
//! No hints and no command names here: each door adds its own.

use dormouse_ask::Failure;
use dormouse_context::undo::UndoError;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;

/// Reason why a store rejected a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFailure {
    /// Head of the log differs from the one the batch was made for: another process has written.
    #[error("another process has written to the log: {0}")]
    Conflict(String),
    /// Failure of the store itself, such as a full disk.
    #[error("{0}")]
    Failed(String),
}

/// Reason why a command failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DriveError {
    /// Log that cannot be written any more. Requests and tools have stopped.
    #[error("the session's log cannot be written: {0}")]
    Log(StoreFailure),
    /// Single record that cannot be written; the log stays usable without it.
    #[error("a record cannot be written: {0}")]
    Record(String),
    /// Log that could not be read.
    #[error("the session's log cannot be read: {0}")]
    Read(String),
    /// File of the session that could not be written.
    #[error("a file of the session cannot be written: {0}")]
    File(String),
    /// Request that failed and is not retried.
    #[error("the model did not answer: {}", .0.why)]
    Model(Box<Failure>),
    /// Window that is full and cannot be compacted.
    #[error(
        "the window is full: {used} tokens are in use, requests stop at {limit}, and compaction \
         cannot help"
    )]
    Blocked {
        /// Tokens in use, estimated before sending.
        used: Tokens,
        /// Blocking limit in tokens; no request above it is sent.
        limit: Tokens,
    },
    /// Message of the user that does not fit the window, whatever else is forgotten.
    #[error("message {message} is too long: it has {tokens} tokens, and there is room for {room}")]
    MessageTooLong {
        /// Record of the message.
        message: Seq,
        /// Tokens of the message, estimated.
        tokens: Tokens,
        /// Tokens that are left beside system prompt and tools.
        room: Tokens,
    },
    /// Conversation whose last message is the assistant's, so that there is nothing to answer.
    #[error("nothing to send: the last message is the assistant's")]
    NothingToSend,
    /// Undo that is not possible.
    #[error("nothing was undone: {0}")]
    Undo(UndoError),
    /// Compaction that is disabled by the settings.
    #[error("compaction is switched off by the setting `compact`")]
    CompactionOff,
    /// Message number outside the view.
    #[error("message {0} is not in view")]
    NoSuchMessage(u64),
    /// Record id that is not in the log.
    #[error("there is no record {0}")]
    NoSuchRecord(RecordId),
    /// Turn that reached its limit of requests.
    #[error("the turn was ended after {0} requests")]
    TooManyRequests(usize),
    /// Budget that is spent.
    #[error("the turn was ended: the budget of {0} is spent")]
    BudgetSpent(Usd),
    /// Prompt or turn that a hook stopped, with its reason.
    #[error("stopped by a hook: {0}")]
    StoppedByHook(String),
    /// Request parameters that cannot be serialised.
    #[error("the request's parameters cannot be serialised: {0}")]
    Params(String),
    /// Command that was cancelled before it finished.
    #[error("cancelled")]
    Cancelled,
}
