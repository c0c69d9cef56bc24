//! Memory around the conversation: use of recalled memories, extraction, dreams.
//!
//! # Model
//! After a turn the work begins beside the conversation; between turns its results become records.
//! On leaving it gets some time, and the rest is left to the next session.
//!
//! # Not here
//! The work itself: `dormouse-keeper`.

use crate::protocol::{Event, TaskState};
use crate::stream::EventSender;
use dormouse_core::settings::keys;
use dormouse_engine::{EngineError, Session};
use dormouse_host::SessionMemory;
use dormouse_keeper::Keeper;
use dormouse_keeper::dreaming::Dreamer;
use dormouse_keeper::extraction::{Extracted, Extractor, RunKind};
use dormouse_keeper::recaller::Recaller;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Line that describes a dream among the background tasks.
const DREAM: &str = "dream: sorting the memories";

/// Background work on the memory of one session.
#[derive(Debug)]
pub(crate) struct Learning {
    keeper: Arc<Keeper>,
    recaller: Recaller,
    extractor: Extractor,
    dreamer: Dreamer,
    /// Writing of figures that later sessions read.
    noting: Vec<JoinHandle<()>>,
    events: EventSender,
}

impl Learning {
    /// Work for a session with this memory. `known` are the texts of instruction files.
    pub(crate) fn new(
        memory: SessionMemory,
        kind: RunKind,
        known: Vec<String>,
        events: &EventSender,
    ) -> Self {
        let (keeper, recaller) = memory;
        let told = events.clone();
        let began = Arc::new(move |id: &str| told.tell(dream(id.to_owned(), TaskState::Running)));
        Self {
            extractor: Extractor::new(Arc::clone(&keeper), kind, known),
            dreamer: Dreamer::new(Arc::clone(&keeper), kind, began),
            keeper,
            recaller,
            noting: Vec::new(),
            events: events.clone(),
        }
    }

    /// Begins the work on a turn that has ended. `said` are the model's words in it.
    pub(crate) async fn after_turn(
        &mut self,
        session: &mut Session,
        finished: bool,
        said: String,
    ) -> Result<(), EngineError> {
        let aftermath = self.recaller.aftermath(said);
        self.noting.push(tokio::task::spawn_blocking(aftermath));
        self.noting.retain(|noting| !noting.is_finished());
        self.collect(session).await?;
        self.extractor.after_turn(session, finished).await?;
        if finished {
            self.dreamer.after_turn(session);
        }
        Ok(())
    }

    /// True while something is under way.
    pub(crate) const fn is_running(&self) -> bool {
        self.extractor.is_running() || self.dreamer.is_running()
    }

    /// Waits until there is something to collect; for ever if nothing is under way.
    pub(crate) async fn ended(&mut self) {
        tokio::select! {
            () = self.extractor.ended() => {}
            () = self.dreamer.ended() => {}
        }
    }

    /// Takes in what has ended.
    pub(crate) async fn collect(&mut self, session: &mut Session) -> Result<(), EngineError> {
        let extracted = self.extractor.collect(session).await?;
        self.tell_waiting(extracted.as_ref());
        if let Some(end) = self.dreamer.collect(session).await? {
            let state = if end.stopped {
                TaskState::Killed
            } else {
                TaskState::Ended
            };
            self.events.tell(dream(end.id, state));
        }
        Ok(())
    }

    /// Tells of memories that wait for approval; those that were saved are records of the log.
    fn tell_waiting(&self, extracted: Option<&Extracted>) {
        let Some(extracted) = extracted.filter(|it| !it.written.waiting.is_empty()) else {
            return;
        };
        if let Some(text) = extracted.notice() {
            self.events.tell(Event::Notice { text });
        }
    }

    /// Id and line of the dream that runs.
    pub(crate) fn dreaming(&self) -> Option<(String, String)> {
        self.dreamer.id().map(|id| (id, DREAM.to_owned()))
    }

    /// Stops the dream of this id; false if it is none.
    pub(crate) fn kill(&mut self, task: &str) -> bool {
        let is_dream = self.dreamer.id().as_deref() == Some(task);
        if is_dream {
            self.dreamer.stop();
        }
        is_dream
    }

    /// Gives the work time to end, at most `extract.exit_wait` and until `hurry` ends, and stops the
    /// rest.
    pub(crate) async fn finish(
        &mut self,
        session: &mut Session,
        hurry: impl Future<Output = ()>,
    ) -> Result<(), EngineError> {
        let wait = self.keeper.settings().get(keys::EXTRACT_EXIT_WAIT);
        // One deadline for all: a dream must not double the time.
        let deadline = tokio::time::Instant::now() + wait;
        let leave = async {
            tokio::select! {
                () = hurry => {}
                () = tokio::time::sleep_until(deadline) => {}
            }
        };
        tokio::pin!(leave);
        let mut told = false;
        while self.is_running() {
            if !told {
                told = true;
                let text = "saving memory…".to_owned();
                self.events.tell(Event::Notice { text });
            }
            tokio::select! {
                biased;
                () = self.ended() => self.collect(session).await?,
                () = &mut leave => break,
            }
        }
        for noting in self.noting.drain(..) {
            // A line each: also a user in a hurry has the time.
            let _noted = noting.await;
        }
        self.extractor.stop(session).await?;
        self.dreamer.stop();
        while self.dreamer.is_running() {
            self.dreamer.ended().await;
            self.collect(session).await?;
        }
        Ok(())
    }
}

fn dream(task: String, state: TaskState) -> Event {
    Event::TaskChanged {
        task,
        what: DREAM.to_owned(),
        state,
    }
}
