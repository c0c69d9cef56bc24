//! Error replies of the Messages wire.
//!
//! The code decides first (`details.error_code`), because wording may change; then `error.type`
//! with the status; then the text, where nothing else tells two cases apart.
//!
//! # Not here
//! The errors themselves ([`crate::ModelError`]) and the decision to retry
//! ([`dormouse_ask::retry`]).

use crate::attempt::Head;
use crate::error::{CompactionIssue, ModelError, Reply, ThreadIssue};
use crate::limits;
use crate::text::{excerpt, numbers, numbers_after};
use dormouse_core::json::Text;
use hyper::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct WireBody<'a> {
    #[serde(borrow)]
    error: WireError<'a>,
    #[serde(borrow, default)]
    request_id: Text<'a>,
}

#[derive(Deserialize, Default)]
struct WireError<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default)]
    details: Option<WireDetails<'a>>,
}

#[derive(Deserialize, Default)]
struct WireDetails<'a> {
    #[serde(borrow, default)]
    error_code: Text<'a>,
    #[serde(borrow, default)]
    unsupported: Text<'a>,
}

/// The error an HTTP reply stands for.
pub(super) fn in_reply(status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let parsed = serde_json::from_slice::<WireBody<'_>>(body).ok();
    let id = limits::text(headers, "request-id").map(str::to_owned);
    let mut reply = Reply {
        status: Some(status),
        request_id: id,
        retry_after: limits::retry_after(headers),
        should_retry: limits::should_retry(headers),
        rate_limits: limits::read(headers),
        ..Reply::default()
    };
    // Proxies answer with HTML or plain text; the status still tells something.
    let Some(parsed) = parsed else {
        reply.message = excerpt(body);
        return classify(reply, None);
    };
    let in_body = parsed.request_id.0.map(std::borrow::Cow::into_owned);
    reply.request_id = reply.request_id.or(in_body);
    fill(reply, parsed.error)
}

/// The error that an `error` event stands for.
pub(super) fn in_stream(error: Option<&RawValue>, head: &Head) -> ModelError {
    let error = error.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let reply = Reply {
        request_id: head.request_id.clone(),
        rate_limits: head.rate_limits.clone(),
        ..Reply::default()
    };
    fill(reply, error.unwrap_or_default())
}

fn fill(mut reply: Reply, error: WireError<'_>) -> ModelError {
    let own = |text: Text<'_>| text.0.map(std::borrow::Cow::into_owned);
    let details = error.details.unwrap_or_default();
    reply.kind = own(error.kind).unwrap_or_default();
    reply.message = own(error.message).unwrap_or_default();
    reply.code = own(details.error_code);
    classify(reply, own(details.unsupported))
}

fn classify(reply: Reply, unsupported: Option<String>) -> ModelError {
    let code = reply.code.clone().unwrap_or_default();
    let reply = Box::new(reply);
    match code.as_str() {
        "enforced_spend_limit_reached" => return ModelError::SpendLimit(reply),
        "ramp_limit_exceeded" => return ModelError::RateLimited(reply),
        "organization_on_hold" => return ModelError::Permission(reply),
        "request_body_too_large_after_decoding" => return ModelError::RequestTooLarge(reply),
        _ => {}
    }
    // New codes of this family appear; an unknown one is still a compaction's.
    if let Some(code) = code.strip_prefix("compaction_") {
        let issue = match code {
            "unavailable" => CompactionIssue::Unavailable,
            "nothing_to_summarize" => CompactionIssue::NothingToSummarize,
            "incomplete_turn" => CompactionIssue::IncompleteTurn,
            "signature_invalid" => CompactionIssue::SignatureInvalid,
            other => CompactionIssue::Other(other.to_owned()),
        };
        return ModelError::Compaction { issue, reply };
    }
    let thread = match code.as_str() {
        "thread_not_found" => Some(ThreadIssue::NotFound),
        "thread_already_continued" => Some(ThreadIssue::AlreadyContinued),
        "thread_continue_in_flight" => Some(ThreadIssue::InFlight),
        "thread_fingerprint_mismatch" => Some(ThreadIssue::FingerprintMismatch),
        "thread_unsupported_request" => Some(ThreadIssue::Unsupported { what: unsupported }),
        _ => None,
    };
    match thread {
        Some(issue) => ModelError::Thread { issue, reply },
        None => by_type(reply),
    }
}

fn by_type(reply: Box<Reply>) -> ModelError {
    match reply.kind.as_str() {
        "invalid_request_error" => by_text(reply),
        "authentication_error" => ModelError::Authentication(reply),
        "billing_error" => ModelError::SpendLimit(reply),
        "permission_error" => ModelError::Permission(reply),
        "not_found_error" => ModelError::NotFound(reply),
        // Its status, 409, still makes it worth another attempt.
        "conflict_error" => ModelError::Invalid(reply),
        "request_too_large" => ModelError::RequestTooLarge(reply),
        "rate_limit_error" => rate_limit(reply),
        "timeout_error" => ModelError::ServerTimeout(reply),
        "overloaded_error" => ModelError::Overloaded(reply),
        "api_error" => ModelError::Server(reply),
        _ => by_status(reply),
    }
}

/// For replies of gateways and proxies, which have a status and little else.
fn by_status(reply: Box<Reply>) -> ModelError {
    match reply.status {
        Some(401) => ModelError::Authentication(reply),
        Some(402) => ModelError::SpendLimit(reply),
        Some(403) => ModelError::Permission(reply),
        Some(404) => ModelError::NotFound(reply),
        Some(413) => ModelError::RequestTooLarge(reply),
        Some(429) => rate_limit(reply),
        Some(504) => ModelError::ServerTimeout(reply),
        Some(503 | 529) => ModelError::Overloaded(reply),
        // No status: an error inside a stream of a kind that is not known.
        Some(500..) | None => ModelError::Server(reply),
        Some(_) => by_text(reply),
    }
}

/// A spending limit has the type of a rate limit. Without its code only the missing pause and the
/// words give it away.
fn rate_limit(reply: Box<Reply>) -> ModelError {
    let text = reply.message.to_ascii_lowercase();
    let about_money = ["spend", "credit balance", "billing"]
        .iter()
        .any(|word| text.contains(word));
    if reply.retry_after.is_none() && about_money {
        ModelError::SpendLimit(reply)
    } else {
        ModelError::RateLimited(reply)
    }
}

fn by_text(reply: Box<Reply>) -> ModelError {
    let text = &reply.message;
    if text.contains("prompt is too long") {
        let mut figures = numbers_after(text, "prompt is too long").into_iter();
        let (tokens, limit) = (figures.next(), figures.next());
        return ModelError::PromptTooLong {
            tokens,
            limit,
            reply,
        };
    }
    if text.contains("exceed context limit")
        // Fewer figures than three mean another wording; then it is an invalid request.
        && let [input, max_tokens, limit, ..] = numbers_after(text, "exceed context limit")[..]
    {
        return ModelError::AnswerTooLong {
            input,
            max_tokens,
            limit,
            reply,
        };
    }
    if text.contains("Invalid `signature` in `thinking` block") {
        return ModelError::ThinkingBinding(reply);
    }
    // Servers that speak this wire without being the provider: their numbers may be anywhere.
    let lower = text.to_ascii_lowercase();
    if lower.contains("context size") || lower.contains("context length") {
        let figures = numbers(text);
        return ModelError::PromptTooLong {
            tokens: figures.iter().copied().max(),
            limit: figures.iter().copied().filter(|_| figures.len() > 1).min(),
            reply,
        };
    }
    ModelError::Invalid(reply)
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
