//! A reply in which the model may read texts that left its prompt.
//!
//! # Model
//! The reply is read here before the client gets it. A call of our tool is answered at once and the
//! upstream is asked to go on, as often as the model reads; the client sees one reply. Its closing
//! events wait until the reads are on disk, because the client's next request relies on them.
//!
//! # Not here
//! Which events the client gets: `dormouse-rewrite`. The texts: `dormouse-relay`.

use crate::answer::Shared;
use crate::refusal::Refusal;
use crate::tap::{Broken, Inner};
use crate::upload::Upload;
use bytes::{Bytes, BytesMut};
use dormouse_core::block::Block;
use dormouse_relay::{
    Chain, Event, Joined, Layers, MOST_READS, Observed, Observer, Round, Rounds, Seen, SseDecoder,
    StopReason, continued, joined,
};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http::uri::PathAndQuery;
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Sender, channel};

/// Pieces that wait for a slow client before the upstream is read on.
const WAITING: usize = 16;
/// Bytes of a reply in one piece; the longest that a model writes is some megabytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// A reply on its way, with everything that another question of the same request needs.
pub(crate) struct Reading {
    pub(crate) shared: Arc<Shared>,
    pub(crate) layers: Arc<Layers>,
    pub(crate) conversation: Chain,
    pub(crate) seen: Arc<Seen>,
    /// Body of the last question.
    pub(crate) body: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) method: Method,
    pub(crate) path: PathAndQuery,
}

/// Step behind one answer of the upstream.
enum Next {
    /// The reply is over.
    Over,
    /// The model reads on, though it is refused; the reply ends here, and the client may go on.
    GivenUp,
    /// The model goes on in this reply.
    Again(Response<Incoming>),
    /// The upstream does not go on: its own words, or an error of the same shape.
    Stopped(Box<Response<Inner>>),
}

impl Reading {
    /// The reply as the client gets it.
    pub(crate) async fn reply(self, reply: Response<Incoming>) -> Response<Inner> {
        let kind = reply.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let is_stream = match (reply.status(), kind) {
            (StatusCode::OK, "text/event-stream") => true,
            (StatusCode::OK, "application/json") => false,
            _ => return reply.map(Inner::Upstream),
        };
        if !is_stream {
            return self.whole(reply).await;
        }
        let (mut head, body) = reply.into_parts();
        head.headers.remove(CONTENT_LENGTH);
        let (sender, receiver) = channel(WAITING);
        tokio::spawn(self.streamed(body, sender));
        Response::from_parts(head, Inner::Joined(receiver))
    }

    async fn streamed(mut self, mut upstream: Incoming, out: Sender<Result<Bytes, Broken>>) {
        let (mut events, mut rounds) = (Joined::default(), Rounds::default());
        loop {
            let passing = self.pass(&mut upstream, &mut events, &out);
            let observed = tokio::select! {
                passed = passing => passed,
                // The client is gone, and so is the question.
                () = out.closed() => return,
            };
            let observed = match observed {
                Ok(observed) => observed,
                Err(broken) => {
                    drop(out.send(Err(broken)).await);
                    return;
                }
            };
            let next = tokio::select! {
                next = self.ended(observed, &mut rounds) => next,
                () = out.closed() => return,
            };
            match next {
                Next::Over => break,
                Next::GivenUp => {
                    events.give_up();
                    break;
                }
                Next::Again(next) => {
                    events.again();
                    upstream = next.into_body();
                }
                Next::Stopped(reply) => {
                    let told = told(*reply).await;
                    drop(out.send(Ok(framed(&[told]))).await);
                    return;
                }
            }
        }
        self.keep(rounds).await;
        drop(out.send(Ok(framed(&events.close()))).await);
    }

    /// Passes one answer on, but for what is held back.
    async fn pass(
        &self,
        upstream: &mut Incoming,
        joined: &mut Joined,
        out: &Sender<Result<Bytes, Broken>>,
    ) -> Result<Option<Observed>, Broken> {
        let mut decoder = SseDecoder::default();
        let mut observer = Observer::new("text/event-stream");
        let mut read = Vec::new();
        loop {
            let next = tokio::time::timeout(self.shared.limits.silence, upstream.frame());
            let Some(frame) = next.await.map_err(|_| Broken::Silent)? else {
                return Ok(observer.end());
            };
            let Ok(data) = frame.map_err(Broken::Cut)?.into_data() else {
                continue;
            };
            observer.feed(&data);
            let fed = decoder.feed(&data, &mut read);
            fed.map_err(|_| Broken::Unreadable)?;
            let passed: Vec<Event> = read
                .drain(..)
                .filter_map(|event| {
                    let data = joined.event(&event.name, &event.data)?;
                    let name = event.name;
                    Some(Event { name, data })
                })
                .collect();
            if !passed.is_empty() {
                // A client that is gone is noticed by the caller.
                drop(out.send(Ok(framed(&passed))).await);
            }
        }
    }

    /// Answers the calls of our tool in an answer, and asks the upstream to go on where it waits for
    /// nothing else.
    async fn ended(&mut self, observed: Option<Observed>, rounds: &mut Rounds) -> Next {
        // A call that was cut off is none.
        let whole = |answer: &Observed| answer.stop == Some(StopReason::ToolUse);
        let Some(answer) = observed.filter(whole) else {
            return Next::Over;
        };
        let round = Rounds::round(&answer.blocks);
        if round == Round::Over {
            return Next::Over;
        }
        let results = self.read(&answer.blocks, rounds.reads()).await;
        rounds.take(&answer.blocks, &results);
        if round == Round::Shared {
            return Next::Over;
        }
        let body = continued(&self.body, &answer.blocks, &results);
        let Some(body) = body.filter(|_| rounds.reads() <= 2 * MOST_READS) else {
            return Next::GivenUp;
        };
        self.body = body;
        let target = (self.method.clone(), &self.path);
        let upload = Upload::whole(self.body.clone());
        let asking = self.shared.sent(target, self.headers.clone(), upload, None);
        match asking.await {
            Ok(reply) if reply.status() == StatusCode::OK => Next::Again(reply),
            Ok(reply) => Next::Stopped(Box::new(reply.map(Inner::Upstream))),
            Err(refusal) => Next::Stopped(Box::new(own(&refusal))),
        }
    }

    async fn read(&self, blocks: &[Block], earlier: u32) -> Vec<Block> {
        let (layers, conversation) = (Arc::clone(&self.layers), self.conversation);
        let blocks = blocks.to_vec();
        let reading =
            tokio::task::spawn_blocking(move || layers.read(conversation, &blocks, earlier));
        // A panic leaves the call without its result, and the upstream says so.
        reading.await.unwrap_or_default()
    }

    async fn keep(&self, rounds: Rounds) {
        let Some(aside) = rounds.aside(&self.seen) else {
            return;
        };
        let (layers, conversation) = (Arc::clone(&self.layers), self.conversation);
        let keeping = tokio::task::spawn_blocking(move || layers.keep_aside(conversation, aside));
        // Whatever fails, the next request is sent without the reads.
        drop(keeping.await);
    }

    /// A reply in one piece.
    async fn whole(mut self, reply: Response<Incoming>) -> Response<Inner> {
        let (mut head, mut body) = reply.into_parts();
        let mut rounds = Rounds::default();
        let mut answers: Vec<Value> = Vec::new();
        let is_given_up = loop {
            let bytes = match collected(&mut body, self.shared.limits.silence).await {
                Ok(bytes) => bytes,
                Err(read) => return Response::from_parts(head, cut(read)),
            };
            let mut observer = Observer::new("application/json");
            observer.feed(&bytes);
            let observed = observer.end();
            let next = self.ended(observed, &mut rounds).await;
            answers.extend(serde_json::from_slice::<Value>(&bytes));
            match next {
                Next::Over if rounds.reads() == 0 => {
                    return Response::from_parts(head, Inner::Whole(Some(bytes)));
                }
                Next::Over => break false,
                Next::GivenUp => break true,
                Next::Again(next) => body = next.into_body(),
                Next::Stopped(reply) => return *reply,
            }
        };
        self.keep(rounds).await;
        head.headers.remove(CONTENT_LENGTH);
        let whole = joined(&answers).map(|mut whole| {
            if is_given_up {
                whole["stop_reason"] = "end_turn".into();
            }
            Bytes::from(whole.to_string())
        });
        Response::from_parts(head, Inner::Whole(whole))
    }
}

/// Events in the frames of a stream.
fn framed(events: &[Event]) -> Bytes {
    let mut out = String::new();
    for event in events {
        // Writing to a string does not fail.
        let _ = write!(out, "event: {}\ndata: {}\n\n", event.name, event.data);
    }
    out.into()
}

/// An error as the event of a stream that has begun.
async fn told(reply: Response<Inner>) -> Event {
    let body = reply.into_body().collect().await;
    let bytes = body
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let data = match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) if value["type"] == "error" => value,
        _ => serde_json::json!({"type": "error", "error":
            {"type": "api_error", "message": "The upstream did not go on after a read."}}),
    };
    Event {
        name: "error".to_owned(),
        data: data.to_string(),
    }
}

fn own(refusal: &Refusal) -> Response<Inner> {
    let (head, body) = refusal.response("").into_parts();
    Response::from_parts(head, Inner::Whole(body.into_inner()))
}

/// A reply that breaks off behind these bytes.
fn cut(bytes: Bytes) -> Inner {
    let (sender, receiver) = channel(2);
    // There is room for both.
    drop(sender.try_send(Ok(bytes)));
    drop(sender.try_send(Err(Broken::Unreadable)));
    Inner::Joined(receiver)
}

/// The bytes of a body; those that came, if it is too long or breaks off.
async fn collected(body: &mut Incoming, silence: Duration) -> Result<Bytes, Bytes> {
    let mut whole = BytesMut::new();
    loop {
        match tokio::time::timeout(silence, body.frame()).await {
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    whole.extend_from_slice(&data);
                }
            }
            Ok(Some(Err(_))) | Err(_) => return Err(whole.freeze()),
        }
        if whole.len() > LONGEST {
            return Err(whole.freeze());
        }
    }
}
