//! State of the driver, and the routing of inputs to the modules that handle them.

use crate::asks::Asking;
use crate::calls::PendingCall;
use crate::command::{Command, CommandId, Reply};
use crate::config::{Config, Current};
use crate::effect::{Effect, EffectId, Work};
use crate::error::DriveError;
use crate::input::{EffectOutcome, Input, StreamEvent};
use crate::journal::Journal;
use crate::layers::Job;
use crate::notes::{NotesUpdate, NotesWaiter};
use crate::notice::Notice;
use crate::offload::PendingResults;
use crate::outbox::{AskFor, Outbox, Running, SaveFor};
use crate::turn::Turn;
use dormouse_context::conversation::Conversation;
use dormouse_context::files_read::FilesRead;
use dormouse_context::layers::LayerState;
use dormouse_context::ledger::Ledger;
use dormouse_core::block::Block;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::json::RawJson;
use dormouse_core::record::{Body, Record, StateChange, UsageReport};
use dormouse_core::units::Millis;
use dormouse_core::usage::Usd;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// State machine of one conversation. After each `handle`, call `poll` until it returns `None`.
#[derive(Debug)]
pub struct Driver {
    pub(crate) config: Config,
    /// Parameters of the configuration, serialised once: their bytes are part of the cached prompt.
    pub(crate) params: RawJson,
    pub(crate) settings: Current,
    /// Shared with snapshots; a record copies it only while a snapshot is held.
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) ledger: Ledger,
    pub(crate) layers: LayerState,
    pub(crate) journal: Journal,
    pub(crate) outbox: Outbox,
    pub(crate) now: Millis,
    pub(crate) turn: Option<Turn>,
    pub(crate) job: Option<Job>,
    pub(crate) notes: Option<NotesUpdate>,
    /// Compactions and commands that wait for an update of the notes, with their deadlines.
    pub(crate) notes_waiters: Vec<(NotesWaiter, Millis)>,
    pub(crate) asks: BTreeMap<AskFor, Asking>,
    pub(crate) calls: Vec<PendingCall>,
    pub(crate) results: VecDeque<PendingResults>,
    /// Commands that wait until the previous one has ended.
    pub(crate) commands: VecDeque<(Option<CommandId>, Command)>,
    /// Prompts to be inserted with the next tool results.
    pub(crate) steering: Vec<(Option<CommandId>, Vec<Block>)>,
    /// Set when prefix or model changed: the next request writes the whole prompt to the cache
    /// whatever happens before it, so that rewriting costs nothing extra.
    pub(crate) rewrites_cache: bool,
    /// Set after a failed keep-alive; cleared by the next request of the conversation.
    pub(crate) untouchable: bool,
    /// Usage of a fork's own requests, for its report to the parent.
    pub(crate) usage: Vec<UsageReport>,
    /// Files whose content is in the prompt, kept incrementally.
    pub(crate) files: FilesRead,
    /// Request whose results stay whole although they were to be distilled: a file could not be
    /// written, or thinking is bound to them.
    pub(crate) not_distilled: Option<RecordId>,
    /// True if the host was notified that the log cannot be written; the notice is given once.
    pub(crate) told_stopped: bool,
    /// Total of the session at which its budget is spent.
    pub(crate) budget_ends: Usd,
    /// Number of requests at which the lessons were written last.
    pub(crate) taught: u32,
    /// Summaries of the compactions since the session was opened, and the one it was resumed with.
    pub(crate) summaries: Vec<String>,
}

impl Driver {
    /// Processes an input at time `now`. A clock that went backwards is treated as standing still,
    /// so that timers and durations never become negative.
    pub fn handle(&mut self, now: Millis, input: Input) {
        self.now = self.now.max(now);
        match input {
            Input::Command(id, command) => self.command(Some(id), *command),
            Input::Ended(id, outcome) => {
                if let Some(running) = self.outbox.ended(id) {
                    self.ended(running, *outcome);
                }
            }
            Input::Stream(id, event) => self.stream(id, event),
            Input::Settings(settings) => {
                // A reload of unchanged settings must not rebuild the policy.
                if !Arc::ptr_eq(&settings, &self.settings.raw) {
                    self.settings =
                        Current::new(settings, &self.config, self.conversation.window_evidence());
                }
            }
            Input::Wake => {}
            Input::Cancel => self.cancel(),
        }
        // In this order: due retries start, decisions are made, then one batch takes all their
        // records.
        self.wake();
        self.advance();
        self.flush();
    }

    /// Next effect to execute, if there is one.
    pub fn poll(&mut self) -> Option<Effect> {
        self.outbox.pop()
    }

    /// Time at which the driver needs an [`Input::Wake`] unless another input arrives before.
    pub fn wake_at(&self) -> Option<Millis> {
        let asks = self.asks.values().filter_map(Asking::wakes_at);
        asks.chain(self.notes_deadline())
            .chain(self.keep_alive_at())
            .min()
    }

    /// Conversation with all records emitted, stored or not.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Ledger of the provider's cache.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Configuration, with changes of model and prefix applied.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Settings in use, as resolved last.
    pub fn settings(&self) -> &Current {
        &self.settings
    }

    /// Number of outcomes that matched no effect; above zero, the host has a bug.
    pub fn strays(&self) -> u64 {
        self.outbox.strays()
    }

    /// True if no effect is under way and no command waits.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none()
            && self.job.is_none()
            && self.notes.is_none()
            && self.commands.is_empty()
            && !self.outbox.any(|_| true)
    }

    /// Sequence numbers of the newest record and of the newest stored one.
    pub fn heads(&self) -> (Seq, Seq) {
        (self.journal.head_seq(), self.journal.stored_seq())
    }

    /// Id of the newest record.
    pub fn head(&self) -> Option<&RecordId> {
        self.journal.head().map(|(id, _)| id)
    }

    fn ended(&mut self, running: Running, outcome: EffectOutcome) {
        match running {
            Running::Append => self.appended(outcome),
            Running::Save(SaveFor::Results) => self.results_saved(outcome),
            Running::Save(SaveFor::Round) => self.round_saved(outcome),
            Running::Save(SaveFor::Fit) => self.fit_saved(outcome),
            Running::Save(SaveFor::Distil) => self.distil_saved(outcome),
            Running::Save(SaveFor::Clearing) => self.clearing_saved(outcome),
            Running::Save(SaveFor::Prefix) => self.prefix_saved(outcome),
            Running::Save(SaveFor::Notes) => self.notes_saved(outcome),
            // Written again at the next occasion; a failure is told at the end of the session.
            Running::Save(SaveFor::Lessons) => {}
            Running::Save(SaveFor::LastLessons) => self.lessons_saved(outcome),
            Running::ReadNotes(reader) => self.notes_read(reader, outcome),
            Running::ReadLog => self.log_read(outcome),
            Running::Ask(purpose) => self.asked(purpose, outcome),
            Running::Tool(call) => self.tool_ended(&call, outcome),
            Running::Person(call) => self.person_ended(&call, outcome),
            Running::Hooks => self.hooks_ran(outcome),
            Running::Hook(at) => self.hook_ended(&at, outcome),
            Running::Restore => self.restored(outcome),
            Running::Recall => self.recalled(outcome),
            Running::Child => self.child_ended(outcome),
            Running::GivenUp(ask) => self.given_up_ended(ask, outcome),
        }
    }

    fn stream(&mut self, id: EffectId, event: StreamEvent) {
        // Events of an effect that has ended or was given up are dropped: they belong to an older
        // request.
        if let Some(Running::Ask(purpose)) = self.outbox.running(id) {
            let purpose = *purpose;
            self.streamed(purpose, event);
        }
    }

    fn appended(&mut self, outcome: EffectOutcome) {
        let result = match outcome {
            EffectOutcome::Appended(result) => result,
            // An append ended without its outcome may or may not be on disk; the log is in doubt,
            // so it counts as failed.
            _ => Err(crate::error::StoreFailure::Failed(
                "the append was ended by the host".to_owned(),
            )),
        };
        self.journal.appended(result);
        if let Some(failure) = self.journal.failed().cloned() {
            self.stop(&DriveError::Log(failure));
            return;
        }
        self.outbox.release(self.journal.stored_seq());
        self.boundary_stored();
    }

    /// Stops requests and tools because the log cannot be written; commands still get replies. What
    /// the model or a tool did now could not be recorded.
    fn stop(&mut self, error: &DriveError) {
        if !std::mem::replace(&mut self.told_stopped, true) {
            let why = error.to_string();
            self.tell(Notice::Stopped { why });
        }
        self.fail_withheld(error);
        let wanted = |running: &Running| {
            matches!(
                running,
                Running::Ask(_) | Running::Tool(_) | Running::Hook(_) | Running::Child
            )
        };
        for id in self.outbox.all(wanted) {
            self.outbox.give_up(id);
        }
        // No retry may start while nothing can be recorded.
        self.asks.clear();
        self.fail_job(error);
        self.fail_turn(error.clone());
        self.fail_results(error);
        self.fail_waiters(error);
        while let Some((id, _)) = self.commands.pop_front() {
            self.reply(id, Err(error.clone()));
        }
    }

    /// Appends a record to the journal and folds it at once; effects that rely on it wait for the
    /// store.
    pub(crate) fn emit(&mut self, body: Body) -> Result<Record, DriveError> {
        self.emit_for(body, None)
    }

    pub(crate) fn emit_for(
        &mut self,
        body: Body,
        caused_by: Option<RecordId>,
    ) -> Result<Record, DriveError> {
        let record = self.journal.emit(self.now, body, caused_by)?;
        Arc::make_mut(&mut self.conversation).apply(&record);
        Ok(record)
    }

    pub(crate) fn note(&mut self, change: StateChange) -> Result<(), DriveError> {
        self.emit(Body::State(change)).map(drop)
    }

    pub(crate) fn tell(&mut self, notice: Notice) {
        self.outbox.push(Effect::Tell(notice));
    }

    /// Replies to a command immediately.
    pub(crate) fn reply(&mut self, id: Option<CommandId>, reply: Result<Reply, DriveError>) {
        if let Some(id) = id {
            self.outbox.push(Effect::Reply(id, reply));
        }
    }

    /// Replies to a command once everything emitted so far is stored, so that a reply is a promise.
    pub(crate) fn reply_stored(&mut self, id: Option<CommandId>, reply: Result<Reply, DriveError>) {
        let Some(id) = id else {
            return;
        };
        if let Some(failed) = self.journal.failed() {
            let error = DriveError::Log(failed.clone());
            // An error of the command itself tells more than that of the log.
            self.outbox.push(Effect::Reply(id, reply.and(Err(error))));
            return;
        }
        let head = self.journal.head_seq();
        if self.journal.stored_seq() >= head {
            self.outbox.push(Effect::Reply(id, reply));
        } else {
            self.outbox.push_after(head, Effect::Reply(id, reply));
        }
    }

    /// Emits the next batch, and releases effects whose records are stored.
    pub(crate) fn flush(&mut self) {
        self.outbox.release(self.journal.stored_seq());
        if let Some(batch) = self.journal.batch(self.outbox.needed()) {
            self.outbox.start(Running::Append, Work::Append(batch));
        }
    }
}
