//! Replies of the servers there are, and the errors they stand for.

use super::*;
use pretty_assertions::assert_eq;

fn short(error: &ModelError) -> String {
    match error {
        ModelError::PromptTooLong { tokens, limit, .. } => {
            let figure = |figure: &Option<Tokens>| {
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
        other => {
            let text = format!("{other:?}");
            text.split('(').next().unwrap_or_default().to_owned()
        }
    }
}

#[test]
fn a_prompt_that_is_too_long_is_recognised_in_every_servers_words() {
    let cases = [
        // OpenAI, both wordings.
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9015 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            "PromptTooLong 9015 > 8192",
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9100 tokens (5100 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            "AnswerTooLong 5100 + 4000 > 8192",
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 13100 tokens (9100 in the messages, 4000 in the completion).","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            "PromptTooLong 13100 > 8192",
        ),
        // A code without words.
        (
            400,
            r#"{"error":{"message":"…","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            "PromptTooLong ? > ?",
        ),
        // vLLM, flat and nested, and without room for an answer.
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}"#,
            "PromptTooLong 5000 > 4096",
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.","type":"BadRequestError","param":null,"code":400}}"#,
            "PromptTooLong ? > 4096",
        ),
        (
            400,
            r#"{"object":"error","message":"max_tokens must be at least 1, got -186.","type":"BadRequestError","param":null,"code":400}"#,
            "PromptTooLong ? > ?",
        ),
        // llama.cpp, new and old.
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":8192}}"#,
            "PromptTooLong 9001 > 8192",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}"#,
            "PromptTooLong 9001 > 8192",
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}"#,
            "PromptTooLong ? > ?",
        ),
        // Ollama, when told not to truncate.
        (
            400,
            r#"{"error":"the input length exceeds the context length"}"#,
            "PromptTooLong ? > ?",
        ),
        (
            400,
            r#"{"error":{"message":"prompt is longer than the model's context length","type":"invalid_request_error","param":null,"code":null}}"#,
            "PromptTooLong ? > ?",
        ),
        // DeepSeek and others.
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (62000 in the messages, 8000 in the completion).","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            "AnswerTooLong 62000 + 8000 > 65536",
        ),
        (413, "Input is too long", "PromptTooLong ? > ?"),
        (400, "Too many tokens", "PromptTooLong ? > ?"),
    ];
    for (status, body, expected) in cases {
        let error = in_reply(status, &HeaderMap::new(), body.as_bytes());
        assert_eq!(short(&error), expected, "{status} {body}");
    }
}

#[test]
fn other_replies_go_by_code_and_status() {
    let cases = [
        (
            401,
            r#"{"error":{"message":"…","code":"invalid_api_key"}}"#,
            "Authentication",
        ),
        (403, "", "Permission"),
        (
            404,
            r#"{"error":{"message":"…","code":"model_not_found"}}"#,
            "NotFound",
        ),
        (413, "too big", "RequestTooLarge"),
        (
            429,
            r#"{"error":{"message":"…","code":"rate_limit_exceeded"}}"#,
            "RateLimited",
        ),
        (
            429,
            r#"{"error":{"message":"…","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "SpendLimit",
        ),
        (
            429,
            r#"{"error":{"message":"maximum context length of the queue"}}"#,
            "RateLimited",
        ),
        (500, "oops", "Server"),
        (
            503,
            r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
            "Overloaded",
        ),
        (504, "", "ServerTimeout"),
        (400, r#"{"error":{"message":"bad schema"}}"#, "Invalid"),
    ];
    for (status, body, expected) in cases {
        let error = in_reply(status, &HeaderMap::new(), body.as_bytes());
        assert_eq!(short(&error), expected, "{status} {body}");
    }
}

#[test]
fn errors_inside_a_stream_are_found() {
    let chunk = serde_json::json!({ "error": { "code": 503, "message": "busy" } });
    assert_eq!(short(&in_stream(&chunk).unwrap()), "Overloaded");
    assert!(in_stream(&serde_json::json!({ "choices": [] })).is_none());
}
