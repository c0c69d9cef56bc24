//! Tool calls, from the block that makes one to the record of its result.
//!
//! # Model
//! A call goes asked → hooks → judged → waiting for a person, or running → ended. It starts when its block
//! is stored, and in order: consecutive calls that only read run together, a writing one runs
//! alone. Its result is recorded as soon as it ends, regardless of the others. A refusal is a
//! result.
//!
//! # Not here
//! The size limits of results (`results.rs`) and the permission rules ([`Judge`]).

use crate::call::ToolCall;
use crate::driver::Driver;
use crate::effect::{Effect, EffectId, Work};
use crate::error::DriveError;
use crate::hooks::{CHANGED_INPUT, HookMoment, with_input};
use crate::input::EffectOutcome;
use crate::outbox::Running;
use dormouse_ask::StopReason;
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{CallId, Seq};
use dormouse_core::record::StateChange;
use serde_json::json;
use std::fmt;
use std::pin::Pin;

/// Name prefix of facts about calls that wait for a person.
const WAITING: &str = crate::WAITING_FACT;

/// Result of a call that was cancelled while it ran. Warns about effects, because the model would
/// otherwise repeat the call.
const STOPPED: &str = "The user stopped this call while it ran. It may have had effects: check \
                       before running it again.";

/// Result of a call that was cancelled before it started.
const NOT_STARTED: &str = "The user stopped the turn before this call was started. It was not run.";

/// Result of a call that a person refused without an explanation.
const REFUSED: &str = "The user did not allow this call. It was not run.";

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
    /// Question to a person.
    Ask(PersonQuestion),
    /// Refusal, with the reason for the model.
    Refuse(String),
}

/// Question to a person about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonQuestion {
    /// Text of the question.
    pub text: String,
    /// Rules that would allow such calls for good, as they are written into settings.
    pub lasting: Vec<String>,
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
    pub(crate) seq: Seq,
    pub(crate) stage: Stage,
    /// Call as it runs, where a hook or a person gave it another input.
    pub(crate) runs: Option<ToolCall>,
    /// Output that hooks look at.
    pub(crate) output: Option<(ToolOutput, Option<Hash>)>,
}

impl PendingCall {
    pub(crate) fn new(call: ToolCall, seq: Seq) -> Self {
        Self {
            call,
            seq,
            stage: Stage::Asked,
            runs: None,
            output: None,
        }
    }

    /// The call as it is judged and run.
    pub(crate) fn effective(&self) -> &ToolCall {
        self.runs.as_ref().unwrap_or(&self.call)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Asked,
    /// Hooks look at the call.
    Hooking(EffectId),
    /// Result given by judge or person in place of the tool.
    Refused(String),
    Allowed,
    Waiting(EffectId),
    Running(EffectId),
    /// Hooks look at the result.
    Ran(EffectId),
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
                self.calls.push(PendingCall::new(call, seq));
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
                Stage::Hooking(_) | Stage::Running(_) | Stage::Ran(_) | Stage::Waiting(_)
                    if only_reads =>
                {
                    reading = true;
                }
                Stage::Hooking(_)
                | Stage::Running(_)
                | Stage::Ran(_)
                | Stage::Waiting(_)
                | Stage::Asked => return,
                Stage::Allowed if !only_reads && reading => return,
                Stage::Allowed => {
                    let call = &self.calls[at];
                    let work = Work::RunTool(Box::new(call.effective().clone()));
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
            if self.hooked(HookMoment::Call, Some(&self.calls[at].call.tool)) {
                self.hook_call(at);
            } else {
                self.judge_call(at, false);
            }
        }
    }

    /// Judges a call; one that hooks allowed needs no question.
    pub(crate) fn judge_call(&mut self, at: usize, allowed: bool) {
        let judgement = self.config.judge.judge(self.calls[at].effective());
        self.calls[at].stage = match judgement {
            Judgement::Run => Stage::Allowed,
            Judgement::Ask(_) if allowed => Stage::Allowed,
            Judgement::Refuse(why) => Stage::Refused(why),
            Judgement::Ask(question) => {
                self.ask_person(at, question.text, &question.lasting);
                return;
            }
        };
    }

    /// Asks a person about a call.
    pub(crate) fn ask_person(&mut self, at: usize, question: String, lasting: &[String]) {
        let call = self.calls[at].effective().clone();
        // Recorded, so that a restart asks again instead of treating the call as run.
        self.note_quietly(StateChange::Fact {
            name: format!("{WAITING}{}", call.id),
            value: json!({ "question": question, "lasting": lasting }),
        });
        let running = Running::Person(call.id.clone());
        let call = Box::new(call);
        // A failed note has ended the turn and with it the calls.
        if let Some(pending) = self.calls.get_mut(at) {
            let work = Work::AskPerson { call, question };
            let id = self.outbox.start_after(pending.seq, running, work);
            pending.stage = Stage::Waiting(id);
        }
    }

    pub(crate) fn person_ended(&mut self, call: &CallId, outcome: EffectOutcome) {
        let Some(at) = self.calls.iter().position(|known| known.call.id == *call) else {
            return;
        };
        let name = format!("{WAITING}{call}");
        let value = serde_json::Value::Null;
        self.note_quietly(StateChange::Fact { name, value });
        if let EffectOutcome::PersonSaid {
            input: Some(input), ..
        } = &outcome
        {
            self.change_input(at, input.clone());
        }
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
        let (output, digest) = match outcome {
            EffectOutcome::ToolEnded { output, digest } => {
                let tool = &self.calls[at].call.tool;
                if !self.cancelling() && self.hooked(HookMoment::Result, Some(tool)) {
                    self.hook_result(at, *output, digest);
                    return;
                }
                (*output, digest)
            }
            _ => (refusal(call, STOPPED), None),
        };
        self.calls[at].stage = Stage::Ended;
        self.result_ended(at, output, digest);
        self.start_calls();
        self.round_maybe_over();
    }

    pub(crate) fn result_ended(&mut self, at: usize, output: ToolOutput, digest: Option<Hash>) {
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
                Stage::Hooking(id) | Stage::Running(id) | Stage::Waiting(id) | Stage::Ran(id)
                    if !self.outbox.stop(id) =>
                {
                    continue;
                }
                _ => {}
            }
            // The tool has run, whatever its hooks would have said.
            if let Some((output, digest)) = self.calls[at].output.take() {
                self.result_kept(at, output, digest);
                continue;
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
                    self.ask_about(&block, seq);
                }
            }
        }
    }

    /// Asks once more about a call that has been through its hooks.
    fn ask_about(&mut self, block: &Block, seq: Seq) {
        let Some(call) = ToolCall::of(block) else {
            return;
        };
        let facts = &self.conversation.state().facts;
        let asked = facts.get(&format!("{WAITING}{}", call.id));
        let (question, lasting) = asked.map_or_else(Default::default, read_question);
        let changed = facts.get(&format!("{CHANGED_INPUT}{}", call.id));
        let runs = changed.and_then(|input| with_input(&call, input));
        self.calls.push(PendingCall {
            runs,
            ..PendingCall::new(call, seq)
        });
        self.ask_person(self.calls.len() - 1, question, &lasting);
    }

    pub(crate) fn note_quietly(&mut self, change: StateChange) {
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

/// Question and rules of a waiting call, as recorded; logs of the first format have the text alone.
pub fn read_question(fact: &serde_json::Value) -> (String, Vec<String>) {
    let text = fact.as_str().or_else(|| fact["question"].as_str());
    let rules = fact["lasting"].as_array().into_iter().flatten();
    let rules = rules.filter_map(|rule| rule.as_str().map(str::to_owned));
    (text.unwrap_or_default().to_owned(), rules.collect())
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
