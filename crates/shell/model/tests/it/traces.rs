//! The spans of attempts: figures for operators, and not a word of a conversation.

use crate::material::{ANSWER, ask, chat, client, client_with, options};
use crate::server::{Reply, Server, Step};
use dormouse_model::openai::{LengthMember, OpenAiClient};
use dormouse_model::{Connecting, Connector, Model, Origin, Request};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// Words of the request that may appear nowhere.
const PROMPT: &str = r#"{"model":"claude-x","max_tokens":9,"stream":true,"metadata":{"user_id":"zebra"},"system":"marmalade","messages":[{"role":"user","content":"xylophone"}]}"#;

/// Keeps everything that is traced on this thread.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Captured>>);

#[derive(Default)]
struct Captured {
    spans: Vec<Fields>,
    /// Names, targets, fields and values of spans and events, in the order of their arrival.
    everything: Vec<String>,
}

#[derive(Clone, Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}").trim_matches('"').to_owned();
        self.0.insert(field.name().to_owned(), text);
    }
}

impl Captured {
    fn note(&mut self, metadata: &Metadata<'_>, fields: &Fields) {
        let (target, name) = (metadata.target(), metadata.name());
        let line = format!("{target} {name} {:?}", fields.0);
        self.everything.push(line);
    }
}

impl Subscriber for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let mut captured = self.0.lock().unwrap();
        captured.note(span.metadata(), &fields);
        captured.spans.push(fields);
        Id::from_u64(captured.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut captured = self.0.lock().unwrap();
        let at = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut captured.spans[at]);
        let line = format!("{:?}", captured.spans[at].0);
        captured.everything.push(line);
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.0.lock().unwrap().note(event.metadata(), &fields);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Capture {
    /// Captures until the guard is dropped. The runtime of a test has one thread: this one.
    fn start() -> (Self, DefaultGuard) {
        let capture = Self::default();
        let guard = tracing::subscriber::set_default(capture.clone());
        (capture, guard)
    }

    /// The only span, as `field=value` in the order of the names.
    fn span(&self) -> String {
        let captured = self.0.lock().unwrap();
        assert_eq!(captured.spans.len(), 1, "{:?}", captured.everything);
        let fields = captured.spans[0].0.iter();
        let fields: Vec<String> = fields
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        fields.join(" ")
    }

    fn everything(&self) -> String {
        self.0.lock().unwrap().everything.join("\n")
    }
}

fn prompt() -> Request {
    Request::streamed(PROMPT).with_betas(&["beta-of-the-day".into()])
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_a_span_with_its_figures() {
    let wait = Reply::default().step(Step::Wait(Duration::from_secs(3)));
    let Reply(steps) = Reply::whole_stream(ANSWER);
    let server = Server::new([steps.into_iter().fold(wait, Reply::step)]);
    let (capture, _guard) = Capture::start();
    client(&server).stream(prompt()).finish().await.unwrap();
    let expected = format!(
        "body_bytes={} duration_ms=3000 host=model.test model=claude-x path=/v1/messages \
         request_id=req_1 status=200",
        PROMPT.len()
    );
    assert_eq!(capture.span(), expected);
    assert!(capture.everything().starts_with("dormouse_model request "));
}

#[tokio::test(start_paused = true)]
async fn refusals_counts_and_the_other_wire_have_spans_too() {
    let limited = || Reply::json(429, &[("request-id", "req_7")], r#"{"error":"kumquat"}"#);
    let (capture, guard) = Capture::start();
    let server = Server::new([limited()]);
    client(&server).stream(prompt()).finish().await.unwrap_err();
    let span = capture.span();
    assert!(span.contains("request_id=req_7 status=429"), "{span}");
    drop(guard);

    let (capture, guard) = Capture::start();
    let server = Server::new([limited()]);
    client(&server).count_tokens(prompt()).await.unwrap_err();
    let span = capture.span();
    assert!(span.contains("path=/v1/messages/count_tokens"), "{span}");
    assert!(span.contains("status=429"), "{span}");
    drop(guard);

    let (capture, _guard) = Capture::start();
    let server = Server::new([limited()]);
    chat(&server).stream(prompt()).finish().await.unwrap_err();
    let sent = server.requests()[0].body.len();
    let span = capture.span();
    assert!(span.starts_with(&format!("body_bytes={sent} ")), "{span}");
    assert!(
        span.contains("model=claude-x path=/chat/completions"),
        "{span}"
    );
}

#[derive(Debug)]
struct Nowhere;

impl Connector for Nowhere {
    fn connect(&self, _: &Origin) -> Connecting {
        Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_without_a_reply_has_a_duration_and_no_status() {
    let (capture, guard) = Capture::start();
    let server = Server::new([Reply::default().step(Step::Stall)]);
    let stream = client(&server).stream(prompt());
    let cancelled = tokio::time::timeout(Duration::from_secs(10), stream.finish()).await;
    assert!(cancelled.is_err());
    let span = capture.span();
    assert!(span.contains("duration_ms=10000"), "{span}");
    assert!(!span.contains("status"), "{span}");
    drop(guard);

    let (capture, _guard) = Capture::start();
    let mut options = options(&server);
    options.connector = Some(Arc::new(Nowhere));
    ask(&client_with(&options)).await.unwrap_err();
    let span = capture.span();
    assert!(span.contains("duration_ms=0"), "{span}");
    assert!(!span.contains("status"), "{span}");
}

#[tokio::test(start_paused = true)]
async fn neither_keys_nor_headers_nor_content_are_traced() {
    let refusal = r#"{"error":{"type":"invalid_request_error","message":"kumquat"}}"#;
    let begun = &ANSWER.as_bytes()[..ANSWER.len() / 2];
    let replies = || {
        [
            Reply::whole_stream(ANSWER),
            Reply::json(400, &[("x-odd", "walrus")], refusal),
            Reply::json(200, &[], "kumquat, but no JSON"),
            Reply::stream().chunk(begun).step(Step::Close),
            Reply::stream().chunk(b"data: kumquat\n\n").end(),
            Reply::default().step(Step::Close),
        ]
    };
    let (capture, _guard) = Capture::start();
    let server = Server::new(replies().into_iter().chain(replies()).chain(replies()));
    let mut options = options(&server);
    options.url = "http://model.test/tenant-token".to_owned();
    let messages = client_with(&options);
    let chat = OpenAiClient::new(&options, LengthMember::MaxTokens).unwrap();
    for _ in replies() {
        messages.stream(prompt()).finish().await.ok();
        chat.stream(prompt()).finish().await.ok();
        messages.count_tokens(prompt()).await.ok();
    }
    let everything = capture.everything();
    assert_eq!(
        capture.0.lock().unwrap().spans.len(),
        server.requests().len()
    );
    assert!(server.requests().len() == 18 && everything.contains("status"));
    let secrets = [
        "sk-very-secret",
        "secret",
        "Bearer",
        "tenant-token",
        "beta-of-the-day",
        "anthropic-version",
        "zebra",
        "marmalade",
        "xylophone",
        "kumquat",
        "walrus",
        "Grüße",
        "Let me look",
        "file_path",
        "toolu_1",
    ];
    for secret in secrets {
        assert!(!everything.contains(secret), "{secret} in {everything}");
    }
}
