//! Changes that fold the log again: undo, rewind, change of model; and change of the prefix.
//!
//! A refold reads the whole log. It is rare and started by the user or by a fallback, never by a
//! layer.

use crate::TAKEOVER_FACT;
use crate::command::{CommandId, Reply, SwitchModel};
use crate::driver::Driver;
use crate::effect::{SaveFile, SavePlace, Work};
use crate::error::DriveError;
use crate::input::EffectOutcome;
use crate::layers::{Job, Then};
use crate::notice::Notice;
use crate::outbox::{Running, SaveFor};
use crate::turn::Phase;
use dormouse_context::breaker::Breaker;
use dormouse_context::conversation::Conversation;
use dormouse_context::layers::{LayerState, Moment};
use dormouse_context::path::{Leaf, path};
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::target::Target;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, Record, StateChange};
use serde_json::json;
use std::sync::Arc;

/// Change that waits for the log to be read.
#[derive(Debug)]
pub(crate) enum Refold {
    Undo {
        target: Option<RecordId>,
        reply: Option<CommandId>,
    },
    Rewind {
        to: RecordId,
        reply: Option<CommandId>,
    },
    Model {
        switch: Box<SwitchModel>,
        why: String,
        then: Then,
    },
}

impl Refold {
    pub(crate) fn reply(&self) -> Option<CommandId> {
        match self {
            Self::Undo { reply, .. } | Self::Rewind { reply, .. } => *reply,
            Self::Model { then, .. } => match then {
                Then::Reply(reply) => *reply,
                _ => None,
            },
        }
    }
}

/// Prefix whose parts are being saved.
#[derive(Debug)]
pub(crate) struct PrefixRun {
    pub(crate) prefix: Arc<RenderedPrefix>,
    pub(crate) reply: Option<CommandId>,
}

impl Driver {
    /// Starts a change that needs the whole log. Waits until everything is stored, since the fold
    /// reads the file.
    pub(crate) fn refold(&mut self, refold: Refold) {
        self.job = Some(Job::Refold(Box::new(refold)));
        let head = self.journal.head_seq();
        self.outbox
            .start_after(head, Running::ReadLog, Work::ReadLog);
    }

    /// Switches to another model. The log is folded again, because bytes and thinking depend on the
    /// model.
    pub(crate) fn switch_model(&mut self, switch: SwitchModel, why: &str, then: Then) {
        self.refold(Refold::Model {
            switch: Box::new(switch),
            why: why.to_owned(),
            then,
        });
    }

    pub(crate) fn log_read(&mut self, outcome: EffectOutcome) {
        let refold = match self.job.take() {
            Some(Job::Refold(refold)) => *refold,
            other => {
                self.job = other;
                return;
            }
        };
        let records = match outcome {
            EffectOutcome::LogRead(Ok(records)) => records,
            EffectOutcome::LogRead(Err(why)) => {
                return self.refold_failed(&refold, DriveError::Read(why));
            }
            _ => return self.refold_failed(&refold, DriveError::Cancelled),
        };
        let reply = refold.reply();
        let result = match refold {
            Refold::Undo { target, .. } => self.undo(&records, target.as_ref()).map(Reply::Undone),
            Refold::Rewind { to, .. } => self.rewind(&records, &to).map(|()| Reply::Done),
            Refold::Model { switch, why, then } => {
                let (taken_from, reason) = (self.config.model.clone(), why.clone());
                let result = self.use_model(&records, *switch, why);
                if let Then::Turn = then {
                    match result.and_then(|()| self.record_takeover(&taken_from, &reason)) {
                        Ok(()) => self.set_phase(Phase::Tidying(Moment::BeforeRequest)),
                        Err(error) => self.fail_turn(error),
                    }
                    return;
                }
                result.map(|()| Reply::Done)
            }
        };
        match result {
            Ok(done) => self.reply_stored(reply, Ok(done)),
            Err(error) => self.reply(reply, Err(error)),
        }
    }

    fn refold_failed(&mut self, refold: &Refold, error: DriveError) {
        if let Refold::Model {
            then: Then::Turn, ..
        } = refold
        {
            self.fail_turn(error);
            return;
        }
        self.reply(refold.reply(), Err(error));
    }

    /// Path of the present conversation: its leaf is the parent of the next record.
    fn own_path<'a>(&self, records: &'a [Record]) -> Vec<&'a Record> {
        match self.journal.next_parent() {
            Some(leaf) => path(records, Leaf::Record(leaf)),
            None => Vec::new(),
        }
    }

    fn undo(&mut self, records: &[Record], target: Option<&RecordId>) -> Result<usize, DriveError> {
        let before = self.own_path(records);
        // An undo to a longer prompt than this would leave a session that cannot send.
        let limit = self.settings.thresholds.blocking_limit;
        let undo = self
            .conversation
            .plan_undo(&before, target, limit)
            .map_err(DriveError::Undo)?;
        let rewrites = undo.targets.len();
        let record = self.emit(Body::Undo(Box::new(undo)))?;
        let mut after = before;
        after.push(&record);
        let target = self.conversation.view().target().clone();
        self.conversation = Arc::new(Conversation::fold(&after, target));
        // An undone compaction must not be judged by the next prompt.
        let breaker = Breaker::of(self.conversation.state());
        if breaker.unproven {
            let proven = Breaker {
                unproven: false,
                ..breaker
            };
            self.note(proven.record())?;
        }
        self.ledger.announce("a rewrite was undone");
        self.tell(Notice::Undone { rewrites });
        Ok(rewrites)
    }

    fn rewind(&mut self, records: &[Record], to: &RecordId) -> Result<(), DriveError> {
        let branch = path(records, Leaf::Record(to));
        // Empty for an unknown id.
        if branch.last().is_none_or(|last| last.id != *to) {
            return Err(DriveError::NoSuchRecord(to.clone()));
        }
        let target = self.conversation.view().target().clone();
        self.conversation = Arc::new(Conversation::fold(&branch, target));
        self.journal.branch_at(to.clone());
        self.layers = LayerState::default();
        self.calls.clear();
        self.ledger.announce("the conversation was rewound");
        // The branch exists from here on, even if nothing is ever said on it.
        self.checkpoint()
    }

    fn use_model(
        &mut self,
        records: &[Record],
        switch: SwitchModel,
        why: String,
    ) -> Result<(), DriveError> {
        let params = switch
            .params
            .to_json()
            .map_err(|error| DriveError::Params(error.to_string()))?;
        let target = Target::new(&self.config.models, &switch.model);
        let own = self.own_path(records);
        self.conversation = Arc::new(Conversation::fold(&own, target));
        self.config.model = switch.model.clone();
        self.config.params = switch.params;
        self.config.capabilities = switch.capabilities;
        self.params = params;
        self.settings = crate::config::Current::new(
            Arc::clone(&self.settings.raw),
            &self.config,
            self.conversation.window_evidence(),
        );
        self.layers = LayerState::default();
        // Caches and hysteresis of the previous model do not apply.
        self.ledger = dormouse_context::ledger::Ledger::default();
        self.ledger.announce("the model changed");
        self.rewrites_cache = true;
        self.tell(Notice::ModelChanged {
            model: switch.model,
            why,
        });
        Ok(())
    }

    /// Records that another model has taken the conversation over, for screens and for the figures.
    fn record_takeover(&mut self, from: &str, why: &str) -> Result<(), DriveError> {
        self.note(StateChange::Fact {
            name: TAKEOVER_FACT.to_owned(),
            value: json!({ "from": from, "to": self.config.model, "why": why }),
        })
    }

    /// Switches to another prefix from the next request on; the cache miss is announced.
    pub(crate) fn use_prefix(&mut self, prefix: Arc<RenderedPrefix>, reply: Option<CommandId>) {
        if prefix.id() == self.config.prefix.id() {
            self.reply(reply, Ok(Reply::Done));
            return;
        }
        self.config.prefix = prefix;
        self.ledger
            .announce("the system prompt, tools or instructions changed");
        self.rewrites_cache = true;
        self.announce_prefix(reply);
    }

    /// Records the prefix if it differs from the recorded one. Its parts are saved first, so that
    /// no record names a missing blob.
    pub(crate) fn announce_prefix(&mut self, reply: Option<CommandId>) {
        let prefix = Arc::clone(&self.config.prefix);
        let known = self.conversation.state().prefix.as_ref();
        if prefix.is_empty() || known.is_some_and(|known| known.id == prefix.id()) {
            self.reply(reply, Ok(Reply::Done));
            return;
        }
        let files = prefix.blobs().map(|(hash, bytes)| SaveFile {
            place: SavePlace::Blob(hash),
            bytes: bytes.clone(),
        });
        let work = Work::Save(files.collect());
        self.outbox.start(Running::Save(SaveFor::Prefix), work);
        self.job = Some(Job::Prefix(PrefixRun { prefix, reply }));
    }

    pub(crate) fn prefix_saved(&mut self, outcome: EffectOutcome) {
        let run = match self.job.take() {
            Some(Job::Prefix(run)) => run,
            other => {
                self.job = other;
                return;
            }
        };
        let saved = match outcome {
            EffectOutcome::Saved(Ok(())) => Ok(()),
            EffectOutcome::Saved(Err((_, why))) => Err(DriveError::File(why)),
            _ => Err(DriveError::Cancelled),
        };
        let recorded = saved.and_then(|()| self.emit(Body::Prefix(run.prefix.to_record())));
        match recorded {
            Ok(_) => self.reply_stored(run.reply, Ok(Reply::Done)),
            Err(error) => {
                self.reply(run.reply, Err(error.clone()));
                self.fail_turn(error);
            }
        }
    }
}
