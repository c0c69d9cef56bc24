//! Failures between a request and its answer.
//!
//! # Model
//! A variant is a reason the caller acts on: shorten, wait, ask the user, replay, give up. The
//! provider's words are kept beside it ([`Reply`]). Failures after the first content are wrapped
//! in [`ModelError::Broken`] together with what had arrived, so that no caller sends such a request
//! again by mistake. A refusal is no error: the model answered.
//!
//! # Not here
//! The mapping of a provider's reply to a variant (`anthropic::errors`, `openai::errors`), and the
//! decision to try again ([`dormouse_ask::retry`]).

use crate::sse::SseError;
use dormouse_ask::Partial;
use dormouse_ask::RateLimits;
use dormouse_ask::{Failure, FailureKind, Unsupported};
use dormouse_core::block::BlockError;
use dormouse_core::show;
use dormouse_core::units::Tokens;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Reason that there is no complete answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The prompt alone does not fit into the window.
    #[error("the prompt is too long for the model{}", over(*.tokens, *.limit))]
    PromptTooLong {
        /// Tokens of the prompt, where the provider says.
        tokens: Option<Tokens>,
        /// The window, where the provider says.
        limit: Option<Tokens>,
        /// The provider's words, for people.
        reply: Box<Reply>,
    },
    /// Prompt and longest answer together do not fit into the window.
    #[error(
        "the prompt of {input} tokens and an answer of {max_tokens} exceed the window of {limit}"
    )]
    AnswerTooLong {
        /// Tokens of the prompt.
        input: Tokens,
        /// The longest answer asked for.
        max_tokens: Tokens,
        /// The window in tokens, as the provider names it.
        limit: Tokens,
        /// The provider's words, for people.
        reply: Box<Reply>,
    },
    /// The body has too many bytes.
    #[error("the request is too large for the provider")]
    RequestTooLarge(Box<Reply>),
    /// The provider has no capacity.
    #[error("the provider is overloaded")]
    Overloaded(Box<Reply>),
    /// Too much was asked in too short a time.
    #[error("the rate limit of the account is reached")]
    RateLimited(Box<Reply>),
    /// The account's money is spent; waiting does not help.
    #[error("the spending limit of the account is reached")]
    SpendLimit(Box<Reply>),
    /// The key is wrong or missing.
    #[error("the provider does not accept the key")]
    Authentication(Box<Reply>),
    /// The account may not do this.
    #[error("the account has no permission for this request")]
    Permission(Box<Reply>),
    /// No such model or path.
    #[error("the provider has no such model or path")]
    NotFound(Box<Reply>),
    /// A thinking block is bound to another conversation than the one it was sent in.
    #[error("a thinking block does not belong to the conversation it was sent in")]
    ThinkingBinding(Box<Reply>),
    /// Something about a message thread.
    #[error("the message thread cannot be used: {issue}")]
    Thread {
        /// The trouble with it.
        issue: ThreadIssue,
        /// The provider's words, for people.
        reply: Box<Reply>,
    },
    /// The provider could not compact.
    #[error("the provider's compaction failed: {issue}")]
    Compaction {
        /// The reason, by the provider's code.
        issue: CompactionIssue,
        /// The provider's words, for people.
        reply: Box<Reply>,
    },
    /// Any other fault of the request.
    #[error("the provider refused the request as invalid")]
    Invalid(Box<Reply>),
    /// The provider gave up on the request after some time.
    #[error("the provider ran out of time")]
    ServerTimeout(Box<Reply>),
    /// A fault of the provider.
    #[error("the provider failed")]
    Server(Box<Reply>),
    /// No connection, or it broke before an answer came.
    #[error("the connection to {host} failed")]
    Connection {
        /// Host and port of the server.
        host: String,
        /// The way it failed.
        #[source]
        source: ConnectionError,
    },
    /// Not a byte came for too long.
    #[error("the provider was silent for {}", seconds(.0))]
    Stalled(Duration),
    /// The whole took longer than allowed.
    #[error("the request took longer than {}", seconds(.0))]
    Deadline(Duration),
    /// The stream ended before the answer did.
    #[error("the answer was cut off")]
    Cut,
    /// The answer breaks the wire's description.
    #[error("the provider's answer cannot be read")]
    Malformed(#[from] Malformed),
    /// Content had arrived when this happened. The request must not be sent again.
    #[error("the answer broke off after it had begun")]
    Broken {
        /// Content that had arrived.
        partial: Box<Partial>,
        /// The error that ended it.
        #[source]
        source: Box<Self>,
    },
    /// This client or model cannot do it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The body handed in is not a request.
    #[error("the request's body cannot be read")]
    Request(#[source] serde_json::Error),
    /// The client's settings cannot work.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl ModelError {
    /// The provider's words, if it sent any.
    pub fn reply(&self) -> Option<&Reply> {
        match self {
            Self::PromptTooLong { reply, .. }
            | Self::AnswerTooLong { reply, .. }
            | Self::RequestTooLarge(reply)
            | Self::Overloaded(reply)
            | Self::RateLimited(reply)
            | Self::SpendLimit(reply)
            | Self::Authentication(reply)
            | Self::Permission(reply)
            | Self::NotFound(reply)
            | Self::ThinkingBinding(reply)
            | Self::Thread { reply, .. }
            | Self::Compaction { reply, .. }
            | Self::Invalid(reply)
            | Self::ServerTimeout(reply)
            | Self::Server(reply) => Some(reply),
            Self::Broken { source, .. } => source.reply(),
            Self::Connection { .. }
            | Self::Stalled(_)
            | Self::Deadline(_)
            | Self::Cut
            | Self::Malformed(_)
            | Self::Unsupported(_)
            | Self::Request(_)
            | Self::Setup(_) => None,
        }
    }

    /// Content that had arrived before the answer broke off.
    pub fn partial(&self) -> Option<&Partial> {
        match self {
            Self::Broken { partial, .. } => Some(partial),
            _ => None,
        }
    }

    /// The error as the driver sees it: the remedy, the hints of the server, the content so far.
    pub fn failure(&self) -> Failure {
        // The kind is that of the cause; only the partial content marks it as not to be sent again.
        if let Self::Broken { partial, source } = self {
            return Failure {
                partial: Some(partial.clone()),
                why: self.chain(),
                ..source.failure()
            };
        }
        let reply = self.reply();
        Failure {
            retry_after: reply.and_then(|reply| reply.retry_after),
            should_retry: reply.and_then(|reply| reply.should_retry),
            ..Failure::new(self.kind(), self.is_transient(), self.chain())
        }
    }

    fn kind(&self) -> FailureKind {
        match self {
            Self::PromptTooLong { tokens, limit, .. } => FailureKind::TooLong {
                // Without both figures the driver shortens by its own estimate.
                gap: tokens.zip(*limit).and_then(|(used, most)| gap(used, most)),
            },
            Self::AnswerTooLong {
                input,
                max_tokens,
                limit,
                ..
            } => FailureKind::TooLong {
                gap: gap(*input + *max_tokens, *limit),
            },
            // Bytes, not tokens: how much to cut is unknown.
            Self::RequestTooLarge(_) => FailureKind::TooLong { gap: None },
            Self::Overloaded(_) => FailureKind::Overloaded,
            Self::RateLimited(_) => FailureKind::RateLimited,
            Self::ServerTimeout(_) | Self::Server(_) => FailureKind::Server,
            Self::Connection { .. } | Self::Stalled(_) | Self::Cut => FailureKind::Connection,
            Self::Malformed(_) => FailureKind::Malformed,
            Self::Invalid(_)
            | Self::ThinkingBinding(_)
            | Self::Compaction { .. }
            | Self::Thread { .. }
            | Self::Unsupported(_) => FailureKind::Rejected,
            Self::SpendLimit(_)
            | Self::Authentication(_)
            | Self::Permission(_)
            | Self::NotFound(_)
            | Self::Deadline(_)
            | Self::Request(_)
            | Self::Setup(_) => FailureKind::Denied,
            Self::Broken { source, .. } => source.kind(),
        }
    }

    /// True if the same request may succeed later.
    fn is_transient(&self) -> bool {
        match self {
            Self::Overloaded(_)
            | Self::RateLimited(_)
            | Self::ServerTimeout(_)
            | Self::Server(_)
            | Self::Connection { .. }
            | Self::Stalled(_)
            | Self::Cut
            | Self::Compaction {
                issue: CompactionIssue::Unavailable,
                ..
            } => true,
            // Request timeout and conflict: the provider's own SDKs send these again.
            Self::Invalid(reply) => matches!(reply.status, Some(408 | 409)),
            _ => false,
        }
    }

    /// The error and its causes in one line, for notices.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        // The words of a reply belong behind the error that carries it, not behind its wrapper.
        if let Self::Broken { source, .. } = self {
            text.push_str(": ");
            text.push_str(&source.chain());
            return text;
        }
        if let Some(reply) = self.reply().filter(|reply| !reply.message.is_empty()) {
            text.push_str(": ");
            text.push_str(&reply.message);
        }
        if let Some(cause) = self.source() {
            text.push_str(": ");
            text.push_str(&show::chain(cause));
        }
        text
    }
}

/// The words of a provider that refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status; `None` for an error inside a stream that had begun.
    pub status: Option<u16>,
    /// `error.type`; empty if the body is no JSON.
    pub kind: String,
    /// `error.details.error_code` (Messages) or `error.code` (chat).
    pub code: Option<String>,
    /// `error.message`, or the beginning of a body that is no JSON.
    pub message: String,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// The pause the server asks for.
    pub retry_after: Option<Duration>,
    /// The server's opinion on trying again.
    pub should_retry: Option<bool>,
    /// Remainder of the account's limits.
    pub rate_limits: RateLimits,
}

/// Trouble with a message thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadIssue {
    /// It is gone: send everything again.
    NotFound,
    /// The response was continued before.
    AlreadyContinued,
    /// Another request is continuing it.
    InFlight,
    /// A member that is fixed for the thread differs.
    FingerprintMismatch,
    /// Threads cannot do this.
    Unsupported {
        /// The member that does not go with threads.
        what: Option<String>,
    },
}

impl fmt::Display for ThreadIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "it is gone",
            Self::AlreadyContinued => "the response was continued before",
            Self::InFlight => "another request is continuing it",
            Self::FingerprintMismatch => "a fixed part of it differs",
            Self::Unsupported { what: None } => "it does not support this request",
            Self::Unsupported { what: Some(what) } => {
                return write!(f, "it does not support `{what}`");
            }
        })
    }
}

/// Reason that the provider could not compact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionIssue {
    /// Not at the moment.
    Unavailable,
    /// There is nothing to summarise.
    NothingToSummarize,
    /// The request ends in an open turn.
    IncompleteTurn,
    /// The block's signature does not fit: its bytes were changed.
    SignatureInvalid,
    /// Any other reason, by its code without the prefix `compaction_`.
    Other(String),
}

impl fmt::Display for CompactionIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "it is not available at the moment",
            Self::NothingToSummarize => "there is nothing to summarise",
            Self::IncompleteTurn => "the request ends in an open turn",
            Self::SignatureInvalid => "the signature of the summary is not valid",
            Self::Other(code) => code,
        })
    }
}

/// Ways in which a connection fails.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// It could not be made.
    #[error("no connection could be made")]
    Connect(#[source] std::io::Error),
    /// It was not made in time.
    #[error("no connection was made within {}", seconds(.0))]
    ConnectTimeout(Duration),
    /// It broke after it was made, before or during the answer.
    #[error("the connection broke")]
    Broke(#[source] hyper::Error),
}

/// Reasons why an answer cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// The framing as server-sent events.
    #[error(transparent)]
    Framing(#[from] SseError),
    /// An event or body is not JSON of the expected shape.
    #[error("`{what}` is not JSON of the expected shape")]
    Json {
        /// The event or body.
        what: &'static str,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// A block that cannot be one.
    #[error("a content block of the answer is malformed")]
    Block(#[source] BlockError),
    /// The input of a tool call is not a JSON object.
    #[error("the input of the call of `{tool}` is not a JSON object")]
    Input {
        /// Name of the tool as the model wrote it.
        tool: String,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// Events in an order that makes no sense.
    #[error("{0}")]
    Order(&'static str),
    /// An answer that does not end.
    #[error("the answer is longer than {limit} bytes")]
    TooLong {
        /// The limit in bytes that was exceeded.
        limit: usize,
    },
}

/// Settings of a client that cannot work.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The address is none.
    #[error("`{url}` is not an http or https address")]
    BadUrl {
        /// The address that was given.
        url: String,
    },
    /// The key, or another header, has characters that no header may have.
    #[error("the value for the header `{name}` has characters that are not allowed")]
    BadHeader {
        /// Name of the header; never its value, which may be a key.
        name: &'static str,
    },
    /// The address of the proxy is none.
    #[error("`{address}` is not the address of an http proxy")]
    BadProxy {
        /// The address that was given, without its account.
        address: String,
    },
    /// The source of the key gave none.
    #[error("there is no key: {why}")]
    NoKey {
        /// The reason, in words.
        why: String,
    },
    /// https was asked for, but this build has none.
    #[error("this build cannot speak https")]
    NoTls,
    /// No certificate of the system could be loaded.
    #[error("no root certificate was found on this system")]
    NoRoots,
}

/// Tokens too many. Figures that contradict the refusal are none: a caller that shortens by nothing
/// would be refused again.
fn gap(used: Tokens, most: Tokens) -> Option<Tokens> {
    (used > most).then(|| used - most)
}

fn over(tokens: Option<Tokens>, limit: Option<Tokens>) -> String {
    match (tokens, limit) {
        (Some(tokens), Some(limit)) => format!(": {tokens} tokens, {limit} allowed"),
        (None, Some(limit)) => format!(": {limit} tokens are allowed"),
        (Some(tokens), None) => format!(": {tokens} tokens"),
        (None, None) => String::new(),
    }
}

fn seconds(time: &Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
