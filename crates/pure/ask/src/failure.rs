//! Failures of requests, reduced to the remedy that a conversation has.
//!
//! Not here: the mapping of provider errors to these kinds (`dormouse-model`).

use crate::response::Partial;
use dormouse_core::units::Tokens;
use std::time::Duration;

/// Kind of a failure, one variant per remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Prompt that does not fit: shorten it.
    TooLong {
        /// Excess in tokens, if the provider reports it.
        gap: Option<Tokens>,
    },
    /// Provider without capacity: wait, then use another model.
    Overloaded,
    /// Rate limit of the account: wait, then use another model.
    RateLimited,
    /// Failure or timeout inside the provider: retry.
    Server,
    /// Connection that failed, fell silent, or ended before the answer: retry.
    Connection,
    /// Answer that cannot be parsed; the same request would bring another of its kind.
    Malformed,
    /// Request in a form that the provider does not accept: ask in another form.
    Rejected,
    /// Account, key, budget or deadline: only the user can resolve it.
    Denied,
}

/// Request without a complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Kind, which selects the remedy.
    pub kind: FailureKind,
    /// True if the same request may succeed later.
    pub transient: bool,
    /// Error and its causes in one line, for display and for the log.
    pub why: String,
    /// Pause that the server requests before another attempt.
    pub retry_after: Option<Duration>,
    /// Server's own verdict on sending the request again (`x-should-retry`).
    pub should_retry: Option<bool>,
    /// Content that had arrived. A request with any is never sent again: a second answer would
    /// differ from the one already shown.
    pub partial: Option<Box<Partial>>,
}

impl Failure {
    /// Failure without hints of the server.
    pub fn new(kind: FailureKind, transient: bool, why: impl Into<String>) -> Self {
        Self {
            kind,
            transient,
            why: why.into(),
            retry_after: None,
            should_retry: None,
            partial: None,
        }
    }

    /// True if a shorter prompt would help.
    pub const fn is_too_long(&self) -> bool {
        matches!(self.kind, FailureKind::TooLong { .. })
    }
}
