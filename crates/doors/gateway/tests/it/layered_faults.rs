//! Upstreams and clients that fail while the layers act: no request is sent twice, the retry has the
//! bytes of the first attempt, and the conversation goes on.

use crate::kit::{Message, Options, Pieces, Recorder, Running, Speaks, open, post, send};
use crate::kit::{stream, streamed};
use crate::layers::history;
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

/// Results of the conversation: the second is longer than a shell's may be.
const LENGTHS: [usize; 4] = [10, 1_500, 10, 1_500];

/// Way in which one request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Status(u16),
    Stall,
    Cut,
    ClientGone,
}

type Writer = UnboundedSender<io::Result<Bytes>>;

/// An upstream that fails at its third request; it writes the first half of a stream by then.
async fn upstream(fault: Fault) -> (Recorder, std::sync::mpsc::Receiver<Writer>) {
    let count = Mutex::new(0);
    let (writers, held) = std::sync::mpsc::channel();
    let recorder = Recorder::start(move |_: &Message| {
        let mut count = count.lock().unwrap();
        *count += 1;
        if *count != 3 {
            return streamed(Pieces::whole(stream()));
        }
        if let Fault::Status(status) = fault {
            let kind = if status == 429 {
                "rate_limit_error"
            } else {
                "overloaded_error"
            };
            let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"x"}}}}"#);
            let reply = Response::builder()
                .status(status)
                .header("retry-after", "7");
            return reply.body(Pieces::whole(body)).unwrap();
        }
        let (writer, pieces) = Pieces::new();
        let text = Bytes::from(stream());
        writer.send(Ok(text.slice(..text.len() / 2))).unwrap();
        writers.send(writer).unwrap();
        streamed(pieces)
    });
    (recorder.await, held)
}

async fn check(fault: Fault) {
    let (upstream, held) = upstream(fault).await;
    let mut options = Options {
        layers: true,
        ..Options::default()
    };
    if fault == Fault::Stall {
        options.limits = Limits {
            silence: Duration::from_millis(50),
            ..Limits::default()
        };
    }
    let gateway = Running::with(&upstream.url(), options).await;
    let request = |turns: usize| {
        let body = history(&LENGTHS[..turns]).to_string();
        post(&gateway.url(), "/v1/messages", body)
    };
    for turns in 0..2 {
        assert_eq!(send(Speaks::One, request(turns)).await.line, "200");
    }
    // The request that offloads a result fails.
    let mut reply = open(Speaks::One, request(2)).await;
    assert_eq!(reply.headers()["x-dormouse-layers"], "offload, markers");
    match fault {
        Fault::Status(status) => {
            assert_eq!(reply.status().as_u16(), status);
            assert_eq!(reply.headers()["retry-after"], "7");
        }
        Fault::Stall | Fault::Cut => {
            reply.body_mut().frame().await.unwrap().unwrap();
            let writer = held.recv().unwrap();
            if fault == Fault::Cut {
                let reset = io::ErrorKind::ConnectionReset.into();
                writer.send(Err(reset)).unwrap();
            }
            let ended = reply.into_body().collect().await;
            assert!(ended.is_err(), "{fault:?}");
        }
        Fault::ClientGone => {
            reply.body_mut().frame().await.unwrap().unwrap();
            drop(reply);
            let writer = held.recv().unwrap();
            let gone = tokio::task::spawn_blocking(move || {
                let piece = || Ok(Bytes::from_static(b": x\n\n"));
                until(|| writer.send(piece()).is_err(), "still read");
            });
            gone.await.unwrap();
        }
    }
    assert_eq!(upstream.seen().len(), 3, "{fault:?}: sent once");
    // The client asks again, and goes on.
    for turns in [2, 3, 4] {
        assert_eq!(
            send(Speaks::One, request(turns)).await.line,
            "200",
            "{fault:?}"
        );
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), 6, "{fault:?}: each request once");
    assert!(seen[2].body == seen[3].body, "{fault:?}: the retry");
    let excerpts = |message: &Message| {
        message
            .json()
            .to_string()
            .matches("<persisted-output>")
            .count()
    };
    let counts: Vec<usize> = seen.iter().map(excerpts).collect();
    assert_eq!(counts, [0, 0, 1, 1, 1, 2], "{fault:?}");
    let (report, _home) = gateway.stop().await;
    assert_eq!(
        (report.all.requests, report.all.failed),
        (6, 1),
        "{fault:?}"
    );
    assert_eq!(report.conversation_count, 1, "{fault:?}");
    assert_eq!(report.relations["retries"], 1, "{fault:?}");
    assert_eq!(report.relations["continues"], 4, "{fault:?}");
}

#[tokio::test]
async fn an_upstream_that_is_overloaded() {
    check(Fault::Status(529)).await;
}

#[tokio::test]
async fn an_upstream_that_limits_the_rate() {
    check(Fault::Status(429)).await;
}

#[tokio::test]
async fn an_upstream_that_stalls() {
    check(Fault::Stall).await;
}

#[tokio::test]
async fn an_upstream_that_cuts_its_answer() {
    check(Fault::Cut).await;
}

#[tokio::test]
async fn a_client_that_leaves() {
    check(Fault::ClientGone).await;
}

#[tokio::test]
async fn a_disk_that_fills_up_keeps_the_bytes_of_before() {
    let upstream = Recorder::start(|_| streamed(Pieces::whole(stream()))).await;
    let options = Options {
        layers: true,
        ..Options::default()
    };
    let gateway = Running::with(&upstream.url(), options).await;
    for turns in 0..=LENGTHS.len() {
        if turns == 3 {
            // From here on no file can be made or appended to.
            for name in ["results", "lines"] {
                let path = gateway.home.path().join(name);
                crate::layers::put_in_the_way(&path);
            }
        }
        let body = history(&LENGTHS[..turns]).to_string();
        let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
        assert_eq!(reply.line, "200");
    }
    let seen = upstream.seen();
    let excerpts = |message: &Message| {
        message
            .json()
            .to_string()
            .matches("<persisted-output>")
            .count()
    };
    let counts: Vec<usize> = seen.iter().map(excerpts).collect();
    // The result of the last request would have been the second excerpt.
    assert_eq!(counts, [0, 0, 1, 1, 1]);
    // The excerpt is sent as it was before the disk was full.
    let excerpt =
        |message: &Message| message.json()["messages"][4]["content"][0]["content"].clone();
    assert_eq!(excerpt(&seen[2]), excerpt(&seen[4]));
}
