//! Turn of the user: recall, layers, request, calls, repeated until the model makes no call.
//!
//! Not here: planning a request (`request.rs`), taking in its response (`response.rs`), running
//! calls (`calls.rs`).

use crate::calls::Stage;
use crate::command::{Command, CommandId, Reply, When};
use crate::driver::Driver;
use crate::effect::{RecallMoment, Seen, Work};
use crate::error::DriveError;
use crate::fit::FitMoment;
use crate::hooks::{HookMoment, fragments};
use crate::input::{EffectOutcome, Injection};
use crate::layers::Tidied;
use crate::outbox::Running;
use dormouse_ask::Response;
use dormouse_context::layers::Moment;
use dormouse_context::plan::Ending;
use dormouse_context::window::Relief;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Body, Fragment, Message, StateChange};

/// Part of the loop that a command asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Whole turn, calls included.
    Whole,
    /// One request; the caller answers its calls.
    Step,
    /// End of a turn only, without a request.
    End,
}

/// State of a turn: the outcome it waits for, or its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Hooks look at the prompt.
    HookingPrompt,
    /// Recall searches memories for the prompt.
    RecallingPrompt,
    /// The layers plan and execute, at this moment of the turn.
    Tidying(Moment),
    /// A request has to be planned and sent.
    Sending,
    /// A response is awaited.
    Answering,
    /// Tool calls are running or waiting for a person.
    Calling,
    /// Recall searches memories for the results.
    RecallingResults,
    /// Hooks look at the end of the turn.
    HookingStop,
}

/// Turn in progress, from its command to its reply.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) reply: Option<CommandId>,
    pub(crate) extent: Extent,
    pub(crate) phase: Phase,
    pub(crate) requests: usize,
    /// Plan/execute rounds of the layers at this moment; bounded by `MOST_ROUNDS`.
    pub(crate) rounds: usize,
    pub(crate) continued: u32,
    pub(crate) ending: Ending,
    pub(crate) relief: Relief,
    pub(crate) notes_due: bool,
    /// Set when a file of a cut round could not be written: the same write would fail again.
    pub(crate) fit_failed: bool,
    pub(crate) answer: Option<Box<Response>>,
    pub(crate) cancelled: bool,
    /// Prompt that hooks look at; no message yet.
    pub(crate) prompt: Option<Vec<Block>>,
    /// Words of hooks, inserted at the end of the round.
    pub(crate) hook_context: Vec<String>,
    /// Reason of a hook to end the turn after this round.
    pub(crate) stop: Option<String>,
    /// Times that hooks have sent the model back to work.
    pub(crate) stops_blocked: u32,
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
            fit_failed: false,
            answer: None,
            cancelled: false,
            prompt: None,
            hook_context: Vec::new(),
            stop: None,
            stops_blocked: 0,
        }
    }
}

/// Fact set after the first "prompt too long" of a turn; a second one is returned to the caller. A
/// fact, so that a restart in between does not allow another recovery.
pub(crate) const RECOVERED: &str = "recovered";

impl Driver {
    /// True if a cancel is in progress.
    pub(crate) fn cancelling(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.cancelled)
    }

    /// Starts a turn with a prompt of the user. The prompt is recorded before recall starts, so
    /// that a crash during recall does not lose it.
    pub(crate) fn prompt(&mut self, reply: Option<CommandId>, content: Vec<Block>) {
        self.turn = Some(Turn::new(
            reply,
            Extent::Whole,
            Phase::Tidying(Moment::BeforeRequest),
        ));
        self.forget_ended_calls();
        if self.hooked(HookMoment::Prompt, None) {
            self.hook_prompt(words_of(&content), content);
        } else {
            self.said(content, &[]);
        }
    }

    /// Calls of a restart that were answered without a turn are no part of the next one: it would
    /// wait for a round that is over.
    fn forget_ended_calls(&mut self) {
        self.calls.retain(|call| call.stage != Stage::Ended);
    }

    /// Records the prompt of the turn with the words of its hooks, and recalls.
    pub(crate) fn said(&mut self, content: Vec<Block>, context: &[String]) {
        let words = words_of(&content);
        self.set_phase(Phase::Tidying(Moment::BeforeRequest));
        let said = self.emit(Body::Message(Message::user(content)));
        let said = said.and_then(|_| self.inject(fragments(context)));
        if let Err(error) = said.and_then(|()| self.forget_recovery()) {
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

    /// Starts a turn without a new prompt.
    pub(crate) fn go_on(&mut self, reply: Option<CommandId>, extent: Extent) {
        let moment = match extent {
            Extent::End => Moment::TurnEnd,
            Extent::Whole | Extent::Step => Moment::BeforeRequest,
        };
        self.turn = Some(Turn::new(reply, extent, Phase::Tidying(moment)));
        self.forget_ended_calls();
        // A step continues a turn that may already have been compacted for length; resetting the
        // fact here would allow one compaction per step.
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
            // A new moment gets its full number of rounds.
            if matches!(phase, Phase::Tidying(_)) {
                turn.rounds = 0;
            }
            turn.phase = phase;
        }
    }

    pub(crate) fn phase(&self) -> Option<Phase> {
        self.turn.as_ref().map(|turn| turn.phase)
    }

    /// Takes all steps that need no outcome.
    pub(crate) fn advance(&mut self) {
        self.take_notes();
        self.notes_settled();
        loop {
            // Results whose files are being saved are recorded before the next command runs.
            let saving = self.turn.is_none() && !self.results.is_empty();
            if self.job.is_some() || saving {
                return;
            }
            if self.distil_if_due() {
                return;
            }
            match self.phase() {
                _ if self.cancelling() => {
                    if !self.cancelled() {
                        return;
                    }
                }
                Some(Phase::Tidying(moment)) => match self.tidy_fitted(moment) {
                    Ok(Tidied::Again) => {}
                    Ok(Tidied::Job) => return,
                    Ok(Tidied::Over) if moment == Moment::TurnEnd => self.turn_over(),
                    Ok(Tidied::Over) => self.set_phase(Phase::Sending),
                    Err(error) => self.fail_turn(error),
                },
                Some(Phase::Sending) => match self.fit_round(FitMoment::BeforeSending) {
                    Ok(true) => return,
                    Ok(false) => {
                        if let Err(error) = self.send() {
                            self.fail_turn(error);
                        }
                    }
                    Err(error) => self.fail_turn(error),
                },
                Some(
                    Phase::HookingPrompt
                    | Phase::HookingStop
                    | Phase::RecallingPrompt
                    | Phase::Answering
                    | Phase::Calling
                    | Phase::RecallingResults,
                ) => return,
                None => {
                    // Results from outside are recorded before anything that follows them.
                    if !self.results.is_empty() || !self.next_command() {
                        return;
                    }
                }
            }
        }
    }

    /// Asks the layers, with a round in front of them that leaves them room.
    fn tidy_fitted(&mut self, moment: Moment) -> Result<Tidied, DriveError> {
        let fits = FitMoment::BeforeLayers;
        if moment == Moment::BeforeRequest && self.fit_round(fits)? {
            return Ok(Tidied::Job);
        }
        self.tidy(moment)
    }

    /// Ends the round if every call has a result and the response has ended.
    pub(crate) fn round_maybe_over(&mut self) {
        if self.phase() != Some(Phase::Calling) || self.cancelling() || !self.all_calls_ended() {
            return;
        }
        match self.check_round() {
            Ok(true) => self.round_over(),
            // Files of the round are being saved; `round_saved` continues.
            Ok(false) => {}
            Err(error) => self.fail_turn(error),
        }
    }

    pub(crate) fn round_over(&mut self) {
        let calls: Vec<_> = self.calls.drain(..).map(|call| call.call).collect();
        let requests = self.turn.as_ref().map_or(0, |turn| turn.requests);
        // Checked before recall and layers, which would be wasted on a request that is never sent.
        if requests >= self.config.most_requests {
            self.fail_turn(DriveError::TooManyRequests(self.config.most_requests));
            return;
        }
        if let Some(budget) = self.config.budget
            && self.spent() >= self.budget_ends
        {
            self.fail_turn(DriveError::BudgetSpent(budget));
            return;
        }
        if let Some(why) = self.turn.as_mut().and_then(|turn| turn.stop.take()) {
            self.fail_turn(DriveError::StoppedByHook(why));
            return;
        }
        if let Err(error) = self.inject_context() {
            self.fail_turn(error);
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

    pub(crate) fn recalled(&mut self, outcome: EffectOutcome) {
        let injections = match outcome {
            EffectOutcome::Recalled(injections) => injections,
            _ => Vec::new(),
        };
        let waits = matches!(
            self.phase(),
            Some(Phase::RecallingPrompt | Phase::RecallingResults)
        );
        // The turn failed or was cancelled while recall was running; its result belongs to no turn.
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

    /// Inserts prompts that the user gave during the turn.
    fn steer(&mut self) {
        for (reply, content) in std::mem::take(&mut self.steering) {
            match self.emit(Body::Message(Message::user(content))) {
                Ok(_) => self.reply_stored(reply, Ok(Reply::Done)),
                Err(error) => self.reply(reply, Err(error)),
            }
        }
        self.record_queue();
    }

    /// Turns prompts that no round of calls took in into turns of their own. They are already in
    /// the recorded queue.
    pub(crate) fn queue_steering(&mut self) {
        // Reversed: each is pushed to the front, and the oldest has to end up first.
        for (reply, content) in std::mem::take(&mut self.steering).into_iter().rev() {
            let when = When::Queue;
            self.commands
                .push_front((reply, Command::Prompt { content, when }));
        }
    }

    /// Inserts fragments, and records the memories they show.
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

/// Text of the user's blocks, for recall.
fn words_of(content: &[Block]) -> String {
    let texts = content
        .iter()
        .filter(|block| block.kind() == BlockKind::Text);
    let texts: Vec<String> = texts.filter_map(Block::readable_text).collect();
    texts.join("\n")
}
