//! The bytes of chat completions, whole and streamed.
//!
//! # Not here
//! Reading and settling a chat: [`crate::openai`].

use crate::error::ApiError;
use crate::http::{Body, Frame, Piece, SimResponse};
use crate::openai::SettledChat;
use crate::read::Rules;
use crate::sse::pieces;
use crate::write::to_vec;
use bytes::Bytes;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use serde_json::{Value, json};

/// An error in this face's shape.
pub(crate) fn error(error: &ApiError) -> Vec<u8> {
    let detail = |name: &str| error.details.get(name).cloned().unwrap_or_default();
    to_vec(&json!({"error": {
        "message": error.message,
        "type": error.kind.name(),
        "param": detail("param"),
        "code": detail("code"),
    }}))
}

/// The response to an answered chat.
pub(crate) fn response(rules: &Rules, chat: &SettledChat, now: Millis) -> SimResponse {
    let created = now.0 / 1_000;
    if chat.job.stream {
        return SimResponse::stream(frames(rules, chat, created));
    }
    let calls: Vec<Value> = chat.calls.iter().map(call).collect();
    let mut message = json!({"role": "assistant", "content": chat.text, "refusal": null});
    // An empty list would be refused when the client sends the message back.
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let body = json!({
        "id": chat.id,
        "object": "chat.completion",
        "created": created,
        "model": chat.job.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish_reason(chat),
        }],
        "usage": usage(chat),
        "service_tier": "default",
    });
    let mut response = SimResponse::json(200, to_vec(&body));
    if let Body::Whole { after, .. } = &mut response.body {
        *after = rules.config.first_byte_ms;
    }
    response
}

fn call((id, name, arguments): &(String, String, String)) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn finish_reason(chat: &SettledChat) -> &'static str {
    if chat.cut {
        "length"
    } else if chat.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    }
}

fn usage(chat: &SettledChat) -> Value {
    let mut usage = TokenUsage {
        // Bounded by the prompt, so that the subtraction can never wrap.
        input: Tokens(chat.job.prompt_tokens - chat.cached_tokens.min(chat.job.prompt_tokens)),
        cache_read: Tokens(chat.cached_tokens.min(chat.job.prompt_tokens)),
        output: Tokens(chat.output_tokens),
        ..TokenUsage::default()
    };
    if let Some(figures) = &chat.job.usage {
        figures.apply(&mut usage);
    }
    json!({
        "prompt_tokens": usage.prompt(),
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    })
}

fn frames(rules: &Rules, chat: &SettledChat, created: i64) -> Vec<Frame> {
    let config = &rules.config;
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": chat.id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": chat.job.model,
            "choices": choices,
            "usage": usage,
        })
    };
    // `usage` is null in every chunk but the last, as OpenAI sends it.
    let delta = |delta: Value| {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": null}]);
        chunk(choice, Value::Null)
    };
    let chars = config.piece_chars.max(1);
    let mut chunks = vec![delta(json!({"role": "assistant", "content": ""}))];
    for piece in pieces(chat.text.as_deref().unwrap_or_default(), chars) {
        chunks.push(delta(json!({"content": piece})));
    }
    for (index, (id, name, arguments)) in chat.calls.iter().enumerate() {
        chunks.push(delta(json!({"tool_calls": [{
            "index": index,
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }]})));
        for piece in pieces(arguments, chars) {
            let part = json!({"index": index, "function": {"arguments": piece}});
            chunks.push(delta(json!({"tool_calls": [part]})));
        }
    }
    let last = json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(chat)}]);
    chunks.push(chunk(last, Value::Null));
    // In a chunk of its own without choices, and only on demand, as OpenAI sends it.
    if chat.job.include_usage {
        chunks.push(chunk(json!([]), usage(chat)));
    }
    let mut texts: Vec<String> = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    texts.push("data: [DONE]\n\n".to_owned());
    let texts = texts.into_iter().enumerate();
    texts
        .map(|(at, text)| Frame {
            after: if at == 0 {
                config.first_byte_ms
            } else {
                config.piece_ms
            },
            piece: Piece::Bytes(Bytes::from(text)),
        })
        .collect()
}
