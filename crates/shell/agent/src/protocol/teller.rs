//! Events from records, live and rebuilt.

use crate::protocol::event::{
    Event, LayerName, PermissionRequest, QuestionRequest, Side, Told, TurnEnd,
};
use crate::question::ASK_USER;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::{CallId, MessageId};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{
    Body, BoundaryKind, FragmentKind, Message, MessageOrigin, Purpose, Record, ReplacementDecision,
    Role, StateChange, UsageReport,
};
use dormouse_core::show::Grouped;
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_drive::{QUEUE_FACT, TAKEOVER_FACT, TURN_FACT, ToolCall, WAITING_FACT, read_question};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name prefix of facts with an input that is not the model's.
const CHANGED_INPUT: &str = "input/";

/// Makes events of records, in the order of the log.
#[derive(Clone, Debug)]
pub struct Teller {
    models: Arc<ModelTable>,
    /// Calls of the newest answers, with the input as it would run.
    calls: BTreeMap<CallId, (String, Value)>,
    /// Newest answer and its texts.
    answer: Option<(Option<MessageId>, Vec<String>)>,
    /// Price of the layers' own requests since they last acted.
    spent: BTreeMap<Purpose, Usd>,
}

/// All events of a log: what a client that was there from the beginning would have been told, but
/// for passing ones.
pub fn rebuild<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    models: &Arc<ModelTable>,
) -> Vec<Told> {
    let mut teller = Teller::new(Arc::clone(models));
    let records = records.into_iter();
    records.flat_map(|record| teller.tell(record)).collect()
}

impl Teller {
    /// A teller at the beginning of a log.
    pub fn new(models: Arc<ModelTable>) -> Self {
        Self {
            models,
            calls: BTreeMap::new(),
            answer: None,
            spent: BTreeMap::new(),
        }
    }

    /// Events that follow from a record.
    pub fn tell(&mut self, record: &Record) -> Vec<Told> {
        let told = |event| Told {
            seq: Some(record.seq),
            event,
        };
        self.events(record).into_iter().map(told).collect()
    }

    fn events(&mut self, record: &Record) -> Vec<Event> {
        match &record.body {
            Body::Message(message) if message.role == Role::Assistant => self.answered(message),
            Body::Message(message) => self.said(message),
            Body::Usage(report) => vec![self.usage(report)],
            Body::State(change) => self.state(change).into_iter().collect(),
            Body::Fragment(fragment) => match fragment.kind {
                // Memories are told by the names that a state record lists.
                FragmentKind::Memory => Vec::new(),
                _ => vec![Event::Said {
                    by: Side::Host,
                    content: vec![fragment.block.clone()],
                }],
            },
            body => self.acted(body, record).into_iter().collect(),
        }
    }

    fn answered(&mut self, message: &Message) -> Vec<Event> {
        if message.origin != MessageOrigin::Conversation {
            return Vec::new();
        }
        let known = self
            .answer
            .as_ref()
            .is_some_and(|(id, _)| *id == message.id);
        if !known {
            self.answer = Some((message.id.clone(), Vec::new()));
        }
        let texts = message.content.iter().filter_map(text_of);
        if let Some((_, answer)) = &mut self.answer {
            answer.extend(texts);
        }
        let mut events = vec![Event::MessageDone {
            message: message.id.clone(),
            model: message.model.as_deref().map(str::to_owned),
            content: message.content.clone(),
            usage: message.usage,
            stop_reason: message.stop_reason.as_deref().map(str::to_owned),
        }];
        for call in message.content.iter().filter_map(ToolCall::of) {
            let input = input_of(&call.block);
            let known = (call.tool.clone(), input.clone());
            self.calls.insert(call.id.clone(), known);
            events.push(Event::ToolAsked {
                call: call.id,
                tool: call.tool,
                input,
            });
        }
        events
    }

    fn said(&mut self, message: &Message) -> Vec<Event> {
        let mut events = Vec::new();
        let mut words = Vec::new();
        for block in &message.content {
            match (block.kind(), block.call()) {
                (BlockKind::ToolResult, Some(call)) => {
                    self.calls.remove(call);
                    events.push(Event::ToolDone {
                        call: call.clone(),
                        is_error: block.is_error(),
                        content: block.clone(),
                    });
                }
                _ => words.push(block.clone()),
            }
        }
        let by = match message.origin {
            MessageOrigin::Conversation => Side::User,
            MessageOrigin::ApiError | MessageOrigin::TranscriptOnly => return events,
            MessageOrigin::Meta | MessageOrigin::Summary | MessageOrigin::Repair => Side::Host,
        };
        if !words.is_empty() {
            events.push(Event::Said { by, content: words });
        }
        events
    }

    fn usage(&mut self, report: &UsageReport) -> Event {
        let cost = self.models.lookup(&report.model).info.cost(&report.usage);
        if !report.purpose.is_turn()
            && let Some(cost) = cost
        {
            let spent = self.spent.entry(report.purpose).or_default();
            *spent += cost;
        }
        Event::Usage {
            message: report.message.clone(),
            model: report.model.clone(),
            purpose: report.purpose,
            usage: report.usage,
            cost,
        }
    }

    fn state(&mut self, change: &StateChange) -> Option<Event> {
        match change {
            StateChange::Fact { name, value } => self.fact(name, value),
            StateChange::Surfaced { memories } => {
                let names: Vec<&str> = memories.iter().map(|(name, _)| name.as_str()).collect();
                Some(Event::LayerActed {
                    layer: LayerName::Recall,
                    what: format!("recalled {}", names.join(", ")),
                    freed: Tokens::ZERO,
                    cost: None,
                    undo: None,
                })
            }
            StateChange::MemorySaved { detail } => {
                let files = detail["files"].as_array().into_iter().flatten();
                let names: Vec<&str> = files.filter_map(Value::as_str).collect();
                Some(Event::Saved {
                    what: format!("saved: {}", names.join(", ")),
                })
            }
            StateChange::Attempt(attempt) => Some(Event::AttemptFailed {
                number: attempt.number,
                why: attempt.why.clone(),
                again_after: attempt.again_after,
            }),
            StateChange::Dream { detail } => Some(Event::Saved {
                what: dreamt(detail),
            }),
            StateChange::ReadState { .. } | StateChange::Cursor { .. } => None,
        }
    }

    fn fact(&mut self, name: &str, value: &Value) -> Option<Event> {
        if name == QUEUE_FACT {
            let prompts = value.as_array().cloned().unwrap_or_default();
            return Some(Event::Queued { prompts });
        }
        if name == TAKEOVER_FACT {
            let text = |member: &str| value[member].as_str().unwrap_or_default();
            let (from, to, why) = (text("from"), text("to"), text("why"));
            let text = format!("{from} does not answer ({why}); {to} goes on");
            return Some(Event::Notice { text });
        }
        if name == TURN_FACT {
            let text = |member: &str| value[member].as_str().map(str::to_owned);
            let answer = self.answer.as_ref().map(|(_, texts)| texts.join("\n"));
            return Some(Event::TurnEnded(Box::new(TurnEnd {
                end: text("end").unwrap_or_default(),
                requests: value["requests"].as_u64().unwrap_or_default(),
                stop_reason: text("stop_reason"),
                why: text("why"),
                text: answer.unwrap_or_default(),
            })));
        }
        if let Some(call) = name.strip_prefix(CHANGED_INPUT) {
            let call = CallId::new(call);
            if let Some((_, input)) = self.calls.get_mut(&call) {
                input.clone_from(value);
            }
            let input = value.clone();
            return Some(Event::InputChanged { call, input });
        }
        let call = CallId::new(name.strip_prefix(WAITING_FACT)?);
        if value.is_null() {
            return Some(Event::Settled { call });
        }
        Some(self.waiting(call, value))
    }

    /// The question that a waiting call asks, as the fact in the log words it.
    fn waiting(&self, call: CallId, fact: &Value) -> Event {
        let (tool, input) = self.calls.get(&call).cloned().unwrap_or_default();
        if tool == ASK_USER {
            return Event::QuestionWanted(Box::new(QuestionRequest {
                call,
                questions: input["questions"].clone(),
                answers: None,
            }));
        }
        let (question, lasting) = read_question(fact);
        Event::PermissionWanted(Box::new(PermissionRequest {
            call,
            tool,
            input,
            question,
            lasting,
        }))
    }

    /// The question of a call that a restart found waiting.
    pub(crate) fn asked_again(&mut self, call: &ToolCall, input: Value, fact: &Value) -> Event {
        let known = (call.tool.clone(), input);
        self.calls.insert(call.id.clone(), known);
        self.waiting(call.id.clone(), fact)
    }

    /// A record that changed the prompt.
    fn acted(&mut self, body: &Body, record: &Record) -> Option<Event> {
        let undo = body.is_rewrite().then(|| record.id.clone());
        let acted = |layer, what, freed, cost| Event::LayerActed {
            layer,
            what,
            freed,
            cost,
            undo: undo.clone(),
        };
        Some(match body {
            Body::Replacement(replacement) => match &replacement.decision {
                ReplacementDecision::Replaced { file, .. } => {
                    let name = file.as_deref().unwrap_or("the session's store");
                    let what = format!("a long result is in {name}");
                    acted(LayerName::Offload, what, Tokens::ZERO, None)
                }
                ReplacementDecision::Left => return None,
            },
            Body::Distilled(distilled) => {
                let what = format!("{} distilled", counted(distilled.blocks.len(), "result"));
                acted(LayerName::Distil, what, distilled.freed, None)
            }
            Body::Cleared(clearing) => {
                let count = counted(clearing.blocks.len(), "old result");
                // The layer's name is told beside it.
                let why = clearing.reason.strip_prefix("clear: ");
                let why = why.unwrap_or(&clearing.reason);
                let what = format!("{count} cleared: {why}");
                acted(LayerName::Clear, what, clearing.freed, None)
            }
            Body::Notes(notes) => {
                let cost = self.spent.remove(&Purpose::Notes);
                let what = format!("session notes updated, {} tokens", notes.tokens);
                acted(LayerName::Notes, what, Tokens::ZERO, cost)
            }
            Body::Boundary(boundary) => {
                let cost = self.spent.remove(&Purpose::Compaction);
                let before = boundary.pre_tokens.unwrap_or_default();
                let after = boundary.post_tokens.unwrap_or_default();
                let how = match boundary.kind {
                    BoundaryKind::Notes => "from the session notes",
                    BoundaryKind::Full => "with a summary",
                    BoundaryKind::Partial => "in part",
                    BoundaryKind::Offline => "without a model",
                    BoundaryKind::Foreign => "by another tool",
                };
                let (from, to) = (Grouped(before.0), Grouped(after.0));
                let what = format!("compacted {how}: {from} tokens are now about {to}");
                acted(LayerName::Compaction, what, before - after, cost)
            }
            Body::Undo(undo) => {
                let what = format!("{} undone", counted(undo.targets.len(), "rewrite"));
                acted(LayerName::Undo, what, Tokens::ZERO, None)
            }
            _ => return None,
        })
    }
}

/// A dream in one line, by its record.
fn dreamt(detail: &Value) -> String {
    let files = detail["files"].as_array().into_iter().flatten();
    let names: Vec<&str> = files.filter_map(Value::as_str).collect();
    let changed = detail["changed"].as_u64().unwrap_or_default();
    let named = u64::try_from(names.len()).unwrap_or(u64::MAX);
    match (names.is_empty(), changed.saturating_sub(named)) {
        (true, _) => "dreamt: nothing to change".to_owned(),
        (false, 0) => format!("dreamt: {}", names.join(", ")),
        (false, more) => format!("dreamt: {} and {more} more", names.join(", ")),
    }
}

fn text_of(block: &Block) -> Option<String> {
    (block.kind() == BlockKind::Text)
        .then(|| block.readable_text())
        .flatten()
}

fn input_of(block: &Block) -> Value {
    let value: Value = serde_json::from_slice(block.bytes()).unwrap_or_default();
    value.get("input").cloned().unwrap_or_default()
}

/// A number of things in words.
fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
