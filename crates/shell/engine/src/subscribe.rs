//! Subscribers: bounded queues that never hold a conversation up.
//!
//! Pieces of an answer are coalesced while they wait. A queue that overflows is emptied, and its
//! reader gets a snapshot of the conversation in its place: it shows less, never something wrong.
//!
//! # Not here
//! The content of a snapshot (`dormouse_drive::Snapshot`) and screens.

use dormouse_core::id::CallId;
use dormouse_core::record::Record;
use dormouse_drive::{EffectId, Notice, Snapshot};
use dormouse_model::{Delta, Event};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Notify;

/// Items a reader may be behind: several screens of an answer in pieces of one token.
const MOST_BEHIND: usize = 1_024;

/// One item of a subscriber's queue.
#[derive(Clone, Debug)]
pub enum Told {
    /// A piece of the answer.
    Answer(Event),
    /// Something people should know.
    Notice(Notice),
    /// A call waits for a person.
    Question(EffectId, String),
    /// Records that are in the log from now on, oldest first.
    Stored(Arc<[Record]>),
    /// A tool was started; its call is in the log.
    Started(CallId),
    /// The reader was too far behind: this is how things stand.
    Lagged(Box<Snapshot>),
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Told>,
    lagged: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// Reading end of one subscriber's queue; dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscription(Arc<Shared>);

impl Subscription {
    /// The next item; waits for one.
    pub async fn next(&mut self) -> Told {
        loop {
            // A permit is kept for a notification that comes before the await.
            if let Some(told) = self.try_next() {
                return told;
            }
            self.0.changed.notified().await;
        }
    }

    /// The next item, if one waits.
    pub fn try_next(&self) -> Option<Told> {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.waiting.pop_front()
    }
}

/// All subscribers of a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscribers(Arc<Mutex<Vec<Weak<Shared>>>>);

impl Subscribers {
    pub(crate) fn subscribe(&self) -> Subscription {
        let shared = Arc::new(Shared::default());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::downgrade(&shared));
        Subscription(shared)
    }

    /// True if somebody may listen.
    pub(crate) fn are_there(&self) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !all.is_empty()
    }

    pub(crate) fn tell(&self, told: &Told) {
        self.each(|queue| queue.push(told.clone()));
    }

    /// Gives subscribers that lag a snapshot.
    pub(crate) fn look(&self, snapshot: impl Fn() -> Snapshot) {
        self.each(|queue| {
            if std::mem::take(&mut queue.lagged) {
                queue.waiting.push_back(Told::Lagged(Box::new(snapshot())));
            }
        });
    }

    fn each(&self, mut with: impl FnMut(&mut Queue)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|weak| {
            // The reader was dropped: its queue goes with it.
            let Some(shared) = weak.upgrade() else {
                return false;
            };
            let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            with(&mut queue);
            // Before the wake-up, so that the reader does not find the lock taken.
            drop(queue);
            shared.changed.notify_one();
            true
        });
    }
}

impl Queue {
    fn push(&mut self, told: Told) {
        // After an overflow everything up to the snapshot is left out: it would be out of order.
        if self.lagged || self.coalesced(&told) {
            return;
        }
        // Never waits for the reader: a stuck screen must not stop the conversation.
        if self.waiting.len() >= MOST_BEHIND {
            self.waiting.clear();
            self.lagged = true;
            return;
        }
        self.waiting.push_back(told);
    }

    /// Joins a piece of text with the one that waits in front of it.
    fn coalesced(&mut self, told: &Told) -> bool {
        let Told::Answer(Event::Delta {
            index,
            delta: Delta::Text(more),
        }) = told
        else {
            return false;
        };
        match self.waiting.back_mut() {
            Some(Told::Answer(Event::Delta {
                index: last,
                delta: Delta::Text(text),
            })) if last == index => {
                text.push_str(more);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(index: u32, text: &str) -> Told {
        Told::Answer(Event::Delta {
            index,
            delta: Delta::Text(text.to_owned()),
        })
    }

    #[test]
    fn pieces_of_one_block_are_joined_while_they_wait() {
        let subscribers = Subscribers::default();
        let reader = subscribers.subscribe();
        for (index, text) in [(0, "a"), (0, "b"), (1, "c")] {
            subscribers.tell(&piece(index, text));
        }
        let texts: Vec<String> = std::iter::from_fn(|| reader.try_next())
            .map(|told| match told {
                Told::Answer(Event::Delta {
                    delta: Delta::Text(text),
                    ..
                }) => text,
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(texts, ["ab", "c"]);
    }

    #[test]
    fn a_queue_is_bounded_and_a_dropped_reader_costs_nothing() {
        let subscribers = Subscribers::default();
        let reader = subscribers.subscribe();
        drop(subscribers.subscribe());
        for index in 0..5_000 {
            subscribers.tell(&piece(index, "x"));
        }
        let waiting = std::iter::from_fn(|| reader.try_next()).count();
        assert!(waiting <= MOST_BEHIND, "{waiting}");
        assert_eq!(subscribers.0.lock().unwrap().len(), 1);
    }
}
