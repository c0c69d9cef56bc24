//! Measures the simulator: requests per second over loopback, and what a large prompt costs
//! against parsing it once.
//!
//! Run with `cargo run --release -p dormouse-sim --example throughput [requests] [connections]`.
//! Everything is bounded by counts. Server and load share the machine's cores, so the figure is a
//! lower bound of what the server alone can do.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measuring program for developers prints and stops at the first surprise"
)]

use dormouse_core::units::Millis;
use dormouse_sim::{SimConfig, SimRequest, Simulator, serve};
use dormouse_system::{Clock as _, RealClock};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Rounds of the pipelined run; the median of an odd number is one of them.
const PIPELINE_ROUNDS: usize = 15;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let requests: usize = arguments.next().unwrap_or(60_000);
    let connections: usize = arguments.next().unwrap_or(16);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(load(requests, connections));
    for (name, body) in prompts() {
        parse_ratio(name, &body);
    }
}

fn small() -> Vec<u8> {
    let body = json!({
        "model": "claude-opus-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "You are terse.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "hello"}],
    })
    .to_string();
    format!(
        "POST /v1/messages HTTP/1.1\r\nhost: sim\r\nx-api-key: k\r\nanthropic-version: \
         2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

async fn load(requests: usize, connections: usize) {
    let clock = Arc::new(RealClock::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = serve(SimConfig::default(), listener, Arc::clone(&clock) as _).unwrap();
    let each = requests / connections;
    let bytes = Arc::new(small());
    let start = clock.ticks();
    let mut tasks = Vec::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        tasks.push(tokio::spawn(client(stream, Arc::clone(&bytes), each)));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let took = clock.ticks().since(start).as_secs_f64();
    let count = u32::try_from(each * connections).unwrap();
    println!(
        "{count} requests over {connections} connections in {took:.2} s: {:.0} requests/s",
        f64::from(count) / took
    );
    server.stop().await;
}

/// One request after the other; an answer is complete when its announced length has come.
async fn client(mut stream: TcpStream, request: Arc<Vec<u8>>, count: usize) {
    let mut buffer = vec![0; 16 * 1_024];
    for _ in 0..count {
        stream.write_all(&request).await.unwrap();
        let mut filled = 0;
        let end = loop {
            let read = stream.read(&mut buffer[filled..]).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            filled += read;
            if let Some(end) = answer_end(&buffer[..filled]) {
                break end;
            }
        };
        while filled < end {
            let read = stream.read(&mut buffer[filled..]).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            filled += read;
        }
        assert!(buffer.starts_with(b"HTTP/1.1 200"));
    }
}

fn answer_end(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&bytes[..head]).unwrap();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap();
    Some(head + 4 + length.parse::<usize>().unwrap())
}

/// Prompts of four megabytes: a session of tool calls with code in the results, one of many small
/// messages, and one long text without an escape (the case in which a tree is cheapest).
fn prompts() -> Vec<(&'static str, String)> {
    let session = |rounds: usize, line: &str, lines: usize| {
        let mut messages = vec![json!({"role": "user", "content": "go"})];
        for at in 0..rounds {
            let id = format!("toolu_{at}");
            messages.push(json!({"role": "assistant", "content": [
                {"type": "text", "text": "I read the next part."},
                {"type": "tool_use", "id": id, "name": "read", "input": {"path": "src/a.rs", "line": at}},
            ]}));
            messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": line.repeat(lines)},
            ]}));
        }
        let last = messages.len() - 1;
        messages[last]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
        json!({"model": "claude-sonnet-5-5", "max_tokens": 1_000, "messages": messages}).to_string()
    };
    let code = "    let value = table.get(\"name\").unwrap_or(&0);\n";
    vec![
        ("code, 4 kB results", session(900, code, 80)),
        ("many small messages", session(16_000, "ok\n", 2)),
        (
            "one long text",
            session(1, "plain text without a line ", 160_000),
        ),
    ]
}

fn parse_ratio(name: &str, body: &str) {
    let clock = RealClock::new();
    let config = SimConfig {
        window: Some(100_000_000),
        ..SimConfig::default()
    };
    let mut simulator = Simulator::new(config).unwrap();
    let request = SimRequest::post("/v1/messages", body.to_owned());
    let (mut tree, mut whole) = (Vec::new(), Vec::new());
    // The two take turns, so that a slow moment of the machine hits both.
    for _ in 0..PIPELINE_ROUNDS {
        let start = clock.ticks();
        let value: Value = serde_json::from_slice(&request.body).unwrap();
        black_box(&value);
        tree.push(clock.ticks().since(start));
        drop(value);
        let start = clock.ticks();
        let response = simulator.handle(&request, Millis(0));
        whole.push(clock.ticks().since(start));
        assert_eq!(response.status, 200);
    }
    tree.sort();
    whole.sort();
    let (tree, whole) = (tree[PIPELINE_ROUNDS / 2], whole[PIPELINE_ROUNDS / 2]);
    println!(
        "{name}: {:.2} MB, serde_json::Value {:.2} ms, whole request {:.2} ms, ratio {:.2}",
        f64::from(u32::try_from(body.len()).unwrap()) / 1e6,
        tree.as_secs_f64() * 1e3,
        whole.as_secs_f64() * 1e3,
        whole.as_secs_f64() / tree.as_secs_f64()
    );
}
