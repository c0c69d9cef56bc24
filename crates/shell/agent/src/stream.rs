//! The stream of events to a client: bounded, and never in the conversation's way.
//!
//! Pieces of an answer are joined while they wait. A reader that is far behind first loses passing
//! events, whose content comes again in durable ones, and then durable ones, for which it gets a
//! mark from which to rebuild.

use crate::protocol::{Event, Told};
use dormouse_core::id::Seq;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Events that may wait before passing ones are dropped: several screens of an answer in pieces of
/// one token.
const MOST_PASSING: usize = 1_024;
/// Events that may wait before durable ones are dropped: the steps of an hour, some megabytes.
const MOST_WAITING: usize = 8_192;

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Told>,
    /// Newest record whose events the reader has taken.
    read: Seq,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reading end of an agent's events.
#[derive(Debug)]
pub struct EventStream(Arc<Shared>);

impl EventStream {
    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Told> {
        loop {
            {
                let mut queue = self.0.lock();
                if let Some(told) = queue.take() {
                    return Some(told);
                }
                if queue.closed {
                    return None;
                }
            }
            // A permit is kept for a notification that comes before the await.
            self.0.changed.notified().await;
        }
    }

    /// The next event, if one waits.
    pub fn try_next(&mut self) -> Option<Told> {
        self.0.lock().take()
    }
}

/// Writing end. Clones write into the same stream.
#[derive(Clone, Debug)]
pub(crate) struct EventSender(Arc<Shared>);

/// A stream and its writing end.
pub(crate) fn stream() -> (EventSender, EventStream) {
    let shared = Arc::new(Shared::default());
    (EventSender(Arc::clone(&shared)), EventStream(shared))
}

impl EventSender {
    /// Tells a passing event.
    pub(crate) fn tell(&self, event: Event) {
        self.send(Told { seq: None, event });
    }

    pub(crate) fn send(&self, told: Told) {
        self.0.lock().push(told);
        self.0.changed.notify_one();
    }

    /// Ends the stream behind the events that wait.
    pub(crate) fn close(&self) {
        self.0.lock().closed = true;
        self.0.changed.notify_one();
    }
}

impl Queue {
    fn take(&mut self) -> Option<Told> {
        let told = self.waiting.pop_front()?;
        self.read = self.read.max(told.seq.unwrap_or_default());
        Some(told)
    }

    fn push(&mut self, told: Told) {
        if self.joined(&told) {
            return;
        }
        if self.waiting.len() >= MOST_PASSING && is_passing(&told.event) {
            return;
        }
        if self.waiting.len() >= MOST_PASSING {
            self.waiting.retain(|told| !is_passing(&told.event));
        }
        if self.waiting.len() >= MOST_WAITING {
            let after = self.read;
            self.waiting
                .retain(|told| told.seq.is_none() && !matches!(told.event, Event::Lagged { .. }));
            let event = Event::Lagged { after };
            self.waiting.push_back(Told { seq: None, event });
        }
        self.waiting.push_back(told);
    }

    /// Joins a piece with the one that waits in front of it.
    fn joined(&mut self, told: &Told) -> bool {
        let Event::Delta { index, kind, text } = &told.event else {
            return false;
        };
        match self.waiting.back_mut().map(|last| &mut last.event) {
            Some(Event::Delta {
                index: last,
                kind: last_kind,
                text: before,
            }) if last == index && last_kind == kind => {
                before.push_str(text);
                true
            }
            _ => false,
        }
    }
}

/// True for events whose content comes again in a durable one.
fn is_passing(event: &Event) -> bool {
    matches!(
        event,
        Event::Delta { .. }
            | Event::BlockStarted { .. }
            | Event::BlockEnded { .. }
            | Event::MessageStarted { .. }
            | Event::ToolRunning { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::DeltaKind;

    fn piece(text: &str) -> Event {
        Event::Delta {
            index: 0,
            kind: DeltaKind::Text,
            text: text.to_owned(),
        }
    }

    fn durable(seq: u64) -> Told {
        Told {
            seq: Some(Seq::new(seq)),
            event: Event::Saved {
                what: seq.to_string(),
            },
        }
    }

    #[test]
    fn pieces_are_joined_while_they_wait() {
        let (sender, mut reader) = stream();
        sender.tell(piece("a"));
        sender.tell(piece("b"));
        assert_eq!(reader.try_next().map(|told| told.event), Some(piece("ab")));
        sender.tell(piece("c"));
        assert_eq!(reader.try_next().map(|told| told.event), Some(piece("c")));
        assert!(reader.try_next().is_none());
    }

    #[test]
    fn a_slow_reader_loses_passing_events_first_and_is_told_where_to_rebuild() {
        let (sender, mut reader) = stream();
        sender.send(durable(1));
        assert!(reader.try_next().is_some());
        let steps = 3 * MOST_WAITING as u64;
        for seq in 2..=steps {
            sender.tell(Event::ToolRunning { call: "c".into() });
            sender.send(durable(seq));
        }
        let all: Vec<Told> = std::iter::from_fn(|| reader.try_next()).collect();
        assert!(all.len() <= MOST_WAITING + 1, "{}", all.len());
        // The mark comes before the events behind it, and the newest are there.
        let marked = all
            .iter()
            .position(|told| matches!(told.event, Event::Lagged { after } if after == Seq::new(1)));
        assert_eq!(marked, Some(0));
        assert_eq!(all.last(), Some(&durable(steps)));
    }
}
