//! The events of the Messages wire, folded into a response.
//!
//! # Model
//! `message_start`, then blocks by index (start, deltas, stop), then `message_delta` with the
//! reason and the final figures, then `message_stop`; pings anywhere. Unknown events are handed on
//! as [`Event::Extra`]. An `error` event ends the stream.
//!
//! A stream that ends after the reason but without `message_stop` is complete: everything that
//! counts has arrived, and it was paid for.
//!
//! # Not here
//! Growing a block ([`super::open_block`]), errors ([`super::errors`]), usage ([`super::usage`]).

use super::errors;
use super::open_block::{Closed, OpenBlock};
use super::usage::WireUsage;
use crate::attempt::{Decoder, Head};
use crate::error::{Malformed, ModelError};
use dormouse_ask::{Event, Extras, Partial, Refusal, Response, StopReason, Unfinished};
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::json::{RawJson, Text};
use dormouse_core::usage::TokenUsage;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct MessageDecoder {
    head: Head,
    started: Option<(MessageId, Arc<str>)>,
    usage: TokenUsage,
    billed: Option<TokenUsage>,
    open: BTreeMap<u32, OpenBlock>,
    blocks: BTreeMap<u32, Block>,
    /// Calls whose input is no JSON, and the first reason.
    bad_input: Vec<Unfinished>,
    bad_reason: Option<Malformed>,
    stop: Option<StopReason>,
    extras: Extras,
    over: bool,
    content: bool,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    index: u32,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(borrow, default)]
    context_management: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// A message, whole or as a stream begins with it.
#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default)]
    content: Vec<Block>,
    #[serde(default)]
    usage: Option<WireUsage>,
    /// `null` and absent mean different things: asked for without a finding, and not asked for.
    #[serde(borrow, default, deserialize_with = "present")]
    diagnostics: Option<&'a RawValue>,
    #[serde(borrow, default)]
    context_management: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_transformations: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct WireEnd<'a> {
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
    #[serde(borrow, default)]
    stop_sequence: Text<'a>,
    #[serde(default)]
    stop_details: Option<WireDetails>,
    #[serde(borrow, default)]
    container: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireDetails {
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    explanation: Option<String>,
}

fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl WireEnd<'_> {
    fn reason(&self) -> Option<StopReason> {
        let refusal = || {
            let details = self.stop_details.as_ref();
            Refusal {
                category: details.and_then(|details| details.category.clone()),
                explanation: details.and_then(|details| details.explanation.clone()),
            }
        };
        Some(match StopReason::parse(self.stop_reason.0.as_deref()?) {
            StopReason::StopSequence(_) => {
                let sequence = self.stop_sequence.0.as_deref();
                StopReason::StopSequence(sequence.map(str::to_owned))
            }
            StopReason::Refusal(_) => StopReason::Refusal(refusal()),
            other => other,
        })
    }
}

impl MessageDecoder {
    pub(super) fn new(head: Head) -> Self {
        Self {
            head,
            started: None,
            usage: TokenUsage::default(),
            billed: None,
            open: BTreeMap::new(),
            blocks: BTreeMap::new(),
            bad_input: Vec::new(),
            bad_reason: None,
            stop: None,
            extras: Extras::default(),
            over: false,
            content: false,
        }
    }

    /// Reads a message that came in one piece.
    pub(super) fn whole(head: Head, body: &[u8]) -> Result<Response, ModelError> {
        let message: &RawValue = serde_json::from_slice(body).map_err(message_shape)?;
        let mut decoder = Self::new(head);
        // Some gateways send an error with the status of a success.
        if let Ok(wire) = serde_json::from_str::<Wire<'_>>(message.get())
            && wire.kind.0.as_deref() == Some("error")
        {
            return Err(errors::in_stream(wire.error, &decoder.head));
        }
        decoder.take_message(message)?;
        decoder.finish(&mut Vec::new())
    }

    /// Model, usage and billed usage as far as they have arrived; `None` before the start.
    pub(super) fn so_far(&self) -> Option<(Arc<str>, TokenUsage, TokenUsage)> {
        let (_, model) = self.started.as_ref()?;
        Some((
            Arc::clone(model),
            self.usage,
            self.billed.unwrap_or(self.usage),
        ))
    }

    fn take_message(&mut self, raw_message: &RawValue) -> Result<(), Malformed> {
        let message: WireMessage<'_> =
            serde_json::from_str(raw_message.get()).map_err(message_shape)?;
        let end: WireEnd<'_> = serde_json::from_str(raw_message.get()).map_err(message_shape)?;
        let (Some(id), Some(model)) = (message.id.0, message.model.0) else {
            return Err(Malformed::Order("the message has no id or no model"));
        };
        self.started = Some((MessageId::from(&*id), Arc::from(&*model)));
        self.take_usage(message.usage.as_ref());
        self.blocks = (0..).zip(message.content).collect();
        // Gateways may send content with the start; from then on a retry is forbidden.
        self.content |= !self.blocks.is_empty();
        // Whole messages carry it here, streams may have carried it before.
        self.extras.diagnostics = raw(message.diagnostics)?.or(self.extras.diagnostics.take());
        self.extras.input_transformations = raw(message.input_transformations)?;
        self.take_edits(message.context_management)?;
        self.take_end(&end)
    }

    fn take_usage(&mut self, usage: Option<&WireUsage>) {
        if let Some(usage) = usage {
            usage.update(&mut self.usage);
            // Kept from an earlier event if this one lists no iterations.
            self.billed = usage.billed().or(self.billed);
        }
    }

    fn take_edits(&mut self, edits: Option<&RawValue>) -> Result<(), Malformed> {
        if let Some(edits) = raw(edits)? {
            self.extras.context_management = Some(edits);
        }
        Ok(())
    }

    fn take_end(&mut self, end: &WireEnd<'_>) -> Result<(), Malformed> {
        self.stop = end.reason().or(self.stop.take());
        if let Some(container) = raw(end.container)? {
            self.extras.container = Some(container);
        }
        Ok(())
    }

    fn start_block(&mut self, wire: &Wire<'_>, out: &mut Vec<Event>) -> Result<(), Malformed> {
        let announced = wire
            .content_block
            .ok_or(Malformed::Order("a block starts without being announced"))?;
        let index = wire.index;
        // A repeated index would replace content that the reader has been shown.
        if self.open.contains_key(&index) || self.blocks.contains_key(&index) {
            return Err(Malformed::Order("a block starts twice"));
        }
        let block = OpenBlock::new(announced)?;
        self.content = true;
        out.push(Event::BlockStart {
            index,
            kind: block.kind(),
            head: block.head().clone(),
        });
        self.open.insert(index, block);
        Ok(())
    }

    fn stop_block(&mut self, index: u32, out: &mut Vec<Event>) -> Result<(), Malformed> {
        let open = self.open.remove(&index);
        let open = open.ok_or(Malformed::Order("a block stops that did not start"))?;
        let block = match open.close()? {
            Closed::Block(block) => Some(block),
            Closed::BadInput(unfinished, error) => {
                self.bad_input.push(unfinished);
                self.bad_reason.get_or_insert(error);
                None
            }
        };
        if let Some(block) = &block {
            self.blocks.insert(index, block.clone());
        }
        out.push(Event::BlockStop { index, block });
        Ok(())
    }

    /// The end came early: the provider's fault if it said that this is the end.
    fn too_early(&self, what: &'static str) -> ModelError {
        if self.over {
            Malformed::Order(what).into()
        } else {
            ModelError::Cut
        }
    }

    fn known(
        &mut self,
        kind: &str,
        wire: &Wire<'_>,
        out: &mut Vec<Event>,
    ) -> Result<bool, ModelError> {
        match kind {
            "message_start" => {
                let message = wire
                    .message
                    .ok_or(Malformed::Order("the message is missing in its start"))?;
                self.take_message(message)?;
                if let Some((id, model)) = self.started.clone() {
                    let usage = self.usage;
                    out.push(Event::MessageStart { id, model, usage });
                }
            }
            "content_block_start" => self.start_block(wire, out)?,
            "content_block_delta" => {
                let index = wire.index;
                let open = self.open.get_mut(&index);
                let (Some(block), Some(raw)) = (open, wire.delta) else {
                    return Err(Malformed::Order("a delta belongs to no open block").into());
                };
                let delta = block.grow(raw)?;
                out.push(Event::Delta { index, delta });
            }
            "content_block_stop" => self.stop_block(wire.index, out)?,
            "message_delta" => {
                let known = self.stop.is_some();
                if let Some(raw) = wire.delta {
                    let end = serde_json::from_str(raw.get()).map_err(event_shape)?;
                    self.take_end(&end)?;
                }
                self.take_usage(wire.usage.as_ref());
                self.take_edits(wire.context_management)?;
                out.push(Event::Usage(self.usage));
                // Told once, although later deltas may update the figures again.
                if let Some(reason) = self.stop.clone().filter(|_| !known) {
                    out.push(Event::Stop(reason));
                }
            }
            "message_stop" => self.over = true,
            "ping" => out.push(Event::Ping),
            "error" => return Err(errors::in_stream(wire.error, &self.head)),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Decoder for MessageDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Event>) -> Result<(), ModelError> {
        let kind = match serde_json::from_str::<Wire<'_>>(data) {
            Ok(wire) => {
                let kind = wire.kind.0.as_deref().unwrap_or(name).to_owned();
                if self.known(&kind, &wire, out)? {
                    return Ok(());
                }
                kind
            }
            // An unknown event may hold anything; a known one that does not parse loses content.
            Err(source) if is_known(name) => return Err(event_shape(source).into()),
            Err(_) => name.to_owned(),
        };
        // Data that is not JSON at all is handed on as text.
        let data = serde_json::from_str(data).or_else(|_| RawJson::from_value(data));
        let data = data.map_err(event_shape)?;
        out.push(Event::Extra { name: kind, data });
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(&mut self, _: &mut Vec<Event>) -> Result<Response, ModelError> {
        let (Some((id, model)), Some(stop_reason)) = (self.started.clone(), self.stop.clone())
        else {
            return Err(self.too_early("the message ends without a reason"));
        };
        // A block without its end may lack its last words, or half a call.
        if !self.open.is_empty() {
            return Err(self.too_early("the message ends inside a block"));
        }
        // A limit may cut a call in two; that is the limit's end, not a malformed answer.
        if let Some(error) = self.bad_reason.take().filter(|_| !stop_reason.is_cut_off()) {
            return Err(error.into());
        }
        Ok(Response {
            id,
            model,
            blocks: std::mem::take(&mut self.blocks).into_values().collect(),
            cut_off: std::mem::take(&mut self.bad_input),
            stop_reason,
            usage: self.usage,
            billed: self.billed.unwrap_or(self.usage),
            extras: std::mem::take(&mut self.extras),
            request_id: self.head.request_id.take(),
            rate_limits: std::mem::take(&mut self.head.rate_limits),
            warnings: Vec::new(),
        })
    }

    fn partial(&mut self) -> Option<Partial> {
        if !self.content {
            return None;
        }
        let (id, model) = self.started.clone().unzip();
        let bad_input = std::mem::take(&mut self.bad_input).into_iter();
        let open = std::mem::take(&mut self.open).into_values();
        Some(Partial {
            id,
            model,
            blocks: std::mem::take(&mut self.blocks).into_values().collect(),
            unfinished: bad_input.chain(open.map(OpenBlock::unfinished)).collect(),
            usage: self.usage,
        })
    }
}

fn is_known(name: &str) -> bool {
    matches!(
        name,
        "message_start"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
            | "error"
    )
}

fn raw(value: Option<&RawValue>) -> Result<Option<RawJson>, Malformed> {
    value
        .map(|value| serde_json::from_str(value.get()))
        .transpose()
        .map_err(event_shape)
}

fn event_shape(source: serde_json::Error) -> Malformed {
    Malformed::Json {
        what: "event",
        source,
    }
}

fn message_shape(source: serde_json::Error) -> Malformed {
    Malformed::Json {
        what: "message",
        source,
    }
}
