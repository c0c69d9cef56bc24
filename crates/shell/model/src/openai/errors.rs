//! Error replies of servers that speak chat completions.
//!
//! Every server has its own shape. The code or type decides where it is a known one; then the
//! status; a prompt that is too long is also recognised by the words all of them use.
//!
//! # Not here
//! The errors themselves: [`crate::ModelError`].

use crate::error::{ModelError, Reply};
use crate::limits;
use crate::text::{excerpt, numbers, numbers_after};
use dormouse_core::units::Tokens;
use hyper::HeaderMap;
use serde_json::Value;

/// Words for a prompt that does not fit, in lower case.
const TOO_LONG: [&str; 8] = [
    "maximum context length",
    "context size",
    "context length",
    "prompt is too long",
    "too many tokens",
    "input is too long",
    // The room left for the answer is negative.
    "max_tokens must be at least 1, got -",
    "max_completion_tokens must be at least 1, got -",
];

/// The error an HTTP reply stands for.
pub(super) fn in_reply(status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let request_id = limits::text(headers, "x-request-id").map(str::to_owned);
    let mut reply = Reply {
        status: Some(status),
        request_id,
        retry_after: limits::retry_after(headers),
        should_retry: limits::should_retry(headers),
        rate_limits: limits::read(headers),
        ..Reply::default()
    };
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        reply.message = excerpt(body);
        return classify(reply, &Value::Null);
    };
    from_value(reply, &value)
}

/// The error that a chunk of a stream stands for, if it has one.
pub(super) fn in_stream(value: &Value) -> Option<ModelError> {
    let has_error = !value["error"].is_null() || value["object"] == "error";
    has_error.then(|| from_value(Reply::default(), value))
}

fn from_value(mut reply: Reply, value: &Value) -> ModelError {
    // Some nest the error, some do not, and one sends only text.
    let error = match &value["error"] {
        Value::Null => value,
        nested => nested,
    };
    if let Some(text) = error.as_str() {
        text.clone_into(&mut reply.message);
        return classify(reply, error);
    }
    let text = |name: &str| error[name].as_str().map(str::to_owned);
    reply.message = text("message").unwrap_or_default();
    reply.kind = text("type").unwrap_or_default();
    reply.code = text("code");
    if reply.status.is_none() {
        // Inside a stream the code may be what the status would have been.
        let code = error["code"].as_u64().and_then(|code| code.try_into().ok());
        reply.status = code;
    }
    classify(reply, error)
}

fn classify(reply: Reply, error: &Value) -> ModelError {
    let (status, kind) = (reply.status, reply.kind.clone());
    let code = reply.code.clone().unwrap_or_default();
    let lower = reply.message.to_ascii_lowercase();
    // A rate limit may speak of "too many tokens" as well; its status tells it apart.
    let may_be_length = status.is_none_or(|status| matches!(status, 400 | 413 | 422 | 500));
    let is_length = code == "context_length_exceeded"
        || kind == "exceed_context_size_error"
        || TOO_LONG.iter().any(|words| lower.contains(words));
    if may_be_length && is_length {
        return too_long(reply, error);
    }
    let reply = Box::new(reply);
    match code.as_str() {
        // These come with the status of a rate limit, but waiting does not help.
        "insufficient_quota" | "billing_hard_limit_reached" => {
            return ModelError::SpendLimit(reply);
        }
        "rate_limit_exceeded" => return ModelError::RateLimited(reply),
        "invalid_api_key" => return ModelError::Authentication(reply),
        "model_not_found" => return ModelError::NotFound(reply),
        _ => {}
    }
    match status {
        Some(401) => ModelError::Authentication(reply),
        Some(402) => ModelError::SpendLimit(reply),
        Some(403) => ModelError::Permission(reply),
        Some(404) => ModelError::NotFound(reply),
        Some(413) => ModelError::RequestTooLarge(reply),
        Some(429) => ModelError::RateLimited(reply),
        Some(504) => ModelError::ServerTimeout(reply),
        // 503 is also what a local server says while it loads its model.
        Some(503 | 529) => ModelError::Overloaded(reply),
        Some(500..) | None => ModelError::Server(reply),
        Some(_) => ModelError::Invalid(reply),
    }
}

/// Finds the figures: in members of their own, or in the words.
fn too_long(reply: Reply, error: &Value) -> ModelError {
    let member = |name: &str| error[name].as_u64().map(Tokens);
    let text = reply.message.to_ascii_lowercase();
    let first = |phrase: &str| numbers_after(&text, phrase).first().copied();
    let limit = member("n_ctx")
        // Each server words it differently; the first phrase with a figure counts.
        .or_else(|| first("maximum context length is"))
        .or_else(|| first("context size ("))
        .or_else(|| first("context length of"));
    let tokens = member("n_prompt_tokens")
        .or_else(|| first("resulted in"))
        .or_else(|| first("you requested"))
        .or_else(|| first("request ("))
        .or_else(|| first("prompt contains"));
    let reply = Box::new(reply);
    // "you requested X tokens (Y in the messages, Z in the completion)": Y alone may fit.
    if let (Some(limit), Some((_, inside))) = (limit, text.split_once("you requested"))
        && let [_, input, max_tokens, ..] = numbers(inside)[..]
        && input < limit
        && inside.contains("in the messages")
    {
        return ModelError::AnswerTooLong {
            input,
            max_tokens,
            limit,
            reply,
        };
    }
    ModelError::PromptTooLong {
        tokens,
        limit,
        reply,
    }
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
