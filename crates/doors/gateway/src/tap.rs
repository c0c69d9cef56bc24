//! The copy of an exchange that is read, and its end.
//!
//! # Model
//! The body that goes to the client hands each piece to a channel; a task reads the pieces and, when
//! the channel closes, books the exchange. A piece is a pointer, so that the copy costs no copying.
//! A body that is dropped before its end belongs to a client that is gone.

use crate::answer::Shared;
use bytes::Bytes;
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use dormouse_relay::{Caller, Ended, Entry, Exchange, Expected, Observer, Recognition};
use dormouse_system::Ticks;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};

/// News of an exchange.
#[derive(Debug)]
enum News {
    /// The head of the reply: its status, and its content type if its bytes can be read.
    Head {
        status: u16,
        readable: Option<String>,
    },
    /// Another body in place of the one that was refused as too long.
    Resent(Box<Resent>),
    /// Bytes of the reply.
    Piece(Bytes),
    /// The end of the exchange; without it the client is gone.
    End(Ended),
}

/// The door's end of an exchange.
#[derive(Debug)]
pub(crate) struct Tap(UnboundedSender<News>);

/// Facts known when the request is sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) request: String,
    pub(crate) at: Millis,
    pub(crate) since: Ticks,
    pub(crate) bytes: u64,
    pub(crate) caller: Caller,
    /// The recognition, which comes in its turn.
    pub(crate) reading: oneshot::Receiver<Recognition>,
    /// Usage of the gateway's own questions for this request.
    pub(crate) beside: Option<TokenUsage>,
    /// The prompt as the layers sent it.
    pub(crate) expected: Option<Expected>,
}

/// Facts of the body that is sent in place of one that was refused.
#[derive(Debug)]
pub(crate) struct Resent {
    pub(crate) bytes: u64,
    pub(crate) beside: Option<TokenUsage>,
    pub(crate) expected: Option<Expected>,
}

impl Tap {
    /// Starts to observe an exchange.
    pub(crate) fn start(shared: Arc<Shared>, sent: Sent) -> Self {
        let (sender, news) = unbounded_channel();
        tokio::spawn(observe(shared, sent, news));
        Self(sender)
    }

    pub(crate) fn head(&self, status: u16, readable: Option<String>) {
        self.tell(News::Head { status, readable });
    }

    pub(crate) fn resent(&self, resent: Resent) {
        self.tell(News::Resent(Box::new(resent)));
    }

    pub(crate) fn end(&self, ended: Ended) {
        self.tell(News::End(ended));
    }

    fn tell(&self, news: News) {
        // The task ends only after this end is dropped.
        drop(self.0.send(news));
    }
}

async fn observe(shared: Arc<Shared>, mut sent: Sent, mut news: UnboundedReceiver<News>) {
    let (mut status, mut received) = (0, 0);
    let mut ended = Ended::ClientGone;
    let mut observer = None;
    while let Some(one) = news.recv().await {
        match one {
            News::Head {
                status: of_reply,
                readable,
            } => {
                status = of_reply;
                observer = readable
                    .filter(|_| status == 200)
                    .map(|kind| Observer::new(&kind));
            }
            News::Resent(resent) => {
                sent.bytes = resent.bytes;
                sent.expected = resent.expected;
                let beside = resent.beside.unwrap_or_default();
                sent.beside = match sent.beside {
                    Some(before) => Some(before + beside),
                    None => resent.beside,
                };
            }
            News::Piece(bytes) => {
                received += bytes.len() as u64;
                if let Some(observer) = &mut observer {
                    observer.feed(&bytes);
                }
            }
            News::End(way) => ended = way,
        }
    }
    let ms = shared.clock.ticks().since(sent.since).as_millis();
    // Without a recognition, because reading panicked, nothing was understood.
    let recognition = sent.reading.await.unwrap_or_else(|_| Recognition::unread());
    let observed = observer.and_then(Observer::end);
    // Figures of a broken answer are those of the prompt, too; only a whole one is learnt from.
    let usage = observed.as_ref().map(|observed| observed.usage);
    let is_whole = observed
        .as_ref()
        .is_some_and(|observed| observed.stop.is_some());
    let untouched = sent.expected.as_ref().zip(usage.as_ref());
    let untouched = untouched.and_then(|(expected, usage)| expected.untouched(usage));
    let exchange = Exchange {
        request: sent.request,
        at: sent.at,
        ms: u64::try_from(ms).unwrap_or(u64::MAX),
        status,
        ended,
        sent: sent.bytes,
        received,
        beside: sent.beside,
        untouched,
    };
    let entry = shared
        .relay
        .book(&sent.caller, recognition, observed.as_ref(), exchange);
    log(&entry);
    if let (Some(expected), Some(usage), true) = (sent.expected, usage, is_whole) {
        let at = shared.clock.now();
        let learning = tokio::task::spawn_blocking(move || expected.answered(&usage, at));
        // A panic in it costs a measurement.
        drop(learning.await);
    }
}

/// One line of the log: ids and sizes, no content, no key.
fn log(entry: &Entry) {
    let usage = entry.usage.unwrap_or_default();
    let conversation = entry
        .footprint
        .map(|footprint| footprint.conversation.to_string());
    tracing::info!(
        request = entry.request,
        client = entry.client,
        conversation,
        relation = entry.relation.map(|relation| format!("{relation:?}")),
        model = entry.model,
        status = entry.status,
        ended = ?entry.ended,
        ms = entry.ms,
        sent = entry.sent,
        received = entry.received,
        prompt_tokens = usage.prompt().0,
        output_tokens = usage.output.0,
        "exchange"
    );
}

/// Reason that a reply breaks off.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the upstream broke off")]
    Cut(#[source] hyper::Error),
    #[error("the upstream sent nothing for too long")]
    Silent,
    #[error("the upstream's reply cannot be read")]
    Unreadable,
}

/// Bytes of a reply before they are tapped.
#[derive(Debug)]
pub(crate) enum Inner {
    /// The upstream's, as they come.
    Upstream(Incoming),
    /// Those of several answers, joined by a task.
    Joined(Receiver<Result<Bytes, Broken>>),
    /// All of them, until they are passed.
    Whole(Option<Bytes>),
}

impl Body for Inner {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Upstream(body) => Pin::new(body).poll_frame(context).map_err(Broken::Cut),
            Self::Joined(pieces) => pieces
                .poll_recv(context)
                .map(|piece| piece.map(|piece| piece.map(Frame::data))),
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Upstream(body) => body.is_end_stream(),
            Self::Joined(_) => false,
            Self::Whole(bytes) => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Upstream(body) => body.size_hint(),
            Self::Joined(_) => SizeHint::default(),
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}

/// The body of a reply on its way to the client.
pub(crate) struct Passing {
    /// Bytes that were read already.
    before: Option<Bytes>,
    inner: Inner,
    tap: Option<Tap>,
    silence: Duration,
    idle: Pin<Box<Sleep>>,
    /// The exchange counts as under way until its body is dropped.
    _permits: Vec<OwnedSemaphorePermit>,
}

impl fmt::Debug for Passing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passing").finish_non_exhaustive()
    }
}

impl Passing {
    pub(crate) fn new(
        (before, inner): (Bytes, Inner),
        tap: Option<Tap>,
        silence: Duration,
        permits: Vec<OwnedSemaphorePermit>,
    ) -> Self {
        let passing = Self {
            before: Some(before).filter(|before| !before.is_empty()),
            idle: Box::pin(tokio::time::sleep(silence)),
            inner,
            tap,
            silence,
            _permits: permits,
        };
        passing.end_if_over();
        passing
    }

    /// A body of known length is not asked for its end once all of it was given.
    fn end_if_over(&self) {
        if self.is_end_stream() {
            self.end(Ended::Whole);
        }
    }

    fn end(&self, ended: Ended) {
        if let Some(tap) = &self.tap {
            tap.end(ended);
        }
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(before) = self.before.take() {
            if let Some(tap) = &self.tap {
                tap.tell(News::Piece(before.clone()));
            }
            self.end_if_over();
            return Poll::Ready(Some(Ok(Frame::data(before))));
        }
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(data), Some(tap)) = (frame.data_ref(), &self.tap) {
                    tap.tell(News::Piece(data.clone()));
                }
                let deadline = Instant::now() + self.silence;
                self.idle.as_mut().reset(deadline);
                self.end_if_over();
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(broken))) => {
                self.end(Ended::Cut);
                Poll::Ready(Some(Err(broken)))
            }
            Poll::Ready(None) => {
                self.end(Ended::Whole);
                Poll::Ready(None)
            }
            Poll::Pending => {
                std::task::ready!(self.idle.as_mut().poll(context));
                self.end(Ended::Cut);
                Poll::Ready(Some(Err(Broken::Silent)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.before.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let before = self.before.as_ref().map_or(0, |before| before.len() as u64);
        let rest = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + before);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + before);
        }
        hint
    }
}
