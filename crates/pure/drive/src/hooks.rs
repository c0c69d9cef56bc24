//! Hooks around prompts, calls, results and the end of a turn.
//!
//! # Model
//! A prompt waits for its hooks before it becomes a message; meanwhile it stands among the recorded
//! waiting prompts. A call goes asked → hooks → judged; a hook may refuse it, ask for a question,
//! allow it where no rule refuses, or change its input. A result that hooks look at is recorded as a
//! fact before they run, so that a crash meanwhile does not lose it. A model that has finished may
//! be sent back to work, a bounded number of times.
//!
//! Where a hook changes an input or a result, both are in the log; the view keeps the bytes of the
//! model's own call.
//!
//! # Not here
//! Hooks around compactions (`compaction.rs`); commands, matchers and their JSON: the host.

use crate::call::ToolCall;
use crate::calls::{Judgement, PendingCall, Stage};
use crate::config::Role;
use crate::driver::Driver;
use crate::effect::{HookPoint, Work};
use crate::error::DriveError;
use crate::input::{EffectOutcome, HookAnswer, HookVerdict, Injection};
use crate::outbox::{HookedAt, Running};
use crate::turn::Phase;
use dormouse_ask::Response;
use dormouse_context::layers::Moment;
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_core::fragment::{REMINDER, render};
use dormouse_core::hash::Hash;
use dormouse_core::id::CallId;
use dormouse_core::record::{Body, FragmentKind, Message, MessageOrigin, StateChange};
use serde_json::{Value, json};
use std::fmt;

/// Times that hooks may send a model back to work within one turn. Claude Code stops at the same
/// number: a hook that is never content would otherwise spend money for ever.
const MOST_STOPS_BLOCKED: u32 = 8;
/// Bytes of one hook's words that the model is shown; the cap that Claude Code documents.
const MOST_CONTEXT: usize = 10_000;
/// Name prefix of facts with the input that a hook gave a call in place of the model's.
pub(crate) const CHANGED_INPUT: &str = "input/";
/// Name prefix of facts with the result of a tool, while hooks look at it.
pub(crate) const RAN: &str = "ran/";

/// Moment of a conversation at which hooks may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookMoment {
    /// Before and after a compaction.
    Compaction,
    /// A prompt of the user, before it becomes a message.
    Prompt,
    /// A call, before it is judged.
    Call,
    /// The result of a call, before it is recorded.
    Result,
    /// The end of a turn, after the last answer.
    Stop,
}

/// Hooks of a conversation, by moment. Answers may change while the driver lives: hooks are
/// settings.
pub trait HookCatalog: fmt::Debug + Send + Sync {
    /// True if a hook runs at this moment for this tool, where the moment has one.
    fn wants(&self, moment: HookMoment, tool: Option<&str>) -> bool;
}

/// Catalogue without a hook.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHookPoints;

impl HookCatalog for NoHookPoints {
    fn wants(&self, _: HookMoment, _: Option<&str>) -> bool {
        false
    }
}

impl Driver {
    /// True if hooks run at this moment. Forks run none: they are no conversation of the user.
    pub(crate) fn hooked(&self, moment: HookMoment, tool: Option<&str>) -> bool {
        self.config.role == Role::Main && self.config.hooks.wants(moment, tool)
    }

    /// True if hooks run around compactions.
    pub(crate) fn hooks_compaction(&self) -> bool {
        self.hooked(HookMoment::Compaction, None)
    }

    /// Runs the hooks for a prompt; it waits in the turn meanwhile.
    pub(crate) fn hook_prompt(&mut self, words: String, content: Vec<Block>) {
        if let Some(turn) = &mut self.turn {
            turn.prompt = Some(content);
        }
        self.set_phase(Phase::HookingPrompt);
        // Among the waiting prompts until then: a crash must not lose it.
        self.record_queue();
        let work = Work::Hooks(HookPoint::Prompt { words });
        let head = self.journal.head_seq();
        self.outbox
            .start_after(head, Running::Hook(HookedAt::Prompt), work);
    }

    /// Runs the hooks for a call, once its block is stored.
    pub(crate) fn hook_call(&mut self, at: usize) {
        let pending = &self.calls[at];
        let call = pending.call.clone();
        let running = Running::Hook(HookedAt::Call(call.id.clone()));
        let work = Work::Hooks(HookPoint::Call {
            call: Box::new(call),
        });
        let id = self.outbox.start_after(pending.seq, running, work);
        self.calls[at].stage = Stage::Hooking(id);
    }

    /// Runs the hooks for a result, once it is recorded as a fact.
    pub(crate) fn hook_result(&mut self, at: usize, output: ToolOutput, digest: Option<Hash>) {
        let call = self.calls[at].effective().clone();
        self.note_quietly(StateChange::Fact {
            name: format!("{RAN}{}", call.id),
            value: json!({ "text": output.text, "is_error": output.is_error }),
        });
        let running = Running::Hook(HookedAt::Result(call.id.clone()));
        let work = Work::Hooks(HookPoint::Result {
            call: Box::new(call),
            text: output.text.clone(),
            is_error: output.is_error,
        });
        let head = self.journal.head_seq();
        let id = self.outbox.start_after(head, running, work);
        // A failed note has ended the turn and with it the calls.
        if let Some(pending) = self.calls.get_mut(at) {
            pending.stage = Stage::Ran(id);
            pending.output = Some((output, digest));
        }
    }

    /// Runs the hooks for the end of a turn; returns whether there are any.
    pub(crate) fn hook_stop(&mut self, answer: &Response) -> bool {
        let blocked = self.turn.as_ref().map_or(0, |turn| turn.stops_blocked);
        if blocked >= MOST_STOPS_BLOCKED || !self.hooked(HookMoment::Stop, None) {
            return false;
        }
        let texts = answer.blocks.iter().filter_map(Block::readable_text);
        let point = HookPoint::Stop {
            again: blocked > 0,
            last: texts.collect::<Vec<_>>().join("\n"),
        };
        let head = self.journal.head_seq();
        self.outbox
            .start_after(head, Running::Hook(HookedAt::Stop), Work::Hooks(point));
        self.set_phase(Phase::HookingStop);
        true
    }

    pub(crate) fn hook_ended(&mut self, at: &HookedAt, outcome: EffectOutcome) {
        let answer = match outcome {
            EffectOutcome::HooksRan(answer) => answer,
            // Stopped, or the executor failed: a hook without an answer decides nothing.
            _ => HookAnswer::default(),
        };
        match at {
            HookedAt::Prompt => self.prompt_hooked(answer),
            HookedAt::Call(call) => self.call_hooked(call, answer),
            HookedAt::Result(call) => self.result_hooked(call, answer),
            HookedAt::Stop => self.stop_hooked(answer),
        }
    }

    fn prompt_hooked(&mut self, answer: HookAnswer) {
        // A cancelled turn keeps its prompt; `cancelled` records it.
        if self.phase() != Some(Phase::HookingPrompt) || self.cancelling() {
            return;
        }
        let content = self.turn.as_mut().and_then(|turn| turn.prompt.take());
        if let Some(why) = answer.stop.or(answer.blocked) {
            self.fail_turn(DriveError::StoppedByHook(why));
            self.record_queue();
            return;
        }
        self.said(content.unwrap_or_default(), &answer.context);
        self.record_queue();
    }

    fn call_hooked(&mut self, call: &CallId, answer: HookAnswer) {
        let position = self.calls.iter().position(|known| known.call.id == *call);
        let Some(at) = position else {
            return;
        };
        // A cancelled turn answers the call itself.
        if self.cancelling() {
            self.calls[at].stage = Stage::Asked;
            return;
        }
        self.hook_says(&answer);
        if let Some(input) = answer.input {
            self.change_input(at, input);
        }
        // A failed note has ended the turn and with it the calls.
        if at >= self.calls.len() {
            return;
        }
        let blocked = answer.stop.or(answer.blocked);
        match answer.verdict {
            _ if blocked.is_some() => {
                self.calls[at].stage = Stage::Refused(blocked.unwrap_or_default());
            }
            Some(HookVerdict::Deny(why)) => self.calls[at].stage = Stage::Refused(why),
            // A question must not lead round a rule that refuses.
            Some(HookVerdict::Ask(why)) => {
                match self.config.judge.judge(self.calls[at].effective()) {
                    Judgement::Refuse(why) => self.calls[at].stage = Stage::Refused(why),
                    Judgement::Run | Judgement::Ask(_) => self.ask_person(at, why, &[]),
                }
            }
            Some(HookVerdict::Allow) => self.judge_call(at, true),
            None => self.judge_call(at, false),
        }
        self.start_calls();
        self.round_maybe_over();
    }

    /// Gives a call another input than the model's. Recorded before the call starts; the view keeps
    /// the block of the model.
    pub(crate) fn change_input(&mut self, at: usize, input: Value) {
        let call = &self.calls[at].call;
        let Some(changed) = with_input(call, &input) else {
            return;
        };
        let name = format!("{CHANGED_INPUT}{}", call.id);
        self.note_quietly(StateChange::Fact { name, value: input });
        let head = self.journal.head_seq();
        if let Some(pending) = self.calls.get_mut(at) {
            pending.runs = Some(changed);
            pending.seq = head;
        }
    }

    fn result_hooked(&mut self, call: &CallId, answer: HookAnswer) {
        let position = self.calls.iter().position(|known| known.call.id == *call);
        let Some(at) = position else {
            return;
        };
        let Some((output, digest)) = self.calls[at].output.take() else {
            return;
        };
        self.hook_says(&answer);
        let mut output = (output, digest);
        if let Some(text) = answer.output {
            output.0 = ToolOutput {
                text,
                block: None,
                ..output.0
            };
            output.1 = None;
        }
        if let Some(why) = answer.blocked {
            // The tool has run: the model gets its result and the objection.
            output.0.text = format!("{}\n\n{why}", output.0.text);
            output.0.block = None;
            output.1 = None;
        }
        self.result_kept(at, output.0, output.1);
        self.start_calls();
        self.round_maybe_over();
    }

    /// Records a result that hooks have seen, in one batch with the end of its fact.
    pub(crate) fn result_kept(&mut self, at: usize, output: ToolOutput, digest: Option<Hash>) {
        let name = format!("{RAN}{}", self.calls[at].call.id);
        self.calls[at].stage = Stage::Ended;
        self.result_ended(at, output, digest);
        let value = Value::Null;
        self.note_quietly(StateChange::Fact { name, value });
    }

    fn stop_hooked(&mut self, answer: HookAnswer) {
        if self.phase() != Some(Phase::HookingStop) || self.cancelling() {
            return;
        }
        self.hook_says(&answer);
        let over = Phase::Tidying(Moment::TurnEnd);
        let Some(why) = answer.blocked.filter(|_| answer.stop.is_none()) else {
            self.set_phase(over);
            return;
        };
        if let Some(turn) = &mut self.turn {
            turn.stops_blocked += 1;
        }
        // The hook's words and not the user's.
        let message = Message {
            origin: MessageOrigin::Meta,
            ..Message::user(vec![Block::text(&render(&REMINDER, cut(&why)))])
        };
        let said = self.emit(Body::Message(message)).map(drop);
        match said.and_then(|()| self.inject_context()) {
            Ok(()) => self.set_phase(Phase::Tidying(Moment::BeforeRequest)),
            Err(error) => self.fail_turn(error),
        }
    }

    /// Keeps the words of hooks for the end of the round, where fragments have their place.
    fn hook_says(&mut self, answer: &HookAnswer) {
        if let Some(turn) = &mut self.turn {
            turn.hook_context.extend(answer.context.iter().cloned());
            if turn.stop.is_none() {
                turn.stop.clone_from(&answer.stop);
            }
        }
    }

    /// Inserts the words that hooks have said in this round.
    pub(crate) fn inject_context(&mut self) -> Result<(), DriveError> {
        let said = self
            .turn
            .as_mut()
            .map(|turn| std::mem::take(&mut turn.hook_context));
        self.inject(fragments(&said.unwrap_or_default()))
    }

    /// Records results that a crash found with their hooks: the tools have run, and nothing that
    /// they answered is lost.
    pub(crate) fn keep_ran(&mut self) {
        let view = self.conversation.view();
        let open: Vec<ToolCall> = view
            .tail()
            .open_calls()
            .filter_map(|segment| ToolCall::of(&segment.block))
            .collect();
        for call in open {
            let name = format!("{RAN}{}", call.id);
            let Some(fact) = self.conversation.state().facts.get(&name).cloned() else {
                continue;
            };
            let text = fact["text"].as_str().unwrap_or_default();
            let output = ToolOutput {
                is_error: fact["is_error"] == true,
                ..ToolOutput::text(call.id.clone(), text)
            };
            let seq = self.journal.head_seq();
            self.calls.push(PendingCall::new(call, seq));
            self.result_kept(self.calls.len() - 1, output, None);
        }
    }
}

/// Fragments with the words of hooks, each within its cap.
pub(crate) fn fragments(said: &[String]) -> Vec<Injection> {
    let fragment = |text: &String| Injection {
        kind: FragmentKind::Hook,
        text: render(&REMINDER, cut(text)),
        memories: Vec::new(),
    };
    said.iter().map(fragment).collect()
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MOST_CONTEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The call with another input; none if no block can be made of it.
pub(crate) fn with_input(call: &ToolCall, input: &Value) -> Option<ToolCall> {
    let block = json!({
        "type": "tool_use", "id": call.id.as_str(), "name": call.tool, "input": input,
    });
    Some(ToolCall {
        block: Block::from_value(&block).ok()?,
        ..call.clone()
    })
}
