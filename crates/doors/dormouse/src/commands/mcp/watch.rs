//! Changes of memories that a client subscribed to.
//!
//! # Model
//! The files are looked at once a second: other processes change them, a look at a handful of files
//! costs less than a watcher of the whole directory, and no client waits for the notice.

use super::tools::Memory;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Pause between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// Changes, one after the other, without end.
pub(super) struct Changes {
    memory: Arc<Memory>,
    /// Resources with their last content.
    watched: Vec<(String, Option<String>)>,
    /// False until the first content is known.
    known: bool,
    changed: VecDeque<String>,
    every: Interval,
}

pub(super) fn changes(memory: Arc<Memory>, uris: Vec<String>) -> Changes {
    let mut every = interval(LOOK);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Changes {
        memory,
        watched: uris.into_iter().map(|uri| (uri, None)).collect(),
        known: false,
        changed: VecDeque::new(),
        every,
    }
}

impl Changes {
    /// The next resource that has changed. Cancelling loses at most one look.
    pub(super) async fn next(&mut self) -> String {
        loop {
            if let Some(uri) = self.changed.pop_front() {
                return uri;
            }
            self.every.tick().await;
            let memory = Arc::clone(&self.memory);
            let uris: Vec<String> = self.watched.iter().map(|(uri, _)| uri.clone()).collect();
            let read = move || {
                let each = uris.iter().map(|uri| memory.read(uri).ok().flatten());
                each.collect::<Vec<_>>()
            };
            // A look that failed is made again.
            let Ok(now) = tokio::task::spawn_blocking(read).await else {
                continue;
            };
            for ((uri, before), now) in self.watched.iter_mut().zip(now) {
                if *before != now && self.known {
                    self.changed.push_back(uri.clone());
                }
                *before = now;
            }
            self.known = true;
        }
    }
}
