//! Tool calls, from the block that makes one to the record of its result.
//!
//! # Model
//! A call goes asked → judged → waiting for a person, or running → ended. It starts when its block
//! is stored, and in order: consecutive calls that only read run together, a writing one runs
//! alone. Its result is recorded as soon as it ends, regardless of the others. A refusal is a
//! result.
//!
//! # Not here
//! The size limits of results (`results.rs`) and the permission rules ([`Judge`]).

use crate::driver::Driver;
use crate::effect::{Effect, EffectId, Work};
use crate::error::DriveError;
use crate::input::EffectOutcome;
use crate::outbox::Running;
use dormouse_ask::StopReason;
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{CallId, Seq};
use dormouse_core::record::StateChange;
use serde_json::json;
use std::fmt;
use std::pin::Pin;

/// Name prefix of facts about calls that wait for a person.
const WAITING: &str = "waiting/";

/// Result of a call that was cancelled while it ran. Warns about effects, because the model would
/// otherwise repeat the call.
const STOPPED: &str = "The user stopped this call while it ran. It may have had effects: check \
                       before running it again.";

/// Result of a call that was cancelled before it started.
const NOT_STARTED: &str = "The user stopped the turn before this call was started. It was not run.";

/// Result of a call that a person refused without an explanation.
const REFUSED: &str = "The user did not allow this call. It was not run.";

/// Tool call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Id of the call; its result refers to it.
    pub id: CallId,
    /// Name of the tool, as called.
    pub tool: String,
    /// Whole block; tools read their input from it.
    pub block: Block,
}

impl ToolCall {
    /// Call contained in a block, if it is a `tool_use` with id and name.
    pub fn of(block: &Block) -> Option<Self> {
        (block.kind() == BlockKind::ToolUse).then_some(())?;
        Some(Self {
            id: block.call()?.clone(),
            tool: block.tool()?.to_owned(),
            block: block.clone(),
        })
    }
}

/// Traits of a tool that the driver's decisions depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolTraits {
    /// Longest result, in characters, that the tool wants to keep in the prompt.
    pub declared_limit: Option<u64>,
    /// Set for tools that read files: their results exist as files already and are never offloaded.
    pub reads_files: bool,
    /// Set for tools without side effects; such calls may run concurrently.
    pub only_reads: bool,
}

/// Tools of a conversation, by name.
pub trait ToolCatalog: fmt::Debug + Send + Sync {
    /// Traits of a tool. Must be constant for a name as long as the driver lives: scheduling and
    /// limits are computed at different times.
    fn traits(&self, tool: &str) -> ToolTraits;
}

/// Tools of which nothing is known: each runs alone and has the settings' limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTraits;

impl ToolCatalog for NoTraits {
    fn traits(&self, _: &str) -> ToolTraits {
        ToolTraits::default()
    }
}

/// Future of a tool's result.
pub type ToolFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

/// Executor of tools. Used by hosts; the driver only emits effects.
pub trait ToolHost: fmt::Debug + Send + Sync {
    /// Traits of a tool, as in [`ToolCatalog`].
    fn traits(&self, tool: &str) -> ToolTraits;

    /// Runs a call. A failure is returned as a result, so that the model sees it.
    fn run(&self, call: ToolCall) -> ToolFuture;
}

/// Verdict on a call before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Permission to run without a question.
    Run,
    /// Question to a person, with its text.
    Ask(String),
    /// Refusal, with the reason for the model.
    Refuse(String),
}

/// Judge of calls: a pure function of call, rules, mode and roots.
pub trait Judge: fmt::Debug + Send + Sync {
    /// Verdict on a call.
    fn judge(&self, call: &ToolCall) -> Judgement;
}

/// Judge that allows every call.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunsAll;

impl Judge for RunsAll {
    fn judge(&self, _: &ToolCall) -> Judgement {
        Judgement::Run
    }
}

/// One call of the response in progress.
#[derive(Clone, Debug)]
pub(crate) struct PendingCall {
    pub(crate) call: ToolCall,
    /// Record that has to be stored before the call may start.
    seq: Seq,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Asked,
    /// Result given by judge or person in place of the tool.
    Refused(String),
    Allowed,
    Waiting(EffectId),
    Running(EffectId),
    /// Result recorded, or on its way to the log.
    Ended,
}

impl Driver {
    /// Registers the calls in the blocks of a record, and starts those that may run.
    pub(crate) fn calls_asked(&mut self, blocks: &[Block], seq: Seq) {
        for call in blocks.iter().filter_map(ToolCall::of) {
            // A call is registered once, whichever record reports it; a second entry would run it
            // twice.
            let known = self.calls.iter().any(|known| known.call.id == call.id);
            if !known {
                self.calls.push(PendingCall {
                    call,
                    seq,
                    stage: Stage::Asked,
                });
            }
        }
        self.start_calls();
    }

    /// Starts every call that may run now.
    pub(crate) fn start_calls(&mut self) {
        if self.cancelling() || self.journal.failed().is_some() {
            return;
        }
        self.judge_calls();
        // Set if a reading call runs or waits before the current one.
        let mut reading = false;
        for at in 0..self.calls.len() {
            let only_reads = {
                let tool = &self.calls[at].call.tool;
                self.config.tools.traits(tool).only_reads
            };
            match &self.calls[at].stage {
                Stage::Ended => {}
                Stage::Refused(why) => {
                    let output = refusal(&self.calls[at].call.id, why);
                    self.calls[at].stage = Stage::Ended;
                    self.result_ended(at, output, None);
                }
                // A call must not overtake one before it, unless both only read.
                Stage::Running(_) | Stage::Waiting(_) if only_reads => reading = true,
                Stage::Running(_) | Stage::Waiting(_) | Stage::Asked => return,
                Stage::Allowed if !only_reads && reading => return,
                Stage::Allowed => {
                    let call = &self.calls[at];
                    let work = Work::RunTool(Box::new(call.call.clone()));
                    let running = Running::Tool(call.call.id.clone());
                    let id = self.outbox.start_after(call.seq, running, work);
                    self.calls[at].stage = Stage::Running(id);
                    if !only_reads {
                        return;
                    }
                    reading = true;
                }
            }
        }
    }

    /// Judges new calls. Several may wait for a person at once.
    fn judge_calls(&mut self) {
        for at in 0..self.calls.len() {
            if self.calls[at].stage != Stage::Asked {
                continue;
            }
            let call = self.calls[at].call.clone();
            self.calls[at].stage = match self.config.judge.judge(&call) {
                Judgement::Run => Stage::Allowed,
                Judgement::Refuse(why) => Stage::Refused(why),
                Judgement::Ask(question) => {
                    // Recorded, so that a restart asks again instead of treating the call as run.
                    let fact = StateChange::Fact {
                        name: format!("{WAITING}{}", call.id),
                        value: json!(question),
                    };
                    self.note_quietly(fact);
                    let seq = self.calls[at].seq;
                    let running = Running::Person(call.id.clone());
                    let call = Box::new(call);
                    let work = Work::AskPerson { call, question };
                    Stage::Waiting(self.outbox.start_after(seq, running, work))
                }
            };
        }
    }

    pub(crate) fn person_ended(&mut self, call: &CallId, outcome: EffectOutcome) {
        let Some(at) = self.calls.iter().position(|known| known.call.id == *call) else {
            return;
        };
        let name = format!("{WAITING}{call}");
        let value = serde_json::Value::Null;
        self.note_quietly(StateChange::Fact { name, value });
        // The call waits for this record: a restart that still found the question would run the
        // call a second time.
        self.calls[at].seq = self.journal.head_seq();
        self.calls[at].stage = match outcome {
            EffectOutcome::PersonSaid { allowed: true, .. } => Stage::Allowed,
            EffectOutcome::PersonSaid { words, .. } => {
                Stage::Refused(words.unwrap_or_else(|| REFUSED.to_owned()))
            }
            // The question was stopped without an answer; nothing has run.
            _ => Stage::Refused(NOT_STARTED.to_owned()),
        };
        self.start_calls();
        self.round_maybe_over();
    }

    pub(crate) fn tool_ended(&mut self, call: &CallId, outcome: EffectOutcome) {
        let Some(at) = self.calls.iter().position(|known| known.call.id == *call) else {
            return;
        };
        self.calls[at].stage = Stage::Ended;
        let (output, digest) = match outcome {
            EffectOutcome::ToolEnded { output, digest } => (*output, digest),
            _ => (refusal(call, STOPPED), None),
        };
        self.result_ended(at, output, digest);
        self.start_calls();
        self.round_maybe_over();
    }

    fn result_ended(&mut self, at: usize, output: ToolOutput, digest: Option<Hash>) {
        let tool = self.calls[at].call.tool.clone();
        if let Err(error) = self.result_arrived(tool, output, digest) {
            self.fail_turn(error);
        }
    }

    /// Answers calls that a cancel kept from starting. Running ones are stopped and report their
    /// own results.
    pub(crate) fn cancel_calls(&mut self) {
        for at in 0..self.calls.len() {
            match self.calls[at].stage.clone() {
                Stage::Ended => continue,
                Stage::Running(id) | Stage::Waiting(id) if !self.outbox.stop(id) => continue,
                _ => {}
            }
            if let Stage::Waiting(_) = self.calls[at].stage {
                let name = format!("{WAITING}{}", self.calls[at].call.id);
                let value = serde_json::Value::Null;
                self.note_quietly(StateChange::Fact { name, value });
            }
            self.calls[at].stage = Stage::Ended;
            let output = refusal(&self.calls[at].call.id, NOT_STARTED);
            self.result_ended(at, output, None);
        }
    }

    /// True if every call of the response has its result in the log or on the way there.
    pub(crate) fn all_calls_ended(&self) -> bool {
        let ended = |call: &PendingCall| call.stage == Stage::Ended;
        self.calls.iter().all(ended) && !self.outbox.any(is_saving_results)
    }

    /// Asks again about calls that a restart found waiting for a person.
    pub(crate) fn ask_again(&mut self) {
        let view = self.conversation.view();
        let open: Vec<(Block, Seq)> = view
            .tail()
            .open_calls()
            .map(|segment| (segment.block.clone(), segment.origin.record))
            .collect();
        let state = self.conversation.state();
        let waited = open.iter().any(|(block, _)| {
            let id = block.call().map(|call| format!("{WAITING}{call}"));
            id.is_some_and(|name| state.facts.contains_key(&name))
        });
        if waited {
            for (block, seq) in open {
                let id = block.call().map(|call| format!("{WAITING}{call}"));
                let known = id.is_some_and(|id| self.conversation.state().facts.contains_key(&id));
                // A call beside it without such a question may have run: it is not run again.
                if known {
                    self.calls_asked(&[block], seq);
                }
            }
        }
    }

    fn note_quietly(&mut self, change: StateChange) {
        if let Err(error) = self.note(change) {
            self.fail_turn(error);
        }
    }

    /// Fails replies that were withheld for records which will never be stored.
    pub(crate) fn fail_withheld(&mut self, error: &DriveError) {
        for effect in self.outbox.drop_withheld() {
            if let Effect::Reply(id, _) = effect {
                self.outbox.push(Effect::Reply(id, Err(error.clone())));
            }
        }
    }
}

fn is_saving_results(running: &Running) -> bool {
    matches!(
        running,
        Running::Save(crate::outbox::SaveFor::Results | crate::outbox::SaveFor::Round)
    )
}

fn refusal(call: &CallId, why: &str) -> ToolOutput {
    ToolOutput {
        is_error: true,
        ..ToolOutput::text(call.clone(), why)
    }
}

/// True if the calls of a response that stopped for this reason are run. A refused response is not
/// acted upon.
pub(crate) fn calls_count(reason: &StopReason) -> bool {
    !matches!(reason, StopReason::Refusal(_))
}
