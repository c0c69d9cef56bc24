//! Upstreams and clients that fail: the other side is told, and no request is sent twice.

use crate::kit::{
    Message, Options, Pieces, Recorder, Running, Speaks, history, open, post, send, stream,
    streamed,
};
use bytes::Bytes;
use dormouse_gateway::Limits;
use dormouse_testkit::processes::until;
use http::Response;
use http_body_util::BodyExt as _;
use pretty_assertions::assert_eq;
use std::io;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

fn body() -> String {
    history(1).to_string()
}

/// An upstream whose one reply the test writes.
async fn written() -> (Recorder, UnboundedSender<io::Result<Bytes>>) {
    let (sender, pieces) = Pieces::new();
    let pieces = Mutex::new(Some(pieces));
    let upstream = Recorder::start(move |_: &Message| {
        let pieces = pieces.lock().unwrap().take();
        streamed(pieces.expect("a request was sent twice"))
    });
    (upstream.await, sender)
}

/// The first half of an answer, and the rest.
fn halves() -> (Bytes, Bytes) {
    let text = Bytes::from(stream());
    let middle = text.len() / 2;
    (text.slice(..middle), text.slice(middle..))
}

#[tokio::test]
async fn an_answer_that_is_cut_is_cut_for_the_client_and_not_asked_for_again() {
    for speaks in [Speaks::One, Speaks::Two] {
        let (upstream, writer) = written().await;
        let gateway = Running::before(&upstream.url()).await;
        let mut reply = open(speaks, post(&gateway.url(), "/v1/messages", body())).await;
        writer.send(Ok(halves().0)).unwrap();
        let first = reply.body_mut().frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), halves().0);
        writer
            .send(Err(io::ErrorKind::ConnectionReset.into()))
            .unwrap();
        assert!(
            reply.body_mut().frame().await.unwrap().is_err(),
            "{speaks:?}"
        );
        assert_eq!(upstream.seen().len(), 1);
        let (report, home) = gateway.stop().await;
        assert_eq!((report.all.requests, report.all.failed), (1, 1));
        // The tokens of the prompt were paid for.
        assert_eq!(report.all.prompt_tokens.0, 1_000);
        // The next request of the conversation is recognised all the same.
        let whole = Recorder::start(|_| streamed(Pieces::whole(stream()))).await;
        let options = Options {
            home: Some(home),
            ..Options::default()
        };
        let gateway = Running::with(&whole.url(), options).await;
        send(
            speaks,
            post(&gateway.url(), "/v1/messages", history(2).to_string()),
        )
        .await;
        assert_eq!(gateway.stop().await.0.relations["continues"], 1);
    }
}

#[tokio::test]
async fn pieces_arrive_as_they_are_sent() {
    let (upstream, writer) = written().await;
    let gateway = Running::before(&upstream.url()).await;
    let mut reply = open(Speaks::One, post(&gateway.url(), "/v1/messages", body())).await;
    assert_eq!(reply.headers()["request-id"], "req_upstream");
    // Each piece is read before the next one exists: none is held back.
    for piece in stream().as_bytes().chunks(37) {
        writer.send(Ok(Bytes::copy_from_slice(piece))).unwrap();
        let frame = reply.body_mut().frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), piece);
    }
    drop(writer);
    assert!(reply.body_mut().frame().await.is_none());
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_exchange_upstream() {
    for speaks in [Speaks::One, Speaks::Two] {
        let (upstream, writer) = written().await;
        let gateway = Running::before(&upstream.url()).await;
        let mut reply = open(speaks, post(&gateway.url(), "/v1/messages", body())).await;
        writer.send(Ok(halves().0)).unwrap();
        reply.body_mut().frame().await.unwrap().unwrap();
        drop(reply);
        // The upstream's body is dropped with its connection: the receiver is gone.
        let gone = tokio::task::spawn_blocking(move || {
            until(
                || writer.send(Ok(Bytes::from_static(b": x\n\n"))).is_err(),
                "still read",
            );
        });
        gone.await.unwrap();
        let (report, _) = gateway.stop().await;
        assert_eq!(
            (report.all.requests, report.all.failed),
            (1, 1),
            "{speaks:?}"
        );
    }
}

#[tokio::test]
async fn an_upstream_that_cannot_be_reached_is_told_in_the_providers_shape() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let gateway = Running::before(&format!("http://{address}")).await;
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body())).await;
    assert_eq!(
        (reply.line.as_str(), reply.error().as_str()),
        ("502", "api_error")
    );
    assert_eq!(
        reply.json()["request_id"],
        reply.header("x-dormouse-request")
    );
    assert!(reply.header("request-id").starts_with("req_"));
    let (report, _) = gateway.stop().await;
    assert_eq!((report.all.requests, report.all.failed), (1, 1));
}

#[tokio::test]
async fn silence_before_and_within_an_answer_ends_it() {
    let limits = Limits {
        silence: Duration::from_millis(50),
        ..Limits::default()
    };
    // An upstream that takes the request and never answers.
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap());
    let gateway = Running::with(
        &url,
        Options {
            limits,
            ..Options::default()
        },
    )
    .await;
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body())).await;
    assert_eq!(
        (reply.line.as_str(), reply.error().as_str()),
        ("504", "timeout_error")
    );

    let (upstream, writer) = written().await;
    let gateway = Running::with(
        &upstream.url(),
        Options {
            limits,
            ..Options::default()
        },
    )
    .await;
    writer.send(Ok(halves().0)).unwrap();
    let mut reply = open(Speaks::One, post(&gateway.url(), "/v1/messages", body())).await;
    reply.body_mut().frame().await.unwrap().unwrap();
    assert!(reply.body_mut().frame().await.unwrap().is_err());
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn refusals_of_the_upstream_come_with_their_advice() {
    let upstream = Recorder::start(|_| {
        let body = br#"{"type":"error","error":{"type":"rate_limit_error","message":"x"}}"#;
        let reply = Response::builder().status(429).header("retry-after", "13");
        let reply = reply.header("x-should-retry", "true");
        reply.body(Pieces::whole(&body[..])).unwrap()
    });
    let upstream = upstream.await;
    let gateway = Running::before(&upstream.url()).await;
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body())).await;
    assert_eq!(
        (reply.line.as_str(), reply.error().as_str()),
        ("429", "rate_limit_error")
    );
    assert_eq!(
        (reply.header("retry-after"), reply.header("x-should-retry")),
        ("13", "true")
    );
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn a_stop_lets_the_running_answer_end() {
    let (upstream, writer) = written().await;
    let gateway = Running::before(&upstream.url()).await;
    let (first, rest) = halves();
    writer.send(Ok(first.clone())).unwrap();
    let mut reply = open(Speaks::One, post(&gateway.url(), "/v1/messages", body())).await;
    reply.body_mut().frame().await.unwrap().unwrap();
    let stopping = tokio::spawn(gateway.stop());
    writer.send(Ok(rest.clone())).unwrap();
    drop(writer);
    let end = reply.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(end, rest);
    let (report, _) = stopping.await.unwrap();
    assert_eq!((report.all.requests, report.all.failed), (1, 0));
}
