//! One attempt at a request, from the connection to the answer.
//!
//! # Model
//! An attempt sends once, reads the head, then either the whole body or events. Once a decoder has
//! seen content, every failure is wrapped in [`ModelError::Broken`] with the content that had
//! arrived: the mark by which [`dormouse_ask::retry`] refuses to send such a request again.
//!
//! # Responsibilities
//! Order, timeouts, bounds on the bytes read. The same for every provider.
//!
//! # Not here
//! The meaning of bytes ([`Provider`], [`Decoder`]). Retry, back-off and fallback: they belong to
//! the driver of a conversation, which records each of them.

use crate::blocking;
use crate::error::{Malformed, ModelError};
use crate::http::{Exchange, Http, Post};
use crate::limits;
use crate::model::Emitter;
use crate::sse::SseDecoder;
use crate::trace::Trace;
use bytes::Bytes;
use dormouse_ask::Delivery;
use dormouse_ask::RateLimits;
use dormouse_ask::{Delta, Event, Partial, Response};
use dormouse_core::json::RawJson;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

/// Longest waits of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, TLS included.
    pub connect: Duration,
    /// For the next byte of a streamed answer; every byte starts it anew.
    pub idle: Duration,
    /// For an answer that comes in one piece.
    pub whole: Duration,
    /// For one attempt, from connecting to the last byte.
    pub overall: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            // A handshake over a bad line takes seconds; a host that is down takes for ever.
            connect: Duration::from_secs(30),
            // Providers send pings, but local servers read long prompts in silence for minutes.
            idle: Duration::from_mins(5),
            // The timeout of the provider's own SDKs for an answer that is not streamed.
            whole: Duration::from_mins(10),
            // The longest answers stream for tens of minutes; a stream that goes on for longer is
            // a fault.
            overall: Some(Duration::from_hours(1)),
        }
    }
}

/// Bytes of an answer. The longest a model can write is some megabytes as events; the rest is room
/// for pages that the provider fetched.
pub(crate) const LONGEST_ANSWER: usize = 64 * 1024 * 1024;
/// Bytes of an error reply: gateways send whole pages of HTML, of which the first words are used.
const LONGEST_ERROR: usize = 64 * 1024;
/// Wait for the end of a chunked body, which usually is in the same packet as the last event. A
/// caller notices no delay below a frame or two.
const GRACE: Duration = Duration::from_millis(20);

/// Facts from the head of a reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) request_id: Option<String>,
    pub(crate) rate_limits: RateLimits,
}

impl Head {
    fn read(headers: &HeaderMap) -> Self {
        Self {
            request_id: request_id(headers).map(str::to_owned),
            rate_limits: limits::read(headers),
        }
    }
}

/// The provider's id of the request, by the name of either wire.
fn request_id(headers: &HeaderMap) -> Option<&str> {
    limits::text(headers, "request-id").or(limits::text(headers, "x-request-id"))
}

/// A provider's wire format, without IO.
pub(crate) trait Provider: Clone + Send + Sync + 'static {
    type Decoder: Decoder;

    /// A decoder for the events of one reply.
    fn decoder(&self, head: Head) -> Self::Decoder;

    /// Reads an answer that came in one piece.
    fn whole(&self, head: Head, body: &[u8]) -> Result<Response, ModelError>;

    /// Reads an error reply.
    fn refusal(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError;
}

/// Turns the events of a stream into ours.
pub(crate) trait Decoder: Send {
    /// Takes one event of the wire.
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Event>) -> Result<(), ModelError>;

    /// True once the wire said that nothing more comes.
    fn is_over(&self) -> bool;

    /// The response, when the stream is over or has ended.
    fn finish(&mut self, out: &mut Vec<Event>) -> Result<Response, ModelError>;

    /// The content that had arrived; `None` when none had.
    fn partial(&mut self) -> Option<Partial>;
}

/// A request before it is sent.
#[derive(Debug)]
pub(crate) struct Call<P> {
    pub(crate) http: Http,
    pub(crate) post: Post,
    pub(crate) provider: P,
    pub(crate) delivery: Delivery,
    pub(crate) timeouts: Timeouts,
}

impl<P: Provider> Call<P> {
    /// Sends, and hands out the events of the answer as they come.
    pub(crate) async fn run(self, emitter: Emitter) -> Result<Response, ModelError> {
        let trace = Trace::start(self.http.host(), &self.post);
        let span = trace.span();
        self.answer(emitter, trace).instrument(span).await
    }

    /// Sends and returns the whole body, for replies that are no answer of a model.
    pub(crate) async fn fetch(self) -> Result<Bytes, ModelError> {
        let trace = Trace::start(self.http.host(), &self.post);
        let span = trace.span();
        let fetching = async {
            let patience = Patience::new(&self);
            let mut exchange = self.open(&patience, &trace).await?;
            read_all(&mut exchange, &patience, LONGEST_ANSWER).await
        };
        fetching.instrument(span).await
    }

    async fn answer(self, emitter: Emitter, trace: Trace) -> Result<Response, ModelError> {
        let patience = Patience::new(&self);
        let mut exchange = self.open(&patience, &trace).await?;
        let head = Head::read(&exchange.headers);
        // Judged by the reply, not by the request: some servers ignore `stream` and answer in one
        // piece.
        let is_stream = limits::text(&exchange.headers, CONTENT_TYPE.as_str())
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        if !is_stream {
            let body = read_all(&mut exchange, &patience, LONGEST_ANSWER).await?;
            let provider = self.provider;
            let read = blocking::run(body.len(), move || {
                let response = provider.whole(head, &body)?;
                let events = announcement(&response);
                Ok::<_, ModelError>((response, events))
            });
            let (response, mut events) = read.await?;
            emit_all(&emitter, &mut events).await;
            return Ok(response);
        }
        let mut decoder = self.provider.decoder(head);
        let outcome = read_events(&mut exchange, &mut decoder, &emitter, &patience).await;
        if outcome.is_ok() {
            // Only a connection that was read to its end can be used again.
            tokio::time::timeout(GRACE, exchange.chunk()).await.ok();
        }
        // Content was shown: sending the request again could run a tool twice.
        outcome.map_err(|error| match decoder.partial() {
            Some(partial) => ModelError::Broken {
                partial: Box::new(partial),
                source: Box::new(error),
            },
            None => error,
        })
    }

    async fn open(&self, patience: &Patience, trace: &Trace) -> Result<Exchange, ModelError> {
        let mut exchange = patience.within(self.http.send(&self.post)).await??;
        let status = exchange.status.as_u16();
        trace.replied(status, request_id(&exchange.headers));
        if exchange.status.is_success() {
            return Ok(exchange);
        }
        // A refusal whose body breaks off is still the refusal its status says.
        let body = read_all(&mut exchange, patience, LONGEST_ERROR).await;
        Err(self
            .provider
            .refusal(status, &exchange.headers, &body.unwrap_or_default()))
    }
}

async fn read_events(
    exchange: &mut Exchange,
    decoder: &mut impl Decoder,
    emitter: &Emitter,
    patience: &Patience,
) -> Result<Response, ModelError> {
    let mut sse = SseDecoder::default();
    let (mut raw, mut events) = (Vec::new(), Vec::new());
    let mut total = 0_usize;
    loop {
        let chunk = match patience.within(exchange.chunk()).await? {
            Some(Ok(chunk)) => chunk,
            end => {
                // A connection may break after the answer was complete.
                let outcome = decoder.finish(&mut events);
                emit_all(emitter, &mut events).await;
                return match (outcome, end) {
                    // The cause of the cut is more useful than the cut itself.
                    (Err(ModelError::Cut), Some(Err(error))) => Err(error),
                    (outcome, _) => outcome,
                };
            }
        };
        total = total.saturating_add(chunk.len());
        let framed = sse.feed(&chunk, &mut raw);
        for event in raw.drain(..) {
            let outcome = decoder.event(&event.name, &event.data, &mut events);
            // Handed out one by one: a chunk may hold milliseconds of events, and the reader gets
            // its turn whenever the channel is full.
            emit_all(emitter, &mut events).await;
            outcome?;
            if decoder.is_over() {
                break;
            }
        }
        if decoder.is_over() {
            let outcome = decoder.finish(&mut events);
            emit_all(emitter, &mut events).await;
            return outcome;
        }
        framed.map_err(Malformed::from)?;
        // After the decoder: an answer that is complete is not refused for its length.
        if total > LONGEST_ANSWER {
            return Err(Malformed::TooLong {
                limit: LONGEST_ANSWER,
            }
            .into());
        }
    }
}

async fn emit_all(emitter: &Emitter, events: &mut Vec<Event>) {
    for event in events.drain(..) {
        emitter.emit(event).await;
    }
}

/// The events that a reader of a stream would have seen, each block in one piece.
fn announcement(response: &Response) -> Vec<Event> {
    let mut events = vec![Event::MessageStart {
        id: response.id.clone(),
        model: response.model.clone(),
        usage: response.usage,
    }];
    for (index, block) in (0_u32..).zip(&response.blocks) {
        let kind = block.kind();
        let head = RawJson::from(block);
        events.push(Event::BlockStart { index, kind, head });
        if let Some(text) = block.readable_text() {
            let delta = if kind.is_thinking() {
                Delta::Thinking(text)
            } else {
                Delta::Text(text)
            };
            events.push(Event::Delta { index, delta });
        }
        let block = Some(block.clone());
        events.push(Event::BlockStop { index, block });
    }
    events.push(Event::Usage(response.usage));
    events.push(Event::Stop(response.stop_reason.clone()));
    events
}

async fn read_all(
    exchange: &mut Exchange,
    patience: &Patience,
    limit: usize,
) -> Result<Bytes, ModelError> {
    let mut body = Vec::new();
    while let Some(chunk) = patience.within(exchange.chunk()).await? {
        let chunk = chunk?;
        // Checked before the copy, so that a hostile server cannot make the buffer grow beyond the
        // limit.
        if body.len().saturating_add(chunk.len()) > limit {
            return Err(Malformed::TooLong { limit }.into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.into())
}

/// The timeouts of one attempt.
struct Patience {
    start: Instant,
    idle: Duration,
    overall: Option<Duration>,
}

impl Patience {
    fn new<P>(call: &Call<P>) -> Self {
        Self {
            start: Instant::now(),
            idle: match call.delivery {
                Delivery::Streamed => call.timeouts.idle,
                Delivery::Whole => call.timeouts.whole,
            },
            overall: call.timeouts.overall,
        }
    }

    async fn within<F: Future>(&self, future: F) -> Result<F::Output, ModelError> {
        // Every wait starts the idle timeout anew; the deadline counts from the start of the
        // attempt.
        let silent = Instant::now() + self.idle;
        let deadline = self.overall.map(|overall| self.start + overall);
        let limit = deadline.map_or(silent, |deadline| deadline.min(silent));
        timeout_at(limit, future)
            .await
            // The shorter of the two limits struck: it decides which error the caller sees.
            .map_err(|_| match self.overall.filter(|_| limit < silent) {
                Some(overall) => ModelError::Deadline(overall),
                None => ModelError::Stalled(self.idle),
            })
    }
}
