//! Many at once: no stream gets a byte of another, and none loses one.

use crate::kit::{
    Message, Options, Pieces, Recorder, Running, Speaks, history, post, send, streamed,
};
use bytes::Bytes;
use pretty_assertions::assert_eq;
use serde_json::json;

/// Streams that run at once.
const STREAMS: usize = 200;
/// Pieces of each, sent one by one.
const PIECES: usize = 50;

fn piece(stream: &str, nth: usize) -> Bytes {
    let event = json!({"type": "content_block_delta", "stream": stream, "nth": nth,
        "text": "x".repeat(nth * 7 % 300)});
    Bytes::from(format!("event: content_block_delta\ndata: {event}\n\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_streams_at_once_are_whole() {
    streams(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_streams_at_once_are_whole_behind_layers() {
    streams(true).await;
}

async fn streams(layers: bool) {
    let upstream = Recorder::start(|message: &Message| {
        let stream = message.header("x-stream").to_owned();
        let (writer, pieces) = Pieces::new();
        tokio::spawn(async move {
            for nth in 0..PIECES {
                // A client that is gone is noticed by the bytes that are missing.
                drop(writer.send(Ok(piece(&stream, nth))));
                tokio::task::yield_now().await;
            }
        });
        streamed(pieces)
    });
    let upstream = upstream.await;
    let options = Options {
        layers,
        ..Options::default()
    };
    let gateway = Running::with(&upstream.url(), options).await;
    let mut clients = tokio::task::JoinSet::new();
    for stream in 0..STREAMS {
        let url = gateway.url();
        clients.spawn(async move {
            let mut request = post(&url, "/v1/messages", history(stream % 5).to_string());
            let headers = request.headers_mut();
            headers.insert("x-stream", stream.into());
            // Several clients: one key may not have so many at once.
            headers.insert("x-api-key", (stream % 4).into());
            let speaks = if stream % 2 == 0 {
                Speaks::One
            } else {
                Speaks::Two
            };
            let pieces: Vec<Bytes> = (0..PIECES)
                .map(|nth| piece(&stream.to_string(), nth))
                .collect();
            (send(speaks, request).await.body == pieces.concat(), stream)
        });
    }
    while let Some(client) = clients.join_next().await {
        let (whole, stream) = client.unwrap();
        assert!(whole, "stream {stream} got other bytes");
    }
    let (report, _) = gateway.stop().await;
    assert_eq!(
        (report.all.requests, report.all.failed),
        (STREAMS as u64, 0)
    );
}
