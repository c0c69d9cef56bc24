//! Chunks of several servers, and the responses made of them.

use super::*;
use pretty_assertions::assert_eq;

fn run(chunks: &[Value], expected: Expected) -> Result<Response, ModelError> {
    let mut decoder = ChatDecoder::new(Head::default(), expected);
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.event("", &chunk.to_string(), &mut out)?;
    }
    decoder.event("", "[DONE]", &mut out)?;
    assert!(decoder.is_over());
    decoder.finish(&mut out)
}

fn piece(delta: &Value) -> Value {
    json!({ "id": "c1", "model": "m", "choices": [{ "index": 0, "delta": delta }] })
}

fn end(reason: &str) -> Value {
    json!({ "id": "c1", "choices": [{ "delta": {}, "finish_reason": reason }] })
}

fn call(index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let mut function = json!({ "arguments": arguments });
    if let Some(name) = name {
        function["name"] = json!(name);
    }
    let mut call = json!({ "index": index, "function": function });
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    piece(&json!({ "tool_calls": [call] }))
}

fn bytes(response: &Response) -> Vec<String> {
    let blocks = response.blocks.iter();
    blocks.map(|block| format!("{block:?}")).collect()
}

#[test]
fn interleaved_calls_are_joined_by_index() {
    let response = run(
        &[
            piece(&json!({ "role": "assistant", "content": "" })),
            piece(&json!({ "content": "I " })),
            piece(&json!({ "content": "look." })),
            call(0, Some("a"), Some("Read"), ""),
            call(1, Some("b"), Some("Now"), ""),
            call(0, None, None, "{\"p\": "),
            call(1, None, None, ""),
            call(0, None, None, "\"x\"}"),
            end("tool_calls"),
            json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 7,
                "prompt_tokens_details": { "cached_tokens": 60, "cache_write_tokens": 10 } } }),
        ],
        Expected::default(),
    )
    .unwrap();
    assert_eq!(
        bytes(&response),
        [
            r#"{"type":"text","text":"I look."}"#,
            r#"{"type":"tool_use","id":"a","name":"Read","input":{"p":"x"}}"#,
            r#"{"type":"tool_use","id":"b","name":"Now","input":{}}"#,
        ]
    );
    assert_eq!(response.stop_reason, StopReason::ToolUse);
    let expected = TokenUsage {
        input: Tokens(30),
        cache_read: Tokens(60),
        cache_write_5m: Tokens(10),
        cache_write_1h: Tokens::ZERO,
        output: Tokens(7),
    };
    assert_eq!(response.usage, expected);
}

#[test]
fn servers_that_forget_things_are_understood() {
    let whole =
        json!({ "tool_calls": [{ "function": { "name": "Read", "arguments": { "p": 1 } } }] });
    let response = run(&[piece(&whole), end("stop")], Expected::default()).unwrap();
    assert_eq!(
        bytes(&response),
        [r#"{"type":"tool_use","id":"call_c1_0","name":"Read","input":{"p":1}}"#]
    );
    assert_eq!(response.stop_reason, StopReason::ToolUse);

    let nameless = json!({ "created": 5, "choices": [{ "delta": { "content": "x" } }] });
    let response = run(&[nameless], Expected::default()).unwrap();
    assert_eq!(response.id.as_str(), "chat-5");
    assert_eq!(response.stop_reason, StopReason::EndTurn);
}

#[test]
fn reasons_are_translated() {
    let refused = StopReason::Refusal(Refusal {
        category: None,
        explanation: None,
    });
    let cases = [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", refused),
        ("moon", StopReason::Other(Arc::from("moon"))),
    ];
    for (reason, expected) in cases {
        let text = piece(&json!({ "content": "x" }));
        let response = run(&[text, end(reason)], Expected::default()).unwrap();
        assert_eq!(response.stop_reason, expected);
    }
    let no = piece(&json!({ "refusal": "I can't." }));
    let response = run(&[no, end("stop")], Expected::default()).unwrap();
    assert!(matches!(
        response.stop_reason,
        StopReason::Refusal(Refusal {
            explanation: Some(_),
            ..
        })
    ));
}

#[test]
fn arguments_that_are_no_object_reach_the_tool_unless_a_limit_cut_them_off() {
    let cut = call(0, Some("a"), Some("Read"), "{\"p\":");
    let response = run(&[cut.clone(), end("length")], Expected::default()).unwrap();
    assert_eq!(response.blocks, []);
    assert_eq!(response.cut_off[0].received, "{\"p\":");
    // A call that cannot be read must be answered, not end the turn.
    for slip in ["{\"p\":", "[1]", "ls -l", "\"text\""] {
        let slipped = call(0, Some("a"), Some("Read"), slip);
        let response = run(&[slipped, end("tool_calls")], Expected::default()).unwrap();
        let block: Value = serde_json::from_slice(response.blocks[0].bytes()).unwrap();
        assert_eq!(block["input"], json!({ "unreadable_arguments": slip }));
    }
}

#[test]
fn silent_truncation_is_noticed() {
    let check = |reported: u64, expected: Expected, warned: bool| {
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": reported } });
        let text = piece(&json!({ "content": "x" }));
        let response = run(&[text, end("stop"), usage], expected.clone()).unwrap();
        let truncated = response
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::PromptTruncated { .. }));
        assert_eq!(truncated, warned, "{reported} {expected:?}");
    };
    let expected = |estimate: u64, calibrated: bool, window: Option<u64>| Expected {
        warnings: Vec::new(),
        estimate: Tokens(estimate),
        calibrated,
        window: window.map(Tokens),
    };
    check(4_096, expected(10_000, false, None), true);
    check(4_096, expected(6_000, true, None), true);
    check(4_096, expected(6_000, false, None), false);
    check(4_090, expected(5_000, false, Some(4_096)), true);
    check(900, expected(1_000, true, None), false);
    check(100, expected(900, true, None), false);
    // A server that reports nothing says nothing.
    check(0, expected(9_000, true, None), false);
}
