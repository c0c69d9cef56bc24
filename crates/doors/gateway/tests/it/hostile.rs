//! Clients that send nonsense, too much, too slowly, or with keys that are not theirs.

use crate::kit::{
    Message, Options, Pieces, Recorder, Running, SECRET, Speaks, history, open, post, send, stream,
    streamed,
};
use dormouse_gateway::Limits;
use http::{Method, Response};
use pretty_assertions::assert_eq;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn answers(_: &Message) -> Response<Pieces> {
    streamed(Pieces::whole(stream()))
}

fn told(reply: &Message) -> (&str, String) {
    (reply.line.as_str(), reply.error())
}

/// The gateway still serves others.
async fn assert_serves(gateway: &Running) {
    let body = history(0).to_string();
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
    assert_eq!(reply.line, "200");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_and_not_passed_on() {
    let upstream = Recorder::start(answers).await;
    let limits = Limits {
        body: 64 * 1024,
        ..Limits::default()
    };
    let gateway = Running::with(
        &upstream.url(),
        Options {
            limits,
            ..Options::default()
        },
    )
    .await;
    for speaks in [Speaks::One, Speaks::Two] {
        let long = vec![b' '; 128 * 1024];
        let reply = send(speaks, post(&gateway.url(), "/v1/messages", long)).await;
        assert_eq!(told(&reply), ("413", "request_too_large".to_owned()));
    }
    assert_eq!(upstream.seen().len(), 0);
    assert_serves(&gateway).await;
}

#[tokio::test]
async fn forty_megabytes_are_refused_by_the_usual_limits() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::before(&upstream.url()).await;
    let long = vec![b' '; 40 * 1024 * 1024];
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", long)).await;
    assert_eq!(told(&reply), ("413", "request_too_large".to_owned()));
    assert_eq!(upstream.seen().len(), 0);
}

#[tokio::test]
async fn clients_that_never_finish_their_head_or_body_are_let_go() {
    let upstream = Recorder::start(answers).await;
    let limits = Limits {
        head: Duration::from_millis(100),
        upload: Duration::from_millis(100),
        ..Limits::default()
    };
    let gateway = Running::with(
        &upstream.url(),
        Options {
            limits,
            ..Options::default()
        },
    )
    .await;
    let address = gateway.server.address();
    for beginning in [
        "",
        "P",
        "PRI * HTTP/2.0\r\n",
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\n",
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12",
    ] {
        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(beginning.as_bytes()).await.unwrap();
        assert_serves(&gateway).await;
        // Returns when the gateway closes.
        let mut answer = Vec::new();
        drop(slow.read_to_end(&mut answer).await);
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.contains(" 408 "),
            "{beginning:?}: {answer}"
        );
    }
    assert_eq!(upstream.seen().len(), 5);
}

/// Sends raw bytes behind a head that closes, and returns the answer.
async fn raw(gateway: &Running, rest: &str) -> String {
    let mut client = TcpStream::connect(gateway.server.address()).await.unwrap();
    let head = "POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
    let sent = client.write_all(format!("{head}{rest}").as_bytes()).await;
    sent.unwrap();
    client.shutdown().await.unwrap();
    let mut answer = Vec::new();
    drop(client.read_to_end(&mut answer).await);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_request_cannot_be_smuggled_in_another() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::before(&upstream.url()).await;
    for bad in [
        "content-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        "content-length: 5\r\ntransfer-encoding: identity, chunked\r\n\r\nabcde",
        "transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        "content-length: +5\r\n\r\nabcde",
        "content-length : 5\r\n\r\nabcde",
        "x-folded: a\r\n b\r\ncontent-length: 0\r\n\r\n",
    ] {
        let answer = raw(&gateway, bad).await;
        assert!(answer.contains("HTTP/1.1 400"), "{bad:?}: {answer}");
    }
    assert_eq!(upstream.seen().len(), 0);
    // Chunks win over a length, and what is passed on has one length of its own.
    let both = "transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n2\r\n{}\r\n0\r\n\r\n\
        POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    raw(&gateway, both).await;
    let [seen] = &upstream.seen()[..] else {
        panic!("{:?}", upstream.seen());
    };
    assert_eq!(
        (&seen.body[..], seen.header("content-length")),
        (&b"{}"[..], "2")
    );
    assert_eq!(seen.header("transfer-encoding"), "");
    assert_serves(&gateway).await;
}

#[tokio::test]
async fn unknown_paths_and_methods_stay_here() {
    let upstream = Recorder::start(answers).await;
    let gateway = Running::before(&upstream.url()).await;
    for path in ["/", "/admin", "/v2/messages", "/../v1/messages"] {
        let reply = send(Speaks::One, post(&gateway.url(), path, "{}")).await;
        assert_eq!(
            told(&reply),
            ("404", "not_found_error".to_owned()),
            "{path}"
        );
    }
    assert_eq!(upstream.seen().len(), 0);
    let mut health = post(&gateway.url(), "/healthz", "");
    *health.method_mut() = Method::GET;
    assert_eq!(send(Speaks::One, health).await.line, "200");
}

const KEYS: &str = "gateway-key-one-123456\ngateway-key-two-123456";

#[tokio::test]
async fn where_keys_are_required_only_their_holders_ask() {
    let upstream = Recorder::start(answers).await;
    let options = Options {
        keys: Some(KEYS),
        upstream_key: Some("sk-upstream"),
        ..Options::default()
    };
    let gateway = Running::with(&upstream.url(), options).await;
    let body = || history(0).to_string();
    // A good key for the provider is none for the gateway.
    let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body())).await;
    assert_eq!(told(&reply), ("401", "authentication_error".to_owned()));
    let mut figures = post(&gateway.url(), "/metrics", "");
    *figures.method_mut() = Method::GET;
    assert_eq!(send(Speaks::One, figures).await.line, "401");
    assert_eq!(upstream.seen().len(), 0);
    // A key of the gateway alone is replaced by the gateway's own.
    let mut held = post(&gateway.url(), "/v1/messages", body());
    held.headers_mut()
        .insert("x-api-key", "gateway-key-one-123456".parse().unwrap());
    assert_eq!(send(Speaks::One, held).await.line, "200");
    // Beside the client's own credential it is taken off.
    let mut both = post(&gateway.url(), "/v1/messages", body());
    both.headers_mut()
        .insert("x-dormouse-key", "gateway-key-two-123456".parse().unwrap());
    assert_eq!(send(Speaks::One, both).await.line, "200");
    let seen = upstream.seen();
    assert_eq!(seen[0].header("x-api-key"), "sk-upstream");
    assert_eq!(seen[1].header("x-api-key"), SECRET);
    assert!(
        seen.iter()
            .all(|message| !format!("{message:?}").contains("gateway-key"))
    );
}

#[tokio::test]
async fn too_many_at_once_are_told_to_come_again() {
    for (limits, expected) in [
        (
            Limits {
                requests_per_key: 1,
                ..Limits::default()
            },
            ("429", "rate_limit_error"),
        ),
        (
            Limits {
                requests: 1,
                ..Limits::default()
            },
            ("529", "overloaded_error"),
        ),
        (
            Limits {
                bodies: 1024,
                ..Limits::default()
            },
            ("529", "overloaded_error"),
        ),
    ] {
        let (writer, pieces) = Pieces::new();
        let pieces = std::sync::Mutex::new(Some(pieces));
        // The first reply stays open until the writer is dropped.
        let upstream = Recorder::start(move |_: &Message| match pieces.lock().unwrap().take() {
            Some(pieces) => streamed(pieces),
            None => streamed(Pieces::whole(stream())),
        });
        let upstream = upstream.await;
        let gateway = Running::with(
            &upstream.url(),
            Options {
                limits,
                // Bodies are held only where layers read them.
                layers: limits.bodies == 1024,
                ..Options::default()
            },
        )
        .await;
        let held = if limits.bodies == 1024 {
            None
        } else {
            let body = history(0).to_string();
            Some(open(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await)
        };
        let body = history(9).to_string();
        let reply = send(Speaks::One, post(&gateway.url(), "/v1/messages", body)).await;
        assert_eq!(told(&reply), (expected.0, expected.1.to_owned()));
        assert_eq!(reply.header("retry-after"), "1");
        drop((held, writer));
    }
}
