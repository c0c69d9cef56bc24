//! Thinking that is bound to its conversation.

use crate::support::{World, assistant, body, config, parse, text, tool, user, with};
use dormouse_sim::{BindingMode, SimConfig, Switches};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn world(mode: BindingMode) -> World {
    World::with(SimConfig {
        switches: Switches {
            thinking_binding: mode,
            ..Switches::default()
        },
        ..config()
    })
}

fn request(messages: &[Value]) -> Value {
    let request = with(body(json!(messages)), "model", json!("claude-opus-5-5"));
    with(request, "system", json!("system"))
}

/// Three turns, as the simulator answered them.
fn conversation(world: &mut World) -> Vec<Value> {
    let mut messages = Vec::new();
    for at in 0..3 {
        messages.push(user(&format!("question {at}")));
        let answer = world.message(&request(&messages));
        assert_eq!(answer["content"][0]["type"], "thinking");
        messages.push(assistant(answer["content"].clone()));
    }
    messages.push(user("last"));
    messages
}

const MOVED: &str = "Invalid `signature` in `thinking` block. The block is bound to a different \
                     conversation.";

fn check_moved(world: &mut World, request: &Value, message: usize) {
    let (status, _, text) = world.refusal(request);
    let expected = format!("messages.{message}.content.0: {MOVED}");
    assert!(status == 400 && text.starts_with(&expected), "{text}");
}

#[test]
fn unchanged_history_is_accepted_and_edits_before_thinking_are_not() {
    let mut world = world(BindingMode::Enforce);
    let messages = conversation(&mut world);
    world.message(&request(&messages));

    let mut edited = messages.clone();
    edited[2] = user("another question");
    check_moved(&mut world, &request(&edited), 3);
    check_moved(
        &mut world,
        &with(request(&messages), "system", json!("other")),
        1,
    );
    check_moved(
        &mut world,
        &with(request(&messages), "tools", json!([tool("read")])),
        1,
    );
    let shorter = &messages[2..];
    check_moved(&mut world, &request(shorter), 1);
    let mut forged = messages.clone();
    forged[3]["content"][0]["signature"] = json!("forged");
    check_moved(&mut world, &request(&forged), 3);
}

#[test]
fn thinking_may_be_left_out_at_the_start_but_not_in_the_middle() {
    let mut world = world(BindingMode::Enforce);
    let messages = conversation(&mut world);
    let without = |turns: &[usize]| {
        let mut messages = messages.clone();
        for at in turns {
            messages[*at]["content"].as_array_mut().unwrap().remove(0);
        }
        request(&messages)
    };
    world.message(&without(&[1]));
    world.message(&without(&[1, 3]));
    world.message(&without(&[1, 3, 5]));
    check_moved(&mut world, &without(&[3]), 5);
}

#[test]
fn moved_blocks_are_dropped_where_the_request_says_so() {
    let mut world = world(BindingMode::Enforce);
    let mut messages = conversation(&mut world);
    messages[2] = user("another question");
    let thinking = json!({
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    });
    let request = with(request(&messages), "thinking", thinking);
    check_moved(&mut world, &request, 3);
    world.header("anthropic-beta", "thinking-binding-controls-2026-08-01");
    let answer = world.message(&request);
    let dropped = |message: usize| {
        json!({
            "type": "thinking_dropped",
            "reason": "prefix_binding_mismatch",
            "path": format!("messages.{message}.content.0"),
        })
    };
    assert_eq!(
        answer["input_transformations"],
        json!([dropped(3), dropped(5)])
    );
    let mut counted = request;
    counted.as_object_mut().unwrap().remove("max_tokens");
    let counted = parse(&world.post("/v1/messages/count_tokens", &counted));
    assert_eq!(counted["input_tokens"], answer["usage"]["input_tokens"]);
}

#[test]
fn the_switch_is_off_by_default_and_older_models_bind_nothing() {
    let mut off = world(BindingMode::Off);
    let mut messages = conversation(&mut off);
    messages[0] = user("another question");
    off.message(&request(&messages));
    let mut on = world(BindingMode::Enforce);
    on.message(&with(request(&messages), "model", json!("claude-opus-5")));
}

#[test]
fn models_and_accounts_read_only_their_own() {
    let mut world = world(BindingMode::Enforce);
    let messages = conversation(&mut world);
    let other_model = with(request(&messages), "model", json!("claude-sonnet-5-5"));
    check_moved(&mut world, &other_model, 1);
    // Haiku 5.5 asks only for the account.
    let haiku = with(request(&messages[2..]), "model", json!("claude-haiku-5-5"));
    world.message(&haiku);
    world.header("x-api-key", "another");
    check_moved(&mut world, &haiku, 1);
}

#[test]
fn turns_kept_after_a_compaction_stay_valid() {
    let mut world = world(BindingMode::Enforce);
    world.header("anthropic-beta", "compact-2026-09-04");
    let messages = conversation(&mut world);
    let (old, kept) = messages.split_at(2);
    let compact = with(request(old), "compaction", json!({"type": "summarize"}));
    let block = world.message(&compact)["content"].clone();
    let mut next = vec![assistant(block)];
    next.extend_from_slice(kept);
    let answer = world.message(&request(&next));
    next.push(assistant(answer["content"].clone()));
    next.push(user("and then"));
    world.message(&request(&next));

    check_moved(
        &mut world,
        &with(request(&next), "system", json!("other")),
        2,
    );
    next[1] = user(&text("edited", 10));
    check_moved(&mut world, &request(&next), 2);
}
