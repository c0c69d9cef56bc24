//! The OpenAI face.

use crate::support::{World, config, parse, text};
use dormouse_sim::{OpenAiConfig, SimConfig, SimRequest, SimResponse};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PATH: &str = "/v1/chat/completions";

fn chat(messages: Value) -> Value {
    json!({"model": "gpt-test", "messages": messages})
}

fn tool() -> Value {
    json!({"type": "function", "function": {
        "name": "read",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    }})
}

fn chunks(response: &SimResponse) -> Vec<Value> {
    let text = String::from_utf8(response.bytes().to_vec()).unwrap();
    let mut frames: Vec<&str> = text.trim_end().split("\n\n").collect();
    assert_eq!(frames.pop(), Some("data: [DONE]"));
    frames
        .into_iter()
        .map(|frame| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

fn cached(world: &mut World, request: &Value) -> (u64, u64) {
    let usage = parse(&world.post(PATH, request))["usage"].clone();
    (
        usage["prompt_tokens"].as_u64().unwrap(),
        usage["prompt_tokens_details"]["cached_tokens"]
            .as_u64()
            .unwrap(),
    )
}

#[test]
fn a_tool_loop_runs_to_its_end() {
    let mut world = World::new();
    let mut messages = vec![json!({"role": "user", "content": "do it"})];
    for round in 0..10 {
        let mut request = chat(json!(messages));
        request["tools"] = json!([tool()]);
        let answer = parse(&world.post(PATH, &request));
        assert_eq!(answer["object"], "chat.completion");
        let choice = &answer["choices"][0];
        messages.push(choice["message"].clone());
        if choice["finish_reason"] == "stop" {
            assert_eq!(round, 3);
            return;
        }
        assert_eq!(choice["finish_reason"], "tool_calls");
        let call = &choice["message"]["tool_calls"][0];
        let arguments = call["function"]["arguments"].as_str().unwrap();
        assert!(serde_json::from_str::<Value>(arguments).unwrap()["path"].is_string());
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "ok"}));
    }
    panic!("no end");
}

#[test]
fn a_stream_joins_to_the_whole_answer() {
    for tools in [json!([]), json!([tool()])] {
        let mut request = chat(json!([{"role": "user", "content": "hello"}]));
        request["tools"] = tools;
        let whole = parse(&World::new().post(PATH, &request));
        request["stream"] = json!(true);
        request["stream_options"] = json!({"include_usage": true});
        let chunks = chunks(&World::new().post(PATH, &request));
        let (mut content, mut arguments) = (String::new(), String::new());
        let mut call = Value::Null;
        for chunk in &chunks {
            assert_eq!(chunk["object"], "chat.completion.chunk");
            let delta = &chunk["choices"][0]["delta"];
            content.push_str(delta["content"].as_str().unwrap_or_default());
            let part = &delta["tool_calls"][0];
            if part["id"].is_string() {
                call = part.clone();
            }
            arguments.push_str(part["function"]["arguments"].as_str().unwrap_or_default());
        }
        let message = &whole["choices"][0]["message"];
        assert_eq!(content, message["content"].as_str().unwrap_or_default());
        if !call.is_null() {
            let expected = &message["tool_calls"][0];
            assert_eq!(call["id"], expected["id"]);
            assert_eq!(call["function"]["name"], "read");
            assert_eq!(
                arguments,
                expected["function"]["arguments"].as_str().unwrap()
            );
        }
        let last = chunks.last().unwrap();
        assert_eq!(last["choices"], json!([]));
        assert_eq!(last["usage"], whole["usage"]);
    }
}

#[test]
fn prefixes_are_cached_from_1024_tokens_in_steps_of_128() {
    let mut world = World::new();
    let message = |name: &str, tokens: usize| {
        // Everything but the text of a message is 28 bytes.
        json!({"role": "user", "content": text(name, tokens - 28)})
    };
    let short = chat(json!([message("short", 1_023)]));
    assert_eq!(cached(&mut world, &short), (1_023, 0));
    assert_eq!(cached(&mut world, &short), (1_023, 0));

    let first = chat(json!([message("long", 1_100)]));
    assert_eq!(cached(&mut world, &first), (1_100, 0));
    assert_eq!(cached(&mut world, &first), (1_100, 1_024));
    let second = chat(json!([message("long", 1_100), message("more", 1_000)]));
    assert_eq!(cached(&mut world, &second), (2_100, 1_024));
    assert_eq!(cached(&mut world, &second), (2_100, 2_048));
    let changed = chat(json!([message("long", 1_100), message("else", 1_000)]));
    assert_eq!(cached(&mut world, &changed), (2_100, 1_024));

    world.now += 5 * 60_000;
    assert_eq!(cached(&mut world, &second), (2_100, 0));
    let mut kept = second.clone();
    kept["prompt_cache_retention"] = json!("24h");
    cached(&mut world, &kept);
    world.now += 23 * 3_600_000;
    assert_eq!(cached(&mut world, &second), (2_100, 2_048));
}

#[test]
fn a_prompt_that_does_not_fit_has_the_documented_error() {
    let mut world = World::with(SimConfig {
        openai: OpenAiConfig {
            window: 1_000,
            ..OpenAiConfig::default()
        },
        ..config()
    });
    let long = chat(json!([{"role": "user", "content": text("a", 2_000)}]));
    let response = world.post(PATH, &long);
    let error = parse(&response)["error"].clone();
    assert_eq!(response.status, 400);
    assert_eq!(error["code"], "context_length_exceeded");
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(error["param"], "messages");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("This model's maximum context length is 1000 tokens. However, "),
        "{message}"
    );
    let mut asked = chat(json!([{"role": "user", "content": text("a", 500)}]));
    asked["max_tokens"] = json!(600);
    let message = parse(&world.post(PATH, &asked))["error"]["message"].clone();
    assert!(
        message.as_str().unwrap().contains("in the completion"),
        "{message}"
    );
}

#[test]
fn answers_respect_their_limit() {
    let mut request = chat(json!([{"role": "user", "content": "hello"}]));
    request["max_completion_tokens"] = json!(20);
    let answer = parse(&World::new().post(PATH, &request));
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 20);
}

#[test]
fn bad_requests_are_refused_in_this_faces_shape() {
    let orphan = json!([{"role": "tool", "tool_call_id": "x", "content": "y"}]);
    let calls = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "tool_calls": [{"id": "x"}]},
        {"role": "user", "content": "b"},
    ]);
    for request in [
        json!({}),
        json!([]),
        json!({"model": "m"}),
        json!({"model": "m", "messages": []}),
        chat(json!([{"role": "nobody"}])),
        chat(orphan),
        chat(calls),
    ] {
        let response = World::new().post(PATH, &request);
        assert_eq!(response.status, 400, "{request}");
        assert_eq!(parse(&response)["error"]["type"], "invalid_request_error");
    }
    let response = World::new().send(&SimRequest::post(PATH, "{"));
    assert_eq!(response.status, 400);
}

#[test]
fn models_have_this_faces_shape_without_a_version_header() {
    let request = SimRequest::get("/v1/models")
        .without("x-api-key")
        .without("anthropic-version");
    let list = parse(&World::new().send(&request));
    assert_eq!(list["object"], "list");
    assert_eq!(list["data"][0]["object"], "model");
}

#[test]
fn faults_reach_this_face_too() {
    let mut world = World::new();
    world.header("x-sim-fault", "429;retry-after=4");
    let response = world.post(PATH, &chat(json!([{"role": "user", "content": "hello"}])));
    assert_eq!(
        (response.status, response.header("retry-after")),
        (429, Some("4"))
    );
    assert_eq!(parse(&response)["error"]["type"], "rate_limit_error");
}
