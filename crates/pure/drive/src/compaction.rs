//! Layer 4: execution of a compaction job, step by step.
//!
//! [`CompactionJob`] decides, this executes. The old view stays until the boundary is stored.

use crate::command::{CommandId, CompactWish, Reply};
use crate::driver::Driver;
use crate::effect::{HookPoint, Work};
use crate::error::DriveError;
use crate::input::{EffectOutcome, HookAnswer};
use crate::layers::{Job, Then};
use crate::notice::Notice;
use crate::outbox::{AskFor, NotesFor, Running};
use crate::turn::Phase;
use dormouse_ask::{Failure, FailureKind, Request as ModelRequest, Response};
use dormouse_context::breaker::{Allowed, Breaker, ModelPart};
use dormouse_context::compaction::{
    Ask, AskFailure, AskForm, CompactionJob, CompactionOutcome, Effect as Step, Event, JobContext,
    Request, RestoredPart, Scope, SummaryAnswer, compact_instructions,
};
use dormouse_context::fork::Fork;
use dormouse_context::layers::Moment;
use dormouse_context::notes::Notes;
use dormouse_context::policy::CompactRule;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::block::Block;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::record::{Body, BoundaryKind, Purpose, Trigger};
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// Compaction under way, with what its later steps need.
#[derive(Debug)]
pub(crate) struct CompactRun {
    job: CompactionJob,
    rule: CompactRule,
    pub(crate) trigger: Trigger,
    wishes: Vec<String>,
    /// Output of the hooks after the summary; they run once, even if it is rejected later.
    pub(crate) said_after: Option<Vec<RestoredPart>>,
    /// True if the hooks after the summary are running.
    pub(crate) after_hooks: bool,
    pub(crate) parts: Vec<RestoredPart>,
    /// Summary that will be committed.
    pub(crate) summary: String,
    pub(crate) prefix: Option<Arc<RenderedPrefix>>,
    /// Boundary that is being stored.
    boundary: Option<Seq>,
    pub(crate) then: Then,
}

impl Driver {
    /// Compacts on request of the user.
    pub(crate) fn compact(&mut self, reply: Option<CommandId>, wish: CompactWish) {
        let scope = match self.scope_of(&wish) {
            Ok(scope) => scope,
            Err(error) => {
                self.reply(reply, Err(error));
                return;
            }
        };
        let request = Request {
            trigger: Trigger::Manual,
            scope,
            instructions: wish.instructions.into_iter().collect(),
            // A user's request is not subject to the breaker.
            allowed: Allowed::Model,
        };
        self.run_compaction(request, None, Then::Reply(reply));
    }

    fn scope_of(&self, wish: &CompactWish) -> Result<Scope, DriveError> {
        if !self.settings.layers.compaction {
            return Err(DriveError::CompactionOff);
        }
        Ok(match (wish.from, wish.up_to) {
            (Some(message), _) => Scope::From(self.message_in_view(message)?.1),
            (None, Some(message)) => Scope::UpTo(self.message_in_view(message)?.0),
            (None, None) => Scope::All,
        })
    }

    /// First and last record of a message, counted from 1.
    fn message_in_view(&self, message: u64) -> Result<(Seq, Seq), DriveError> {
        let missing = || DriveError::NoSuchMessage(message);
        let at = usize::try_from(message)
            .ok()
            .and_then(|message| message.checked_sub(1))
            .ok_or_else(missing)?;
        let messages = self.conversation.view().message_bounds();
        messages.get(at).copied().ok_or_else(missing)
    }

    /// Starts a job. `keep` is the part of the tail, in tokens, that the economic policy retains.
    pub(crate) fn run_compaction(&mut self, request: Request, keep: Option<Tokens>, then: Then) {
        self.page_before_boundary();
        let trigger = request.trigger;
        let wishes = request.instructions.clone();
        let mut request = request;
        // Hooks receive the user's wishes only, not those of instruction files.
        request.instructions.extend(self.standing_wishes());
        let mut run = CompactRun {
            job: CompactionJob::new(request),
            rule: self.rule(keep),
            trigger,
            wishes,
            said_after: None,
            after_hooks: false,
            summary: String::new(),
            parts: Vec::new(),
            prefix: None,
            boundary: None,
            then,
        };
        let rule = run.rule.clone();
        let step = self.with_job(&rule, |cx| run.job.start(cx));
        self.compaction_step(Box::new(run), step);
    }

    /// Passes an event to the job and executes its next step.
    pub(crate) fn compaction_event(&mut self, mut run: Box<CompactRun>, event: Event) {
        let rule = run.rule.clone();
        let step = self.with_job(&rule, |cx| run.job.handle(cx, event));
        self.compaction_step(run, step);
    }

    fn compaction_step(&mut self, mut run: Box<CompactRun>, step: Step) {
        match step {
            Step::Done(outcome) => {
                self.job = None;
                self.compaction_over(run, outcome);
                return;
            }
            Step::RunHooks if !self.hooks_compaction() => {
                let event = hooks_ran(HookAnswer::default());
                self.compaction_event(run, event);
                return;
            }
            Step::RunHooks => {
                let point = HookPoint::BeforeCompaction {
                    trigger: run.trigger,
                    wishes: run.wishes.clone(),
                };
                self.outbox.start(Running::Hooks, Work::Hooks(point));
            }
            Step::ReadNotes => {
                let settings = &self.settings.layers.notes;
                let unusable = settings.off.is_some() || !settings.compact;
                // A running update may be the first one: it is awaited even if no notes exist yet.
                if self.notes.is_none() && (unusable || self.conversation.state().notes.is_none()) {
                    self.compaction_event(run, Event::NotesRead(None));
                    return;
                }
                self.job = Some(Job::Compact(run));
                self.wait_for_notes();
                return;
            }
            Step::Ask(ask) => self.ask_for_summary(*ask),
            Step::Restore { files, summary } => {
                run.summary = summary;
                self.outbox.start(Running::Restore, Work::Restore { files });
            }
            Step::Commit(boundary) => match self.emit(Body::Boundary(boundary)) {
                Ok(record) => {
                    run.boundary = Some(record.seq);
                    self.job = Some(Job::Compact(run));
                    self.boundary_stored();
                    return;
                }
                Err(error) => {
                    self.compaction_event(run, Event::NotCommitted(error.to_string()));
                    return;
                }
            },
        }
        self.job = Some(Job::Compact(run));
    }

    /// Instructions for summaries from instruction files, under "Compact instructions".
    fn standing_wishes(&self) -> Vec<String> {
        let fragments = self.config.prefix.fragments().iter();
        let texts = fragments.filter_map(|part| Block::parse(&part.bytes).ok()?.readable_text());
        texts
            .filter_map(|text| compact_instructions(&text))
            .collect()
    }

    pub(crate) fn rule(&self, keep: Option<Tokens>) -> CompactRule {
        let settings = &self.settings.layers.compact;
        self.settings.policy.compaction(settings, keep)
    }

    pub(crate) fn with_job<T>(
        &self,
        rule: &CompactRule,
        ask: impl FnOnce(&JobContext<'_>) -> T,
    ) -> T {
        let history = self.config.place.log.display().to_string();
        let seq = self.journal.next_seq();
        let id: RecordId = self.journal.id_of(seq);
        ask(&JobContext {
            conversation: &self.conversation,
            prefix: self.config.prefix.weight(),
            measure: self.measure(),
            settings: &self.settings.layers.compact,
            rule,
            target: self.settings.thresholds.autocompact_target,
            history: &history,
            seq,
            id: &id,
        })
    }

    fn ask_for_summary(&mut self, ask: Ask) {
        let fork = self.summary_fork(ask);
        let request = ModelRequest::streamed(fork.body()).with_betas(&self.betas());
        let after = self.journal.stored_seq();
        self.ask(
            AskFor::Compaction,
            Purpose::Compaction,
            request,
            (None, after),
        );
    }

    fn summary_fork(&self, ask: Ask) -> Fork {
        let moment = (self.now, self.ttls());
        let conversation = &self.conversation;
        let (prefix, params) = (&self.config.prefix, &self.params);
        let fork = |directive: &str| {
            Fork::of_history(
                conversation,
                &self.ledger,
                prefix,
                params,
                directive,
                moment,
            )
        };
        match ask.form {
            AskForm::Riding => fork(&ask.directive),
            AskForm::Shortened(segments) => fork(&ask.directive).without_front(segments),
            AskForm::Cold(text) => Fork::cold(conversation, prefix, params, &text, &ask.directive),
        }
    }

    /// Passes the summary, from a fork or from the provider, to the job that requested it.
    pub(crate) fn summary_answered(&mut self, answer: Result<Response, Failure>) {
        if let Ok(response) = &answer
            && let Err(error) = self.account(Purpose::Compaction, response)
        {
            self.fail_turn(error);
            return;
        }
        match self.job.take() {
            Some(Job::Compact(run)) => {
                let answer = match answer {
                    Ok(response) => Ok(SummaryAnswer {
                        cut_off: response.stop_reason.is_cut_off(),
                        blocks: response.blocks,
                    }),
                    Err(failure) => Err(failure_of(&failure)),
                };
                self.compaction_event(run, Event::Answered(answer));
            }
            Some(Job::Provider(run)) => self.provider_answered(*run, answer),
            other => self.job = other,
        }
    }

    pub(crate) fn hooks_ran(&mut self, outcome: EffectOutcome) {
        let answer = match outcome {
            EffectOutcome::HooksRan(answer) => answer,
            _ => HookAnswer::default(),
        };
        match self.job.take() {
            Some(Job::Compact(mut run)) if run.after_hooks => {
                run.said_after = Some(answer.parts);
                self.restored_all(run);
            }
            Some(Job::Compact(run)) => self.compaction_event(run, hooks_ran(answer)),
            Some(Job::Provider(run)) => self.provider_hooks_ran(*run, answer),
            other => self.job = other,
        }
    }

    /// Continues a job whose boundary the store has confirmed.
    pub(crate) fn boundary_stored(&mut self) {
        let stored = self.journal.stored_seq();
        match self.job.take() {
            Some(Job::Compact(mut run)) if run.boundary.is_some_and(|seq| seq <= stored) => {
                run.boundary = None;
                self.compaction_event(run, Event::Committed);
            }
            Some(Job::Provider(run)) if run.boundary.is_some_and(|seq| seq <= stored) => {
                self.provider_committed(&run);
            }
            other => self.job = other,
        }
    }

    fn compaction_over(&mut self, run: Box<CompactRun>, outcome: CompactionOutcome) {
        let manual = run.trigger == Trigger::Manual;
        if let Err(error) = self.compaction_ended(manual, &outcome, run.prefix.clone()) {
            self.fail_turn(error.clone());
            if let Then::Reply(reply) = run.then {
                self.reply(reply, Err(error));
            }
            return;
        }
        self.compaction_then(run.then, outcome);
    }

    pub(crate) fn compaction_then(&mut self, then: Then, outcome: CompactionOutcome) {
        let compacted = matches!(outcome, CompactionOutcome::Compacted { .. });
        match then {
            Then::Reply(reply) => self.reply_stored(reply, Ok(Reply::Compacted(outcome))),
            Then::Tidy if !compacted => self.stop_tidying(),
            Then::Tidy | Then::Turn => {}
            // Without a shorter prompt, the provider's refusal is the result.
            Then::Recover(Some(failure)) if !compacted => self.refused(failure),
            Then::Recover(Some(_)) => self.set_phase(Phase::Tidying(Moment::BeforeRequest)),
            Then::Recover(None) if compacted => {
                self.continue_answer("model_context_window_exceeded");
            }
            Then::Recover(None) => self.set_phase(Phase::Tidying(Moment::TurnEnd)),
        }
    }

    pub(crate) fn compaction_ended(
        &mut self,
        manual: bool,
        outcome: &CompactionOutcome,
        prefix: Option<Arc<RenderedPrefix>>,
    ) -> Result<(), DriveError> {
        match outcome {
            CompactionOutcome::Compacted {
                kind,
                before,
                after,
                model_failed,
            } => {
                let model = match (kind, model_failed) {
                    (_, Some(_)) => ModelPart::Failed,
                    (BoundaryKind::Full | BoundaryKind::Partial, None) => ModelPart::Summarised,
                    (_, None) => ModelPart::NotAsked,
                };
                let breaker = Breaker::of(self.conversation.state());
                let breaker = breaker.compacted(manual, model);
                self.note(breaker.record())?;
                // The whole prompt is written again anyway: reloading instructions is free now.
                if let Some(prefix) = prefix {
                    self.use_prefix(prefix, None);
                }
                self.ledger.announce("the conversation was compacted");
                self.remember_summary();
                self.tell(Notice::Compacted {
                    kind: *kind,
                    before: *before,
                    after: *after,
                    without_model: model_failed.clone(),
                });
            }
            CompactionOutcome::NoProgress { why, asked } => {
                self.tell(Notice::NotCompacted { why: why.clone() });
                // A user may try again at will; only automatic attempts are limited.
                if !manual {
                    self.no_progress(*asked)?;
                }
            }
            CompactionOutcome::Blocked(why)
            | CompactionOutcome::Nothing(why)
            | CompactionOutcome::NotWritten(why) => {
                self.tell(Notice::NotCompacted { why: why.clone() });
            }
        }
        Ok(())
    }

    /// Records an attempt without effect, so that the breaker stops further ones.
    fn no_progress(&mut self, asked: bool) -> Result<(), DriveError> {
        let model = if asked {
            ModelPart::Failed
        } else {
            ModelPart::NotAsked
        };
        let (used, target) = (self.used(), self.settings.thresholds.autocompact_target);
        let before = Breaker::of(self.conversation.state());
        let breaker = before.no_progress(used, target, model);
        if breaker == before {
            return Ok(());
        }
        self.note(breaker.record())?;
        if breaker.stuck_at.is_some() {
            self.tell(Notice::CannotCompact {
                prompt: used,
                target,
            });
        }
        Ok(())
    }

    /// Passes the notes to the compaction; none if there are none.
    pub(crate) fn notes_for_compaction(&mut self, notes: Option<(Notes, Seq)>) {
        match self.job.take() {
            Some(Job::Compact(run)) => self.compaction_event(run, Event::NotesRead(notes)),
            other => self.job = other,
        }
    }

    /// Cancels the job. The old view stays in force.
    pub(crate) fn cancel_job(&mut self) {
        let of_job = |running: &Running| {
            matches!(
                running,
                Running::Ask(AskFor::Compaction | AskFor::KeepAlive)
                    | Running::Hooks
                    | Running::Restore
                    | Running::Child
                    | Running::ReadNotes(NotesFor::Compaction)
            )
        };
        // An emitted boundary is in the view: it is awaited, so that log and memory agree.
        let committing = match &self.job {
            Some(Job::Compact(run)) => run.boundary.is_some(),
            Some(Job::Provider(run)) => run.boundary.is_some(),
            _ => false,
        };
        if committing {
            return;
        }
        for id in self.outbox.all(of_job) {
            self.outbox.give_up(id);
        }
        self.forget_notes_waiter();
        self.asks.remove(&AskFor::Compaction);
        self.asks.remove(&AskFor::KeepAlive);
        match self.job.take() {
            Some(Job::Compact(run)) => {
                if let Then::Reply(reply) = run.then {
                    self.reply(reply, Err(DriveError::Cancelled));
                }
            }
            Some(Job::Provider(_)) | None => {}
            Some(Job::KeepAlive(reply) | Job::Child(reply)) => {
                self.reply(reply, Err(DriveError::Cancelled));
            }
            // Saving a prefix, reading the log and clearing end by themselves.
            other => self.job = other,
        }
    }
}

fn hooks_ran(answer: HookAnswer) -> Event {
    Event::HooksRan {
        instructions: answer.instructions,
        blocked: answer.blocked,
    }
}

/// Failure in the categories that the job distinguishes.
fn failure_of(failure: &Failure) -> AskFailure {
    let why = failure.why.clone();
    match failure.kind {
        FailureKind::TooLong { gap } => AskFailure::TooLong { gap },
        // Content had arrived: the stream broke, whatever the status says.
        _ if failure.partial.is_some() => AskFailure::Broken(why),
        FailureKind::Connection | FailureKind::Malformed => AskFailure::Broken(why),
        FailureKind::Rejected => AskFailure::Rejected(why),
        FailureKind::Overloaded
        | FailureKind::RateLimited
        | FailureKind::Server
        | FailureKind::Denied => AskFailure::Failed(why),
    }
}
