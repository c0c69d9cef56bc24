//! Recognition beside the path, in the order in which bodies arrived.
//!
//! # Model
//! Where no layer acts, a client waits for nothing of this: its body is on its way already. One
//! thread reads the copies, because a client sends its next request when it has the whole reply,
//! which an upstream on the same machine may have given before the first request was even read.
//! Copies that wait are bounded; beyond it a request is booked without its conversation.

use bytes::{Bytes, BytesMut};
use dormouse_relay::{Caller, Recognition, Relay, Seen};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Bytes of all copies that wait or arrive: twice the largest body. At the speed of one thread that
/// is a fifth of a second of reading.
const WAITING: usize = 64 * 1024 * 1024;
/// Unit in which they are counted: a semaphore counts in 32 bits.
const UNIT: usize = 1024;

/// The queue of requests to recognise.
#[derive(Debug)]
pub(crate) struct Turns {
    sender: Sender<Copied>,
    room: Arc<Semaphore>,
    skipped: AtomicU64,
}

/// The copy of a body, until it is whole.
#[derive(Debug)]
pub(crate) struct Copied {
    caller: Caller,
    /// The body so far.
    pub(crate) pieces: Vec<Bytes>,
    answer: oneshot::Sender<Recognition>,
    queue: Option<Sender<Self>>,
    _room: OwnedSemaphorePermit,
}

impl Copied {
    /// Hands a body on that has reached its end.
    pub(crate) fn whole(mut self) {
        if let Some(queue) = self.queue.take() {
            // Refused only once the thread is gone, and then the receiver says so.
            drop(queue.send(self));
        }
    }
}

impl Turns {
    /// A queue with its thread, which ends with it; `done` is dropped once the relay is let go.
    pub(crate) fn start(relay: Arc<Relay>, done: mpsc::Sender<()>) -> Self {
        let (sender, turns) = channel();
        std::thread::spawn(move || {
            recognise(&relay, &turns);
            drop(relay);
            drop(done);
        });
        Self {
            sender,
            room: Arc::new(Semaphore::new(WAITING / UNIT)),
            skipped: AtomicU64::new(0),
        }
    }

    /// A copy of a body of this length, and its recognition once it is whole. Without room there is
    /// no copy.
    pub(crate) fn enter(
        &self,
        caller: Caller,
        length: usize,
    ) -> (Option<Copied>, oneshot::Receiver<Recognition>) {
        let (answer, receiver) = oneshot::channel();
        let needed = u32::try_from(length.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(needed);
        let Ok(room) = room else {
            self.skipped.fetch_add(1, Ordering::Relaxed);
            return (None, receiver);
        };
        let copied = Copied {
            caller,
            pieces: Vec::new(),
            answer,
            queue: Some(self.sender.clone()),
            _room: room,
        };
        (Some(copied), receiver)
    }

    /// Requests that were not read for want of room.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }
}

fn recognise(relay: &Relay, turns: &Receiver<Copied>) {
    while let Ok(copied) = turns.recv() {
        let body = joined(copied.pieces);
        // A panic costs one recognition, not the thread.
        let seen = std::panic::catch_unwind(|| Seen::read(&body).ok())
            .ok()
            .flatten();
        let recognition = match seen {
            Some(seen) => relay.recognise(&copied.caller, seen),
            None => Recognition::unread(),
        };
        // An exchange that is gone needs no answer.
        drop(copied.answer.send(recognition));
    }
}

/// Pieces in one piece.
fn joined(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() == 1 {
        return pieces.pop().unwrap_or_default();
    }
    let mut whole = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    for piece in pieces {
        whole.extend_from_slice(&piece);
    }
    whole.freeze()
}
