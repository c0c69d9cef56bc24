//! Long computations: done on the blocking pool, and forgotten when the stream is dropped.

use crate::material::{chat, client};
use crate::server::{Reply, Server};
use dormouse_core::block::Block;
use dormouse_model::{Model, Request, ResponseStream};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::future::poll_fn;
use std::sync::mpsc;
use std::task::Poll;
use tokio::runtime::{Builder, Runtime};

/// Bytes of a body, beyond every threshold of the blocking pool.
const LONG: usize = 1024 * 1024;

/// A runtime whose only blocking thread is busy until the sender is dropped.
fn busy_pool() -> (Runtime, mpsc::Sender<()>) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (release, released) = mpsc::channel::<()>();
    runtime.spawn_blocking(move || released.recv().ok());
    (runtime, release)
}

/// Polls until everything that can happen without the pool has happened.
async fn settle(stream: &mut ResponseStream) {
    for _ in 0..1_000 {
        poll_fn(|context| {
            let polled = stream.poll_next(context);
            assert!(polled.is_pending(), "{polled:?}");
            Poll::Ready(())
        })
        .await;
        tokio::task::yield_now().await;
    }
}

fn prompt(length: usize) -> Request {
    let content = "x".repeat(length);
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": content }] });
    Request::whole(body.to_string())
}

fn completion(text: &str) -> Reply {
    let message = json!({ "content": text });
    let choices = json!([{ "finish_reason": "stop", "message": message }]);
    let body = json!({ "id": "c", "model": "m", "choices": choices });
    Reply::json(200, &[], &body.to_string())
}

#[test]
fn a_long_prompt_is_converted_on_the_pool_and_a_short_one_in_place() {
    let (runtime, release) = busy_pool();
    runtime.block_on(async {
        let short = Server::new([completion("ok")]);
        let answer = chat(&short).stream(prompt(10)).finish().await.unwrap();
        assert_eq!(answer.blocks, [Block::text("ok")]);

        let long = Server::new([completion("ok")]);
        let mut stream = chat(&long).stream(prompt(LONG));
        settle(&mut stream).await;
        assert_eq!(long.connections(), 0, "the worker converted it");
        drop(release);
        let answer = stream.finish().await.unwrap();
        assert_eq!(answer.blocks, [Block::text("ok")]);
        assert!(long.requests()[0].body.len() > LONG);
    });
}

#[test]
fn a_stream_that_is_dropped_during_the_conversion_sends_nothing() {
    let (runtime, release) = busy_pool();
    let server = Server::new([completion("ok")]);
    runtime.block_on(async {
        let mut stream = chat(&server).stream(prompt(LONG));
        settle(&mut stream).await;
    });
    drop(release);
    // Waits for the pool: the conversion was dropped from its queue or is over.
    drop(runtime);
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_long_answer_in_one_piece_is_read_on_the_pool() {
    let text = "y".repeat(LONG);
    let message = json!({
        "id": "m", "model": "m", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": text }],
    });
    let (runtime, release) = busy_pool();
    runtime.block_on(async {
        let messages = Server::new([Reply::json(200, &[], &message.to_string())]);
        let completions = Server::new([completion(&text)]);
        let mut streams = [
            client(&messages).stream(Request::whole(&b"{}"[..])),
            chat(&completions).stream(prompt(10)),
        ];
        for stream in &mut streams {
            settle(stream).await;
        }
        let requests = (messages.requests().len(), completions.requests().len());
        assert_eq!(requests, (1, 1));
        drop(release);
        for stream in streams {
            let answer = stream.finish().await.unwrap();
            assert_eq!(answer.blocks, [Block::text(&text)]);
        }
    });
}
