//! Compaction on demand: the signed block and what may be done with it.

use crate::streaming::{events, join};
use crate::support::{World, assistant, body, parse, text, user, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn world() -> World {
    let mut world = World::new();
    world.header("anthropic-beta", "compact-2026-09-04");
    world
}

fn history() -> Vec<Value> {
    vec![
        user(&text("one", 1_000)),
        assistant(json!(text("two", 1_000))),
        user(&text("three", 1_000)),
        assistant(json!(text("four", 1_000))),
    ]
}

fn compact(messages: &[Value]) -> Value {
    with(
        body(json!(messages)),
        "compaction",
        json!({"type": "summarize", "instructions": " "}),
    )
}

fn code(world: &mut World, request: &Value) -> (u16, String) {
    let response = world.post("/v1/messages", request);
    let body = parse(&response);
    let code = body["error"]["details"]["error_code"].as_str();
    (
        response.status,
        code.unwrap_or_else(|| panic!("{body}")).to_owned(),
    )
}

#[test]
fn a_summary_is_one_signed_block_that_takes_the_place_of_what_it_sums_up() {
    let mut world = world();
    let answer = world.message(&compact(&history()));
    assert_eq!(answer["stop_reason"], "compaction");
    let blocks = answer["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0]["type"], "compaction");
    assert_eq!(answer["usage"]["input_tokens"], 4_000);
    let summary = blocks[0]["content"].as_str().unwrap().len() as u64;
    assert_eq!(answer["usage"]["output_tokens"], summary);

    let stream = world.post(
        "/v1/messages",
        &with(compact(&history()), "stream", json!(true)),
    );
    assert_eq!(join(&events(&stream))["content"], answer["content"]);

    let next = body(json!([assistant(answer["content"].clone()), user("go on")]));
    assert_eq!(world.report(&next).usage.prompt().get(), summary + 5);
    let mut counted = next;
    counted.as_object_mut().unwrap().remove("max_tokens");
    let counted = parse(&world.post("/v1/messages/count_tokens", &counted));
    assert_eq!(counted, json!({"input_tokens": summary + 5}));
}

#[test]
fn instructions_are_followed() {
    let mut request = compact(&history());
    request["compaction"]["instructions"] = json!("keep the names");
    let answer = world().message(&request);
    let summary = answer["content"][0]["content"].as_str().unwrap();
    assert!(summary.contains("keep the names"), "{summary}");
}

#[test]
fn blocks_are_checked() {
    let mut world = world();
    let answer = world.message(&compact(&history()));
    let block = answer["content"][0].clone();
    let send = |content: Value| body(json!([assistant(content), user("go on")]));
    world.message(&send(json!([block])));

    let mut other = block.clone();
    other["content"] = json!("something else");
    let altered = code(&mut world, &send(json!([other])));
    assert_eq!(altered, (400, "compaction_content_mismatch".to_owned()));

    let mut forged = block.clone();
    forged["signature"] = json!("forged");
    let forged = code(&mut world, &send(json!([forged])));
    assert_eq!(forged, (400, "compaction_signature_invalid".to_owned()));

    let twice = code(&mut world, &send(json!([block, block])));
    assert_eq!(twice, (400, "compaction_block_ambiguous".to_owned()));

    let late = body(json!([user("a"), assistant(json!([block])), user("b")]));
    let late = code(&mut world, &late);
    assert_eq!(late, (400, "compaction_block_misplaced".to_owned()));

    // One that failed is not there.
    let failed = json!({"type": "compaction", "content": null});
    let with_failed = body(json!([
        user("a"),
        assistant(json!([failed, {"type": "text", "text": "b"}])),
        user("c")
    ]));
    assert_eq!(world.report(&with_failed).usage.prompt().get(), 3);
}

#[test]
fn requests_are_checked() {
    let mut world = world();
    let call = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let open = compact(&[user("a"), assistant(json!([call]))]);
    assert_eq!(
        code(&mut world, &open),
        (400, "compaction_incomplete_turn".to_owned())
    );

    let answer = world.message(&compact(&history()));
    let only = compact(&[assistant(answer["content"].clone())]);
    assert_eq!(
        code(&mut world, &only),
        (400, "compaction_nothing_to_summarize".to_owned())
    );

    let mut both = world;
    both.header(
        "anthropic-beta",
        "compact-2026-09-04,context-management-2025-06-27",
    );
    let request = with(
        compact(&history()),
        "context_management",
        json!({"edits": []}),
    );
    assert_eq!(both.refusal(&request).0, 400);
}

#[test]
fn a_summary_can_fail_or_be_refused_for_now() {
    let mut world = world();
    world.header("x-sim-fault", "null-compaction");
    let failed = world.message(&compact(&history()));
    assert_eq!(
        failed["content"],
        json!([{"type": "compaction", "content": null}])
    );
    world.header("x-sim-fault", "compaction-unavailable");
    assert_eq!(
        code(&mut world, &compact(&history())),
        (529, "compaction_unavailable".to_owned())
    );
}

#[test]
fn the_older_form_is_honoured_in_a_history() {
    let mut world = World::new();
    world.header("anthropic-beta", "compact-2026-01-12");
    let block = json!({"type": "compaction", "content": text("summary", 100)});
    let mut messages = history();
    messages.push(user("go"));
    messages.push(assistant(json!([block, {"type": "text", "text": "done"}])));
    messages.push(user("next"));
    assert_eq!(
        world.report(&body(json!(messages))).usage.prompt().get(),
        100 + 4 + 4
    );
}

#[test]
fn a_threshold_sums_up_on_the_way_and_bills_by_iterations() {
    let mut world = World::new();
    world.header("anthropic-beta", "compact-2026-01-12");
    let request = |edit: Value| {
        let mut edit = edit;
        edit["type"] = json!("compact_20260112");
        let messages = json!([user(&text("long", 60_000))]);
        let request = with(body(messages), "system", json!(text("system", 100)));
        with(request, "context_management", json!({"edits": [edit]}))
    };
    let over = json!({"trigger": {"type": "input_tokens", "value": 50_000}});
    let answer = world.message(&request(over.clone()));
    let block = answer["content"][0].clone();
    assert_eq!(block["type"], "compaction");
    assert_eq!(answer["stop_reason"], "end_turn");
    let summary = block["content"].as_str().unwrap().len() as u64;
    let usage = &answer["usage"];
    assert_eq!(usage["input_tokens"], 100 + summary);
    assert_eq!(usage["iterations"][0]["type"], "compaction");
    assert_eq!(usage["iterations"][0]["input_tokens"], 60_100);
    assert_eq!(usage["iterations"][0]["output_tokens"], summary);
    assert_eq!(usage["iterations"][1]["type"], "message");
    assert_eq!(
        usage["iterations"][1]["output_tokens"],
        usage["output_tokens"]
    );
    let report = world.report(&request(over.clone()));
    assert_eq!(report.usage.prompt().get(), 60_100 + 100 + summary);
    let stream = world.post(
        "/v1/messages",
        &with(request(over.clone()), "stream", json!(true)),
    );
    let streamed = join(&events(&stream));
    assert_eq!(
        (&streamed["content"], &streamed["usage"]),
        (&answer["content"], usage)
    );

    let mut paused = over;
    paused["pause_after_compaction"] = json!(true);
    let paused = world.message(&request(paused));
    assert_eq!(paused["stop_reason"], "compaction");
    assert_eq!(paused["content"], json!([block]));
    assert_eq!(paused["usage"]["input_tokens"], 0);

    let under = world.message(&request(json!({})));
    assert_ne!(under["content"][0]["type"], "compaction");
    assert_eq!(under["usage"].get("iterations"), None);
    let low = request(json!({"trigger": {"type": "input_tokens", "value": 49_999}}));
    assert_eq!(world.refusal(&low).0, 400);
}
