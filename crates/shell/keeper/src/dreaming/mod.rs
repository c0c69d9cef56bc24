//! Layer 6, carried out: memory is consolidated in the background.
//!
//! # Model
//! A dream takes the lock of consolidation, works on a copy (`staging`), has the result checked as
//! a whole, drops the parts that others changed meanwhile, and puts the rest in place as one
//! transaction. With a model it is a side task with the guarded tools; without one, with its budget
//! spent, or when the model fails, rules do the part that needs no understanding. A result that
//! does not pass the check changes nothing.
//!
//! However it ends, the lock tells: emptied with the time of this dream, or as it was before.
//! Dropping the future of a dream cancels it.
//!
//! # Not here
//! Gates, rules, check: `dormouse_memory::dream`. The lock and the transaction: `dormouse-memdir`.

mod dreamer;
mod gather;
mod sessions;
mod staging;
mod tend;

use crate::client::ConfiguredModel;
use crate::extraction::By;
use crate::keeper::Keeper;
use crate::meter::Tally;
use crate::side::SideTask;
use dormouse_core::settings::{Consent, Settings, keys};
use dormouse_core::show::chain;
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use dormouse_engine::Notice;
use dormouse_memdir::{LOCK_AGE, MemdirError, ReleaseError, TakeError, Taken};
use dormouse_memory::dream::{
    Brief, CheckLimits, Declared, Draft, Dropped, Effect, Ending, Event, GateLimits, Gates,
    LastDream, Objection, OfflineFacts, Reason, Report, Stated, Task, TaskEvent, Writing, check,
    directive, offline, rebase, stamped,
};
use dormouse_memory::journal::JournalEntry;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::Transaction;
use dormouse_memory::trust::{Origin, Speaker};
use dormouse_model::{Delta, Event as ModelEvent};
use dormouse_tools::{ForkTools, Roots, definitions};
use gather::{Gathering, Sources};
use staging::Staging;
use std::sync::{Arc, Mutex, PoisonError};

pub use dreamer::{DreamBegan, DreamEnd, Dreamer};
pub use tend::NeverUsed;

const SYSTEM_PROMPT: &str = include_str!("system.md");

/// Turns of a dream whose text is kept while it runs: a screen or two for the user who looks in, and
/// little to hold.
const TURNS_SHOWN: usize = 30;

/// Options of a dream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DreamWish {
    /// Only show the changes; neither lock nor directory is touched.
    pub dry_run: bool,
    /// Use the rules even if a model is set up.
    pub without_model: bool,
}

/// Result of a dream.
#[derive(Clone, Debug)]
pub struct Dreamt {
    /// Writer: a model or the rules.
    pub by: By,
    /// Change that was, or would be, made.
    pub transaction: Transaction,
    /// Directory it was made on.
    pub before: Snapshot,
    /// Changes file by file, with reasons.
    pub changes: Vec<Stated>,
    /// Parts left out because others changed their files meanwhile.
    pub dropped: Vec<Dropped>,
    /// Memories that it proposes to forget.
    pub never_used: Vec<NeverUsed>,
    /// Entry of the journal; `None` if nothing changed.
    pub entry: Option<JournalEntry>,
    /// Tokens that the model used.
    pub usage: TokenUsage,
}

/// Reason why a dream changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum DreamError {
    /// Another process holds the lock.
    #[error(transparent)]
    Lock(#[from] TakeError),
    /// Lock lost on the way.
    #[error(transparent)]
    Lost(#[from] ReleaseError),
    /// Memory directory that cannot be used.
    #[error(transparent)]
    Directory(#[from] MemdirError),
    /// Copy that cannot be made or read.
    #[error("the copy that the dream works on cannot be used")]
    Staging(#[source] dormouse_system::FileError),
    /// Result that does not pass the check.
    #[error("the dream was thrown away: {}", list(.0))]
    Refused(Vec<Objection>),
    /// Timeout, `dream.time_limit`, in minutes.
    #[error("the dream was ended after {0} minutes (`dream.time_limit`)")]
    TooLong(u64),
}

fn list(objections: &[Objection]) -> String {
    /// Most objections in a message; a model that misread its task makes hundreds.
    const MOST: usize = 5;
    let mut texts: Vec<String> = objections
        .iter()
        .take(MOST)
        .map(ToString::to_string)
        .collect();
    if objections.len() > MOST {
        texts.push(format!("and {} more", objections.len() - MOST));
    }
    texts.join("; ")
}

/// Dream that a screen can look at while it runs.
pub type SharedTask = Arc<Mutex<Task>>;

/// Draft with its declaration for the check.
struct Dream {
    after: Snapshot,
    changes: Vec<Stated>,
    declared: Declared,
    by: By,
    usage: TokenUsage,
}

impl Keeper {
    /// Asks the gates if it is time to dream, cheapest question first. `session` is not counted
    /// among the others.
    ///
    /// # Errors
    /// The reason why not.
    pub fn dream_due(&self, gates: &mut Gates, session: &str) -> Result<(), Reason> {
        let settings = self.settings();
        // Limits may have been changed while the session runs.
        gates.set_limits(GateLimits::from_settings(&settings));
        let mut event = Event::QueryEnded {
            switched_on: is_on(&settings),
            now: self.now(),
        };
        loop {
            event = match gates.handle(event) {
                Effect::StatLock => Event::LastDream(self.last_dream()),
                Effect::CountSessions { since } => {
                    let touched = sessions::touched(self, since, session).len() as u64;
                    Event::Sessions(touched)
                }
                // The lock is taken by the dream itself.
                Effect::TakeLock | Effect::Dream { .. } => return Ok(()),
                Effect::Rest(reason) => return Err(reason),
            };
        }
    }

    fn last_dream(&self) -> LastDream {
        let lock = self.memory.consolidation_lock(LOCK_AGE);
        // An unreadable lock counts as never: the dream itself then reports the error.
        let last = lock
            .status()
            .ok()
            .and_then(|status| status.last_consolidated);
        last.map_or(LastDream::Never, LastDream::At)
    }

    /// Gates of a session.
    pub fn dream_gates(&self) -> Gates {
        Gates::new(GateLimits::from_settings(&self.settings()))
    }

    /// Dreams now.
    ///
    /// # Errors
    /// When nothing was changed, and why.
    pub async fn dream(&self, wish: DreamWish, task: SharedTask) -> Result<Dreamt, DreamError> {
        // No session has its usage in its log: the budget is the only place that counts it.
        self.dream_counted(wish, task, &Tally::default()).await
    }

    /// The same, with its usage for the log of a session.
    async fn dream_counted(
        &self,
        wish: DreamWish,
        task: SharedTask,
        used: &Tally,
    ) -> Result<Dreamt, DreamError> {
        let watch = Watch {
            keeper: self,
            task: &task,
        };
        let dreamt = self.dream_locked(wish, &task, used).await;
        watch.ended(match &dreamt {
            Ok(_) => Ending::Completed,
            Err(error) => Ending::Failed(chain(error)),
        });
        dreamt
    }

    async fn dream_locked(
        &self,
        wish: DreamWish,
        task: &SharedTask,
        used: &Tally,
    ) -> Result<Dreamt, DreamError> {
        let settings = self.settings();
        let lock = self.memory.consolidation_lock(LOCK_AGE);
        // Without success the lock falls back to its earlier state when this is dropped.
        let taken = if wish.dry_run {
            None
        } else {
            Some(lock.try_take()?)
        };
        let since = match &taken {
            Some(taken) => {
                Staging::clean_up(&self.memory);
                taken.previous()
            }
            None => lock.status()?.last_consolidated,
        };
        let limit = settings.get(keys::DREAM_TIME_LIMIT);
        let dreaming = self.dream_on(wish, taken.as_ref(), since, task, used);
        let dreamt = tokio::time::timeout(limit, dreaming).await;
        let dreamt = dreamt.unwrap_or(Err(DreamError::TooLong(limit.as_secs() / 60)))?;
        if let Some(taken) = taken {
            taken.succeed()?;
            self.forget_old_contents(&settings);
        }
        Ok(dreamt)
    }

    /// Removes contents older than the user's retention limit; entries of the journal stay. A
    /// failure is ignored: the next dream tries again.
    fn forget_old_contents(&self, settings: &Settings) {
        /// Milliseconds of a day, the unit of `retention_days`.
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        if let Some(days) = settings.get(keys::RETENTION_DAYS) {
            let kept = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY);
            let _removed = self
                .memory
                .purge_before(Millis(self.now().0.saturating_sub(kept)));
        }
    }

    async fn dream_on(
        &self,
        wish: DreamWish,
        taken: Option<&Taken>,
        since: Option<Millis>,
        task: &SharedTask,
        used: &Tally,
    ) -> Result<Dreamt, DreamError> {
        let settings = self.settings();
        let foreseen = self.memory.foresee()?;
        let before = foreseen.snapshot().clone();
        let limits = CheckLimits {
            past: self.memory.index_past(&before)?,
            ..CheckLimits::from_settings(&settings, self.today(), Writing::default())
        };
        let mut result = match self.background_model() {
            Err(why) => self.by_rules(&before, &limits, why),
            Ok(_) if wish.without_model => {
                self.by_rules(&before, &limits, "no model was wanted".to_owned())
            }
            Ok(model) => {
                let sources = (since, task, used);
                self.by_model(model, &before, &limits, sources).await?
            }
        };
        self.tend(&mut result);
        let checked = check(&before, &result.after, &result.declared, &limits);
        let transaction = checked.map_err(DreamError::Refused)?;
        let mut dreamt = Dreamt {
            by: result.by,
            never_used: self.never_used(&result.after),
            transaction,
            before,
            changes: result.changes,
            dropped: Vec::new(),
            entry: None,
            usage: result.usage,
        };
        // A dry run, or a dream that found nothing to do.
        let Some(taken) = taken.filter(|_| !dreamt.transaction.is_empty()) else {
            return Ok(dreamt);
        };
        // A dream that outlived its lock may race with another one.
        if !taken.still_mine()? {
            return Err(ReleaseError::NotMine.into());
        }
        let mut dropped = Vec::new();
        dreamt.entry = self.memory.update_since(foreseen, |now| {
            let merges = &result.declared.merges;
            let (rebased, left) = rebase(&dreamt.transaction, merges, &dreamt.before, now, &limits);
            dropped = left;
            Ok::<_, MemdirError>(rebased.without_idle(now))
        })?;
        dreamt.dropped = dropped;
        Ok(dreamt)
    }

    /// Dream itself, as the source of its changes.
    fn dream_source(&self) -> Origin {
        Origin {
            session: Some("dream".to_owned()),
            message: Some(self.system.ids.fresh()),
            speaker: Speaker::Assistant,
            time: self.now(),
        }
    }

    fn by_rules(&self, before: &Snapshot, limits: &CheckLimits, why: String) -> Dream {
        let draft: Draft = offline(
            before,
            &OfflineFacts {
                today: self.today(),
                writing: Writing::default(),
                index: limits.index,
                past: limits.past.clone(),
            },
        );
        Dream {
            declared: draft.declared(self.dream_source()),
            after: draft.after,
            changes: draft.changes,
            by: By::Rules(why),
            usage: TokenUsage::default(),
        }
    }

    async fn by_model(
        &self,
        model: &ConfiguredModel,
        before: &Snapshot,
        limits: &CheckLimits,
        (since, task, used): (Option<Millis>, &SharedTask, &Tally),
    ) -> Result<Dream, DreamError> {
        let settings = self.settings();
        let staging = Staging::make(self, before).map_err(DreamError::Staging)?;
        let writes = staging.writes(Arc::clone(task), Arc::clone(&self.system.clock));
        let roots = Roots {
            working: self.places.working_dir.clone(),
            memory: staging.path().to_owned(),
            readable: self.places.transcripts.clone(),
        };
        let tools = ForkTools::new(&self.system, roots, writes);
        let gathering = Arc::new(Gathering::new(
            tools,
            Arc::clone(task),
            Arc::clone(&self.system.clock),
            Sources::of(self),
        ));
        // No session to leave out here: the dream may read all of them.
        let sessions = sessions::touched(self, since, "");
        let place = self
            .places
            .transcripts
            .first()
            .map(|place| place.display().to_string());
        let brief = directive(&Brief {
            staging: &staging.path().display().to_string(),
            transcripts: place.as_deref(),
            sessions: &sessions,
            today: self.today(),
            index: limits.index,
            loss: limits.loss,
        });
        let side = SideTask {
            asker: self.asker_counted(&model.model, &model.name, used),
            model: &model.name,
            models: &self.models,
            settings: &settings,
            system_prompt: SYSTEM_PROMPT,
            definitions: definitions(),
            tools: Arc::clone(&gathering) as _,
            requests: size(settings.get(keys::DREAM_REQUESTS)),
        };
        let (shown, clock) = (Arc::clone(task), Arc::clone(&self.system.clock));
        let answered = side
            .run(&self.system, &brief, move |notice| {
                if let Some(event) = event_of(&notice) {
                    let mut task = shown.lock().unwrap_or_else(PoisonError::into_inner);
                    task.handle(event, clock.now());
                }
            })
            .await;
        match answered {
            Ok(answer) => {
                let mut after = staging.snapshot(before).map_err(DreamError::Staging)?;
                // Taken out first, or the report itself would be a new file without a source.
                let report = Report::take(&mut after);
                let mut declared = Declared::from(self.dream_source());
                report.declare(&mut declared);
                declared.excerpts = gathering.excerpts();
                let after = stamped(before, &after, &declared, limits);
                Ok(Dream {
                    after,
                    changes: report.changes,
                    declared,
                    by: By::Model,
                    usage: answer.usage,
                })
            }
            Err(failure) => {
                let without = self.why_without(&failure);
                Ok(Dream {
                    usage: failure.usage,
                    ..self.by_rules(before, limits, without.why)
                })
            }
        }
    }

    /// Task to hand to [`Keeper::dream`].
    pub fn dream_task(&self) -> SharedTask {
        Arc::new(Mutex::new(Task::new(
            self.system.ids.fresh(),
            self.now(),
            TURNS_SHOWN,
        )))
    }
}

/// Guard that reports the end of a dream, also if its future is dropped.
struct Watch<'a> {
    keeper: &'a Keeper,
    task: &'a SharedTask,
}

impl Watch<'_> {
    fn ended(&self, ending: Ending) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.handle(TaskEvent::Ended(ending), self.keeper.now());
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        // A dream that ended by itself has reported already; the task ignores this then.
        self.ended(Ending::Killed);
    }
}

/// True if memory is consolidated without being asked.
fn is_on(settings: &Settings) -> bool {
    settings.switch(keys::DREAM).is_on()
        && !settings.get(keys::MEMORY_REMOTE)
        && settings.get(keys::MEMORY_CONSENT) != Consent::Off
}

/// Event of a session's notice that is worth showing.
fn event_of(notice: &Notice) -> Option<TaskEvent> {
    let Notice::Answer(event) = notice else {
        return None;
    };
    match &**event {
        ModelEvent::MessageStart { .. } => Some(TaskEvent::TurnBegan),
        ModelEvent::Delta {
            delta: Delta::Text(text),
            ..
        } => Some(TaskEvent::Said(text.clone())),
        _ => None,
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
