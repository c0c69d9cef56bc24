//! Dreams beside a running session: their time, and taking in their result.
//!
//! # Model
//! After each answered turn the gates are asked, on a thread where a slow disk holds up nothing. If
//! they are open, the dream runs on the same thread beside the conversation. The session takes the
//! result in between turns, so that records are written by one side only. A dream that is stopped
//! leaves memory and lock as they were: the next session dreams instead.
//!
//! # Not here
//! The dream itself ([`super`]); the gates (`dormouse_memory::dream`).

use super::{DreamError, DreamWish, Dreamt, SharedTask, is_on};
use crate::beside::Beside;
use crate::extraction::RunKind;
use crate::keeper::Keeper;
use crate::meter::Tally;
use dormouse_core::record::StateChange;
use dormouse_core::settings::keys;
use dormouse_core::show::chain;
use dormouse_engine::{EngineError, Session};
use dormouse_memdir::TakeError;
use dormouse_memory::dream::Gates;
use dormouse_memory::snapshot::INDEX;
use serde_json::json;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Files that the record of a dream names; a dream over a large directory changes thousands.
const MOST_NAMED: usize = 20;

/// Receiver of the id of a dream that begins, called on the dream's thread: it must not block.
pub type DreamBegan = Arc<dyn Fn(&str) + Send + Sync>;

/// News of a dream that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DreamEnd {
    /// Id of the dream, as it was told at its beginning.
    pub id: String,
    /// True if it was stopped before its end.
    pub stopped: bool,
}

/// Result of a look at the gates and the dream behind them.
#[derive(Debug)]
enum Ended {
    /// A gate is closed.
    NotDue,
    /// Stopped before its end; nothing was changed.
    Stopped,
    Dreamt(Box<Dreamt>),
    Failed(DreamError),
}

#[derive(Debug)]
struct Running {
    beside: Beside<Ended>,
    task: SharedTask,
    /// Dropped to stop the dream.
    stop: Option<oneshot::Sender<()>>,
    used: Tally,
}

/// Dreamer of one session.
pub struct Dreamer {
    keeper: Arc<Keeper>,
    kind: RunKind,
    gates: Arc<Mutex<Gates>>,
    began: DreamBegan,
    running: Option<Running>,
}

impl fmt::Debug for Dreamer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dreamer")
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}

impl Dreamer {
    /// Dreamer for a session of this kind.
    pub fn new(keeper: Arc<Keeper>, kind: RunKind, began: DreamBegan) -> Self {
        let gates = Arc::new(Mutex::new(keeper.dream_gates()));
        Self {
            keeper,
            kind,
            gates,
            began,
            running: None,
        }
    }

    /// Asks the gates after an answered turn, beside the conversation, and dreams if they are open.
    /// Returns false if that needs no look: dreams are off, or one is under way.
    pub fn after_turn(&mut self, session: &Session) -> bool {
        let settings = self.keeper.settings();
        // A run that ends with its answer would wait for the dream, or throw it away.
        let too_short = self.kind.one_shot && !settings.get(keys::EXTRACT_ONE_SHOT);
        if self.running.is_some() || self.kind.sub_agent || too_short || !is_on(&settings) {
            return false;
        }
        let id = session.driver().config().session.as_str().to_owned();
        let (keeper, gates) = (Arc::clone(&self.keeper), Arc::clone(&self.gates));
        let (task, began) = (keeper.dream_task(), Arc::clone(&self.began));
        let used = Tally::default();
        let (stop, stopped) = oneshot::channel();
        let (shown, counted, runtime) = (Arc::clone(&task), used.clone(), Handle::current());
        // A thread of its own: the rules compare all memories without an await.
        let beside = tokio::task::spawn_blocking(move || {
            let due = {
                let mut gates = gates.lock().unwrap_or_else(PoisonError::into_inner);
                keeper.dream_due(&mut gates, &id)
            };
            if due.is_err() {
                return Ended::NotDue;
            }
            began(&id_of(&shown));
            runtime.block_on(async {
                let dream = keeper.dream_counted(DreamWish::default(), shown, &counted);
                tokio::select! {
                    biased;
                    // Sent or dropped: the session ends, or the user has stopped the dream.
                    _ = stopped => Ended::Stopped,
                    dreamt = dream => match dreamt {
                        Ok(dreamt) => Ended::Dreamt(Box::new(dreamt)),
                        Err(error) => Ended::Failed(error),
                    },
                }
            })
        });
        self.running = Some(Running {
            beside: Beside::new(beside),
            task,
            stop: Some(stop),
            used,
        });
        true
    }

    /// True while the gates are asked or a dream runs.
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Id of the dream that runs or is looked for.
    pub fn id(&self) -> Option<String> {
        self.running.as_ref().map(|running| id_of(&running.task))
    }

    /// Waits until [`Self::collect`] has something to take in; for ever if nothing runs.
    pub async fn ended(&mut self) {
        match &mut self.running {
            Some(running) => running.beside.wait().await,
            None => std::future::pending().await,
        }
    }

    /// Stops the dream that runs; memory stays as it is.
    pub fn stop(&mut self) {
        if let Some(running) = &mut self.running {
            running.stop = None;
        }
    }

    /// Takes in a dream that has ended, if one has. A failure is no error of the session: the lock
    /// has its old time, so that a later session tries again.
    ///
    /// # Errors
    /// When the session's log cannot be written.
    pub async fn collect(
        &mut self,
        session: &mut Session,
    ) -> Result<Option<DreamEnd>, EngineError> {
        let ended = self.running.take_if(|running| running.beside.is_finished());
        let Some(running) = ended else {
            return Ok(None);
        };
        let id = id_of(&running.task);
        let ended = running.beside.result().await;
        // Paid for, however it ended.
        session.account(running.used.take()).await?;
        let stopped = matches!(ended, Ok(Ended::Stopped));
        let change = match ended {
            Ok(Ended::NotDue) => return Ok(None),
            // Another process is faster: its dream is as good.
            Ok(Ended::Stopped | Ended::Failed(DreamError::Lock(TakeError::Held(_)))) => None,
            Ok(Ended::Dreamt(dreamt)) => Some(StateChange::Dream {
                detail: detail(&dreamt),
            }),
            Ok(Ended::Failed(error)) => Some(failure(&chain(&error))),
            Err(error) => Some(failure(&error.to_string())),
        };
        if let Some(change) = change {
            session.note(change).await?;
        }
        Ok(Some(DreamEnd { id, stopped }))
    }
}

fn id_of(task: &SharedTask) -> String {
    let task = task.lock().unwrap_or_else(PoisonError::into_inner);
    task.id.clone()
}

fn failure(why: &str) -> StateChange {
    StateChange::Fact {
        name: "dream.failed".to_owned(),
        value: json!(why),
    }
}

/// A dream as the log of the session has it.
fn detail(dreamt: &Dreamt) -> serde_json::Value {
    let changes = dreamt.entry.iter().flat_map(|entry| &entry.changes);
    // The index changes along with the memories it lists.
    let files = changes.map(|change| change.path.as_str());
    let files: Vec<&str> = files.filter(|path| *path != INDEX).collect();
    json!({
        "by": dreamt.by,
        "files": files.iter().take(MOST_NAMED).collect::<Vec<_>>(),
        "changed": files.len(),
        "dropped": dreamt.dropped.len(),
        "entry": dreamt.entry.as_ref().map(|entry| &entry.id),
        "tokens": dreamt.usage.prompt().get() + dreamt.usage.output.get(),
    })
}
