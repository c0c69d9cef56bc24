//! An upstream that records what it gets, a gateway in front of it, and a client.

use bytes::Bytes;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_gateway::{ClientKeys, Gateway, Limits, Reads, Server, Upstream, serve};
use dormouse_relay::{BookReport, Layers, Relay, read_book};
use dormouse_system::System;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Key of the clients in these tests; it must appear nowhere but upstream.
pub(crate) const SECRET: &str = "sk-secret-of-the-client-0123456789";

/// A request as the upstream got it, or a reply as the client got it.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Method and path of a request, status of a reply.
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Type of the error in the provider's shape.
    pub(crate) fn error(&self) -> String {
        let body = self.json();
        assert_eq!(body["type"], "error", "{body}");
        body["error"]["type"].as_str().unwrap().to_owned()
    }
}

/// Body that a test writes piece by piece; an error cuts it.
#[derive(Debug)]
pub(crate) struct Pieces(UnboundedReceiver<io::Result<Bytes>>);

impl Pieces {
    pub(crate) fn new() -> (UnboundedSender<io::Result<Bytes>>, Self) {
        let (sender, receiver) = unbounded_channel();
        (sender, Self(receiver))
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        let (sender, pieces) = Self::new();
        sender.send(Ok(bytes.into())).unwrap();
        pieces
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = self.0.poll_recv(context);
        next.map(|next| next.map(|piece| piece.map(Frame::data)))
    }
}

type Script = Arc<dyn Fn(&Message) -> Response<Pieces> + Send + Sync>;

/// A server that plays a script and keeps every request.
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Message>>>,
}

impl Recorder {
    pub(crate) async fn start(
        script: impl Fn(&Message) -> Response<Pieces> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (script, kept): (Script, _) = (Arc::new(script), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&kept));
                tokio::spawn(async move {
                    let service = service_fn(move |request: Request<Incoming>| {
                        let (script, seen) = (Arc::clone(&script), Arc::clone(&seen));
                        async move {
                            let (parts, body) = request.into_parts();
                            let message = Message {
                                line: format!("{} {}", parts.method, parts.uri),
                                headers: parts.headers,
                                body: body.collect().await.unwrap().to_bytes(),
                            };
                            let reply = script(&message);
                            seen.lock().unwrap().push(message);
                            Ok::<_, Infallible>(reply)
                        }
                    });
                    let builder = auto::Builder::new(TokioExecutor::new());
                    drop(
                        builder
                            .serve_connection(TokioIo::new(stream), service)
                            .await,
                    );
                });
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Message> {
        self.seen.lock().unwrap().clone()
    }
}

/// A gateway with a home of its own.
pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) home: Arc<TempDir>,
    relay: Arc<Relay>,
}

/// A gateway's limits, keys and home, where they are not the usual ones.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) limits: Limits,
    pub(crate) keys: Option<&'static str>,
    pub(crate) upstream_key: Option<&'static str>,
    pub(crate) home: Option<Arc<TempDir>>,
    pub(crate) layers: bool,
    pub(crate) reads: Option<Reads>,
}

impl Running {
    pub(crate) async fn before(upstream: &str) -> Self {
        Self::with(upstream, Options::default()).await
    }

    pub(crate) async fn with(upstream: &str, options: Options) -> Self {
        let home = options.home;
        let home = home.unwrap_or_else(|| Arc::new(TempDir::new().unwrap()));
        let system = System::real();
        let models = Arc::new(ModelTable::builtin().clone());
        let relay = Arc::new(Relay::open(&system, home.path(), models).unwrap());
        let gateway = Gateway {
            relay: Arc::clone(&relay),
            layers: options.layers.then(|| {
                let settings = Settings::default();
                let models = Arc::new(ModelTable::builtin().clone());
                Arc::new(Layers::new(&system, home.path(), models, &settings))
            }),
            reads: options.reads,
            upstream: Upstream::new(upstream, None, &[]).unwrap(),
            keys: options.keys.map(|keys| ClientKeys::parse(keys).unwrap()),
            upstream_key: options.upstream_key.map(str::to_owned),
            limits: options.limits,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = serve(gateway, &system, listener).unwrap();
        Self {
            server,
            home,
            relay,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Stops the gateway, and reads its book.
    pub(crate) async fn stop(self) -> (BookReport, Arc<TempDir>) {
        self.server.stop().await;
        drop(self.relay);
        let models = ModelTable::builtin();
        let report = read_book(&System::real(), self.home.path(), models).unwrap();
        (report, self.home)
    }
}

/// Version of HTTP that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    One,
    Two,
}

/// A request to build and send.
pub(crate) fn post(url: &str, path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let request = Request::post(format!("{url}{path}"));
    let request = request
        .header("x-api-key", SECRET)
        .header("anthropic-version", "2023-06-01")
        .header("content-type", "application/json");
    request.body(Full::new(body.into())).unwrap()
}

/// Sends a request and returns its reply before the body is read.
pub(crate) async fn open(speaks: Speaks, request: Request<Full<Bytes>>) -> Response<Incoming> {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.http2_only(speaks == Speaks::Two);
    builder.build_http().request(request).await.unwrap()
}

/// Sends a request and reads its whole reply.
pub(crate) async fn send(speaks: Speaks, request: Request<Full<Bytes>>) -> Message {
    let reply = open(speaks, request).await;
    let (parts, body) = reply.into_parts();
    Message {
        line: parts.status.as_u16().to_string(),
        headers: parts.headers,
        body: body.collect().await.unwrap().to_bytes(),
    }
}

/// A request of a client that appends to its history.
pub(crate) fn history(turns: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "begin"})];
    for turn in 0..turns {
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": format!("toolu_{turn}"), "name": "Read", "input": {}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": format!("toolu_{turn}"), "content": "out"}]}));
    }
    json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "stream": true, "messages": messages,
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}]})
}

/// The events of an answer that calls a tool.
pub(crate) fn stream() -> String {
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
            "usage": {"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 0, "content_block":
            {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta":
            {"type": "text_delta", "text": "Done with all of it, as you can see for yourself."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "new_kind_of_event", "unknown": [1, 2.50, null]}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ];
    let framed = events.map(|event| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    });
    framed.concat()
}

/// A streamed reply with a body that the test writes.
pub(crate) fn streamed(body: Pieces) -> Response<Pieces> {
    Response::builder()
        .header("content-type", "text/event-stream; charset=utf-8")
        .header("request-id", "req_upstream")
        .body(body)
        .unwrap()
}
