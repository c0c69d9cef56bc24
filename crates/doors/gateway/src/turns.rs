//! Recognition in the order in which requests arrived.
//!
//! A client sends its next request when it has the whole reply, which an upstream on the same
//! machine may have given before the first request was even read. Bodies are read side by side on
//! the blocking pool; one task relates them, each in its turn.

use bytes::Bytes;
use dormouse_relay::{Caller, Recognition, Relay, Seen};
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The queue of requests to recognise.
#[derive(Debug)]
pub(crate) struct Turns(UnboundedSender<Turn>);

struct Turn {
    caller: Caller,
    reading: JoinHandle<Option<Seen>>,
    answer: oneshot::Sender<Recognition>,
}

impl Turns {
    /// A queue with its task, which ends with it.
    pub(crate) fn start(relay: Arc<Relay>) -> Self {
        let (sender, turns) = unbounded_channel();
        tokio::spawn(recognise(relay, turns));
        Self(sender)
    }

    /// Lines a request up, and begins to read it.
    ///
    /// `held` is the body's share of the room for all bodies; it is given back once it is read.
    pub(crate) fn enter<H: Send + 'static>(
        &self,
        caller: Caller,
        body: Bytes,
        held: H,
    ) -> oneshot::Receiver<Recognition> {
        let reading = tokio::task::spawn_blocking(move || {
            let seen = Seen::read(&body);
            drop((body, held));
            seen.inspect_err(|why| tracing::debug!(%why, "not understood"))
                .ok()
        });
        let (answer, receiver) = oneshot::channel();
        // Refused only once the task is gone, and then the receiver says so.
        drop(self.0.send(Turn {
            caller,
            reading,
            answer,
        }));
        receiver
    }
}

async fn recognise(relay: Arc<Relay>, mut turns: UnboundedReceiver<Turn>) {
    while let Some(turn) = turns.recv().await {
        let recognition = match turn.reading.await {
            Ok(Some(seen)) => relay.recognise(&turn.caller, seen),
            // Not understood, or a panic in the reading.
            _ => Recognition::unread(),
        };
        // An exchange that is gone needs no answer.
        drop(turn.answer.send(recognition));
    }
}
