//! Chat completions end to end.

use crate::attempts::{persist, rules};
use crate::material::{bytes, chat, collect, name, options};
use crate::server::{Reply, Server, Step};
use dormouse_core::units::Tokens;
use dormouse_model::openai::{LengthMember, OpenAiClient};
use dormouse_model::{
    CapabilityOverrides, ClientOptions, Credential, Event, Feature, Model, ModelError, Request,
    Response, StopReason, Warning,
};
use pretty_assertions::assert_eq;
use serde_json::json;

fn body(text: &str) -> Request {
    let body = json!({
        "model": "m", "max_tokens": 50, "stream": true,
        "messages": [{ "role": "user", "content": text }],
    });
    Request::streamed(body.to_string())
}

fn stream(chunks: &[&str]) -> Reply {
    Reply::whole_stream(&format!("data: {}\n\n", chunks.join("\n\ndata: ")))
}

fn answer(prompt_tokens: u64) -> Reply {
    let usage = format!(
        r#"{{"id":"c1","choices":[],"usage":{{"prompt_tokens":{prompt_tokens},"completion_tokens":2,"prompt_tokens_details":{{"cached_tokens":4}}}}}}"#
    );
    stream(&[
        r#"{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"id":"c1","choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
        r#"{"id":"c1","choices":[{"index":0,"delta":{"content":"lo"}}]}"#,
        r#"{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        &usage,
        "[DONE]",
    ])
}

async fn ask(server: &Server, request: Request) -> Result<Response, ModelError> {
    chat(server).stream(request).finish().await
}

#[tokio::test]
async fn a_local_server_without_a_key() {
    let server = Server::new([answer(20)]);
    let response = ask(&server, body("hi")).await.unwrap();
    assert_eq!(bytes(&response), [r#"{"type":"text","text":"Hello"}"#]);
    assert_eq!(response.stop_reason, StopReason::EndTurn);
    assert_eq!(
        (response.usage.input, response.usage.cache_read),
        (Tokens(16), Tokens(4))
    );
    assert_eq!(response.warnings, []);
    let seen = &server.requests()[0];
    assert!(seen.head.starts_with("POST /base/chat/completions "));
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(
        seen.json(),
        json!({
            "model": "m",
            "messages": [{ "role": "user", "content": "hi" }],
            "max_tokens": 50,
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    );
}

#[tokio::test]
async fn a_key_is_a_bearer_and_the_length_member_can_be_chosen() {
    let server = Server::new([answer(20)]);
    let client = OpenAiClient::new(&options(&server), LengthMember::MaxCompletionTokens).unwrap();
    client.stream(body("hi")).finish().await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer sk-very-secret"));
    assert_eq!(seen.json()["max_completion_tokens"], 50);
    assert!(!format!("{client:?}").contains("secret"));
}

#[tokio::test]
async fn events_are_those_of_the_other_wire() {
    let server = Server::new([answer(20)]);
    let (events, error) = collect(chat(&server).stream(body("hi"))).await;
    assert!(error.is_none());
    let kinds = events.iter().map(|event| match event {
        Event::MessageStart { .. } => "start",
        Event::BlockStart { .. } => "block",
        Event::Delta { .. } => "delta",
        Event::BlockStop { .. } => "end",
        Event::Usage(_) => "usage",
        Event::Stop(_) => "stop",
        Event::Done(_) => "done",
        _ => "other",
    });
    let expected = [
        "start", "block", "delta", "delta", "usage", "end", "stop", "done",
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn an_answer_in_one_piece() {
    let reply = json!({
        "id": "c2", "model": "m",
        "choices": [{ "finish_reason": "tool_calls", "message": { "content": null, "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "Read", "arguments": "{\"p\":1}" } },
        ] } }],
        "usage": { "prompt_tokens": 9, "completion_tokens": 3 },
    });
    let server = Server::new([Reply::json(200, &[], &reply.to_string())]);
    let request = Request::whole(r#"{"model":"m","messages":[]}"#);
    let response = ask(&server, request).await.unwrap();
    assert_eq!(
        bytes(&response),
        [r#"{"type":"tool_use","id":"a","name":"Read","input":{"p":1}}"#]
    );
    assert_eq!(response.stop_reason, StopReason::ToolUse);
}

#[tokio::test]
async fn a_window_of_8k_is_known_and_its_overflow_told_with_figures() {
    let reply = r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":8192}}"#;
    let server = Server::new([Reply::json(400, &[], reply)]);
    let mut options = options(&server);
    options.overrides = CapabilityOverrides {
        window: Some(Tokens(8_192)),
        ..CapabilityOverrides::default()
    };
    let client = OpenAiClient::new(&options, LengthMember::MaxTokens).unwrap();
    assert_eq!(client.capabilities("smol").window, Tokens(8_192));
    assert!(!client.capabilities("smol").has(Feature::TokenCounting));
    let error = client.stream(body("hi")).finish().await.unwrap_err();
    assert!(matches!(
        error,
        ModelError::PromptTooLong {
            tokens: Some(Tokens(9_001)),
            limit: Some(Tokens(8_192)),
            ..
        }
    ));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_cuts_off_the_front_is_reported() {
    let long = "word ".repeat(8_000);
    let server = Server::new([answer(4_096), answer(4_096), answer(9_000)]);
    let response = ask(&server, body(&long)).await.unwrap();
    let warning = Warning::PromptTruncated {
        reported: Tokens(4_096),
        estimated: Tokens(10_000),
    };
    assert_eq!(response.warnings, [warning]);
    // The caller's own estimate counts more.
    let request = body(&long).with_estimate(Tokens(4_500));
    assert_eq!(ask(&server, request).await.unwrap().warnings, []);
    assert_eq!(ask(&server, body(&long)).await.unwrap().warnings, []);
}

#[tokio::test(start_paused = true)]
async fn errors_and_cuts_follow_the_same_rules() {
    let busy = Reply::json(
        503,
        &[],
        r#"{"error":{"message":"Loading model","code":503}}"#,
    );
    let server = Server::new([busy, answer(20)]);
    let run = persist(&chat(&server), &body("hi"), rules()).await;
    assert!(run.outcome.is_ok());
    assert_eq!((server.requests().len(), run.attempts.len()), (2, 2));

    let begun = "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let cut = Reply::stream().chunk(begun.as_bytes()).step(Step::Close);
    let failed = Reply::stream()
        .chunk(begun.as_bytes())
        .chunk(b"data: {\"error\":{\"message\":\"oops\",\"code\":500}}\n\n")
        .end();
    for (reply, expected) in [(cut, "Broken Connection"), (failed, "Broken Server")] {
        let server = Server::new([reply, answer(20)]);
        let run = persist(&chat(&server), &body("hi"), rules()).await;
        let error = run.outcome.unwrap_err();
        assert_eq!(name(&error), expected);
        assert_eq!(error.partial().unwrap().unfinished[0].received, "Hel");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn counting_and_bad_bodies_are_refused_without_a_request() {
    let server = Server::new([]);
    let client = chat(&server);
    let error = client.count_tokens(body("hi")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "this model does not support counting tokens"
    );
    let error = client.stream(Request::streamed("no JSON")).finish().await;
    assert_eq!(name(&error.unwrap_err()), "Request");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn real_sockets_work_too() {
    let server = Server::new([answer(20)]);
    let url = server.listen().await;
    let options = ClientOptions::new(format!("{url}/v1"), Credential::None);
    let client = OpenAiClient::new(&options, LengthMember::MaxTokens).unwrap();
    let response = client.stream(body("hi")).finish().await.unwrap();
    assert_eq!(bytes(&response), [r#"{"type":"text","text":"Hello"}"#]);
    assert!(
        server.requests()[0]
            .head
            .starts_with("POST /v1/chat/completions ")
    );
}
