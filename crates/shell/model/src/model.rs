//! The port: the only view of a model that the rest of Dormouse has.
//!
//! # Model
//! A [`Model`] takes a request whose body is bytes already and gives a [`ResponseStream`]. The
//! stream does the work itself while it is polled: no task runs behind it, except that conversions
//! of more than a millisecond go to the blocking pool. Dropping it at any point is the way to
//! cancel; the connection closes with it. A dropped future of [`ResponseStream::next`] loses
//! nothing, so it may stand in a `select!`.
//!
//! # Not here
//! Any provider's wire: [`crate::anthropic`] and [`crate::openai`].

use crate::error::{Malformed, ModelError};
use dormouse_ask::Capabilities;
use dormouse_ask::Request;
use dormouse_ask::{Event, Response};
use dormouse_core::units::Tokens;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// A model behind some provider.
pub trait Model: fmt::Debug + Send + Sync {
    /// Abilities of the model of this name.
    fn capabilities(&self, model: &str) -> Capabilities;

    /// Asks once. Nothing is sent before the stream is polled, and nothing is sent a second time:
    /// a caller that wants another attempt asks again.
    fn stream(&self, request: Request) -> ResponseStream;

    /// Counts the tokens of a prompt without a model answering it. The body is that of a request
    /// without `max_tokens` and `stream`, which providers refuse here.
    fn count_tokens(&self, request: Request) -> Counting;
}

/// Future of a token count.
pub type Counting = Pin<Box<dyn Future<Output = Result<TokenCount, ModelError>> + Send>>;

/// Length of a prompt, by the provider's estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCount {
    /// Tokens the model would see.
    pub input: Tokens,
    /// Tokens before the provider's own context editing, where it was asked for.
    pub before_editing: Option<Tokens>,
}

/// Events that an attempt may be ahead of its reader. Enough that small deltas do not cost a turn
/// each, few enough that a slow reader holds the socket back.
const AHEAD: usize = 32;

type Attempt = Pin<Box<dyn Future<Output = Result<Response, ModelError>> + Send>>;

/// An answer while it is being written.
pub struct ResponseStream {
    events: mpsc::Receiver<Event>,
    state: State,
}

enum State {
    Running(Attempt),
    /// The attempt is over, but events of it may be waiting.
    Ended(Box<Result<Response, ModelError>>),
    Over,
}

/// Sending end of a stream, for the attempt that writes it.
#[derive(Clone, Debug)]
pub struct Emitter(mpsc::Sender<Event>);

impl Emitter {
    /// Hands an event out; waits while the reader is far behind.
    pub async fn emit(&self, event: Event) {
        // The receiver lives as long as the attempt that calls this: both are in one stream.
        self.0.send(event).await.ok();
    }
}

impl ResponseStream {
    /// A stream written by an attempt, which runs while the stream is polled and whose result is
    /// the stream's end.
    pub fn new<F>(attempt: impl FnOnce(Emitter) -> F) -> Self
    where
        F: Future<Output = Result<Response, ModelError>> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(AHEAD);
        Self {
            events,
            state: State::Running(Box::pin(attempt(Emitter(sender)))),
        }
    }

    /// The next event. After [`Event::Done`] or an error there are none.
    pub async fn next(&mut self) -> Option<Result<Event, ModelError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Polls for the next event.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Event, ModelError>>> {
        // Before the attempt is polled: events in the channel are older than any it would add.
        if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
            return Poll::Ready(Some(Ok(event)));
        }
        if let State::Running(attempt) = &mut self.state {
            match attempt.as_mut().poll(context) {
                Poll::Ready(outcome) => self.state = State::Ended(Box::new(outcome)),
                Poll::Pending => {
                    // Polled again: the attempt may have sent events just now, and its waker would
                    // not tell of them.
                    return match self.events.poll_recv(context) {
                        Poll::Ready(Some(event)) => Poll::Ready(Some(Ok(event))),
                        _ => Poll::Pending,
                    };
                }
            }
        }
        // The attempt has ended, but its last events must come before its end.
        match self.events.poll_recv(context) {
            Poll::Ready(Some(event)) => return Poll::Ready(Some(Ok(event))),
            Poll::Ready(None) => {}
            Poll::Pending => return Poll::Pending,
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Ended(outcome) => Poll::Ready(Some(
                outcome.map(|response| Event::Done(Box::new(response))),
            )),
            State::Running(_) | State::Over => Poll::Ready(None),
        }
    }

    /// Reads to the end and returns the response, for callers that show nothing.
    pub async fn finish(mut self) -> Result<Response, ModelError> {
        while let Some(event) = self.next().await {
            if let Event::Done(response) = event? {
                return Ok(*response);
            }
        }
        // Only after an earlier read to the end; a stream itself always ends in one or the other.
        Err(Malformed::Order("the stream was read to its end before").into())
    }
}

impl fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Running(_) => "running",
            State::Ended(_) => "ended",
            State::Over => "over",
        };
        f.debug_struct("ResponseStream")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
