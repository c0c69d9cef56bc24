//! Events of the agent. The match names every one: an event that is not shown is hidden on purpose.

use crate::cell::Cell;
use crate::dialog::Dialog;
use crate::model::{Call, Effect, Model, PROMPT};
use crate::tool;
use dormouse_agent::protocol::{
    DeltaKind, OpenedSession, PermissionRequest, QuestionRequest, Side,
};
use dormouse_agent::{Command, Event, Told, TurnEnd};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment;
use dormouse_core::id::CallId;
use dormouse_core::record::Purpose;
use serde_json::Value;

/// Characters of the model's reasoning that are kept: the live part shows the end of them.
const THINKING_KEPT: usize = 400;
/// Quarters of a second after which the end of a turn is worth a sound.
const LONG_TURN: u64 = 40;

impl Model {
    pub(crate) fn told(&mut self, told: Told) -> Vec<Effect> {
        let Told { event, .. } = told;
        self.figures.take(&event);
        match event {
            Event::Opened(opened) => self.opened(*opened),
            Event::Done { ask, failed } => {
                let what = self.asks.remove(&ask);
                if let (Some(what), Some(why)) = (what, failed) {
                    // The end of a turn has told why it failed.
                    if what != PROMPT || self.busy {
                        self.warn(format!("{what}: {why}"));
                    }
                    self.busy &= what != PROMPT;
                }
                Vec::new()
            }
            Event::Said { by, content } => {
                self.said(by, &content);
                Vec::new()
            }
            Event::Queued { prompts } => {
                self.queued = prompts.iter().map(prompt_text).collect();
                Vec::new()
            }
            Event::PermissionWanted(wanted) => self.permission(*wanted),
            Event::QuestionWanted(wanted) => self.question(*wanted),
            Event::Settled { call } => {
                self.dialogs.retain(|dialog| *dialog.call() != call);
                Vec::new()
            }
            Event::TurnEnded(end) => self.turn_ended(&end),
            Event::Lagged { after } => vec![Effect::ReadMissed(after)],
            Event::Closed { failed } => self.closed(failed),
            Event::Changed { mode, model } => {
                self.mode = mode;
                self.talks_to = model;
                vec![Effect::ReadGauge]
            }
            Event::LayerActed {
                layer,
                what,
                freed,
                cost,
                undo,
            } => self.layer(layer, &what, freed, cost, undo.is_some()),
            event => {
                self.passed(event);
                Vec::new()
            }
        }
    }

    /// Events that only change what is shown.
    fn passed(&mut self, event: Event) {
        match event {
            Event::MessageStarted { .. } => {
                self.begin_turn();
                let rest = self.answer.end();
                self.put(rest);
            }
            Event::BlockStarted { head, .. } => {
                self.begin_turn();
                let rest = self.answer.end_block();
                self.put(rest);
                self.writing = head["name"].as_str().map(str::to_owned);
            }
            Event::Delta { index, kind, text } => self.piece(index, kind, &text),
            Event::MessageDone { content, .. } => self.answered(&content),
            Event::ToolAsked { call, tool, input } => {
                self.writing = None;
                self.calls.push(Call {
                    id: call,
                    tool,
                    input,
                    running: false,
                });
            }
            Event::InputChanged { call, input } => {
                if let Some(known) = self.calls.iter_mut().find(|known| known.id == call) {
                    known.input = input;
                    let note = format!(
                        "the input of {} was changed: {}",
                        known.tool,
                        tool::subject(&known.input)
                    );
                    self.note(note);
                }
            }
            Event::ToolRunning { call } => {
                self.begin_turn();
                if let Some(known) = self.calls.iter_mut().find(|known| known.id == call) {
                    known.running = true;
                }
            }
            Event::ToolDone {
                call,
                is_error,
                content,
            } => self.tool_done(&call, is_error, &content),
            Event::Refused { tool, input, .. } => {
                self.warn(format!(
                    "refused by the rules: {tool} {}",
                    tool::subject(&input)
                ));
            }
            event => self.beside(event),
        }
    }

    /// Events beside the answer: layers, background work, notices.
    fn beside(&mut self, event: Event) {
        match event {
            Event::TaskChanged { task, what, state } => self.task(task, what, state),
            Event::Tasks { tasks } => {
                self.tasks = tasks
                    .into_iter()
                    .map(|task| (task.task, task.what))
                    .collect();
                self.list_tasks();
            }
            Event::ServerChanged(server) => {
                // A server that is connected or on its way is no news.
                if let Some(why) = server.why {
                    self.warn(format!("the server {} is away: {why}", server.name));
                }
            }
            Event::Usage { purpose, usage, .. } => {
                if purpose == Purpose::Turn {
                    self.usage = usage;
                }
            }
            Event::AttemptFailed {
                number,
                why,
                again_after,
            } => {
                let then = match again_after {
                    Some(millis) => format!("again in {} s", millis.div_ceil(1_000)),
                    None => "no further attempt".to_owned(),
                };
                self.note(format!("attempt {number} failed: {why}; {then}"));
            }
            Event::Notice { text } | Event::Saved { what: text } => self.note(text),
            Event::Forked { session } => {
                self.note(format!(
                    "a copy of this session: `dormouse --resume {session}`"
                ));
            }
            // Hidden: the whole block follows from the log, and a newer agent's events have no words here.
            Event::BlockEnded { .. }
            | Event::Unknown
            // Handled before.
            | Event::MessageStarted { .. }
            | Event::BlockStarted { .. }
            | Event::Delta { .. }
            | Event::MessageDone { .. }
            | Event::ToolAsked { .. }
            | Event::InputChanged { .. }
            | Event::ToolRunning { .. }
            | Event::ToolDone { .. }
            | Event::Refused { .. }
            | Event::LayerActed { .. }
            | Event::Opened(_)
            | Event::Done { .. }
            | Event::Said { .. }
            | Event::Queued { .. }
            | Event::PermissionWanted(_)
            | Event::QuestionWanted(_)
            | Event::Settled { .. }
            | Event::TurnEnded(_)
            | Event::Lagged { .. }
            | Event::Closed { .. }
            | Event::Changed { .. } => {}
        }
    }

    fn opened(&mut self, opened: OpenedSession) -> Vec<Effect> {
        let another = self.session.is_some();
        self.mode = opened.mode;
        self.talks_to.clone_from(&opened.model);
        if another {
            self.note(format!("a new session: {}", opened.session));
            self.usage = dormouse_core::usage::TokenUsage::default();
            self.gauge = None;
        }
        self.session = Some(opened);
        let mut effects = vec![Effect::ReadGauge];
        effects.extend(self.release());
        effects
    }

    fn begin_turn(&mut self) {
        if !self.busy {
            self.busy = true;
            self.ticks = 0;
        }
    }

    fn said(&mut self, by: Side, content: &[Block]) {
        match by {
            Side::User => {
                let texts = content
                    .iter()
                    .filter(|block| block.kind() == BlockKind::Text);
                let texts = texts
                    .filter_map(Block::readable_text)
                    .map(|text| fragment::sent(&text));
                let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
                let text = texts.join("\n");
                let others = content
                    .iter()
                    .filter(|block| block.kind() != BlockKind::Text)
                    .count();
                if let Some(at) = self.sent.iter().position(|sent| sent.trim() == text.trim()) {
                    self.sent.remove(at);
                }
                if !text.is_empty() {
                    self.put(Cell::User(text));
                }
                if others > 0 {
                    self.note(format!("{others} attachments"));
                }
            }
            // Fragments that Dormouse, a hook or a client adds are for the model.
            Side::Host => {}
        }
    }

    fn piece(&mut self, index: u32, kind: DeltaKind, text: &str) {
        self.begin_turn();
        match kind {
            DeltaKind::Text => {
                self.thinking.clear();
                for cell in self.answer.piece(index, text) {
                    self.put(cell);
                }
            }
            DeltaKind::Thinking => {
                self.thinking.push_str(text);
                let extra = self.thinking.chars().count().saturating_sub(THINKING_KEPT);
                if extra > 0 {
                    self.thinking = self.thinking.chars().skip(extra).collect();
                }
            }
            // Shown as a call when it is whole; a signature is for the provider.
            DeltaKind::Input | DeltaKind::Signature => {}
        }
    }

    fn answered(&mut self, content: &[Block]) {
        self.thinking.clear();
        for block in content {
            // Reasoning passes by; calls are told by events of their own.
            if block.kind() != BlockKind::Text {
                continue;
            }
            let text = block.readable_text().unwrap_or_default();
            for cell in self.answer.whole(&text) {
                self.put(cell);
            }
            self.last_answer = text;
        }
    }

    fn tool_done(&mut self, call: &CallId, is_error: bool, content: &Block) {
        let at = self.calls.iter().position(|known| known.id == *call);
        let (tool, input) = match at.map(|at| self.calls.remove(at)) {
            Some(known) => (known.tool, known.input),
            None => ("a call".to_owned(), Value::Null),
        };
        self.dialogs.retain(|dialog| dialog.call() != call);
        let (result, more) = match todos(&input) {
            Some(todos) if !is_error => (todos, 0),
            _ => tool::result(content, is_error),
        };
        self.put(Cell::Tool {
            subject: if input["todos"].is_array() {
                String::new()
            } else {
                tool::subject(&input)
            },
            tool,
            failed: is_error,
            result,
            more,
        });
    }

    fn permission(&mut self, wanted: PermissionRequest) -> Vec<Effect> {
        self.put(Cell::Asked {
            question: format!(
                "{} {}: {}",
                wanted.tool,
                tool::subject(&wanted.input),
                crate::text::clean(&wanted.question)
            ),
            diff: tool::diff(&wanted.tool, &wanted.input),
        });
        // A plan is approved by reading it.
        if let Some(plan) = wanted.input["plan"].as_str() {
            let mut reader = self.answer.fresh_reader();
            let mut blocks = reader.push(plan);
            blocks.extend(reader.finish());
            self.put(Cell::Answer {
                begins: true,
                blocks,
            });
        }
        if self.watching {
            // The terminal that writes has the choice.
            return Vec::new();
        }
        let tool = wanted.tool.clone();
        self.dialogs.push_back(Dialog::permission(wanted));
        self.call_person(&format!("{tool} asks for permission"))
    }

    fn question(&mut self, wanted: QuestionRequest) -> Vec<Effect> {
        if wanted.answers.is_some() || self.watching {
            return Vec::new();
        }
        let call = wanted.call.clone();
        if let Some(dialog) = Dialog::question(wanted) {
            self.dialogs.push_back(dialog);
            return self.call_person("the model asks a question");
        }
        self.warn("the model asks something that cannot be read; it is told so");
        let refuse = Command::Permit {
            call,
            allow: false,
            words: Some("the questions have no text".to_owned()),
            input: None,
            remember: None,
        };
        vec![Effect::Send(refuse.into())]
    }

    fn turn_ended(&mut self, end: &TurnEnd) -> Vec<Effect> {
        let rest = self.answer.end();
        self.put(rest);
        self.thinking.clear();
        self.writing = None;
        self.calls.clear();
        self.dialogs.clear();
        self.sent.clear();
        let long = self.busy && self.ticks >= LONG_TURN;
        self.busy = false;
        let why = end.why.clone().unwrap_or_default();
        match end.end.as_str() {
            // A command that was typed as a prompt answers without a request.
            "answered" if end.requests == 0 && !end.text.is_empty() => self.note(&end.text),
            "answered" if end.stop_reason.as_deref() == Some("refusal") => {
                self.warn("the model declined");
            }
            "answered" => {}
            "interrupted" => self.note("stopped; everything that arrived is kept"),
            "requests" => self.warn(format!(
                "stopped after {} requests, the limit of a turn",
                end.requests
            )),
            "budget" => self.warn("stopped: the budget of this session is spent"),
            "hook" => self.warn(format!("stopped by a hook: {why}")),
            _ => self.warn(if why.is_empty() {
                "the turn failed".to_owned()
            } else {
                why
            }),
        }
        let mut effects = vec![Effect::ReadGauge];
        if long {
            effects.extend(self.call_person("the turn has ended"));
        }
        effects
    }

    fn closed(&mut self, failed: Option<String>) -> Vec<Effect> {
        // The end of a turn is not told when the agent is left in the midst of one.
        let rest = self.answer.end();
        self.put(rest);
        if let Some(why) = failed {
            self.warn(format!("the agent has ended: {why}"));
        }
        self.busy = false;
        self.calls.clear();
        self.dialogs.clear();
        if self.leaving {
            return vec![Effect::Exit];
        }
        self.session = None;
        let ended = if self.watching {
            "the other terminal has left this session; --continue goes on with it"
        } else {
            "the agent has ended; start dormouse again with --continue"
        };
        self.start.without_agent = Some(ended.to_owned());
        if self.watching {
            self.note(ended);
        }
        self.watching = false;
        Vec::new()
    }
}

/// Text of a prompt that waits, from its blocks.
fn prompt_text(blocks: &Value) -> String {
    let texts = blocks
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|block| block["text"].as_str());
    let texts: Vec<String> = texts
        .map(fragment::sent)
        .filter(|text| !text.trim().is_empty())
        .collect();
    crate::text::clean(&texts.join(" "))
}

/// Lines of a to-do list.
fn todos(input: &Value) -> Option<Vec<String>> {
    let todos = input["todos"].as_array()?;
    let line = |todo: &Value| {
        let mark = match todo["status"].as_str() {
            Some("completed") => '☑',
            Some("in_progress") => '▸',
            _ => '☐',
        };
        format!(
            "{mark} {}",
            crate::text::clean(todo["content"].as_str().unwrap_or_default())
        )
    };
    Some(todos.iter().map(line).collect())
}
