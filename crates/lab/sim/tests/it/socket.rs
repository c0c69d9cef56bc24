//! Over a real socket: bad input is answered, never dropped.

use crate::support::config;
use dormouse_sim::{InProcess, Server, SimConfig, serve};
use dormouse_system::ManualClock;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// No test waits longer than this for a server that does not answer.
const LIMIT: Duration = Duration::from_secs(30);

async fn server(config: SimConfig) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    serve(config, listener, Arc::new(ManualClock::default())).unwrap()
}

fn request(body: &str, headers: &str) -> Vec<u8> {
    format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nhost: sim\r\nx-api-key: k\r\n\
         anthropic-version: 2023-06-01\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn question() -> String {
    let messages = json!([{"role": "user", "content": "hello"}]);
    json!({"model": "claude-opus-5", "max_tokens": 100, "messages": messages}).to_string()
}

/// One response on an open connection: status, head, body.
async fn exchange(stream: &mut TcpStream, bytes: &[u8]) -> (u16, String, Vec<u8>) {
    stream.write_all(bytes).await.unwrap();
    tokio::time::timeout(LIMIT, response(stream)).await.unwrap()
}

async fn response(stream: &mut (impl AsyncRead + Unpin)) -> (u16, String, Vec<u8>) {
    let mut all = Vec::new();
    let mut piece = [0; 4_096];
    let head_end = loop {
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "closed after {:?}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&piece[..read]);
        if let Some(at) = all.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8(all[..head_end].to_vec())
        .unwrap()
        .to_lowercase();
    let mut body = all[head_end..].to_vec();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map(|length| length.trim().parse::<usize>().unwrap());
    let done = |body: &[u8]| match length {
        Some(length) => body.len() >= length,
        None => body.ends_with(b"0\r\n\r\n"),
    };
    while !done(&body) {
        let read = stream.read(&mut piece).await.unwrap_or(0);
        if read == 0 {
            break;
        }
        body.extend_from_slice(&piece[..read]);
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head, body)
}

fn error_type(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap();
    body["error"]["type"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_connection_survives_bad_requests() {
    let server = server(config()).await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    for bad in [
        "",
        "{",
        "[1]",
        r#"{"model":5}"#,
        r#"{"messages":"x"}"#,
        "\u{0}",
    ] {
        let (status, _, body) = exchange(&mut stream, &request(bad, "")).await;
        assert_eq!(
            (status, error_type(&body).as_str()),
            (400, "invalid_request_error")
        );
    }
    let anonymous = "POST /v1/messages HTTP/1.1\r\nhost: sim\r\ncontent-length: 2\r\n\r\n{}";
    let (status, _, body) = exchange(&mut stream, anonymous.as_bytes()).await;
    assert_eq!(
        (status, error_type(&body).as_str()),
        (401, "authentication_error")
    );
    let (status, head, body) = exchange(&mut stream, &request(&question(), "")).await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    assert!(head.contains("request-id: req_"), "{head}");
    let probe = b"HEAD / HTTP/1.1\r\nhost: sim\r\n\r\n";
    stream.write_all(probe).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    drop(stream);
    server.stop().await;
}

#[tokio::test]
async fn an_oversized_body_is_read_to_its_end_and_refused() {
    let server = server(SimConfig {
        max_body_bytes: 100_000,
        ..config()
    })
    .await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let large = "x".repeat(1_500_000);
    let (status, _, body) = exchange(&mut stream, &request(&large, "")).await;
    assert_eq!(
        (status, error_type(&body).as_str()),
        (413, "request_too_large")
    );
    // The same connection goes on.
    let (status, _, _) = exchange(&mut stream, &request(&question(), "")).await;
    assert_eq!(status, 200);
    drop(stream);
    server.stop().await;
}

#[tokio::test]
async fn streams_arrive_and_scripted_cuts_break_the_connection() {
    let server = server(config()).await;
    let mut streamed: Value = serde_json::from_str(&question()).unwrap();
    streamed["stream"] = json!(true);
    let streamed = streamed.to_string();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let (status, head, body) = exchange(&mut stream, &request(&streamed, "")).await;
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    let text = String::from_utf8(body).unwrap();
    assert!(text.contains("event: message_start") && text.contains("event: message_stop"));

    let cut = request(&streamed, "x-sim-fault: cut;bytes=50\r\n");
    let (status, _, body) = exchange(&mut stream, &cut).await;
    assert_eq!(status, 200);
    assert!(
        !body.ends_with(b"0\r\n\r\n"),
        "the stream must not end well"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_stalled_stream_sends_no_more_and_stays_open() {
    let server = server(config()).await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let stall = request(&question(), "x-sim-fault: stall;bytes=20\r\n");
    stream.write_all(&stall).await.unwrap();
    let mut all = Vec::new();
    let mut piece = [0; 4_096];
    while !all.ends_with(b"\r\n") || !all.windows(4).any(|window| window == b"\"id\"") {
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0);
        all.extend_from_slice(&piece[..read]);
    }
    let more = stream.try_read(&mut piece);
    let more = more.map_err(|error| error.kind());
    assert_eq!(
        more,
        Err(std::io::ErrorKind::WouldBlock),
        "neither bytes nor an end"
    );
}

#[tokio::test]
async fn virtual_time_comes_from_a_header() {
    let server = server(SimConfig {
        virtual_time: true,
        first_byte_ms: 60_000,
        ..config()
    })
    .await;
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let mut body: Value = serde_json::from_str(&question()).unwrap();
    body["cache_control"] = json!({"type": "ephemeral"});
    let body = body.to_string();
    for (now, read) in [(0, 0), (59_999, 0), (60_000, 5), (359_999, 5), (659_999, 0)] {
        let header = format!("x-sim-now-ms: {now}\r\n");
        let (_, _, answer) = exchange(&mut stream, &request(&body, &header)).await;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["usage"]["cache_read_input_tokens"], read, "{now}");
    }
}

#[tokio::test]
async fn what_is_not_http_does_not_stop_the_server() {
    let server = server(config()).await;
    for bad in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET\r\n\r\n",
        b"POST /v1/messages HTTP/9.9\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(bad).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut all = Vec::new();
        let read = tokio::time::timeout(LIMIT, stream.read_to_end(&mut all)).await;
        assert!(read.is_ok());
    }
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let (status, _, _) = exchange(&mut stream, &request(&question(), "")).await;
    assert_eq!(status, 200);
}

/// Clients that send a byte now and then would hold a connection for ever. Time is virtual here: it
/// passes as soon as all tasks wait.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_its_request_is_given_up() {
    let sim = InProcess::new(config(), Arc::new(ManualClock::default())).unwrap();
    let whole = request(&question(), "");
    let head = whole.len() - question().len();
    for (sent, limit, status) in [(20, 30, None), (head + 1, 120, Some(504))] {
        let (mut from, mut to) = tokio::io::split(sim.connect());
        let start = Instant::now();
        to.write_all(&whole[..sent]).await.unwrap();
        let rest = whole[sent..].to_vec();
        let dripping = tokio::spawn(async move {
            // Ends with the connection: a write to a closed one fails.
            for byte in rest {
                tokio::time::sleep(Duration::from_secs(7)).await;
                if to.write_all(&[byte]).await.is_err() {
                    return true;
                }
            }
            false
        });
        let mut answer = Vec::new();
        from.read_to_end(&mut answer).await.unwrap();
        let waited = start.elapsed().as_secs();
        assert!((limit..limit + 8).contains(&waited), "{sent}: {waited} s");
        let text = String::from_utf8(answer).unwrap();
        let found = text.split(' ').nth(1).map(|code| code.parse().unwrap());
        assert_eq!(found, status, "{sent}: {text}");
        assert!(dripping.await.unwrap(), "{sent}: read to the end");
    }
}
