//! Extraction from a running session: its time, its queue, and taking in its result.
//!
//! # Model
//! After each turn the facts go to the gate; a job runs as a task of its own and shares nothing
//! with the session but its ports. The session takes the result in between turns, so that records
//! are written by one side only.
//!
//! # Not here
//! The work of a job ([`super`]); the gate and the queue (`dormouse_memory::extract`).

use super::{CURSOR, Extracted, RunKind};
use crate::beside::Beside;
use crate::keeper::Keeper;
use crate::meter::Tally;
use crate::writes::Evidence;
use dormouse_core::id::Seq;
use dormouse_core::record::{Record, StateChange};
use dormouse_core::settings::{Consent, Settings, keys};
use dormouse_engine::{EngineError, ForkRun, Session};
use dormouse_memdir::MemdirError;
use dormouse_memory::extract::gate::{Circumstances, Decision, Skip, decide};
use dormouse_memory::extract::queue::Queue;
use dormouse_memory::extract::{spans, wrote_memory};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinError;

/// Extraction that is to be made.
pub(super) struct Job {
    pub(super) fork: ForkRun,
    pub(super) evidence: Evidence,
    /// Last record it deals with.
    pub(super) until: Seq,
    pub(super) model: String,
}

type Ended = Result<Result<Extracted, MemdirError>, JoinError>;

/// Extraction under way, with its usage.
#[derive(Debug)]
struct Running {
    task: Beside<Result<Extracted, MemdirError>>,
    /// Records it deals with, for the rules if it is cut off.
    evidence: Evidence,
    /// Usage that the task has not handed over: all of it, if the task is aborted or fails.
    used: Tally,
}

/// Extractor of one session.
#[derive(Debug)]
pub struct Extractor {
    keeper: Arc<Keeper>,
    kind: RunKind,
    /// Texts of instruction files, which are never saved again.
    known: Vec<String>,
    queue: Queue<Job>,
    running: Option<Running>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl Extractor {
    /// Extractor for a session of this kind. `known` are the texts of instruction files.
    pub fn new(keeper: Arc<Keeper>, kind: RunKind, known: Vec<String>) -> Self {
        Self {
            keeper,
            kind,
            known,
            queue: Queue::new(),
            running: None,
        }
    }

    /// Starts an extraction after a turn, if it is time for one.
    ///
    /// # Errors
    /// When the session's log cannot be read or written.
    pub async fn after_turn(
        &mut self,
        session: &mut Session,
        finished: bool,
    ) -> Result<Decision, EngineError> {
        let settings = self.keeper.settings();
        let mut circumstances = Circumstances {
            enabled: is_on(&settings),
            remote: settings.get(keys::MEMORY_REMOTE),
            sub_agent: self.kind.sub_agent,
            one_shot: self.kind.one_shot,
            one_shot_allowed: settings.get(keys::EXTRACT_ONE_SHOT),
            finished,
            wrote_memory: false,
            turns: u32::MAX,
            every: u32::try_from(settings.get(keys::EXTRACT_EVERY)).unwrap_or(u32::MAX),
        };
        // Before the log is looked at: a session that is never extracted from has no cursor, and all
        // of its log would be read after every turn.
        let decision = decide(&circumstances);
        if decision != Decision::Run {
            return Ok(decision);
        }
        session.watch(CURSOR).await?;
        let keeper = Arc::clone(&self.keeper);
        let is_memory = |path: &str| keeper.is_memory(Path::new(path));
        let records = session.watched();
        circumstances.wrote_memory = wrote_memory(records, None, is_memory);
        circumstances.turns = turns(records);
        let decision = decide(&circumstances);
        let until = records.last().map(|record| record.seq);
        match (decision, until) {
            // The agent has dealt with these records; a fork would only find the same again.
            (Decision::Skip(Skip::DirectWrite), Some(until)) => {
                session.dealt_with(CURSOR, until).await?;
            }
            (Decision::Run, Some(until)) => {
                let job = self.job(session, &settings, until);
                if let Some(job) = self.queue.offer(job) {
                    self.start(job);
                }
            }
            _ => {}
        }
        Ok(decision)
    }

    fn job(&self, session: &Session, settings: &Settings, until: Seq) -> Job {
        let spans = spans(session.watched(), None);
        let directive = self.keeper.directive(settings, &spans);
        Job {
            fork: session.fork_run(&directive),
            evidence: Evidence::new(spans, self.known.clone(), settings),
            until,
            model: session.model().to_owned(),
        }
    }

    fn start(&mut self, job: Job) {
        let keeper = Arc::clone(&self.keeper);
        let used = Tally::default();
        let counted = used.clone();
        let evidence = job.evidence.clone();
        let task = tokio::spawn(async move { keeper.extract(job, &counted).await });
        let task = Beside::new(task);
        self.running = Some(Running {
            task,
            evidence,
            used,
        });
    }

    /// Takes in an extraction that has ended, if one has, and starts the one that waits. A failure
    /// moves nothing: the next one begins at the same place.
    ///
    /// # Errors
    /// When the session's log cannot be written.
    pub async fn collect(
        &mut self,
        session: &mut Session,
    ) -> Result<Option<Extracted>, EngineError> {
        let Some(running) = self.running.take_if(|running| running.task.is_finished()) else {
            return Ok(None);
        };
        let ended = running.task.result().await;
        self.take_in(session, ended, &running.used).await
    }

    async fn take_in(
        &mut self,
        session: &mut Session,
        ended: Ended,
        used: &Tally,
    ) -> Result<Option<Extracted>, EngineError> {
        // First, so that a failure below cannot leave the queue standing.
        if let Some(next) = self.queue.ended() {
            self.start(next);
        }
        // Paid for, even if the extraction failed.
        let mut reports = used.take();
        if let Ok(Ok(extracted)) = &ended {
            reports.extend(extracted.reports.iter().cloned());
        }
        session.account(reports).await?;
        let extracted = match ended {
            Ok(Ok(extracted)) => extracted,
            // Nothing is lost: the next one begins at the same place. The failure is no error of
            // the turn; the log names it for a user who misses a memory.
            Ok(Err(error)) => {
                let why = dormouse_core::show::chain(&error);
                session.note(failure(&why)).await?;
                return Ok(None);
            }
            Err(error) => {
                session.note(failure(&error.to_string())).await?;
                return Ok(None);
            }
        };
        if !extracted.denied.is_empty() {
            let denied = StateChange::Fact {
                name: "extract.denied".to_owned(),
                value: json!(extracted.denied),
            };
            session.note(denied).await?;
        }
        // For a user who misses a memory: the model proposed it, and the judge said why not.
        if !extracted.written.refused.is_empty() {
            let refused = StateChange::Fact {
                name: "extract.refused".to_owned(),
                value: json!(extracted.written.refused),
            };
            session.note(refused).await?;
        }
        if !extracted.written.saved.is_empty() {
            let saved = StateChange::MemorySaved {
                detail: json!({"author": "extractor", "files": extracted.written.saved}),
            };
            session.note(saved).await?;
        }
        let cursor = session.conversation().state().cursors.get(CURSOR).copied();
        // While it ran, the agent may have written to memory itself: the cursor is ahead then.
        if let Some(until) = extracted.until.filter(|until| Some(*until) > cursor) {
            session.dealt_with(CURSOR, until).await?;
        }
        Ok(Some(extracted))
    }

    /// True while an extraction runs.
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Waits until [`Self::collect`] has something to take in; for ever if nothing runs.
    pub async fn ended(&mut self) {
        match &mut self.running {
            Some(running) => running.task.wait().await,
            None => std::future::pending().await,
        }
    }

    /// Stops the extraction that runs and drops the one that waits: the session begins at the same
    /// place when it goes on. It may never go on, so rules without a model keep the plain statements
    /// of the user at once.
    ///
    /// # Errors
    /// When the session's log cannot be written.
    pub async fn stop(&mut self, session: &mut Session) -> Result<(), EngineError> {
        self.queue = Queue::new();
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        running.task.abort();
        // The fork shares the session's ports, so it ends before the session does.
        let _aborted = running.task.result().await;
        let (keeper, evidence) = (Arc::clone(&self.keeper), running.evidence);
        let rules = move || keeper.extract_by_rules(&evidence, None, "the session was left");
        let kept = tokio::task::spawn_blocking(rules).await;
        self.take_in(session, kept, &running.used).await?;
        Ok(())
    }

    /// Waits for the running extraction at the end of a session, at most `extract.exit_wait`.
    ///
    /// # Errors
    /// When the session's log cannot be written.
    pub async fn finish(&mut self, session: &mut Session) -> Result<Vec<Extracted>, EngineError> {
        let wait = self.keeper.settings().get(keys::EXTRACT_EXIT_WAIT);
        // One deadline for all: the extraction that waits must not double the time.
        let deadline = tokio::time::Instant::now() + wait;
        let mut all = Vec::new();
        while self.is_running() {
            let ended = tokio::time::timeout_at(deadline, self.ended()).await;
            if ended.is_err() {
                self.stop(session).await?;
                break;
            }
            all.extend(self.collect(session).await?);
        }
        Ok(all)
    }
}

fn failure(why: &str) -> StateChange {
    StateChange::Fact {
        name: "extract.failed".to_owned(),
        value: json!(why),
    }
}

/// True if automatic memories are wanted at all.
fn is_on(settings: &Settings) -> bool {
    settings.switch(keys::EXTRACT).is_on() && settings.get(keys::MEMORY_CONSENT) != Consent::Off
}

/// Number of the user's messages.
fn turns(records: &[Record]) -> u32 {
    let said = spans(records, None);
    let mut seqs: Vec<u64> = said
        .iter()
        .filter(|span| span.is_users())
        .map(|span| span.seq)
        .collect();
    // A message may have several spans; they follow each other.
    seqs.dedup();
    u32::try_from(seqs.len()).unwrap_or(u32::MAX)
}
