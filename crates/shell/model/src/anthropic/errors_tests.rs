//! Replies and the errors they stand for, as a table.

use super::*;
use hyper::header::HeaderValue;
use pretty_assertions::assert_eq;

/// The variant with its figures, without the reply.
fn short(error: &ModelError) -> String {
    match error {
        ModelError::PromptTooLong { tokens, limit, .. } => {
            let figure = |figure: &Option<dormouse_core::units::Tokens>| {
                figure.map_or("?".to_owned(), |tokens| tokens.to_string())
            };
            format!("PromptTooLong {} > {}", figure(tokens), figure(limit))
        }
        ModelError::AnswerTooLong {
            input,
            max_tokens,
            limit,
            ..
        } => format!("AnswerTooLong {input} + {max_tokens} > {limit}"),
        ModelError::Thread { issue, .. } => format!("Thread {issue:?}"),
        ModelError::Compaction { issue, .. } => format!("Compaction {issue:?}"),
        other => {
            let text = format!("{other:?}");
            text.split(['(', ' ']).next().unwrap_or_default().to_owned()
        }
    }
}

fn body(kind: &str, message: &str, code: Option<&str>) -> String {
    let mut error = serde_json::json!({ "type": kind, "message": message });
    if let Some(code) = code {
        error["details"] = serde_json::json!({ "error_code": code, "unsupported": "thinking" });
    }
    serde_json::json!({ "type": "error", "error": error, "request_id": "req_1" }).to_string()
}

fn check(status: u16, body: &str, expected: &str) {
    let error = in_reply(status, &HeaderMap::new(), body.as_bytes());
    assert_eq!(short(&error), expected, "{status} {body}");
}

#[test]
fn documented_replies_map_to_their_errors() {
    let invalid = "invalid_request_error";
    let cases = [
        (
            400,
            invalid,
            "prompt is too long: 208310 tokens > 200000 maximum",
            "PromptTooLong 208310 > 200000",
        ),
        (400, invalid, "prompt is too long", "PromptTooLong ? > ?"),
        (
            400,
            invalid,
            "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, \
             decrease input length or `max_tokens` and try again",
            "AnswerTooLong 178959 + 64000 > 200000",
        ),
        (
            400,
            invalid,
            "messages.5.content.0: Invalid `signature` in `thinking` block. The block is bound to \
             a different conversation.",
            "ThinkingBinding",
        ),
        (
            400,
            invalid,
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
            "Invalid",
        ),
        (
            401,
            "authentication_error",
            "invalid x-api-key",
            "Authentication",
        ),
        (402, "billing_error", "…", "SpendLimit"),
        (403, "permission_error", "…", "Permission"),
        (404, "not_found_error", "model: x", "NotFound"),
        (409, "conflict_error", "…", "Invalid"),
        (
            413,
            "request_too_large",
            "Request exceeds the maximum size",
            "RequestTooLarge",
        ),
        (
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
            "RateLimited",
        ),
        (
            429,
            "rate_limit_error",
            "The spending limit of this organization is reached.",
            "SpendLimit",
        ),
        (500, "api_error", "Internal server error", "Server"),
        (504, "timeout_error", "…", "ServerTimeout"),
        (529, "overloaded_error", "Overloaded", "Overloaded"),
        (418, "from_the_future", "…", "Invalid"),
        (599, "from_the_future", "…", "Server"),
    ];
    for (status, kind, message, expected) in cases {
        check(status, &body(kind, message, None), expected);
    }
}

#[test]
fn the_code_counts_more_than_type_and_text() {
    let cases = [
        (
            429,
            "rate_limit_error",
            "enforced_spend_limit_reached",
            "SpendLimit",
        ),
        (
            429,
            "rate_limit_error",
            "ramp_limit_exceeded",
            "RateLimited",
        ),
        (
            400,
            "invalid_request_error",
            "request_body_too_large_after_decoding",
            "RequestTooLarge",
        ),
        (
            404,
            "not_found_error",
            "thread_not_found",
            "Thread NotFound",
        ),
        (
            400,
            "invalid_request_error",
            "thread_already_continued",
            "Thread AlreadyContinued",
        ),
        (
            400,
            "invalid_request_error",
            "thread_continue_in_flight",
            "Thread InFlight",
        ),
        (
            400,
            "invalid_request_error",
            "thread_fingerprint_mismatch",
            "Thread FingerprintMismatch",
        ),
        (
            400,
            "invalid_request_error",
            "thread_unsupported_request",
            "Thread Unsupported { what: Some(\"thinking\") }",
        ),
        (
            529,
            "overloaded_error",
            "compaction_unavailable",
            "Compaction Unavailable",
        ),
        (
            400,
            "invalid_request_error",
            "compaction_incomplete_turn",
            "Compaction IncompleteTurn",
        ),
        (
            400,
            "invalid_request_error",
            "compaction_block_misplaced",
            "Compaction Other(\"block_misplaced\")",
        ),
        (
            403,
            "permission_error",
            "organization_on_hold",
            "Permission",
        ),
    ];
    for (status, kind, code, expected) in cases {
        check(
            status,
            &body(kind, "prompt is too long: 1 tokens > 0 maximum", Some(code)),
            expected,
        );
    }
}

#[test]
fn replies_from_the_edge_are_read_by_what_they_have() {
    let edge =
        r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#;
    check(413, edge, "RequestTooLarge");
    check(
        413,
        "<html>413 Request Entity Too Large</html>",
        "RequestTooLarge",
    );
    check(502, "<html>Bad Gateway</html>", "Server");
    check(503, "", "Overloaded");
    check(429, "slow down", "RateLimited");
    check(400, "not JSON", "Invalid");
}

#[test]
fn headers_are_kept_beside_the_error() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("7"));
    headers.insert("x-should-retry", HeaderValue::from_static("false"));
    headers.insert("request-id", HeaderValue::from_static("req_2"));
    let text = body("rate_limit_error", "the spending pause", None);
    let error = in_reply(429, &headers, text.as_bytes());
    // Words about money do not make a limit with a pause a spending limit.
    assert_eq!(short(&error), "RateLimited");
    let reply = error.reply().unwrap();
    assert_eq!(reply.retry_after, Some(std::time::Duration::from_secs(7)));
    assert_eq!(reply.should_retry, Some(false));
    assert_eq!(reply.request_id.as_deref(), Some("req_2"));
}

#[test]
fn an_error_inside_a_stream_has_no_status() {
    let raw =
        serde_json::from_str(r#"{"type":"overloaded_error","message":"Overloaded"}"#).unwrap();
    let error = in_stream(Some(raw), &Head::default());
    assert_eq!(short(&error), "Overloaded");
    assert_eq!(short(&in_stream(None, &Head::default())), "Server");
}
