//! Reasons why a session cannot go on.

use dormouse_ask::Failure;
use dormouse_context::undo::UndoError;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_drive::{DriveError, StoreFailure};
use dormouse_model::ModelError;
use dormouse_store::ReadError;

/// Reasons why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The log cannot be written any more. Answers that were shown are in the log or in memory;
    /// nothing is sent or run until the session is opened anew.
    #[error("the session's log cannot be written")]
    Append(#[source] StoreFailure),
    /// One record cannot be written; the log goes on without it.
    #[error("a record cannot be written: {0}")]
    Record(String),
    /// The log could not be read.
    #[error("the session's log cannot be read")]
    Read(#[from] ReadError),
    /// The log could not be read again.
    #[error("the session's log cannot be read: {0}")]
    ReadAgain(String),
    /// A file of the session could not be written.
    #[error("a file of the session cannot be written: {0}")]
    File(String),
    /// The model did not answer.
    #[error("the model did not answer")]
    Model(#[from] ModelError),
    /// The model did not answer, and its error is no longer at hand.
    #[error("the model did not answer: {}", .0.why)]
    Unanswered(Box<Failure>),
    /// The window is full and compaction cannot help.
    #[error(
        "the window is full: {used} tokens are in use, requests stop at {limit}, and compaction \
         cannot help"
    )]
    Blocked {
        /// Tokens of the conversation at this moment.
        used: Tokens,
        /// Tokens from which on no request is sent.
        limit: Tokens,
    },
    /// A message of the user does not fit the window, whatever else is forgotten.
    #[error("message {message} is too long: it has {tokens} tokens, and there is room for {room}")]
    MessageTooLong {
        /// Record of the message.
        message: Seq,
        /// Tokens of the message, estimated.
        tokens: Tokens,
        /// Tokens that are left beside system prompt and tools.
        room: Tokens,
    },
    /// The last message is the assistant's.
    #[error("nothing to send: the last message is the assistant's")]
    NothingToSend,
    /// The budget is spent.
    #[error("the turn was ended: the budget of {0} is spent")]
    BudgetSpent(Usd),
    /// A hook stopped the prompt or the turn.
    #[error("stopped by a hook: {0}")]
    StoppedByHook(String),
    /// Undo is not possible.
    #[error("nothing was undone")]
    Undo(#[source] UndoError),
    /// Compaction is switched off.
    #[error("compaction is switched off by the setting `compact`")]
    CompactionOff,
    /// A message that is not in view.
    #[error("message {0} is not in view")]
    NoSuchMessage(u64),
    /// A record that the log does not have.
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
    /// The engine ended before the command was answered.
    #[error("the session has ended")]
    Ended,
}

impl From<DriveError> for EngineError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Log(failure) => Self::Append(failure),
            DriveError::Record(why) => Self::Record(why),
            DriveError::Read(why) => Self::ReadAgain(why),
            DriveError::File(why) => Self::File(why),
            DriveError::Model(failure) => Self::Unanswered(failure),
            DriveError::Blocked { used, limit } => Self::Blocked { used, limit },
            DriveError::MessageTooLong {
                message,
                tokens,
                room,
            } => Self::MessageTooLong {
                message,
                tokens,
                room,
            },
            DriveError::NothingToSend => Self::NothingToSend,
            DriveError::Undo(error) => Self::Undo(error),
            DriveError::CompactionOff => Self::CompactionOff,
            DriveError::NoSuchMessage(message) => Self::NoSuchMessage(message),
            DriveError::NoSuchRecord(record) => Self::NoSuchRecord(record),
            DriveError::TooManyRequests(most) => Self::TooManyRequests(most),
            DriveError::BudgetSpent(budget) => Self::BudgetSpent(budget),
            DriveError::StoppedByHook(why) => Self::StoppedByHook(why),
            DriveError::Params(why) => Self::Params(why),
            DriveError::Cancelled => Self::Cancelled,
        }
    }
}
