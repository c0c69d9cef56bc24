//! The chunks of chat completions, folded into a response.
//!
//! # Model
//! Chunks have no blocks; they are made here. Text opens a block that ends when a call begins or
//! the answer ends. Calls are joined by their index and end with the answer. The reason comes
//! with the last piece, the usage in a chunk of its own after it, then `[DONE]`. Servers forget
//! each of these; an answer with a reason is complete.
//!
//! # Not here
//! The request's way out ([`super::convert`]) and errors ([`super::errors`]).

use super::errors;
use crate::attempt::{Decoder, Head};
use crate::error::{Malformed, ModelError};
use bytes::Bytes;
use dormouse_ask::{
    Delta, Event, Extras, Partial, Refusal, Response, StopReason, Unfinished, Warning,
};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::MessageId;
use dormouse_core::json::{ObjectWriter, RawJson, RawMembers};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct ChatDecoder {
    head: Head,
    expected: Expected,
    started: Option<(MessageId, Arc<str>)>,
    text: Option<(u32, String)>,
    calls: Vec<Call>,
    blocks: BTreeMap<u32, Block>,
    next: u32,
    usage: TokenUsage,
    reason: Option<String>,
    refusal: String,
    over: bool,
}

/// Facts about the prompt that the reply is compared with.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    pub(super) warnings: Vec<Warning>,
    pub(super) estimate: Tokens,
    /// The caller's own estimate is closer than one from bytes alone.
    pub(super) calibrated: bool,
    pub(super) window: Option<Tokens>,
}

#[derive(Debug)]
struct Call {
    wire: u64,
    index: u32,
    id: String,
    name: String,
    arguments: String,
}

impl Expected {
    /// Tokens below which an estimate from bytes is too rough to compare with.
    const SMALLEST: u64 = 1_000;

    /// Some servers cut off the front of a prompt that is too long and answer as if nothing were.
    fn truncation(&self, reported: Tokens) -> Option<Warning> {
        let (estimated, read) = (self.estimate.get(), reported.get());
        // An estimate from bytes is rougher than the caller\'s, which earlier answers corrected.
        let percent = if self.calibrated { 70 } else { 60 };
        let far_below = read * 100 < estimated * percent;
        // A tenth above the window, again for the error of the estimate.
        let cannot_fit = self
            .window
            .is_some_and(|window| estimated * 10 > window.get() * 11 && reported <= window);
        let is_truncated = estimated >= Self::SMALLEST && read > 0 && (far_below || cannot_fit);
        is_truncated.then_some(Warning::PromptTruncated {
            reported,
            estimated: self.estimate,
        })
    }
}

impl ChatDecoder {
    pub(super) fn new(head: Head, expected: Expected) -> Self {
        Self {
            head,
            expected,
            started: None,
            text: None,
            calls: Vec::new(),
            blocks: BTreeMap::new(),
            next: 0,
            usage: TokenUsage::default(),
            reason: None,
            refusal: String::new(),
            over: false,
        }
    }

    /// Reads a completion that came in one piece.
    pub(super) fn whole(
        head: Head,
        expected: Expected,
        body: &[u8],
    ) -> Result<Response, ModelError> {
        let value = serde_json::from_slice(body).map_err(shape)?;
        let mut decoder = Self::new(head, expected);
        decoder.take(&value, &mut Vec::new())?;
        decoder.over = true;
        decoder.finish(&mut Vec::new())
    }

    fn take(&mut self, value: &Value, out: &mut Vec<Event>) -> Result<(), ModelError> {
        if let Some(error) = errors::in_stream(value) {
            return Err(error);
        }
        if self.started.is_none() {
            self.start(value, out);
        }
        let choice = &value["choices"][0];
        let piece = match &choice["delta"] {
            Value::Null => &choice["message"],
            delta => delta,
        };
        for name in ["reasoning_content", "reasoning"] {
            if let Some(text) = piece[name].as_str().filter(|text| !text.is_empty()) {
                let data = RawJson::from_value(text).map_err(shape)?;
                let name = "reasoning".to_owned();
                out.push(Event::Extra { name, data });
                // Some servers send both names with the same text.
                break;
            }
        }
        if let Some(text) = piece["content"].as_str().filter(|text| !text.is_empty()) {
            self.add_text(text, out)?;
        }
        if let Some(text) = piece["refusal"].as_str() {
            self.refusal.push_str(text);
        }
        if let Some(calls) = piece["tool_calls"].as_array() {
            for (at, call) in (0_u64..).zip(calls) {
                self.add_call(at, call, out)?;
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.reason = Some(reason.to_owned());
        }
        if value["usage"].is_object() {
            self.usage = usage(&value["usage"]);
            out.push(Event::Usage(self.usage));
        }
        Ok(())
    }

    fn start(&mut self, value: &Value, out: &mut Vec<Event>) {
        let text = |name: &str| value[name].as_str().filter(|text| !text.is_empty());
        // Local servers leave it out; usage is counted by id, so there must be one.
        let id = text("id").map_or_else(
            || MessageId::new(format!("chat-{}", value["created"].as_u64().unwrap_or(0))),
            MessageId::from,
        );
        let model: Arc<str> = Arc::from(text("model").unwrap_or_default());
        self.started = Some((id.clone(), model.clone()));
        let usage = self.usage;
        out.push(Event::MessageStart { id, model, usage });
    }

    fn claim_index(&mut self) -> u32 {
        let index = self.next;
        self.next += 1;
        index
    }

    fn add_text(&mut self, piece: &str, out: &mut Vec<Event>) -> Result<(), Malformed> {
        if self.text.is_none() {
            let index = self.claim_index();
            self.text = Some((index, String::new()));
            out.push(Event::BlockStart {
                index,
                kind: BlockKind::Text,
                head: RawJson::from_value(&json!({ "type": "text", "text": "" })).map_err(shape)?,
            });
        }
        if let Some((index, text)) = &mut self.text {
            text.push_str(piece);
            let delta = Delta::Text(piece.to_owned());
            let index = *index;
            out.push(Event::Delta { index, delta });
        }
        Ok(())
    }

    fn add_call(
        &mut self,
        position: u64,
        piece: &Value,
        out: &mut Vec<Event>,
    ) -> Result<(), Malformed> {
        let function = &piece["function"];
        let wire = piece["index"].as_u64().unwrap_or(position);
        if !self.calls.iter().any(|call| call.wire == wire) {
            self.end_text(out);
            let index = self.claim_index();
            let response = self.started.as_ref().map_or("", |(id, _)| id.as_str());
            // A call needs an id for its result, also where the server gives none.
            let id = match piece["id"].as_str() {
                Some(id) if !id.is_empty() => id.to_owned(),
                _ => format!("call_{response}_{wire}"),
            };
            let call = Call {
                wire,
                index,
                id,
                name: function["name"].as_str().unwrap_or_default().to_owned(),
                arguments: String::new(),
            };
            out.push(Event::BlockStart {
                index,
                kind: BlockKind::ToolUse,
                head: call.head()?,
            });
            self.calls.push(call);
        }
        let call = self.calls.iter_mut().find(|call| call.wire == wire);
        if let (Some(call), Some(arguments)) = (call, arguments(function)) {
            call.arguments.push_str(&arguments);
            let (index, delta) = (call.index, Delta::InputJson(arguments));
            out.push(Event::Delta { index, delta });
        }
        Ok(())
    }

    fn end_text(&mut self, out: &mut Vec<Event>) {
        if let Some((index, text)) = self.text.take() {
            let block = Block::text(&text);
            self.blocks.insert(index, block.clone());
            let block = Some(block);
            out.push(Event::BlockStop { index, block });
        }
    }

    fn stop_reason(&self) -> StopReason {
        let refused = || {
            let explanation = (!self.refusal.is_empty()).then(|| self.refusal.clone());
            StopReason::Refusal(Refusal {
                category: None,
                explanation,
            })
        };
        match self.reason.as_deref() {
            // Before the reason: servers send `stop` with a refusal.
            _ if !self.refusal.is_empty() => refused(),
            Some("content_filter") => refused(),
            Some("length") => StopReason::MaxTokens,
            // Some servers say `stop` although they want tools to be run.
            _ if !self.calls.is_empty() => StopReason::ToolUse,
            Some("stop" | "tool_calls" | "function_call") | None => StopReason::EndTurn,
            Some(other) => StopReason::Other(Arc::from(other)),
        }
    }
}

/// The arguments as text; one server sends them as an object.
fn arguments(function: &Value) -> Option<String> {
    match &function["arguments"] {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => serde_json::to_string(object).ok(),
        _ => None,
    }
}

/// Member that holds arguments which are no JSON object.
const UNREADABLE: &str = "unreadable_arguments";

impl Call {
    fn head(&self) -> Result<RawJson, Malformed> {
        let head = json!({ "type": "tool_use", "id": self.id, "name": self.name, "input": {} });
        RawJson::from_value(&head).map_err(shape)
    }

    fn unfinished(&self) -> Result<Unfinished, Malformed> {
        Ok(Unfinished {
            head: self.head()?,
            received: self.arguments.clone(),
        })
    }

    /// The block of a call whose arguments are no object, with their text as the only member: no
    /// tool knows it, so that the call is answered with what is missing.
    fn unreadable(&self) -> Result<Block, Malformed> {
        let input = json!({ UNREADABLE: self.arguments });
        self.block_of(&input.to_string())
    }

    /// The block, with the arguments as the model wrote them.
    fn block(&self) -> Result<Block, Malformed> {
        let text = match self.arguments.trim() {
            "" => "{}",
            text => text,
        };
        self.block_of(text)
    }

    fn block_of(&self, text: &str) -> Result<Block, Malformed> {
        if let Err(source) = serde_json::from_str::<RawMembers<'_>>(text) {
            let tool = self.name.clone();
            return Err(Malformed::Input { tool, source });
        }
        let mut out = ObjectWriter::with_capacity(text.len() + 128);
        let fields = [("type", "tool_use"), ("id", &self.id), ("name", &self.name)];
        for (name, value) in fields {
            out.field(name, value).map_err(shape)?;
        }
        out.raw("input").extend_from_slice(text.as_bytes());
        Block::parse(&Bytes::from(out.finish())).map_err(Malformed::Block)
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Event>) -> Result<(), ModelError> {
        if data.trim() == "[DONE]" {
            self.over = true;
            return Ok(());
        }
        let value: Value = match serde_json::from_str(data) {
            Ok(value) => value,
            // A named event of a server's own, such as a comment of a gateway, is handed on unread.
            Err(_) if !name.is_empty() => {
                let data = RawJson::from_value(data).map_err(shape)?;
                let name = name.to_owned();
                out.push(Event::Extra { name, data });
                return Ok(());
            }
            Err(source) => return Err(shape(source).into()),
        };
        self.take(&value, out)
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(&mut self, out: &mut Vec<Event>) -> Result<Response, ModelError> {
        // Neither a reason nor `[DONE]`: the connection ended in the middle.
        if self.reason.is_none() && !self.over {
            return Err(ModelError::Cut);
        }
        let Some((id, model)) = self.started.clone() else {
            return Err(Malformed::Order("the completion is empty").into());
        };
        self.end_text(out);
        let stop_reason = self.stop_reason();
        let mut cut_off = Vec::new();
        for call in &self.calls {
            let (index, block) = (call.index, call.block());
            let block = match block {
                Ok(block) => Some(block),
                // The limit cut the arguments in two; that is the limit's end, not a malformed
                // answer.
                Err(Malformed::Input { .. }) if stop_reason.is_cut_off() => {
                    cut_off.push(call.unfinished()?);
                    None
                }
                // A weak model's slip: the call goes to its tool, whose answer tells the model.
                Err(Malformed::Input { .. }) => Some(call.unreadable()?),
                Err(error) => return Err(error.into()),
            };
            if let Some(block) = &block {
                self.blocks.insert(index, block.clone());
            }
            out.push(Event::BlockStop { index, block });
        }
        out.push(Event::Stop(stop_reason.clone()));
        let mut warnings = std::mem::take(&mut self.expected.warnings);
        warnings.extend(self.expected.truncation(self.usage.prompt()));
        Ok(Response {
            id,
            model,
            blocks: std::mem::take(&mut self.blocks).into_values().collect(),
            cut_off,
            stop_reason,
            usage: self.usage,
            billed: self.usage,
            extras: Extras::default(),
            request_id: self.head.request_id.take(),
            rate_limits: std::mem::take(&mut self.head.rate_limits),
            warnings,
        })
    }

    fn partial(&mut self) -> Option<Partial> {
        // No block was begun, so the request may be sent again.
        if self.next == 0 {
            return None;
        }
        let text = self.text.take().and_then(|(_, received)| {
            let head = json!({ "type": "text", "text": "" });
            let head = RawJson::from_value(&head).ok()?;
            Some(Unfinished { head, received })
        });
        let calls = self.calls.iter();
        let open = calls.filter(|call| !self.blocks.contains_key(&call.index));
        let calls: Vec<_> = open.filter_map(|call| call.unfinished().ok()).collect();
        let (id, model) = self.started.clone().unzip();
        Some(Partial {
            id,
            model,
            blocks: std::mem::take(&mut self.blocks).into_values().collect(),
            unfinished: text.into_iter().chain(calls).collect(),
            usage: self.usage,
        })
    }
}

/// Usage by price. The prompt's figure includes cached and written tokens; ours does not.
fn usage(value: &Value) -> TokenUsage {
    let figure = |value: &Value| Tokens(value.as_u64().unwrap_or(0));
    let details = &value["prompt_tokens_details"];
    let cache_read = figure(&details["cached_tokens"]);
    let cache_write = figure(&details["cache_write_tokens"]);
    TokenUsage {
        input: figure(&value["prompt_tokens"]) - cache_read - cache_write,
        cache_read,
        cache_write_5m: cache_write,
        cache_write_1h: Tokens::ZERO,
        output: figure(&value["completion_tokens"]),
    }
}

fn shape(source: serde_json::Error) -> Malformed {
    Malformed::Json {
        what: "chat.completion",
        source,
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
