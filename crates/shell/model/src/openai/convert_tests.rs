//! Prompts on the one wire and on the other.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn convert_json(body: &Value) -> (Value, Vec<Warning>) {
    let body = serde_json::to_vec(body).unwrap();
    let converted = convert(&body, LengthMember::MaxTokens).unwrap();
    let again = convert(&body, LengthMember::MaxTokens).unwrap();
    assert_eq!(converted.body, again.body, "not deterministic");
    (
        serde_json::from_slice(&converted.body).unwrap(),
        converted.warnings,
    )
}

#[test]
fn a_tool_loop_keeps_its_calls_and_results() {
    let (chat, warnings) = convert_json(&json!({
        "model": "m",
        "max_tokens": 100,
        "stream": true,
        "stop_sequences": ["END"],
        "tool_choice": { "type": "any", "disable_parallel_tool_use": true },
        "thinking": { "type": "adaptive" },
        "tools": [{
            "name": "Read",
            "description": "Reads.",
            "input_schema": { "type": "object" },
            "cache_control": { "type": "ephemeral" },
        }],
        "system": [{ "type": "text", "text": "Be" }, { "type": "text", "text": "brief." }],
        "messages": [
            { "role": "user", "content": "hello" },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "s" },
                { "type": "text", "text": "I read." },
                { "type": "tool_use", "id": "t1", "name": "Read", "input": { "b": 1, "a": 2 } },
                { "type": "tool_use", "id": "t2", "name": "Read", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t1", "content": "one" },
                { "type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": [
                    { "type": "text", "text": "two" },
                    { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } },
                ] },
                { "type": "text", "text": "go on" },
            ] },
            { "role": "system", "content": [{ "type": "text", "text": "note" }] },
        ],
    }));
    let expected = json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "Be\n\nbrief." },
            { "role": "user", "content": "hello" },
            { "role": "assistant", "content": "I read.", "tool_calls": [
                { "id": "t1", "type": "function", "function": { "name": "Read", "arguments": "{\"b\":1,\"a\":2}" } },
                { "id": "t2", "type": "function", "function": { "name": "Read", "arguments": "{}" } },
            ] },
            { "role": "tool", "tool_call_id": "t1", "content": "one" },
            { "role": "tool", "tool_call_id": "t2", "content": "Error: two\n\n[image: see the next message]" },
            { "role": "user", "content": [
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
                { "type": "text", "text": "go on" },
            ] },
            { "role": "system", "content": "note" },
        ],
        "tools": [{ "type": "function", "function": {
            "name": "Read", "description": "Reads.", "parameters": { "type": "object" },
        } }],
        "tool_choice": "required",
        "parallel_tool_calls": false,
        "max_tokens": 100,
        "stop": ["END"],
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    assert_eq!(chat, expected);
    assert_eq!(warnings, []);
}

#[test]
fn what_cannot_be_carried_is_named() {
    let (chat, warnings) = convert_json(&json!({
        "model": "m",
        "tools": [{ "type": "web_search_20260318", "name": "web_search" }],
        "messages": [
            { "role": "user", "content": [
                { "type": "image", "source": { "type": "file", "file_id": "f" } },
                { "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "" } },
                { "type": "document", "title": "T", "source": { "type": "text", "media_type": "text/plain", "data": "body" } },
            ] },
            { "role": "assistant", "content": [
                { "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} },
                { "type": "thinking", "thinking": "hm", "signature": "s" },
            ] },
        ],
    }));
    let note = |what: &str| format!("[{what} left out: this model cannot receive it]");
    let content = format!("{}\n\n{}\n\nT\nbody", note("image"), note("document"));
    let expected = json!({ "model": "m", "messages": [{ "role": "user", "content": content }] });
    assert_eq!(chat, expected);
    let omitted: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    assert_eq!(
        omitted,
        [
            "1 × `document` cannot be sent to this provider",
            "1 × `image` cannot be sent to this provider",
            "1 × `server_tool_use` cannot be sent to this provider",
            "1 × `web_search_20260318` cannot be sent to this provider",
        ]
    );
}

#[test]
fn schemas_pass_in_either_form_and_the_wires_own_form_wins() {
    let schema = json!({ "type": "object", "properties": { "z": {}, "a": {} } });
    let (chat, _) = convert_json(&json!({
        "messages": [],
        "output_config": { "effort": "low", "format": { "type": "json_schema", "schema": schema } },
    }));
    let expected = json!({
        "type": "json_schema",
        "json_schema": { "name": "answer", "strict": true, "schema": schema },
    });
    assert_eq!(chat["response_format"], expected);
    let own = json!({ "type": "json_object" });
    let (chat, _) = convert_json(&json!({
        "messages": [], "response_format": own, "output_config": { "format": { "schema": {} } },
    }));
    assert_eq!(chat["response_format"], own);
}

#[test]
fn a_longer_conversation_begins_with_the_same_messages() {
    let turn = |n: usize| {
        [
            json!({ "role": "user", "content": [{ "type": "text", "text": format!("q{n}") }] }),
            json!({ "role": "assistant", "content": [{ "type": "text", "text": format!("a{n}") }] }),
        ]
    };
    let chat = |turns: usize| {
        let messages: Vec<Value> = (0..turns).flat_map(turn).collect();
        convert_json(&json!({ "messages": messages })).0["messages"].clone()
    };
    let (short, long) = (chat(3), chat(5));
    let (short, long) = (short.as_array().unwrap(), long.as_array().unwrap());
    assert_eq!(short[..], long[..short.len()]);
}

#[test]
fn what_is_no_request_is_an_error() {
    for body in [
        "",
        "[]",
        r#"{"messages":7}"#,
        r#"{"messages":[{"role":"user"}]}"#,
    ] {
        assert!(
            convert(body.as_bytes(), LengthMember::MaxTokens).is_err(),
            "{body}"
        );
    }
}
