//! Responses: taken in block by block, whole, or as far as they arrived.
//!
//! A block is recorded when it is complete, so that its tool can start while the response still
//! streams. Once a call of a response has started, that response is never requested again.

use crate::asks::Begun;
use crate::calls::calls_count;
use crate::config::Role;
use crate::driver::Driver;
use crate::error::DriveError;
use crate::layers::Then;
use crate::notice::Notice;
use crate::outbox::AskFor;
use crate::turn::{Extent, Phase, RECOVERED};
use dormouse_ask::features::AppliedEdit;
use dormouse_ask::{Failure, FailureKind, Partial, Response, StopReason};
use dormouse_context::breaker::{Allowed, Breaker};
use dormouse_context::compaction::{Request as CompactRequest, Scope};
use dormouse_context::layers::Moment;
use dormouse_context::plan::Ending;
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::record::{
    Body, CacheObservation, Clearing, ClearingPlace, Message, MessageOrigin, Purpose, StateChange,
    Trigger, UsageReport,
};
use dormouse_core::settings::keys;
use dormouse_core::usage::TokenUsage;
use std::sync::Arc;

/// Stop reason recorded for an answer whose stream broke.
const BROKEN: &str = "stream_broken";
/// Stop reason recorded for an answer that the user cancelled.
const CANCELLED: &str = "cancelled";
/// Prompt for the rest of a cut-off answer. The first part stays in the conversation, so that a
/// repetition would be there twice.
const GO_ON: &str = "Your answer was cut off here. Go on exactly where it stopped, without \
                     repeating anything.";

impl Driver {
    /// Starts a due update of the notes: the prompt is in the cache from here on, so that the fork
    /// reads it instead of writing it a second time.
    pub(crate) fn turn_began(&mut self) {
        // The fork would send results whole and uncached that are distilled a moment later.
        if self.will_distil() {
            return;
        }
        let due = self
            .turn
            .as_mut()
            .is_some_and(|turn| std::mem::take(&mut turn.notes_due));
        if due {
            self.start_notes();
        }
    }

    /// Records a complete block before the next one arrives, and starts its call.
    pub(crate) fn block_ended(&mut self, block: Block) {
        let Some(begun) = self
            .asks
            .get_mut(&AskFor::Turn)
            .and_then(|asking| asking.begun.as_mut())
        else {
            return;
        };
        begun.blocks += 1;
        let message = Message {
            usage: Some(begun.usage),
            ..Message::assistant(begun.id.clone(), &begun.model, vec![block.clone()])
        };
        match self.emit(Body::Message(message)) {
            Ok(record) if self.runs_calls() => self.calls_asked(&[block], record.seq),
            Ok(_) => {}
            Err(error) => self.fail_turn(error),
        }
    }

    /// True if this driver's host runs the calls of this turn.
    fn runs_calls(&self) -> bool {
        let fork = matches!(self.config.role, Role::Fork { .. });
        self.turn.as_ref().is_some_and(|turn| {
            // The last answer granted to a fork ends it, whether it makes calls or not.
            let spent = fork && turn.requests >= self.config.most_requests;
            turn.extent == Extent::Whole && !spent
        })
    }

    pub(crate) fn turn_answered(&mut self, response: Response, in_log: usize) {
        if let Err(error) = self.take_in(&response, in_log) {
            self.fail_turn(error);
            return;
        }
        if self.cancelling() {
            // The answer arrived before the cancel took effect; its calls must not start.
            self.cancel_calls();
        }
        let reason = response.stop_reason.clone();
        if let Some(turn) = &mut self.turn {
            turn.answer = Some(Box::new(response));
            turn.ending = Ending::User;
        }
        self.answer_taken(&reason);
    }

    /// Decides the next step of the turn after an answer.
    fn answer_taken(&mut self, reason: &StopReason) {
        let Some(turn) = &self.turn else {
            return;
        };
        if turn.cancelled {
            return;
        }
        if turn.extent == Extent::Step {
            self.turn_over();
            return;
        }
        // Calls first: a response cut off after a complete call still has to be answered by
        // results.
        if !self.calls.is_empty() {
            self.set_phase(Phase::Calling);
            self.round_maybe_over();
            return;
        }
        let may_continue = turn.continued < self.config.continuations;
        match reason {
            // The provider paused a long turn of its own; the same prompt continues it.
            StopReason::PauseTurn if may_continue => {
                if let Some(turn) = &mut self.turn {
                    turn.continued += 1;
                    turn.ending = Ending::PausedTurn;
                }
                self.set_phase(Phase::Sending);
            }
            StopReason::MaxTokens if may_continue => self.continue_answer(reason.as_str()),
            StopReason::WindowExceeded if may_continue && !self.recovered() => {
                self.recover(None);
            }
            _ => {
                let answer = turn.answer.clone();
                if !answer.is_some_and(|answer| self.hook_stop(&answer)) {
                    self.set_phase(Phase::Tidying(Moment::TurnEnd));
                }
            }
        }
    }

    /// Asks for the rest of an answer.
    pub(crate) fn continue_answer(&mut self, why: &str) {
        if let Some(turn) = &mut self.turn {
            turn.continued += 1;
        }
        self.tell(Notice::Continued {
            why: why.to_owned(),
        });
        // Marked as the client's: the chronicle must not list it among the user's messages.
        let message = Message {
            origin: MessageOrigin::Meta,
            ..Message::user(vec![Block::text(GO_ON)])
        };
        match self.emit(Body::Message(message)) {
            Ok(_) => self.set_phase(Phase::Tidying(Moment::BeforeRequest)),
            Err(error) => self.fail_turn(error),
        }
    }

    fn take_in(&mut self, response: &Response, in_log: usize) -> Result<(), DriveError> {
        // Blocks that streamed in are already in the log; only the others are recorded here. The
        // record is written even without blocks, because it holds stop reason and final usage.
        let rest = response.blocks.get(in_log..).unwrap_or_default();
        let message = Message {
            usage: Some(response.usage),
            stop_reason: Some(response.stop_reason.as_str().into()),
            ..Message::assistant(response.id.clone(), &response.model, rest.to_vec())
        };
        let record = self.emit(Body::Message(message))?;
        if calls_count(&response.stop_reason) && self.runs_calls() {
            self.calls_asked(rest, record.seq);
        }
        self.observe_usage(&response.id, &response.model, response.usage)?;
        // The provider sampled more than the answer, for example a compaction of its own: billed,
        // but no measure of the prompt, hence a separate report.
        if response.billed != response.usage {
            let report = UsageReport {
                message: Some(MessageId::new(format!("{}+provider", response.id))),
                model: response.model.to_string(),
                usage: beyond(response.billed, response.usage),
                purpose: Purpose::Provider,
                cache: None,
            };
            if let Role::Fork { .. } = self.config.role {
                self.usage.push(report.clone());
            }
            self.emit(Body::Usage(Box::new(report)))?;
        }
        self.observe_edits(response)?;
        self.prove_compaction(&response.usage)
    }

    /// Records the usage of an answer, with the ledger's verdict on the cache.
    pub(crate) fn observe_usage(
        &mut self,
        id: &MessageId,
        model: &Arc<str>,
        usage: TokenUsage,
    ) -> Result<(), DriveError> {
        let report = self.ledger.responded(&usage);
        let watched = self
            .settings
            .raw
            .switch(keys::CACHE_BREAK_DETECTION)
            .is_on();
        let cache = report.as_ref().map(|report| CacheObservation {
            predicted: report.predicted,
            broken: report.cause.as_ref().map(ToString::to_string),
            expected: report.announced.is_some(),
        });
        if let Some(report) = report.filter(|report| watched && report.is_unexpected()) {
            self.tell(Notice::CacheBroken {
                lost: report.lost,
                why: report
                    .cause
                    .map_or_else(String::new, |cause| cause.to_string()),
            });
        }
        if let Role::Fork { .. } = self.config.role {
            self.usage.push(UsageReport {
                message: Some(id.clone()),
                model: model.to_string(),
                usage,
                purpose: Purpose::Fork,
                cache: None,
            });
        }
        self.emit(Body::Usage(Box::new(UsageReport {
            message: Some(id.clone()),
            model: model.to_string(),
            usage,
            purpose: Purpose::Turn,
            cache,
        })))
        .map(drop)
    }

    /// Records what the provider cleared. An observation: the view keeps the content.
    fn observe_edits(&mut self, response: &Response) -> Result<(), DriveError> {
        for edit in response.extras.applied_edits() {
            let (results, freed) = match edit {
                AppliedEdit::ToolUses { cleared, tokens } => (cleared, tokens),
                AppliedEdit::Thinking { turns, tokens } => (turns, tokens),
                AppliedEdit::Other(_) => continue,
            };
            if results == 0 {
                continue;
            }
            self.emit(Body::Cleared(Clearing {
                place: ClearingPlace::Server,
                reason: format!("the provider cleared {results}"),
                freed,
                ..Clearing::default()
            }))?;
        }
        Ok(())
    }

    /// Compares the first measured prompt after a compaction with the target; an ineffective
    /// compaction opens the breaker.
    fn prove_compaction(&mut self, usage: &TokenUsage) -> Result<(), DriveError> {
        let breaker = Breaker::of(self.conversation.state());
        let target = self.settings.thresholds.autocompact_target;
        let prompt = usage.prompt();
        let Some(changed) = breaker.measured(prompt, target) else {
            return Ok(());
        };
        self.note(changed.record())?;
        if changed.stuck_at.is_some() {
            self.tell(Notice::CannotCompact { prompt, target });
        }
        Ok(())
    }

    /// Handles a request without a complete answer. The part that arrived is kept with its stop
    /// reason.
    pub(crate) fn turn_unanswered(&mut self, failure: Failure, begun: Option<&Begun>) {
        let partial = failure.partial.as_deref();
        let kept = match self.keep_partial(partial, begun) {
            Ok(kept) => kept,
            Err(error) => {
                self.fail_turn(error);
                return;
            }
        };
        if self.cancelling() {
            return;
        }
        if kept {
            self.tell(Notice::Interrupted {
                why: failure.why.clone(),
            });
            self.partial_taken(failure);
            return;
        }
        if failure.is_too_long() && !self.recovered() {
            self.tell(Notice::TooLong);
            self.recover(Some(failure));
            return;
        }
        // Only overload justifies another model: other failures would follow the request there.
        let busy = matches!(
            failure.kind,
            FailureKind::Overloaded | FailureKind::RateLimited
        );
        if busy && let Some(fallback) = self.config.fallback.take() {
            self.switch_model(*fallback, &failure.why, Then::Turn);
            return;
        }
        self.fail_turn(DriveError::Model(Box::new(failure)));
    }

    /// Records the part of an answer that arrived: its complete blocks, and text that had begun.
    fn keep_partial(
        &mut self,
        partial: Option<&Partial>,
        begun: Option<&Begun>,
    ) -> Result<bool, DriveError> {
        let in_log = begun.map_or(0, |begun| begun.blocks);
        let arrived = partial.map(Partial::keepable).unwrap_or_default();
        let rest = arrived.get(in_log..).unwrap_or_default().to_vec();
        let id = partial
            .and_then(|partial| partial.id.clone())
            .or_else(|| begun.map(|begun| begun.id.clone()));
        let model = partial
            .and_then(|partial| partial.model.clone())
            .or_else(|| begun.map(|begun| Arc::clone(&begun.model)))
            .unwrap_or_else(|| self.config.model.as_str().into());
        let known = begun.map_or_else(TokenUsage::default, |begun| begun.usage);
        let usage = partial.map_or(known, |partial| partial.usage);
        let reason = if self.cancelling() { CANCELLED } else { BROKEN };
        // The stream broke before its first event: the record still needs an id of its own.
        let id = id.unwrap_or_else(|| {
            MessageId::new(self.journal.id_of(self.journal.next_seq()).as_str())
        });
        let measured = usage.prompt() > dormouse_core::units::Tokens::ZERO;
        if in_log == 0 && rest.is_empty() {
            // No content, but the provider accepted the prompt: it is billed and in the cache.
            if measured {
                self.observe_usage(&id, &model, usage)?;
            }
            return Ok(false);
        }
        let message = Message {
            usage: measured.then_some(usage),
            stop_reason: Some(reason.into()),
            ..Message::assistant(id.clone(), &model, rest.clone())
        };
        let record = self.emit(Body::Message(message))?;
        if self.runs_calls() {
            self.calls_asked(&rest, record.seq);
        }
        if self.cancelling() {
            self.cancel_calls();
        }
        if measured {
            self.observe_usage(&id, &model, usage)?;
        }
        Ok(true)
    }

    /// Continues after a partial answer. Its calls have started and are never requested again.
    fn partial_taken(&mut self, failure: Failure) {
        let Some(turn) = &self.turn else {
            return;
        };
        if turn.extent == Extent::Whole && !self.calls.is_empty() {
            self.set_phase(Phase::Calling);
            self.round_maybe_over();
        } else if turn.extent == Extent::Whole
            && failure.transient
            && turn.continued < self.config.continuations
        {
            self.continue_answer(BROKEN);
        } else {
            self.fail_turn(DriveError::Model(Box::new(failure)));
        }
    }

    /// Compacts because the prompt, or prompt and answer together, exceeded the window; once per
    /// turn. `refused` is the failure if the request was rejected; none if the answer was cut off.
    fn recover(&mut self, refused: Option<Failure>) {
        let size = self.accepted_size(refused.as_ref());
        let noted = self.note(StateChange::Fact {
            name: RECOVERED.to_owned(),
            value: size.get().into(),
        });
        if let Err(error) = noted {
            self.fail_turn(error);
            return;
        }
        let never = !self.settings.policy.recovers();
        let breaker = Breaker::of(self.conversation.state());
        let allowed = breaker.allows(self.settings.layers.compact.breaker);
        let helps = !never && self.settings.thresholds.auto_compact && allowed != Allowed::Nothing;
        if !helps {
            match refused {
                Some(failure) => self.refused(Box::new(failure)),
                None => self.set_phase(Phase::Tidying(Moment::TurnEnd)),
            }
            return;
        }
        let request = CompactRequest {
            trigger: Trigger::Reactive,
            scope: Scope::All,
            instructions: Vec::new(),
            allowed,
        };
        self.run_compaction(request, None, Then::Recover(refused.map(Box::new)));
    }
}

/// Usage of the provider's own sampling: the bill minus the answer.
fn beyond(billed: TokenUsage, usage: TokenUsage) -> TokenUsage {
    TokenUsage {
        input: billed.input - usage.input,
        output: billed.output - usage.output,
        cache_read: billed.cache_read - usage.cache_read,
        cache_write_5m: billed.cache_write_5m - usage.cache_write_5m,
        cache_write_1h: billed.cache_write_1h - usage.cache_write_1h,
    }
}
