//! Requests that the gateway makes itself: summaries, a second attempt with a shorter prompt, and the
//! count of a prompt that it would shorten.

use crate::kit::{Message, Options, Pieces, Recorder, Running, Speaks, open, post, send};
use crate::kit::{stream, streamed};
use crate::layers::history;
use bytes::Bytes;
use dormouse_testkit::processes::until;
use http::Response;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::mpsc::channel;

/// Many results that each stay below every limit, 120 KB together.
const MANY: [usize; 40] = [60; 40];
/// Bytes of a body from which on this upstream refuses it.
const WINDOW: usize = 100_000;
/// Headings that a summary must have.
const SECTIONS: &[&str] = &dormouse_context::compaction::REQUIRED_SECTIONS;

fn on() -> Options {
    Options {
        layers: true,
        ..Options::default()
    }
}

fn is_question(message: &Message) -> bool {
    String::from_utf8_lossy(&message.body).contains("<summary>")
}

/// The answer to a question, as events.
fn summary() -> Bytes {
    let sections = SECTIONS.iter().enumerate();
    let sections = sections.map(|(at, name)| format!("{}. {name}: as told.", at + 1));
    let text = sections.collect::<Vec<_>>().join("\n");
    let text = format!("<analysis>x</analysis><summary>{text}</summary>");
    let text = json!(text).to_string();
    let words = "Done with all of it, as you can see for yourself.";
    stream().replace(&json!(words).to_string(), &text).into()
}

fn refused() -> Response<Pieces> {
    let body = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "prompt is too long: 208310 tokens > 200000 maximum"}});
    let reply = Response::builder().status(400);
    let reply = reply.header("content-type", "application/json");
    reply.body(Pieces::whole(body.to_string())).unwrap()
}

/// An upstream with a shorter window than the table of models says.
fn narrow(message: &Message) -> Response<Pieces> {
    if is_question(message) {
        streamed(Pieces::whole(summary()))
    } else if message.body.len() > WINDOW {
        refused()
    } else {
        streamed(Pieces::whole(stream()))
    }
}

#[tokio::test]
async fn a_prompt_that_the_upstream_finds_too_long_is_sent_again_with_a_summary() {
    let upstream = Recorder::start(narrow).await;
    let gateway = Running::with(&upstream.url(), on()).await;
    let body = history(&MANY).to_string();
    assert!(body.len() > WINDOW);
    let reply = send(
        Speaks::One,
        post(&gateway.url(), "/v1/messages", body.clone()),
    )
    .await;
    assert_eq!(reply.line, "200");
    assert!(reply.header("x-dormouse-layers").contains("compaction"));
    // Refused, asked for a summary, sent again: once each.
    let seen = upstream.seen();
    let lengths: Vec<bool> = seen.iter().map(is_question).collect();
    assert_eq!(lengths, [false, true, false]);
    assert!(seen[2].body.len() < WINDOW);
    // From now on the boundary stands: one request each, in bytes that begin alike.
    let mut longer = MANY.to_vec();
    longer.push(10);
    let body = history(&longer).to_string();
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
    assert_eq!(reply.line, "200");
    let seen = upstream.seen();
    assert_eq!(seen.len(), 4);
    let first = |message: &Message| message.json()["messages"][0].clone();
    assert_eq!(
        first(&seen[3])["content"][0]["text"],
        first(&seen[2])["content"][0]["text"]
    );
    let (report, _home) = gateway.stop().await;
    assert_eq!((report.all.requests, report.all.failed), (2, 0));
    // Two answers and the summary of 1,000 prompt tokens each.
    assert_eq!(report.all.prompt_tokens.0, 3_000);
}

#[tokio::test]
async fn a_refusal_is_passed_on_where_nothing_can_go_or_be_saved() {
    let upstream = Recorder::start(narrow).await;
    // One message alone: nothing stands in front of it.
    let gateway = Running::with(&upstream.url(), on()).await;
    let text = "word ".repeat(WINDOW / 4);
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "stream": true,
        "messages": [{"role": "user", "content": text}]});
    let reply = send(
        Speaks::One,
        post(&gateway.url(), "/v1/messages", body.to_string()),
    )
    .await;
    assert_eq!(reply.line, "400");
    assert_eq!(reply.body, upstream_refusal());
    assert_eq!(upstream.seen().len(), 1);
    // A boundary that cannot be saved is not sent.
    for name in ["results", "lines"] {
        crate::layers::put_in_the_way(&gateway.home.path().join(name));
    }
    let body = history(&MANY).to_string();
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
    assert_eq!(reply.line, "400");
    let questions: Vec<bool> = upstream.seen().iter().map(is_question).collect();
    assert_eq!(questions, [false, false, true]);
    // Other refusals are the client's, whatever they say.
    let other = Recorder::start(|_| {
        Response::builder()
            .status(400)
            .body(Pieces::whole("no"))
            .unwrap()
    });
    let other = other.await;
    let gateway = Running::with(&other.url(), on()).await;
    let body = history(&MANY).to_string();
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
    assert_eq!((reply.line.as_str(), &reply.body[..]), ("400", &b"no"[..]));
    assert_eq!(other.seen().len(), 1);
}

fn upstream_refusal() -> Bytes {
    let body = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "prompt is too long: 208310 tokens > 200000 maximum"}});
    body.to_string().into()
}

#[tokio::test]
async fn a_client_that_leaves_during_a_summary_has_its_price_booked_and_its_answer_kept() {
    let (writers, held) = channel();
    let writers = Mutex::new(writers);
    let upstream = Recorder::start(move |message: &Message| {
        if !is_question(message) {
            return narrow(message);
        }
        let (writer, pieces) = Pieces::new();
        writers.lock().unwrap().send(writer).unwrap();
        streamed(pieces)
    });
    let upstream = upstream.await;
    let gateway = Running::with(&upstream.url(), on()).await;
    let body = history(&MANY).to_string();
    let request = post(&gateway.url(), "/v1/messages", body.clone());
    let asking = tokio::spawn(open(Speaks::One, request));
    let writer = tokio::task::spawn_blocking(move || held.recv().unwrap());
    let writer = writer.await.unwrap();
    asking.abort();
    drop(asking.await);
    writer.send(Ok(summary())).unwrap();
    drop(writer);
    // The retry finds the boundary: no second question.
    let folder = gateway.home.path().join("lines");
    let kept = tokio::task::spawn_blocking(move || {
        until(|| holds(&folder, "\"boundary\""), "no boundary was kept");
    });
    kept.await.unwrap();
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
    assert_eq!(reply.line, "200");
    let questions = upstream
        .seen()
        .iter()
        .filter(|one| is_question(one))
        .count();
    assert_eq!(questions, 1);
    let (report, _home) = gateway.stop().await;
    assert_eq!(report.all.prompt_tokens.0, 2_000, "{report:?}");
    assert_eq!(report.conversation_count, 1);
}

/// True if a file of a folder holds some words.
fn holds(folder: &std::path::Path, words: &str) -> bool {
    use dormouse_system::{Files as _, RealFiles};
    let entries = RealFiles.list(folder).unwrap_or_default();
    entries.iter().any(|entry| {
        let text = RealFiles.read(&folder.join(&entry.name), 1 << 20);
        text.is_ok_and(|text| String::from_utf8_lossy(&text).contains(words))
    })
}

#[tokio::test]
async fn a_count_is_that_of_the_prompt_that_would_be_sent() {
    let upstream = Recorder::start(|message: &Message| {
        if message.line.contains("count_tokens") {
            return Response::new(Pieces::whole(r#"{"input_tokens":7}"#));
        }
        streamed(Pieces::whole(stream()))
    });
    let upstream = upstream.await;
    let gateway = Running::with(&upstream.url(), on()).await;
    let count = |lengths: &[usize]| {
        let body = history(lengths).to_string();
        send(
            Speaks::One,
            post(&gateway.url(), "/v1/messages/count_tokens", body),
        )
    };
    // A conversation that is not known is counted as it came.
    let reply = count(&[10, 1_500]).await;
    assert_eq!(&reply.body[..], br#"{"input_tokens":7}"#);
    assert_eq!(upstream.seen()[0].json(), history(&[10, 1_500]));
    let message = |lengths: &[usize]| {
        let body = history(lengths).to_string();
        send(Speaks::One, post(&gateway.url(), "/v1/messages", body))
    };
    message(&[10]).await;
    count(&[10, 1_500]).await;
    message(&[10, 1_500]).await;
    let seen = upstream.seen();
    let list = |at: usize| -> Value { seen[at].json()["messages"].clone() };
    assert!(list(2).to_string().contains("<persisted-output>"));
    assert_eq!(list(2), list(3));
    let (report, _home) = gateway.stop().await;
    assert_eq!((report.all.requests, report.conversation_count), (2, 1));
}
