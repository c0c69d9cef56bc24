//! Failures of requests, reduced to what a conversation can do about them.

use crate::response::Partial;
use dormouse_core::units::Tokens;
use std::time::Duration;

/// The remedies a conversation has, one variant each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The prompt does not fit: shorten it.
    TooLong {
        /// Tokens too many, where the provider says.
        gap: Option<Tokens>,
    },
    /// The provider has no capacity: wait, then another model.
    Overloaded,
    /// The account asked too much in too short a time: wait, then another model.
    RateLimited,
    /// The provider failed or ran out of time.
    Server,
    /// The connection failed, fell silent, or ended before the answer did.
    Connection,
    /// The answer cannot be read.
    Malformed,
    /// The provider does not take the request in this form: ask in another.
    Rejected,
    /// Account, key, budget or deadline: only a person can help.
    Denied,
}

/// A request that brought no complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The remedy.
    pub kind: FailureKind,
    /// Whether the same request may succeed later.
    pub transient: bool,
    /// The error and its causes in one line.
    pub why: String,
    /// The pause the server asks for.
    pub retry_after: Option<Duration>,
    /// The server's opinion on sending the request again.
    pub should_retry: Option<bool>,
    /// Content that had arrived. A request with any is never sent again.
    pub partial: Option<Box<Partial>>,
}

impl Failure {
    /// A failure without hints of the server.
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

    /// Whether a shorter prompt would help.
    pub const fn is_too_long(&self) -> bool {
        matches!(self.kind, FailureKind::TooLong { .. })
    }
}
