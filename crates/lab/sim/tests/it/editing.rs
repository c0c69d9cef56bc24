//! Context editing: what is cleared, what is reported, what the cache makes of it.

use crate::streaming::{events, join};
use crate::support::{World, assistant, body, marked, parse, text, user, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Tokens of a cleared result: the nine bytes of `[cleared]` at one byte a token.
const PLACEHOLDER: u64 = 9;

fn world() -> World {
    let mut world = World::new();
    world.header("anthropic-beta", "context-management-2025-06-27");
    world
}

/// A conversation of so many tool calls; results have a thousand tokens.
fn calls(count: usize) -> Vec<Value> {
    let mut messages = vec![user("go")];
    for at in 0..count {
        let tool = if at % 2 == 0 { "read" } else { "memory" };
        let id = format!("toolu_{at}");
        messages.push(assistant(json!([
            {"type": "thinking", "thinking": text("hm", 50), "signature": "foreign"},
            {"type": "tool_use", "id": id, "name": tool, "input": {"path": "x".repeat(100)}},
        ])));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": text(&id, 1_000)},
        ]}));
    }
    messages
}

fn edited(messages: &[Value], edits: Value) -> Value {
    with(
        body(json!(messages)),
        "context_management",
        json!({"edits": edits}),
    )
}

fn check(edit: Value, cleared: usize, tokens: u64) {
    let mut world = world();
    let messages = calls(6);
    let plain = world.report(&body(json!(messages))).usage.prompt().get();
    let mut edit = edit;
    edit["type"] = json!("clear_tool_uses_20250919");
    let request = edited(&messages, json!([edit]));
    let answer = world.message(&request);
    let expected = if cleared == 0 {
        json!([])
    } else {
        json!([{
            "type": "clear_tool_uses_20250919",
            "cleared_tool_uses": cleared,
            "cleared_input_tokens": tokens,
        }])
    };
    assert_eq!(
        answer["context_management"],
        json!({"applied_edits": expected})
    );
    assert_eq!(answer["usage"]["input_tokens"], plain - tokens);

    let mut counted = request.clone();
    counted.as_object_mut().unwrap().remove("max_tokens");
    let counted = parse(&world.post("/v1/messages/count_tokens", &counted));
    assert_eq!(
        counted,
        json!({
            "input_tokens": plain - tokens,
            "context_management": {"original_input_tokens": plain},
        })
    );
    let stream = world.post("/v1/messages", &with(request, "stream", json!(true)));
    assert_eq!(
        join(&events(&stream))["context_management"],
        answer["context_management"]
    );
}

#[test]
fn old_tool_results_are_cleared_first() {
    let each = 1_000 - PLACEHOLDER;
    let trigger = json!({"type": "input_tokens", "value": 2_000});
    check(json!({"trigger": trigger}), 3, 3 * each);
    check(
        json!({"trigger": {"type": "tool_uses", "value": 5}}),
        3,
        3 * each,
    );
    check(json!({"trigger": {"type": "tool_uses", "value": 6}}), 0, 0);
    check(json!({}), 0, 0);
    let keep = json!({"type": "tool_uses", "value": 1});
    check(json!({"trigger": trigger, "keep": keep}), 5, 5 * each);
    let excluded = json!({"trigger": trigger, "keep": keep, "exclude_tools": ["memory"]});
    check(excluded, 2, 2 * each);
    let least = json!({"type": "input_tokens", "value": 3 * each + 1});
    check(json!({"trigger": trigger, "clear_at_least": least}), 0, 0);
    // An input of {"path":"xxx…"} is 111 tokens and the tool's name; an empty one is 2.
    check(
        json!({"trigger": trigger, "clear_tool_inputs": ["read"]}),
        3,
        3 * each + 2 * (111 + 4 - 2),
    );
}

#[test]
fn clearing_invalidates_from_the_first_cleared_result() {
    let mut world = world();
    let mut messages = calls(6);
    let last = messages.len() - 1;
    messages[0]["content"] = json!([marked(
        json!({"type": "text", "text": text("go", 100)}),
        "5m"
    )]);
    messages[last]["content"][0] = marked(messages[last]["content"][0].clone(), "5m");
    world.bill(&body(json!(messages)));
    let edit =
        json!({"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 1}});
    assert_eq!(world.bill(&edited(&messages, json!([edit])))[0], 100);
}

#[test]
fn thinking_is_cleared_by_turns() {
    let mut world = world();
    let think = |at: usize| json!({"type": "thinking", "thinking": text("hm", 50), "signature": format!("foreign {at}")});
    let mut messages = vec![user("go")];
    for at in 0..4 {
        messages.push(assistant(
            json!([think(at), {"type": "text", "text": "done"}]),
        ));
        messages.push(user("next"));
    }
    let edit = |keep: Value| json!([{"type": "clear_thinking_20251015", "keep": keep}]);
    for (keep, turns) in [
        (json!({"type": "thinking_turns", "value": 1}), 3),
        (json!({"type": "thinking_turns", "value": 9}), 0),
        (json!({"type": "all"}), 0),
        (json!("all"), 0),
        (Value::Null, 0),
    ] {
        let answer = world.message(&edited(&messages, edit(keep.clone())));
        let expected = if turns == 0 {
            json!([])
        } else {
            json!([{
                "type": "clear_thinking_20251015",
                "cleared_thinking_turns": turns,
                "cleared_input_tokens": turns * 50,
            }])
        };
        assert_eq!(
            answer["context_management"]["applied_edits"], expected,
            "{keep}"
        );
    }
    // Of thinking that the model strips anyway, an edit can keep earlier turns.
    let haiku = |request: Value| with(request, "model", json!("claude-haiku-4-5"));
    let stripped = world
        .report(&haiku(body(json!(messages))))
        .usage
        .prompt()
        .get();
    let kept = world
        .report(&haiku(edited(&messages, edit(json!("all")))))
        .usage
        .prompt()
        .get();
    assert_eq!(kept - stripped, 4 * 50);
}

#[test]
fn edits_are_checked() {
    let mut world = world();
    let tools = json!({"type": "clear_tool_uses_20250919"});
    let thinking = json!({"type": "clear_thinking_20251015"});
    for edits in [
        json!([tools, thinking]),
        json!([{"type": "unknown"}]),
        json!([{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 0}}]),
        json!([{"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": "x"}}]),
        json!("x"),
    ] {
        assert_eq!(world.refusal(&edited(&[user("a")], edits)).0, 400);
    }
    world.message(&edited(&[user("a")], json!([thinking, tools])));
}
