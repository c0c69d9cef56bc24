//! The table of what a change invalidates, row by row.

use crate::support::{World, assistant, block, body, config, marked, tool, user, with};
use dormouse_sim::{SimConfig, Switches};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Tools, system and messages, each ending in a marker.
fn base() -> Value {
    json!({
        "model": "claude-opus-5",
        "max_tokens": 2_000,
        "tools": [tool("read"), marked(tool("write"), "5m")],
        "system": [marked(block("system", 500), "5m")],
        "messages": [{"role": "user", "content": [marked(block("question", 100), "5m")]}],
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Kept {
    Nothing,
    Tools,
    System,
    Everything,
}

fn check_with(config: SimConfig, before: &Value, after: &Value, expected: &Kept) {
    let mut world = World::with(config);
    let report = world.report(before);
    let tokens: Vec<u64> = report
        .positions
        .iter()
        .map(|each| each.tokens.get())
        .collect();
    let tools: u64 = tokens[..2].iter().sum();
    let read = world.bill(after)[0];
    let kept = match read {
        0 => Kept::Nothing,
        read if read == tools => Kept::Tools,
        read if read == tools + 500 => Kept::System,
        _ => Kept::Everything,
    };
    assert_eq!(&kept, expected, "{after}");
}

fn check(after: &Value, expected: &Kept) {
    check_with(config(), &base(), after, expected);
}

#[test]
fn nothing_changed() {
    check(&base(), &Kept::Everything);
}

#[test]
fn tool_definitions() {
    let mut renamed = base();
    renamed["tools"][0]["name"] = json!("open");
    check(&renamed, &Kept::Nothing);
    let mut described = base();
    described["tools"][0]["description"] = json!("Opens a file.");
    check(&described, &Kept::Nothing);
    let mut schema = base();
    schema["tools"][0]["input_schema"]["required"] = json!([]);
    check(&schema, &Kept::Nothing);
    let swapped = with(
        base(),
        "tools",
        json!([tool("write"), marked(tool("read"), "5m")]),
    );
    check(&swapped, &Kept::Nothing);
}

#[test]
fn web_tools() {
    for kind in ["web_search_20250305", "web_fetch_20250910"] {
        let mut after = base();
        let web = json!({"type": kind, "name": "web"});
        after["tools"].as_array_mut().unwrap().push(web);
        check(&after, &Kept::Tools);
    }
}

#[test]
fn citations() {
    let mut after = base();
    after["messages"][0]["content"]
        .as_array_mut()
        .unwrap()
        .push(json!({
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "x"},
            "citations": {"enabled": true},
        }));
    check(&after, &Kept::Tools);
}

#[test]
fn speed() {
    check(&with(base(), "speed", json!("fast")), &Kept::Tools);
    check(&with(base(), "speed", json!("standard")), &Kept::Everything);
}

#[test]
fn tool_choice() {
    for choice in [
        json!({"type": "any"}),
        json!({"type": "none"}),
        json!({"type": "tool", "name": "read"}),
        json!({"type": "auto", "disable_parallel_tool_use": true}),
    ] {
        check(&with(base(), "tool_choice", choice), &Kept::System);
    }
    let auto = with(base(), "tool_choice", json!({"type": "auto"}));
    check(&auto, &Kept::Everything);
}

#[test]
fn images() {
    let mut after = base();
    let image = json!({"type": "image", "source": {"type": "url", "url": "https://example.org/a"}});
    after["messages"][0]["content"]
        .as_array_mut()
        .unwrap()
        .push(image);
    check(&after, &Kept::System);
}

#[test]
fn thinking_and_effort() {
    let thinking = |value: Value| with(base(), "thinking", value);
    check(&thinking(json!({"type": "disabled"})), &Kept::System);
    let budget = json!({"type": "enabled", "budget_tokens": 1_024});
    check(&thinking(budget.clone()), &Kept::System);
    // This model thinks when nothing is said, and how it is shown does not matter.
    check(
        &thinking(json!({"type": "adaptive", "display": "omitted"})),
        &Kept::Everything,
    );
    let other = json!({"type": "enabled", "budget_tokens": 1_025});
    check_with(config(), &thinking(budget), &thinking(other), &Kept::System);

    let effort = |value: &str| with(base(), "output_config", json!({"effort": value}));
    check(&effort("low"), &Kept::System);
    check(&effort("high"), &Kept::Everything);
}

#[test]
fn thinking_and_effort_where_they_are_rendered_first() {
    let first = || SimConfig {
        switches: Switches {
            parameters_first: true,
            ..Switches::default()
        },
        ..config()
    };
    let effort = with(base(), "output_config", json!({"effort": "low"}));
    check_with(first(), &base(), &effort, &Kept::Nothing);
    check_with(first(), &base(), &base(), &Kept::Everything);
}

#[test]
fn the_model() {
    check(
        &with(base(), "model", json!("claude-opus-4-8")),
        &Kept::Nothing,
    );
    check(
        &with(base(), "model", json!("claude-opus-5-20260724")),
        &Kept::Everything,
    );
}

#[test]
fn the_system_prompt() {
    let system = json!([marked(block("other system", 500), "5m")]);
    check(&with(base(), "system", system), &Kept::Tools);
}

#[test]
fn deferred_tools_do_not_count() {
    let mut after = base();
    let mut deferred = tool("later");
    deferred["defer_loading"] = json!(true);
    after["tools"].as_array_mut().unwrap().insert(0, deferred);
    check(&after, &Kept::Everything);
}

#[test]
fn key_order_inside_a_call_counts() {
    let request = |input: &str| {
        let call = format!(
            r#"{{"type":"tool_use","id":"t","name":"read","input":{input},"cache_control":{{"type":"ephemeral"}}}}"#
        );
        let call: Value = serde_json::from_str(&call).unwrap();
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "x"});
        body(json!([
            user("go"),
            assistant(json!([call])),
            {"role": "user", "content": [result]},
        ]))
    };
    let mut world = World::new();
    let written = world.bill(&request(r#"{"a":1,"b":2}"#))[2];
    assert_eq!(world.bill(&request(r#"{"b":2,"a":1}"#))[0], 0);
    assert_eq!(world.bill(&request(r#"{"a":1,"b":2}"#))[0], written);
}

#[test]
fn mid_conversation_system_messages_only_append() {
    let mut world = World::new();
    let mut messages = vec![json!({"role": "user", "content": [marked(block("one", 100), "5m")]})];
    world.bill(&body(json!(messages)));
    messages.push(json!({"role": "system", "content": [marked(block("now", 50), "5m")]}));
    assert_eq!(world.bill(&body(json!(messages))), [100, 0, 50, 0]);
}

#[test]
fn user_words_strip_earlier_thinking_on_some_models() {
    for (model, kept) in [("claude-haiku-4-5", false), ("claude-opus-5", true)] {
        let mut world = World::new();
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "abcd"});
        let call = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "x"});
        let mut messages = vec![
            json!({"role": "user", "content": [marked(block("go", 100), "5m")]}),
            assistant(json!([thinking, call])),
            json!({"role": "user", "content": [marked(result, "5m")]}),
        ];
        let request = |messages: &[Value]| with(body(json!(messages)), "model", json!(model));
        let written = world.bill(&request(&messages))[2];
        messages.push(assistant(json!("done")));
        messages.push(json!({"role": "user", "content": [marked(block("next", 100), "5m")]}));
        let read = world.bill(&request(&messages))[0];
        assert_eq!(read, if kept { written } else { 100 }, "{model}");
    }
}
