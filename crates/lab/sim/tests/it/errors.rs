//! The provider's refusals, word for word.

use crate::support::{
    MODEL, World, assistant, block, body, config, marked, numbered, parse, refusal, text, tool,
    user, with,
};
use dormouse_sim::{SimConfig, SimRequest, Switches, ThreadRefusal};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn check(request: &Value, expected: &str) {
    check_in(&mut World::new(), request, expected);
}

fn check_in(world: &mut World, request: &Value, expected: &str) {
    let (status, kind, message) = world.refusal(request);
    assert_eq!(
        (status, kind.as_str(), message.as_str()),
        (400, "invalid_request_error", expected)
    );
}

#[test]
fn the_prompt_does_not_fit() {
    let mut world = World::with(SimConfig {
        window: Some(200_000),
        ..config()
    });
    let request = body(json!([user(&text("long", 208_310))]));
    check_in(
        &mut world,
        &request,
        "prompt is too long: 208310 tokens > 200000 maximum",
    );
}

#[test]
fn prompt_and_answer_do_not_fit_an_old_model() {
    let models =
        "version = 1\n[models.claude-old]\nwindow = 200000\nmax_output = 64000\nretired = true\n";
    let mut world = World::with(SimConfig {
        models: Some(models.to_owned()),
        ..config()
    });
    let request = with(
        body(json!([user(&text("long", 178_959))])),
        "model",
        json!("claude-old"),
    );
    check_in(
        &mut world,
        &with(request, "max_tokens", json!(64_000)),
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease \
         input length or `max_tokens` and try again",
    );
}

#[test]
fn the_answer_may_not_be_that_long() {
    check(
        &with(body(json!([user("a")])), "max_tokens", json!(128_001)),
        "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for \
         claude-opus-5",
    );
}

#[test]
fn calls_and_results_come_in_pairs() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let missing = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately \
                   after: toolu_b. Each `tool_use` block must have a corresponding `tool_result` \
                   block in the next message.";
    let calls = assistant(json!([call("toolu_a"), call("toolu_b")]));
    check(
        &body(json!([user("go"), calls, {"role": "user", "content": [result("toolu_a")]}])),
        missing,
    );
    // Results come first in their message.
    check(
        &body(json!([
            user("go"),
            assistant(json!([call("toolu_b")])),
            {"role": "user", "content": [block("text", 10), result("toolu_b")]},
        ])),
        missing,
    );
    check(
        &body(json!([user("go"), assistant(json!([call("toolu_b")]))])),
        missing,
    );
    check(
        &body(
            json!([user("go"), assistant(json!("well")), {"role": "user", "content": [block("t", 5), result("toolu_x")]}]),
        ),
        "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_x. \
         Each `tool_result` block must have a corresponding `tool_use` block in the previous \
         message.",
    );
}

#[test]
fn results_may_be_spread_over_messages_of_one_turn() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    World::new().message(&body(json!([
        user("go"),
        assistant(json!([call("a")])),
        assistant(json!([call("b")])),
        {"role": "user", "content": [result("b")]},
        {"role": "user", "content": [result("a"), block("text", 10)]},
    ])));
}

#[test]
fn markers_are_limited_and_ordered() {
    check(
        &numbered(9, &[(1, "5m"), (2, "5m"), (3, "5m"), (4, "5m"), (5, "5m")]),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    );
    check(
        &numbered(9, &[(2, "5m"), (5, "1h")]),
        "messages.0.content.4.cache_control.ttl: a ttl='1h' cache_control block must not come \
         after a ttl='5m' cache_control block. Note that blocks are processed in the following \
         order: `tools`, `system`, `messages`.",
    );
    let tools = with(
        numbered(1, &[(1, "1h")]),
        "tools",
        json!([marked(tool("read"), "5m")]),
    );
    let (_, _, message) = World::new().refusal(&tools);
    assert!(message.starts_with("messages.0.content.0.cache_control.ttl: a ttl='1h'"));
}

#[test]
fn some_blocks_take_no_marker() {
    check(
        &body(
            json!([{"role": "user", "content": [block("a", 5), marked(json!({"type": "text", "text": ""}), "5m")]}]),
        ),
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
    );
    let thinking = json!({"type": "thinking", "thinking": "x", "signature": "y"});
    check(
        &body(json!([
            user("a"),
            assistant(json!([marked(thinking, "5m")])),
            user("b")
        ])),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    );
}

#[test]
fn a_conversation_ends_with_the_user() {
    let prefilled = body(json!([user("a"), assistant(json!("Well"))]));
    check(
        &prefilled,
        "This model does not support assistant message prefill. The conversation must end with a \
         user message.",
    );
    World::new().message(&with(prefilled, "model", json!("claude-haiku-4-5")));
}

#[test]
fn unknown_fields_are_refused_by_path() {
    let with_field = |name: &str| with(body(json!([user("a")])), name, json!(1));
    check(
        &with_field("surprise"),
        "surprise: Extra inputs are not permitted",
    );
    for (name, beta) in [
        ("context_management", "context-management-2025-06-27"),
        ("compaction", "compact-2026-09-04"),
        ("thread", "message-threads-2026-08-12"),
    ] {
        let expected = format!("{name}: Extra inputs are not permitted");
        check(&with_field(name), &expected);
        let mut world = World::new();
        world.header("anthropic-beta", &format!("something-else, {beta}"));
        assert_ne!(world.refusal(&with_field(name)).2, expected);
    }
}

#[test]
fn the_new_version_drops_old_fields() {
    let sampled = with(body(json!([user("a")])), "temperature", json!(1.0));
    World::new().message(&sampled);
    let mut world = World::new();
    world.header("anthropic-version", "2026-10-21");
    world.message(&body(json!([user("a")])));
    check_in(
        &mut world,
        &sampled,
        "temperature: Extra inputs are not permitted",
    );
    let document = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}});
    let in_answer = body(json!([user("a"), assistant(json!([document])), user("b")]));
    assert_eq!(world.refusal(&in_answer).0, 400);
    World::new().message(&in_answer);
    let cited = json!({"type": "text", "text": "x", "citations": [{"type": "char_location"}]});
    check_in(
        &mut world,
        &body(json!([{"role": "user", "content": [cited]}])),
        "messages.0.content.0.citations: Extra inputs are not permitted",
    );
}

#[test]
fn system_messages_have_their_place() {
    let system = json!({"role": "system", "content": "now"});
    let ok = [
        json!([user("a"), system]),
        json!([user("a"), system, system]),
        json!([user("a"), system, assistant(json!("b")), user("c")]),
    ];
    for messages in ok {
        World::new().message(&body(messages));
    }
    let bad = [
        json!([system, user("a")]),
        json!([user("a"), assistant(json!("b")), system]),
        json!([user("a"), system, user("b")]),
    ];
    for messages in bad {
        assert_eq!(World::new().refusal(&body(messages)).0, 400);
    }
    let sonnet = with(
        body(json!([user("a"), system])),
        "model",
        json!("claude-sonnet-5"),
    );
    assert_eq!(World::new().refusal(&sonnet).0, 400);
}

#[test]
fn threads_are_refused_in_both_documented_ways() {
    for (refusal, status, code) in [
        (
            ThreadRefusal::Unsupported,
            400,
            "thread_unsupported_request",
        ),
        (ThreadRefusal::NotFound, 404, "thread_not_found"),
    ] {
        let mut world = World::with(SimConfig {
            switches: Switches {
                threads: refusal,
                ..Switches::default()
            },
            ..config()
        });
        world.header("anthropic-beta", "message-threads-2026-08-12");
        for thread in [
            json!({"type": "create"}),
            json!({"type": "continue", "previous_message_id": "msg_1"}),
        ] {
            let response = world.post(
                "/v1/messages",
                &with(body(json!([user("a")])), "thread", thread),
            );
            let body = parse(&response);
            assert_eq!(response.status, status);
            assert_eq!(body["error"]["details"]["error_code"], code);
            if status == 400 {
                let message = body["error"]["message"].as_str().unwrap();
                assert!(
                    message.contains("capability_rejected: beta_header:message-threads-2026-08-12")
                );
            }
        }
    }
}

#[test]
fn errors_have_the_documented_body() {
    let response = World::new().post("/v1/messages", &json!({}));
    let body = parse(&response);
    assert_eq!(body["type"], "error");
    assert_eq!(body["request_id"].as_str(), response.header("request-id"));
    assert!(body["request_id"].as_str().unwrap().starts_with("req_"));
}

#[test]
fn headers_are_required() {
    let request = World::new().request("/v1/messages", &body(json!([user("a")])));
    let cases = [
        (
            request.clone().without("x-api-key"),
            401,
            "authentication_error",
        ),
        (
            request.clone().without("anthropic-version"),
            400,
            "invalid_request_error",
        ),
        (
            request.clone().with("anthropic-version", "1999-01-01"),
            400,
            "invalid_request_error",
        ),
        (
            request.clone().with("x-sim-fault", "nonsense"),
            400,
            "invalid_request_error",
        ),
    ];
    for (request, status, kind) in cases {
        let found = refusal(&World::new().send(&request));
        assert_eq!((found.0, found.1.as_str()), (status, kind));
    }
    let bearer = request
        .without("x-api-key")
        .with("authorization", "Bearer token");
    assert_eq!(World::new().send(&bearer).status, 200);
}

#[test]
fn an_unknown_model_is_not_found() {
    let request = with(body(json!([user("a")])), "model", json!("claude-nobody"));
    let (status, kind, _) = World::new().refusal(&request);
    assert_eq!((status, kind.as_str()), (404, "not_found_error"));
    let mut world = World::with(SimConfig {
        switches: Switches {
            accept_unknown_models: true,
            ..Switches::default()
        },
        ..config()
    });
    assert_eq!(world.report(&request).cost, None);
}

#[test]
fn a_body_that_is_too_large_is_refused_at_the_edge() {
    let mut world = World::with(SimConfig {
        max_body_bytes: 1_000,
        ..config()
    });
    let response = world.post("/v1/messages", &body(json!([user(&text("a", 1_000))])));
    assert_eq!(response.status, 413);
    assert_eq!(
        parse(&response),
        json!({"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}})
    );
}

#[test]
fn bodies_of_the_wrong_shape_are_explained() {
    let cases: &[(&str, &str)] = &[
        ("", "The request body is not valid JSON"),
        ("{", "The request body is not valid JSON"),
        ("\u{1}", "The request body is not valid JSON"),
        ("[]", "The request body should be a JSON object"),
        ("null", "The request body should be a JSON object"),
        ("{}", "model: Field required"),
        (r#"{"model":1}"#, "model: Input should be a valid string"),
        (r#"{"model":"claude-opus-5"}"#, "messages: Field required"),
        (
            r#"{"model":"claude-opus-5","messages":{}}"#,
            "messages: Input should be a valid list",
        ),
        (
            r#"{"model":"claude-opus-5","messages":[]}"#,
            "messages: at least one message",
        ),
        (
            r#"{"model":"claude-opus-5","messages":[1]}"#,
            "messages.0: Input should be an object",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":"x","messages":[{}]}"#,
            "max_tokens: Input should be a valid integer",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":-1,"messages":[{}]}"#,
            "max_tokens: Input should be a valid integer",
        ),
        (
            r#"{"model":"claude-opus-5","messages":[{}]}"#,
            "max_tokens: Field required",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"messages":[{}]}"#,
            "messages.0.role: Input should be",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"messages":[{"role":"user"}]}"#,
            "messages.0.content: Field required",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"messages":[{"role":"user","content":1}]}"#,
            "messages.0.content: Input should be",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"messages":[{"role":"user","content":[{},1]}]}"#,
            "messages.0.content.1: Input should be an object",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"messages":[{"role":"user","content":[{}]}]}"#,
            "messages.0.content.0.type: Field required",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"system":1,"messages":[{"role":"user","content":"a"}]}"#,
            "system: Input should be",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"tools":{},"messages":[{"role":"user","content":"a"}]}"#,
            "tools: Input should be a valid list",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"tools":[{"name":"a"}],"messages":[{"role":"user","content":"a"}]}"#,
            "tools.0.input_schema: Field required",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"stream":1,"messages":[{"role":"user","content":"a"}]}"#,
            "stream: Input should be a valid boolean",
        ),
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"cache_control":{"type":"x"},"messages":[{"role":"user","content":"a"}]}"#,
            "cache_control.type: Input should be 'ephemeral'",
        ),
    ];
    for (text, expected) in cases {
        let request = SimRequest::post("/v1/messages", (*text).to_owned());
        let (status, kind, message) = refusal(&World::new().send(&request));
        assert_eq!(
            (status, kind.as_str()),
            (400, "invalid_request_error"),
            "{text}"
        );
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    let binary = SimRequest::post("/v1/messages", vec![0xff, 0xfe, b'{']);
    assert_eq!(World::new().send(&binary).status, 400);
    let deep = SimRequest::post("/v1/messages", "[".repeat(200_000));
    assert_eq!(World::new().send(&deep).status, 400);
}

#[test]
fn binding_models_refuse_forced_tools_and_silence() {
    let request = with(body(json!([user("a")])), "tools", json!([tool("read")]));
    let request = with(request, "model", json!("claude-opus-5-5"));
    let forced = with(request.clone(), "tool_choice", json!({"type": "any"}));
    assert_eq!(World::new().refusal(&forced).0, 400);
    let silent = with(request, "thinking", json!({"type": "disabled"}));
    assert_eq!(World::new().refusal(&silent).0, 400);
}

#[test]
fn unknown_paths_are_not_found() {
    for (method, path) in [
        ("GET", "/v1/messages"),
        ("POST", "/v2/messages"),
        ("GET", "/"),
    ] {
        let mut request = SimRequest::post(path, "{}");
        request.method = method.to_owned();
        let (status, kind, _) = refusal(&World::new().send(&request));
        assert_eq!((status, kind.as_str()), (404, "not_found_error"));
    }
    let mut probe = SimRequest::get("/");
    probe.method = "HEAD".to_owned();
    assert_eq!(World::new().send(&probe).status, 200);
}

#[test]
fn models_are_listed_and_paged() {
    let mut world = World::new();
    let first = parse(&world.send(&SimRequest::get("/v1/models?limit=2")));
    assert_eq!(first["data"].as_array().unwrap().len(), 2);
    assert_eq!(first["has_more"], true);
    let last = first["last_id"].as_str().unwrap();
    let next = parse(&world.send(&SimRequest::get(&format!(
        "/v1/models?after_id={last}&limit=100"
    ))));
    assert_eq!(next["has_more"], false);
    assert_ne!(next["first_id"], first["first_id"]);
    let one = parse(&world.send(&SimRequest::get(&format!("/v1/models/{MODEL}"))));
    assert_eq!(one["id"], MODEL);
    assert_eq!(one["max_input_tokens"], 1_000_000);
    assert_eq!(
        world.send(&SimRequest::get("/v1/models/nobody")).status,
        404
    );
}
