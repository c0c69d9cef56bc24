//! The clients and the provider simulator: two sides of the wire, written apart.

use crate::attempts::{Attempt, persist};
use dormouse_core::block::{Block, BlockKind};
use dormouse_model::anthropic::{AnthropicClient, ApiVersion};
use dormouse_model::openai::{LengthMember, OpenAiClient};
use dormouse_model::retry::{Retries, RetryPolicy};
use dormouse_model::{
    ClientOptions, Credential, Model, ModelError, Request, Response, StopReason, Timeouts,
};
use dormouse_sim::{Server, SimConfig, serve};
use dormouse_system::RealClock;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const MODEL: &str = "claude-sonnet-4-6";

async fn simulator(config: SimConfig) -> Server {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    serve(config, listener, Arc::new(RealClock::new())).unwrap()
}

fn options(server: &Server) -> ClientOptions {
    let key = Credential::Key("not-a-secret".into());
    ClientOptions {
        timeouts: Timeouts {
            idle: Duration::from_millis(250),
            ..Timeouts::default()
        },
        ..ClientOptions::new(format!("http://{}", server.address()), key)
    }
}

/// Pauses in real time, so they are short here.
fn hasty() -> RetryPolicy {
    RetryPolicy {
        base: Duration::from_millis(1),
        cap: Duration::from_millis(2),
        ..RetryPolicy::default()
    }
}

fn client(server: &Server, version: ApiVersion) -> AnthropicClient {
    AnthropicClient::new(&options(server), version, &[]).unwrap()
}

fn body(messages: &[Value], stream: bool) -> Vec<u8> {
    let tool = json!({
        "name": "Read",
        "description": "reads a file",
        "input_schema": { "type": "object", "properties": { "file_path": { "type": "string" } } },
    });
    let system = json!([{
        "type": "text",
        "text": "Read before you write. ".repeat(400),
        "cache_control": { "type": "ephemeral" },
    }]);
    let body = json!({
        "model": MODEL, "max_tokens": 500, "stream": stream, "tools": [tool], "system": system,
        "messages": messages,
    });
    serde_json::to_vec(&body).unwrap()
}

fn request(messages: &[Value], stream: bool) -> Request {
    let body = body(messages, stream);
    if stream {
        Request::streamed(body)
    } else {
        Request::whole(body)
    }
}

/// The answer's blocks, as they go back to the provider.
fn content(response: &Response) -> Vec<Value> {
    let value = |block: &Block| serde_json::from_slice(block.bytes()).unwrap();
    response.blocks.iter().map(value).collect()
}

/// Runs tools until the model is done; the number of rounds.
#[expect(clippy::panic, reason = "a helper of tests fails by panicking")]
async fn tool_loop(model: &dyn Model, stream: bool) -> (usize, Response) {
    let mut messages = vec![json!({ "role": "user", "content": "What is in /a.rs?" })];
    for round in 1..=20 {
        let response = model
            .stream(request(&messages, stream))
            .finish()
            .await
            .unwrap();
        if response.stop_reason != StopReason::ToolUse {
            return (round, response);
        }
        let calls = response
            .blocks
            .iter()
            .filter(|block| block.kind() == BlockKind::ToolUse);
        let results: Vec<Value> = calls
            .map(|call| {
                let id = call.call().unwrap().as_str();
                json!({ "type": "tool_result", "tool_use_id": id, "content": "fn main() {}" })
            })
            .collect();
        messages.push(json!({ "role": "assistant", "content": content(&response) }));
        messages.push(json!({ "role": "user", "content": results }));
    }
    panic!("the persona never ends");
}

#[tokio::test]
async fn tool_loops_end_streamed_and_whole_with_both_versions() {
    for version in [ApiVersion::V2023, ApiVersion::V2026] {
        for stream in [true, false] {
            let server = simulator(SimConfig::default()).await;
            let (rounds, response) = tool_loop(&client(&server, version), stream).await;
            assert!(rounds > 1, "the persona calls tools");
            assert_eq!(response.stop_reason, StopReason::EndTurn);
            assert!(
                response.usage.cache_read.get() > 1_000,
                "the system prompt is cached: {:?}",
                response.usage
            );
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn tokens_are_counted_as_they_are_billed() {
    let server = simulator(SimConfig::default()).await;
    let client = client(&server, ApiVersion::V2023);
    let messages = [json!({ "role": "user", "content": "hello" })];
    let response = client
        .stream(request(&messages, true))
        .finish()
        .await
        .unwrap();
    let mut count: Value = serde_json::from_slice(&body(&messages, true)).unwrap();
    for member in ["max_tokens", "stream"] {
        count.as_object_mut().unwrap().remove(member);
    }
    let counted = client
        .count_tokens(Request::whole(serde_json::to_vec(&count).unwrap()))
        .await
        .unwrap();
    assert_eq!(counted.input, response.usage.prompt());
    server.stop().await;
}

#[tokio::test]
async fn refusals_of_the_simulator_become_typed_errors() {
    let server = simulator(SimConfig {
        window: Some(2_000),
        ..SimConfig::default()
    })
    .await;
    let client = client(&server, ApiVersion::V2023);
    let long = [json!({ "role": "user", "content": "word ".repeat(4_000) })];
    let error = client
        .stream(request(&long, true))
        .finish()
        .await
        .unwrap_err();
    let ModelError::PromptTooLong {
        tokens: Some(tokens),
        limit: Some(limit),
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert!(tokens > limit && limit.get() == 2_000, "{tokens} {limit}");
    let assistant = [json!({ "role": "assistant", "content": "first" })];
    let error = client
        .stream(request(&assistant, true))
        .finish()
        .await
        .unwrap_err();
    assert!(matches!(error, ModelError::Invalid { .. }), "{error:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_thousand_requests_through_chaos() {
    let faults = [
        "429;retry-after=0",
        "529",
        "500",
        "400",
        "spend",
        "too-long",
        "cut;bytes=0",
        "cut;bytes=700",
        "garbage;bytes=400",
        "error-event;pieces=2",
        "error-event;pieces=5",
        "stall;bytes=600",
    ];
    let server = simulator(SimConfig {
        seed: 2_026,
        chaos_permille: 500,
        chaos: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
        ..SimConfig::default()
    })
    .await;
    let mut slow = options(&server);
    // A stall is waited for in real time, so it is short here.
    slow.timeouts.idle = Duration::from_millis(50);
    let client = AnthropicClient::new(&slow, ApiVersion::V2023, &[]).unwrap();
    let (mut complete, mut refused, mut broken, mut retried) = (0, 0, 0, 0);
    for number in 0..1_000 {
        let messages = [json!({ "role": "user", "content": format!("request {number}") })];
        let rules = Retries::new(hasty(), None, number);
        let run = persist(&client, &request(&messages, true), rules).await;
        retried += run.notices.len();
        let shown = run.attempts.last().is_some_and(Attempt::has_shown);
        match run.outcome {
            Ok(response) => {
                assert!(!response.blocks.is_empty());
                complete += 1;
            }
            Err(ModelError::Broken { .. }) => {
                assert!(shown, "only what was begun can break");
                broken += 1;
            }
            Err(_) => {
                assert!(!shown, "an error after content says what had come");
                refused += 1;
            }
        }
    }
    assert_eq!(complete + refused + broken, 1_000);
    let all_kinds = complete > 300 && refused > 50 && broken > 50 && retried > 50;
    assert!(all_kinds, "{complete} {refused} {broken} {retried}");
    server.stop().await;
}

#[tokio::test]
async fn the_other_face_speaks_to_the_other_client() {
    let server = simulator(SimConfig::default()).await;
    let options = ClientOptions {
        url: format!("http://{}/v1", server.address()),
        ..options(&server)
    };
    let client = OpenAiClient::new(&options, LengthMember::MaxTokens).unwrap();
    for stream in [true, false] {
        let (rounds, response) = tool_loop(&client, stream).await;
        assert!(rounds > 1);
        assert_eq!(response.stop_reason, StopReason::EndTurn);
        assert!(
            response.usage.cache_read.get() >= 1_024,
            "{:?}",
            response.usage
        );
    }
    server.stop().await;
}
