//! The scripted model keeps its word.

use dormouse_core::block::Block;
use dormouse_core::units::Tokens;
use dormouse_model::{Delta, Event, Model, ModelError, Reply, Request, StopReason};
use dormouse_testkit_model::{Answer, Expect, Script, ScriptedModel};
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

fn request(text: &str) -> Request {
    let body = json!({ "messages": [{ "role": "user", "content": text }] });
    Request::streamed(body.to_string())
}

fn overloaded() -> ModelError {
    ModelError::Overloaded(Box::<Reply>::default())
}

#[tokio::test(start_paused = true)]
async fn answers_faults_and_delays_come_in_order() {
    let hour = Duration::from_hours(1);
    let model = ScriptedModel::new(
        Script::new()
            .on(Expect::Contains("one".to_owned()), Answer::text("first"))
            .on(
                Expect::that("two is asked", |body| {
                    body["messages"][0]["content"] == "two"
                }),
                Answer::call("t", "Read", &json!({})),
            )
            .after(hour)
            .then(Answer::fault(overloaded))
            .then(Answer::count(42)),
    );
    let first = model.stream(request("one")).finish().await.unwrap();
    assert_eq!(first.blocks, [Block::text("first")]);
    assert_eq!(first.id.as_str(), "msg_scripted_1");
    let start = Instant::now();
    let second = model.stream(request("two")).finish().await.unwrap();
    assert_eq!(second.stop_reason, StopReason::ToolUse);
    assert_eq!(start.elapsed(), hour);
    let third = model.stream(request("three")).finish().await;
    assert!(matches!(third, Err(ModelError::Overloaded(_))));
    let count = model.count_tokens(request("four")).await.unwrap();
    assert_eq!(count.input, Tokens(42));
    assert_eq!(model.received().len(), 4);
    assert_eq!(model.last_body()["messages"][0]["content"], "four");
    model.finish();
}

#[tokio::test]
async fn an_answer_can_break_off_after_it_was_shown() {
    let blocks = vec![Block::text("half")];
    let model = ScriptedModel::new(
        Script::new().then(Answer::break_after(blocks.clone(), || ModelError::Cut)),
    );
    let mut stream = model.stream(request("x"));
    let mut shown = Vec::new();
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(event) => shown.push(event),
            Err(error) => break error,
        }
    };
    assert!(
        shown
            .iter()
            .any(|event| matches!(event, Event::BlockStop { .. }))
    );
    assert_eq!(error.partial().unwrap().blocks, blocks);
}

#[tokio::test]
async fn an_answer_can_break_off_inside_a_text() {
    let blocks = vec![Block::text("whole")];
    let answer = Answer::break_inside(blocks.clone(), "hal", || ModelError::Cut);
    let model = ScriptedModel::new(Script::new().then(answer));
    let mut stream = model.stream(request("x"));
    let (mut started, mut text, mut stops) = (None, String::new(), 0);
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(Event::MessageStart { id, .. }) => started = Some(id),
            Ok(Event::Delta {
                index: 1,
                delta: Delta::Text(piece),
            }) => text.push_str(&piece),
            Ok(Event::BlockStop { .. }) => stops += 1,
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!((text.as_str(), stops), ("hal", 1));
    let partial = error.partial().unwrap();
    assert_eq!(partial.id, started, "one answer has one id");
    assert_eq!(
        partial.keepable(),
        [Block::text("whole"), Block::text("hal")]
    );
}

#[tokio::test(start_paused = true)]
async fn silence_lasts_until_the_reader_gives_up() {
    let model = ScriptedModel::new(Script::new().then(Answer::Silence));
    let stream = model.stream(request("x")).finish();
    assert!(
        tokio::time::timeout(Duration::from_hours(9), stream)
            .await
            .is_err()
    );
}

#[tokio::test]
#[should_panic(expected = "request 1 may not be made")]
async fn no_request_means_none() {
    let model = ScriptedModel::new(Script::no_request());
    model.stream(request("x")).finish().await.ok();
}

#[tokio::test]
#[should_panic(expected = "expected < / received >")]
async fn a_different_request_fails_with_the_difference() {
    let expected = json!({ "messages": [] });
    let model = ScriptedModel::new(Script::new().on(Expect::Json(expected), Answer::text("x")));
    model.stream(request("x")).finish().await.ok();
}

#[tokio::test]
#[should_panic(expected = "the same JSON in other bytes")]
async fn bytes_are_bytes() {
    let spaced = br#"{"messages": [{"role":"user","content":"x"}]}"#.to_vec();
    let model = ScriptedModel::new(Script::new().on(Expect::Bytes(spaced), Answer::text("x")));
    model.stream(request("x")).finish().await.ok();
}

#[test]
#[should_panic(
    expected = "0 requests were made; the script goes on:\n  request 1: a body with `x`"
)]
fn what_was_not_asked_is_noticed() {
    let expect = Expect::Contains("x".to_owned());
    ScriptedModel::new(Script::new().on(expect, Answer::text("y"))).finish();
}
