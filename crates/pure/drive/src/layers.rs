//! Execution of the layers' plans, until nothing is left to do at this moment.
//!
//! The planners are in `context/src/layers`. Each round asks for one action, executes it and asks
//! again.

use crate::clearing::ClearRun;
use crate::command::CommandId;
use crate::compaction::CompactRun;
use crate::config::Role;
use crate::distil::DistilRun;
use crate::driver::Driver;
use crate::error::DriveError;
use crate::fit::FitRun;
use crate::notice::Notice;
use crate::refold::{PrefixRun, Refold};
use crate::server_edits::ProviderRun;
use dormouse_ask::Failure;
use dormouse_context::compaction::{Request, Scope};
use dormouse_context::layers::{
    self, Action, LayerInputs, LayerState, LayersPlan, Moment, NotesStatus,
};
use dormouse_context::window::Relief;
use dormouse_core::record::{Body, Checkpoint, StateChange};
use dormouse_core::settings::keys;
use dormouse_core::units::Tokens;

/// Upper bound on plan/execute rounds per moment; more means that two layers undo each other. A
/// clearing, a compaction and the plan that finds nothing left take three; one is a margin.
const MOST_ROUNDS: usize = 4;

/// Name of the fact with the prompt size that the economic policy aims at, in tokens.
pub const AIM_FACT: &str = "economy.aim";

/// Bytes of new entries at which a page of the chronicle is written. A manifest repeats up to this
/// much and names each page in some 150 bytes: at 16 KiB both parts stay below ten kilobytes on
/// average for a chronicle of 400 kB.
const PAGE: usize = 16 * 1024;

/// The same right before a boundary, whose manifest would repeat them. Below it a page of its own,
/// named by all later manifests, costs more than the entries.
const PAGE_BEFORE_BOUNDARY: usize = 4 * 1024;

/// Work with pending outcomes that the turn, or a command, waits for. At most one at a time.
#[derive(Debug)]
pub(crate) enum Job {
    Fit(FitRun),
    Distil(Box<DistilRun>),
    Clear(Box<ClearRun>),
    Compact(Box<CompactRun>),
    Provider(Box<ProviderRun>),
    Prefix(PrefixRun),
    Refold(Box<Refold>),
    KeepAlive(Option<CommandId>),
    Child(Option<CommandId>),
    Lessons(Option<CommandId>),
}

/// Continuation after a job.
#[derive(Debug)]
pub(crate) enum Then {
    /// Next round of the layers.
    Tidy,
    /// Next step of the turn.
    Turn,
    /// Resend of a prompt that was too long, or the failure if compaction did not help. Without a
    /// failure, it was the answer that did not fit.
    Recover(Option<Box<Failure>>),
    /// Reply to the command.
    Reply(Option<CommandId>),
}

/// Result of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tidied {
    /// Action executed: plan again.
    Again,
    /// Job started: wait for it.
    Job,
    /// Nothing left to do.
    Over,
}

impl Driver {
    /// Asks the layers once, and executes or starts their action.
    pub(crate) fn tidy(&mut self, moment: Moment) -> Result<Tidied, DriveError> {
        let Some(turn) = &mut self.turn else {
            return Ok(Tidied::Over);
        };
        // A fork shares its parent's bytes; a rewrite would lose the cache it was made for.
        if self.config.role != Role::Main {
            return Ok(Tidied::Over);
        }
        if turn.rounds >= MOST_ROUNDS {
            self.checkpoint_if_due()?;
            return Ok(Tidied::Over);
        }
        turn.rounds += 1;
        self.page_if_due()?;
        self.teach_if_due();
        let plan = self.with_inputs(moment, layers::plan);
        self.remember_aim(&plan)?;
        self.explain(moment, &plan);
        if let Some(turn) = &mut self.turn {
            turn.relief = plan.relief;
            // Decided anew each round: the action of the previous one may have changed the need.
            turn.notes_due = false;
        }
        match plan.action {
            None => self.tidied(),
            Some(Action::Clear(selection)) => {
                self.clear(selection, plan.head);
                Ok(self.job_or_again())
            }
            Some(Action::OpenBreaker(breaker)) => {
                self.note(breaker.record())?;
                let prompt = self.used();
                self.tell(Notice::CannotCompact {
                    prompt,
                    target: breaker.target,
                });
                // Without relief the request planner blocks at the limit instead of asking for
                // compaction.
                if let Some(turn) = &mut self.turn {
                    turn.relief = Relief::Exhausted;
                }
                self.tidied()
            }
            Some(Action::Compact {
                trigger,
                allowed,
                keep,
            }) => {
                let request = Request {
                    trigger,
                    scope: Scope::All,
                    instructions: Vec::new(),
                    allowed,
                };
                self.run_compaction(request, keep, Then::Tidy);
                Ok(self.job_or_again())
            }
            Some(Action::CompactByProvider { trigger }) => {
                self.compact_by_provider(trigger);
                Ok(self.job_or_again())
            }
            Some(Action::UpdateNotes) if moment == Moment::TurnEnd => {
                self.start_notes();
                self.tidied()
            }
            Some(Action::UpdateNotes) => {
                // The update is sent once the provider has accepted the next prompt: then it reads
                // all of it from the cache.
                if let Some(turn) = &mut self.turn {
                    turn.notes_due = true;
                }
                Ok(Tidied::Over)
            }
        }
    }

    /// State after starting a job: it may have ended without a single effect.
    fn job_or_again(&self) -> Tidied {
        if self.job.is_some() {
            Tidied::Job
        } else {
            Tidied::Again
        }
    }

    fn tidied(&mut self) -> Result<Tidied, DriveError> {
        self.checkpoint_if_due()?;
        Ok(Tidied::Over)
    }

    /// Ends the rounds at this moment; the same action would fail again.
    pub(crate) fn stop_tidying(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.rounds = MOST_ROUNDS;
        }
    }

    /// Calls `ask` with the facts that the planners use.
    pub(crate) fn with_inputs<T>(
        &mut self,
        moment: Moment,
        ask: impl FnOnce(&mut LayerState, &LayerInputs<'_>) -> T,
    ) -> T {
        let rates = self.rates();
        let cold = self.is_cold();
        let notes = self.notes_status(&rates);
        let provider_compacts = self.provider_compacts();
        let inputs = LayerInputs {
            conversation: &self.conversation,
            prefix: self.config.prefix.weight(),
            policy: &*self.settings.policy,
            settings: &self.settings.layers,
            thresholds: &self.settings.thresholds,
            rates: &rates,
            notes,
            moment,
            cold,
            provider_compacts,
        };
        ask(&mut self.layers, &inputs)
    }

    /// Cost of the notes since the last compaction at today's rates, in units of input tokens.
    fn notes_status(&self, rates: &dormouse_context::economy::Rates) -> NotesStatus {
        let state = self.conversation.state();
        let usage = &state.notes_usage;
        let figure = |tokens: Tokens| f64::from(u32::try_from(tokens.get()).unwrap_or(u32::MAX));
        NotesStatus {
            running: self.notes.is_some(),
            spent: figure(usage.input)
                + rates.read * figure(usage.cache_read)
                + rates.write * figure(usage.cache_write_5m + usage.cache_write_1h)
                + rates.output * figure(usage.output),
            updates: state.notes_updates,
        }
    }

    /// Records the size that the economic policy aims at, so that a resumed session decides alike.
    fn remember_aim(&mut self, plan: &LayersPlan) -> Result<(), DriveError> {
        let known = self.conversation.state().facts.get(AIM_FACT);
        let known = known.and_then(serde_json::Value::as_u64).map(Tokens);
        match plan.in_use.filter(|aim| known != Some(*aim)) {
            Some(aim) => self.note(StateChange::Fact {
                name: AIM_FACT.to_owned(),
                value: aim.get().into(),
            }),
            None => Ok(()),
        }
    }

    fn explain(&mut self, moment: Moment, plan: &LayersPlan) {
        if !self.config.explain {
            return;
        }
        let arithmetic =
            self.with_inputs(moment, |state, inputs| LayersPlan::explain(state, inputs));
        let used = self.used();
        self.tell(Notice::Considered {
            moment,
            used,
            layers: plan.considered.clone(),
            arithmetic,
        });
    }

    /// Writes the newest entries of the chronicle as a page, once they are worth one: the next
    /// boundary names it instead of repeating them.
    fn page_if_due(&mut self) -> Result<(), DriveError> {
        self.page_of(PAGE)
    }

    /// Writes a page before a compaction. A failure is left to the boundary, which meets it too.
    pub(crate) fn page_before_boundary(&mut self) {
        self.page_of(PAGE_BEFORE_BOUNDARY).ok();
    }

    fn page_of(&mut self, least: usize) -> Result<(), DriveError> {
        match self.conversation.page_due(least) {
            Some(page) => self.emit(Body::Chronicle(Box::new(page))).map(drop),
            None => Ok(()),
        }
    }

    /// Writes a checkpoint when the log has grown by `log.checkpoint` since the last manifest.
    fn checkpoint_if_due(&mut self) -> Result<(), DriveError> {
        let every = self.settings.raw.get(keys::LOG_CHECKPOINT);
        if self.journal.since_carrier() < every {
            return Ok(());
        }
        self.checkpoint()
    }

    pub(crate) fn checkpoint(&mut self) -> Result<(), DriveError> {
        let manifest = self.conversation.manifest();
        self.emit(Body::Checkpoint(Box::new(Checkpoint { manifest })))
            .map(drop)
    }

    /// Fails the job because the log cannot be written.
    pub(crate) fn fail_job(&mut self, error: &DriveError) {
        self.forget_notes_waiter();
        let reply = match self.job.take() {
            Some(Job::Compact(run)) => match run.then {
                Then::Reply(reply) => reply,
                _ => None,
            },
            Some(Job::KeepAlive(reply) | Job::Child(reply) | Job::Lessons(reply)) => reply,
            Some(Job::Prefix(run)) => run.reply,
            Some(Job::Refold(refold)) => refold.reply(),
            Some(Job::Fit(_) | Job::Distil(_) | Job::Clear(_) | Job::Provider(_)) | None => None,
        };
        self.reply(reply, Err(error.clone()));
    }
}
