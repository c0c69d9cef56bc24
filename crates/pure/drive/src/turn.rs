//! A turn: recall, layers, request, calls, and again until the model calls nothing.

use crate::command::{Command, CommandId, Reply, When};
use crate::driver::Driver;
use crate::effect::{Effect, RecallMoment, Seen, Work};
use crate::error::DriveError;
use crate::input::{Injection, Outcome};
use crate::outbox::{AskFor, Running, SaveFor};
use crate::tidy::Tidied;
use dormouse_ask::Response;
use dormouse_context::layers::Moment;
use dormouse_context::plan::Ending;
use dormouse_context::window::Relief;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Body, Fragment, Message, StateChange};

/// How much of the loop a command asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it.
    Whole,
    /// One request; calls are answered from outside.
    Step,
    /// The end of a turn only.
    End,
}

/// The outcome a turn waits for, or its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Memories for the prompt are being looked for.
    RecallingPrompt,
    /// The layers are asked.
    Tidying(Moment),
    /// A request is due.
    Sending,
    /// The response is on its way.
    Answering,
    /// Calls are under way.
    Calling,
    /// Memories for the results are being looked for.
    RecallingResults,
}

/// A turn under way.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) reply: Option<CommandId>,
    pub(crate) extent: Extent,
    pub(crate) phase: Phase,
    pub(crate) requests: usize,
    /// Times the layers were asked at this moment.
    pub(crate) rounds: usize,
    pub(crate) continued: u32,
    pub(crate) ending: Ending,
    pub(crate) relief: Relief,
    pub(crate) notes_due: bool,
    pub(crate) answer: Option<Box<Response>>,
    pub(crate) cancelled: bool,
}

impl Turn {
    pub(crate) fn new(reply: Option<CommandId>, extent: Extent, phase: Phase) -> Self {
        Self {
            reply,
            extent,
            phase,
            requests: 0,
            rounds: 0,
            continued: 0,
            ending: Ending::User,
            relief: Relief::Available,
            notes_due: false,
            answer: None,
            cancelled: false,
        }
    }
}

/// The fact that a prompt of this turn was refused as too long once: a second refusal is returned.
pub(crate) const RECOVERED: &str = "recovered";

impl Driver {
    /// Whether a cancel is being carried out.
    pub(crate) fn cancelling(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.cancelled)
    }

    /// Starts a turn with words of the user. They are in the log before anything else happens.
    pub(crate) fn prompt(&mut self, reply: Option<CommandId>, content: Vec<Block>) {
        let words = words_of(&content);
        self.turn = Some(Turn::new(
            reply,
            Extent::Whole,
            Phase::Tidying(Moment::BeforeRequest),
        ));
        let said = self.emit(Body::Message(Message::user(content)));
        if let Err(error) = said.and_then(|_| self.forget_recovery()) {
            self.fail_turn(error);
            return;
        }
        if self.config.recall {
            let seen = self.seen();
            let moment = RecallMoment::Prompt { words, seen };
            self.outbox.start(Running::Recall, Work::Recall(moment));
            self.set_phase(Phase::RecallingPrompt);
        }
    }

    /// Starts a turn with what is there.
    pub(crate) fn go_on(&mut self, reply: Option<CommandId>, extent: Extent) {
        let moment = match extent {
            Extent::End => Moment::TurnEnd,
            Extent::Whole | Extent::Step => Moment::BeforeRequest,
        };
        self.turn = Some(Turn::new(reply, extent, Phase::Tidying(moment)));
        // A step belongs to a turn that may have been shortened before.
        if extent != Extent::Step
            && let Err(error) = self.forget_recovery()
        {
            self.fail_turn(error);
        }
    }

    fn forget_recovery(&mut self) -> Result<(), DriveError> {
        if !self.recovered() {
            return Ok(());
        }
        self.note(StateChange::Fact {
            name: RECOVERED.to_owned(),
            value: serde_json::Value::Null,
        })
    }

    pub(crate) fn recovered(&self) -> bool {
        self.conversation.state().facts.contains_key(RECOVERED)
    }

    pub(crate) fn set_phase(&mut self, phase: Phase) {
        if let Some(turn) = &mut self.turn {
            if matches!(phase, Phase::Tidying(_)) {
                turn.rounds = 0;
            }
            turn.phase = phase;
        }
    }

    pub(crate) fn phase(&self) -> Option<Phase> {
        self.turn.as_ref().map(|turn| turn.phase)
    }

    /// Does everything that needs no outcome first.
    pub(crate) fn advance(&mut self) {
        self.take_notes();
        self.notes_settled();
        loop {
            // Results whose files are being saved come before whatever is asked for next.
            let saving = self.turn.is_none() && !self.results.is_empty();
            if self.job.is_some() || saving {
                return;
            }
            match self.phase() {
                _ if self.cancelling() => {
                    if !self.cancelled() {
                        return;
                    }
                }
                Some(Phase::Tidying(moment)) => match self.tidy(moment) {
                    Ok(Tidied::Again) => {}
                    Ok(Tidied::Job) => return,
                    Ok(Tidied::Over) if moment == Moment::TurnEnd => self.turn_over(),
                    Ok(Tidied::Over) => self.set_phase(Phase::Sending),
                    Err(error) => self.fail_turn(error),
                },
                Some(Phase::Sending) => {
                    if let Err(error) = self.send() {
                        self.fail_turn(error);
                    }
                }
                Some(
                    Phase::RecallingPrompt
                    | Phase::Answering
                    | Phase::Calling
                    | Phase::RecallingResults,
                ) => return,
                None => {
                    // Results from outside are in the log before anything that follows them.
                    if !self.results.is_empty() || !self.next_command() {
                        return;
                    }
                }
            }
        }
    }

    /// The round may be over: every call has its result and the response has ended.
    pub(crate) fn round_maybe_over(&mut self) {
        if self.phase() != Some(Phase::Calling) || self.cancelling() || !self.all_calls_ended() {
            return;
        }
        match self.check_round() {
            Ok(true) => self.round_over(),
            // Files of the round are being saved.
            Ok(false) => {}
            Err(error) => self.fail_turn(error),
        }
    }

    pub(crate) fn round_over(&mut self) {
        let calls: Vec<_> = self.calls.drain(..).map(|call| call.call).collect();
        let requests = self.turn.as_ref().map_or(0, |turn| turn.requests);
        if requests >= self.config.most_requests {
            self.fail_turn(DriveError::TooManyRequests(self.config.most_requests));
            return;
        }
        if self.config.recall && !calls.is_empty() {
            let seen = self.seen();
            let moment = RecallMoment::Results { calls, seen };
            self.outbox.start(Running::Recall, Work::Recall(moment));
            self.set_phase(Phase::RecallingResults);
        } else {
            self.steer();
            self.set_phase(Phase::Tidying(Moment::BeforeRequest));
        }
    }

    pub(crate) fn recalled(&mut self, outcome: Outcome) {
        let injections = match outcome {
            Outcome::Recalled(injections) => injections,
            _ => Vec::new(),
        };
        let waits = matches!(
            self.phase(),
            Some(Phase::RecallingPrompt | Phase::RecallingResults)
        );
        if !waits {
            return;
        }
        if let Err(error) = self.inject(injections) {
            self.fail_turn(error);
            return;
        }
        self.steer();
        self.set_phase(Phase::Tidying(Moment::BeforeRequest));
    }

    /// Takes in what the user said meanwhile.
    fn steer(&mut self) {
        for (reply, content) in std::mem::take(&mut self.steering) {
            match self.emit(Body::Message(Message::user(content))) {
                Ok(_) => self.reply_stored(reply, Ok(Reply::Done)),
                Err(error) => self.reply(reply, Err(error)),
            }
        }
        self.record_queue();
    }

    /// Prompts that no round of calls took in become turns of their own. The log lists them
    /// already.
    fn queue_steering(&mut self) {
        for (reply, content) in std::mem::take(&mut self.steering).into_iter().rev() {
            let when = When::Queue;
            self.commands
                .push_front((reply, Command::Prompt { content, when }));
        }
    }

    /// Puts fragments in, and records which memories they show.
    pub(crate) fn inject(&mut self, injections: Vec<Injection>) -> Result<(), DriveError> {
        for injection in injections {
            self.emit(Body::Fragment(Fragment {
                kind: injection.kind,
                block: Block::text(&injection.text),
            }))?;
            if !injection.memories.is_empty() {
                let memories = injection.memories;
                self.note(StateChange::Surfaced { memories })?;
            }
        }
        Ok(())
    }

    /// The turn has ended well.
    pub(crate) fn turn_over(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        self.calls.clear();
        self.queue_steering();
        let reply = match (turn.extent, turn.answer) {
            (Extent::Whole, Some(response)) => Reply::TurnEnded {
                response,
                requests: turn.requests,
            },
            (Extent::Step, Some(response)) => Reply::Answered(response),
            _ => Reply::Done,
        };
        self.reply_stored(turn.reply, Ok(reply));
        if turn.extent != Extent::Step {
            self.outbox.push(Effect::TurnOver);
        }
    }

    /// The turn cannot go on. What was emitted stays.
    pub(crate) fn fail_turn(&mut self, error: DriveError) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        // Outcomes of this turn must not be taken for those of the next.
        let of_turn = |running: &Running| {
            matches!(
                running,
                Running::Ask(AskFor::Turn)
                    | Running::Recall
                    | Running::Tool(_)
                    | Running::Person(_)
                    | Running::Save(SaveFor::Results | SaveFor::Round)
            )
        };
        for id in self.outbox.all(of_turn) {
            self.outbox.give_up(id);
        }
        self.asks.remove(&AskFor::Turn);
        self.calls.clear();
        self.results.clear();
        self.queue_steering();
        self.reply(turn.reply, Err(error));
        self.outbox.push(Effect::TurnOver);
    }

    /// Stops the turn and everything that runs for it.
    pub(crate) fn cancel(&mut self) {
        let Some(turn) = &mut self.turn else {
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
                Running::Ask(AskFor::Turn) | Running::Recall | Running::Child
            )
        };
        for id in self.outbox.all(of_turn) {
            if self.outbox.stop(id) {
                self.asks.remove(&AskFor::Turn);
            }
        }
        // An attempt that only waits for its time has no effect to stop.
        self.asks
            .retain(|use_for, asking| *use_for != AskFor::Turn || asking.is_under_way());
    }

    /// Ends a cancelled turn once nothing runs for it any more. Says whether it did.
    fn cancelled(&mut self) -> bool {
        let of_turn = |running: &Running| {
            matches!(
                running,
                Running::Ask(AskFor::Turn)
                    | Running::Recall
                    | Running::Tool(_)
                    | Running::Person(_)
                    | Running::Child
                    | Running::Save(_)
            )
        };
        if self.outbox.any(of_turn) {
            return false;
        }
        // Calls that arrived behind the cancel, or whose person answered behind it.
        self.cancel_calls();
        let Some(turn) = self.turn.take() else {
            return false;
        };
        self.calls.clear();
        self.queue_steering();
        self.reply_stored(turn.reply, Err(DriveError::Cancelled));
        self.outbox.push(Effect::TurnOver);
        true
    }

    /// Memories and files that the model has been shown.
    pub(crate) fn seen(&mut self) -> Seen {
        let tools = &self.config.tools;
        self.files.update(self.conversation.view(), |tool| {
            tools.traits(tool).reads_files
        });
        Seen {
            memories: self.conversation.state().surfaced.clone(),
            files: self.files.paths(),
        }
    }
}

/// The words of the user's blocks.
fn words_of(content: &[Block]) -> String {
    let texts = content
        .iter()
        .filter(|block| block.kind() == BlockKind::Text);
    let texts: Vec<String> = texts.filter_map(Block::readable_text).collect();
    texts.join("\n")
}
