//! The provider's errors and their texts.
//!
//! Clients match on some of these words, so those that have been seen in public are given as they
//! are; the rest are our own.
//!
//! # Not here
//! The client's reading of them: `dormouse-model`.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Kind of an error, with its HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// 400: the request is at fault.
    InvalidRequest,
    /// 401: no key, or a wrong one.
    Authentication,
    /// 402: a problem with payment.
    Billing,
    /// 403: the key may not do this.
    Permission,
    /// 404: no such path or model.
    NotFound,
    /// 409: in conflict with another request.
    Conflict,
    /// 413: the body is too large.
    TooLarge,
    /// 429: too much in too short a time.
    RateLimit,
    /// 500: a fault of the provider.
    Api,
    /// 504: the provider gave up.
    Timeout,
    /// 529: no capacity at the moment.
    Overloaded,
}

impl ErrorKind {
    /// HTTP status of the reply.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidRequest => 400,
            Self::Authentication => 401,
            Self::Billing => 402,
            Self::Permission => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::RateLimit => 429,
            Self::Api => 500,
            Self::Timeout => 504,
            Self::Overloaded => 529,
        }
    }

    /// The name of the kind on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request_error",
            Self::Authentication => "authentication_error",
            Self::Billing => "billing_error",
            Self::Permission => "permission_error",
            Self::NotFound => "not_found_error",
            Self::Conflict => "conflict_error",
            Self::TooLarge => "request_too_large",
            Self::RateLimit => "rate_limit_error",
            Self::Api => "api_error",
            Self::Timeout => "timeout_error",
            Self::Overloaded => "overloaded_error",
        }
    }
}

/// An error as the provider would answer it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {message}", kind.name())]
pub struct ApiError {
    /// Kind, which decides the status.
    pub kind: ErrorKind,
    /// Text on which clients may match.
    pub message: String,
    /// Members of `details`; `error_code` above all.
    pub details: Map<String, Value>,
    /// Seconds after which to try again.
    pub retry_after: Option<u64>,
    /// Made before the request reached the API proper: the body has no outer `type`.
    pub at_the_edge: bool,
}

impl ApiError {
    /// An error with only a text.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: Map::new(),
            retry_after: None,
            at_the_edge: false,
        }
    }

    /// A 400 with only a text.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// The same with a machine-readable code.
    #[must_use]
    pub fn code(mut self, code: &str) -> Self {
        self.details.insert("error_code".to_owned(), json!(code));
        self
    }

    /// The JSON body of the reply.
    pub fn body(&self, request_id: &str) -> Vec<u8> {
        #[derive(Serialize)]
        struct Inner<'a> {
            r#type: &'a str,
            message: &'a str,
            #[serde(skip_serializing_if = "Map::is_empty")]
            details: &'a Map<String, Value>,
        }
        #[derive(Serialize)]
        struct Outer<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            r#type: Option<&'a str>,
            error: Inner<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            request_id: Option<&'a str>,
        }
        let inside = !self.at_the_edge;
        let outer = Outer {
            // Replies of the edge have another shape, which clients must survive.
            r#type: inside.then_some("error"),
            error: Inner {
                r#type: self.kind.name(),
                message: &self.message,
                details: &self.details,
            },
            request_id: inside.then_some(request_id),
        };
        serde_json::to_vec(&outer).unwrap_or_default()
    }

    pub(crate) fn too_large() -> Self {
        Self {
            at_the_edge: true,
            ..Self::new(ErrorKind::TooLarge, "Request exceeds the maximum size")
        }
    }

    pub(crate) fn extra(path: &str) -> Self {
        Self::invalid(format!("{path}: Extra inputs are not permitted"))
    }

    pub(crate) fn prompt_too_long(tokens: u64, window: u64) -> Self {
        Self::invalid(format!(
            "prompt is too long: {tokens} tokens > {window} maximum"
        ))
    }

    pub(crate) fn over_context_limit(input: u64, max_tokens: u64, window: u64) -> Self {
        Self::invalid(format!(
            "input length and `max_tokens` exceed context limit: {input} + {max_tokens} > \
             {window}, decrease input length or `max_tokens` and try again"
        ))
    }

    pub(crate) fn max_tokens_over_cap(max_tokens: u64, cap: u64, model: &str) -> Self {
        Self::invalid(format!(
            "max_tokens: {max_tokens} > {cap}, which is the maximum allowed number of output \
             tokens for {model}"
        ))
    }

    pub(crate) fn missing_results(message: usize, ids: &[&str]) -> Self {
        Self::invalid(format!(
            "messages.{message}: `tool_use` ids were found without `tool_result` blocks \
             immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` \
             block in the next message.",
            ids.join(", ")
        ))
    }

    pub(crate) fn orphan_result(message: usize, block: usize, id: &str) -> Self {
        Self::invalid(format!(
            "messages.{message}.content.{block}: unexpected `tool_use_id` found in `tool_result` \
             blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in \
             the previous message."
        ))
    }

    pub(crate) fn too_many_markers(found: usize) -> Self {
        Self::invalid(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {found}."
        ))
    }

    pub(crate) fn ttl_order(path: &str) -> Self {
        Self::invalid(format!(
            "{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a \
             ttl='5m' cache_control block. Note that blocks are processed in the following order: \
             `tools`, `system`, `messages`."
        ))
    }

    pub(crate) fn prefill() -> Self {
        Self::invalid(
            "This model does not support assistant message prefill. The conversation must end \
             with a user message.",
        )
    }

    pub(crate) fn moved_thinking(message: usize, block: usize) -> Self {
        Self::invalid(format!(
            "messages.{message}.content.{block}: Invalid `signature` in `thinking` block. The \
             block is bound to a different conversation. Send the conversation it was written in, \
             or leave it out together with all thinking before it."
        ))
    }
}
