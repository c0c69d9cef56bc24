//! What passes through is what was sent, byte for byte, in both directions.

use crate::kit::{Message, Pieces, Recorder, Running, SECRET, Speaks, post, send, stream};
use bytes::Bytes;
use dormouse_system::{Files as _, RealFiles};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use pretty_assertions::assert_eq;

/// One recorded exchange: path, body and reply.
struct Exchange {
    path: &'static str,
    body: Vec<u8>,
    status: u16,
    kind: &'static str,
    reply: Vec<u8>,
}

fn exchange(
    path: &'static str,
    body: &[u8],
    status: u16,
    kind: &'static str,
    reply: &[u8],
) -> Exchange {
    Exchange {
        path,
        body: body.to_vec(),
        status,
        kind,
        reply: reply.to_vec(),
    }
}

/// Odd but legal spellings, unknown members, betas, errors, and bodies that are no JSON at all.
fn corpus() -> Vec<Exchange> {
    let json = "application/json";
    let odd =
        br#" { "model":"claude-opus-5-5", "max_tokens" : 10,"unknown_field":{"b":1,"a":[1.0,1e5]},
        "messages":[{"content":"caf\u00e9 \ud83d\ude00","role":"user"}],"thread":{"type":"create"},
        "context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
        "system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1; f=2"}]}"#;
    let message = br#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],
        "stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"future":{"x":1.0}}"#;
    let overloaded =
        br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let thread = br#"{"thread":{"type":"continue","previous_message_id":"m"},"messages":[{"role":"user","content":"x"}]}"#;
    let missing = br#"{"type":"error","error":{"type":"not_found_error","message":"x","details":{"error_code":"thread_not_found"}}}"#;
    let long = vec![b'x'; 3 * 1024 * 1024];
    let long = [
        b"{\"messages\":[{\"role\":\"user\",\"content\":\"".as_slice(),
        &long,
        b"\"}]}",
    ]
    .concat();
    vec![
        exchange("/v1/messages?beta=true", odd, 200, json, message),
        exchange(
            "/v1/messages?beta=true",
            odd,
            200,
            "text/event-stream",
            stream().as_bytes(),
        ),
        exchange("/v1/messages", odd, 529, json, overloaded),
        exchange("/v1/messages", thread, 404, json, missing),
        exchange("/v1/messages", b"{\"messages\":[", 400, json, overloaded),
        exchange(
            "/v1/messages",
            b"\xff\x00not json",
            400,
            "text/html; charset=x",
            b"<h1>\xff</h1>",
        ),
        exchange("/v1/messages", b"", 400, json, overloaded),
        exchange("/v1/messages", &long, 200, json, &long),
        exchange(
            "/v1/messages/count_tokens?beta=true",
            odd,
            200,
            json,
            b"{\"input_tokens\":7}",
        ),
        exchange(
            "/v1/models?limit=1000&after_id=%20x",
            b"",
            200,
            json,
            b"{\"data\":[]}",
        ),
        exchange(
            "/v1/messages/batches/b%2F1/results",
            b"",
            200,
            "application/x-jsonl",
            b"{}\n{}\n",
        ),
        // Compressed replies pass as they are.
        exchange(
            "/v1/messages",
            odd,
            200,
            "gzip",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
        ),
    ]
}

/// Headers but for those of a connection, the address, and those that the gateway adds.
fn comparable(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    let apart = [
        "host",
        "connection",
        "date",
        "transfer-encoding",
        "x-dormouse-request",
        "x-dormouse-layers",
    ];
    let headers = headers.iter();
    let headers = headers.filter(|(name, _)| !apart.contains(&name.as_str()));
    let mut all: Vec<_> = headers
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
        .collect();
    // The order of different names is that of the connection; of equal names it is kept.
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

fn request(url: &str, exchange: &Exchange) -> Request<Full<Bytes>> {
    let mut request = post(url, exchange.path, exchange.body.clone());
    if exchange.body.is_empty() && exchange.path.contains("models") {
        *request.method_mut() = Method::GET;
    }
    let headers = request.headers_mut();
    headers.append(
        "anthropic-beta",
        "oauth-2025-04-20,context-management-2025-06-27"
            .parse()
            .unwrap(),
    );
    headers.append(
        "anthropic-beta",
        "message-threads-2026-08-12".parse().unwrap(),
    );
    headers.insert("x-claude-code-session-id", "s-1".parse().unwrap());
    headers.insert("x-stainless-retry-count", "1".parse().unwrap());
    headers.insert("accept-encoding", "gzip, br".parse().unwrap());
    headers.insert("x-unknown", "\u{1F600} kept".parse().unwrap());
    request
}

async fn upstream() -> Recorder {
    Recorder::start(|message: &Message| {
        let path = message.line.split(' ').nth(1).unwrap();
        // Paths repeat, so the reply is found by the body as well.
        let nth = message.headers["x-nth"]
            .to_str()
            .unwrap()
            .parse::<usize>()
            .unwrap();
        let exchange = &corpus()[nth];
        assert!(path.ends_with(exchange.path), "{path}");
        let reply = Response::builder()
            .status(exchange.status)
            .header("content-type", exchange.kind)
            .header("request-id", "req_1")
            .header("retry-after", "7")
            .header("anthropic-ratelimit-requests-limit", "9")
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2");
        let reply = if exchange.kind == "gzip" {
            reply.header("content-encoding", "gzip")
        } else {
            reply
        };
        reply.body(Pieces::whole(exchange.reply.clone())).unwrap()
    })
    .await
}

#[tokio::test]
async fn bodies_and_headers_are_those_without_the_gateway() {
    for speaks in [Speaks::One, Speaks::Two] {
        let upstream = upstream().await;
        let gateway = Running::before(&upstream.url()).await;
        for (nth, exchange) in corpus().iter().enumerate() {
            let mut direct = request(&upstream.url(), exchange);
            direct.headers_mut().insert("x-nth", nth.into());
            let mut through = request(&gateway.url(), exchange);
            through.headers_mut().insert("x-nth", nth.into());
            let direct = send(speaks, direct).await;
            let through = send(speaks, through).await;
            let case = format!("{nth} {} {speaks:?}", exchange.path);
            assert_eq!(through.line, direct.line, "{case}");
            assert!(through.body == direct.body, "{case}: other bytes came back");
            assert_eq!(
                comparable(&through.headers),
                comparable(&direct.headers),
                "{case}"
            );
            assert!(!through.header("x-dormouse-request").is_empty(), "{case}");
            assert_eq!(through.header("x-dormouse-layers"), "off", "{case}");
            let seen = upstream.seen();
            let [.., direct, through] = &seen[..] else {
                panic!("{case}")
            };
            assert!(
                through.body == direct.body && through.body == exchange.body,
                "{case}"
            );
            let of = |message: &Message| {
                let url = message.line.replace(&upstream.url(), "");
                (url, comparable(&message.headers))
            };
            // HTTP/2 towards the gateway is HTTP/1.1 towards a plain upstream; hyper names the
            // length there, which HTTP/2 may leave out.
            let (mut direct, mut through) = (of(direct), of(through));
            for side in [&mut direct, &mut through] {
                side.1.retain(|(name, _)| name != "content-length");
            }
            assert_eq!(through, direct, "{case}");
        }
        assert_eq!(upstream.seen().len(), corpus().len() * 2);
        let (report, _) = gateway.stop().await;
        assert_eq!(report.all.requests, 9, "only messages are booked");
    }
}

#[tokio::test]
async fn a_base_path_of_the_upstream_is_kept_before_every_path() {
    let upstream = Recorder::start(|_| Response::new(Pieces::whole("{}"))).await;
    let gateway = Running::before(&format!("{}/proxy/anthropic/", upstream.url())).await;
    send(
        Speaks::One,
        post(&gateway.url(), "/v1/messages?beta=true", "{}"),
    )
    .await;
    assert_eq!(
        upstream.seen()[0].line,
        "POST /proxy/anthropic/v1/messages?beta=true"
    );
}

#[tokio::test]
async fn the_simulator_answers_the_same_through_the_gateway() {
    let config = dormouse_sim::SimConfig {
        virtual_time: true,
        ..dormouse_sim::SimConfig::default()
    };
    let mut replies = Vec::new();
    for through in [false, true] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let clock = dormouse_system::System::real().clock;
        let sim = dormouse_sim::serve(config.clone(), listener, clock).unwrap();
        let url = format!("http://{}", sim.address());
        let gateway = Running::before(&url).await;
        let url = if through { gateway.url() } else { url };
        let mut of_run = Vec::new();
        for turns in 0..4 {
            let body = crate::kit::history(turns).to_string();
            for fault in ["", "529", "429", "garbage"] {
                let mut request = post(&url, "/v1/messages", body.clone());
                let headers = request.headers_mut();
                headers.insert("x-sim-now-ms", (turns * 1_000).into());
                if !fault.is_empty() {
                    headers.insert("x-sim-fault", fault.parse().unwrap());
                }
                let reply = send(Speaks::One, request).await;
                of_run.push((
                    reply.line.clone(),
                    reply.body.clone(),
                    comparable(&reply.headers),
                ));
            }
        }
        replies.push(of_run);
        if through {
            let (report, home) = gateway.stop().await;
            assert_eq!(report.conversation_count, 1, "{report:?}");
            assert!(report.all.cost_usd > dormouse_core::usage::Usd::ZERO);
            assert_no_secret(&home);
        }
    }
    assert!(replies[0] == replies[1], "the simulator answered otherwise");
}

/// The client's key is nowhere on disk.
pub(crate) fn assert_no_secret(home: &tempfile::TempDir) {
    let files = RealFiles;
    let listed = files.list(home.path()).unwrap();
    assert!(listed.len() >= 2, "{listed:?}");
    for entry in listed {
        let bytes = files.read(&home.path().join(entry.name), u64::MAX).unwrap();
        let mut windows = bytes.windows(SECRET.len());
        let found = windows.any(|window| window == SECRET.as_bytes());
        assert!(!found, "the key was written");
    }
}
