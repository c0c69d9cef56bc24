//! Ends of a turn: answered, failed, cancelled; each is recorded where the host wants it.

use crate::TURN_FACT;
use crate::command::Reply;
use crate::driver::Driver;
use crate::effect::Effect;
use crate::error::DriveError;
use crate::outbox::{AskFor, HookedAt, Running, SaveFor};
use crate::turn::{Extent, Turn};
use dormouse_core::record::{Body, Message, StateChange};
use dormouse_core::usage::Usd;
use dormouse_core::usage_book::UsageSum;
use serde_json::json;

impl Driver {
    /// Ends a turn successfully.
    pub(crate) fn turn_over(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        self.calls.clear();
        self.queue_steering();
        self.record_turn(&turn, None);
        let reply = match (turn.extent, turn.answer) {
            (Extent::Whole, Some(response)) => Reply::TurnEnded {
                response,
                requests: turn.requests,
            },
            (Extent::Step, Some(response)) => Reply::Answered(response),
            _ => Reply::Done,
        };
        self.reply_stored(turn.reply, Ok(reply));
        // A step is followed by more steps of the same turn; `EndTurn` closes it.
        if turn.extent != Extent::Step {
            self.outbox.push(Effect::TurnOver);
        }
    }

    /// Ends a turn with an error. Records already emitted stay valid.
    pub(crate) fn fail_turn(&mut self, error: DriveError) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        // Otherwise a late outcome of this turn would be taken for one of the next.
        let given_up = |running: &Running| {
            is_of_turn(running)
                || matches!(running, Running::Save(SaveFor::Results | SaveFor::Round))
        };
        for id in self.outbox.all(given_up) {
            self.outbox.give_up(id);
        }
        self.asks.remove(&AskFor::Turn);
        self.calls.clear();
        self.results.clear();
        self.queue_steering();
        self.record_turn(&turn, Some(&error));
        self.reply(turn.reply, Err(error));
        self.outbox.push(Effect::TurnOver);
    }

    /// Cancels the turn and everything that runs for it.
    pub(crate) fn cancel(&mut self) {
        let Some(turn) = &mut self.turn else {
            // Calls of a restart that still wait for a person.
            self.cancel_calls();
            self.cancel_job();
            return;
        };
        turn.cancelled = true;
        self.cancel_calls();
        self.cancel_job();
        self.stop_notes();
        let of_turn = |running: &Running| {
            matches!(
                running,
                Running::Ask(AskFor::Turn)
                    | Running::Recall
                    | Running::Child
                    | Running::Hook(HookedAt::Prompt | HookedAt::Stop)
            )
        };
        for id in self.outbox.all(of_turn) {
            // An attempt that was never started has no outcome that would remove it.
            if self.outbox.stop(id) {
                self.asks.remove(&AskFor::Turn);
            }
        }
        // A retry that waits for its time has no effect to stop.
        self.asks
            .retain(|use_for, asking| *use_for != AskFor::Turn || asking.is_under_way());
    }

    /// Ends a cancelled turn once nothing runs for it any more; returns whether it did.
    pub(crate) fn cancelled(&mut self) -> bool {
        // Saves are not stopped: their records name the files and follow when the save has ended.
        let awaited = |running: &Running| {
            is_of_turn(running) || matches!(running, Running::Child | Running::Save(_))
        };
        if self.outbox.any(awaited) {
            return false;
        }
        // Calls that arrived after the cancel, or whose person answered after it.
        self.cancel_calls();
        let Some(mut turn) = self.turn.take() else {
            return false;
        };
        // The user has said it, although its hooks were stopped.
        if let Some(content) = turn.prompt.take()
            && let Err(error) = self.emit(Body::Message(Message::user(content)))
        {
            self.reply(turn.reply, Err(error));
            return true;
        }
        self.calls.clear();
        self.queue_steering();
        self.record_queue();
        self.record_turn(&turn, Some(&DriveError::Cancelled));
        self.reply_stored(turn.reply, Err(DriveError::Cancelled));
        self.outbox.push(Effect::TurnOver);
        true
    }

    /// Records the end of a turn, for hosts that rebuild what they showed.
    fn record_turn(&mut self, turn: &Turn, error: Option<&DriveError>) {
        if !self.config.turn_facts || turn.extent != Extent::Whole {
            return;
        }
        let mut value = json!({ "requests": turn.requests });
        let (end, why) = match error {
            None => ("answered", None),
            Some(DriveError::Cancelled) => ("interrupted", None),
            Some(DriveError::TooManyRequests(_)) => ("requests", None),
            Some(DriveError::BudgetSpent(_)) => ("budget", None),
            Some(DriveError::StoppedByHook(why)) => ("hook", Some(why.clone())),
            Some(error) => ("failed", Some(error.to_string())),
        };
        value["end"] = json!(end);
        if let Some(why) = why {
            value["why"] = json!(why);
        }
        if let Some(answer) = &turn.answer {
            value["stop_reason"] = json!(answer.stop_reason.as_str());
        }
        // A log that cannot be written is told by the error of the turn itself.
        let name = TURN_FACT.to_owned();
        let _unwritten = self.note(StateChange::Fact { name, value });
    }

    /// Money spent in the session so far.
    pub(crate) fn spent(&self) -> Usd {
        let sums = self.conversation.state().totals.sums(&self.config.models);
        let mut all = UsageSum::default();
        for sum in sums.values() {
            all.add(sum);
        }
        all.cost
    }
}

/// True for work that belongs to the turn alone: it ends with the turn, however that ends.
const fn is_of_turn(running: &Running) -> bool {
    matches!(
        running,
        Running::Ask(AskFor::Turn)
            | Running::Recall
            | Running::Tool(_)
            | Running::Person(_)
            | Running::Hook(_)
    )
}
