//! A block that is being written.
//!
//! A block starts as the object the provider announces. Deltas collect beside it; when it stops,
//! the announced members are written once more, in their order, with the collected values in their
//! places. A block without deltas is the announced bytes.
//!
//! # Not here
//! The order of events: [`super::decode`].

use crate::error::Malformed;
use bytes::Bytes;
use dormouse_ask::{Delta, Unfinished};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::json::{self, ObjectWriter, RawJson, RawMembers, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug)]
pub(super) struct OpenBlock {
    head: RawJson,
    announced: Block,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    input: Option<String>,
    citations: Vec<RawJson>,
    /// Members that a delta brought whole.
    set: Vec<(String, RawJson)>,
}

/// The end of a block.
#[derive(Debug)]
pub(super) enum Closed {
    Block(Block),
    /// The input of a call is not JSON: excused only if a limit cut it off.
    BadInput(Unfinished, Malformed),
}

#[derive(Deserialize)]
struct WireDelta<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
    #[serde(borrow, default)]
    signature: Text<'a>,
    #[serde(borrow, default)]
    partial_json: Text<'a>,
    #[serde(borrow, default)]
    citation: Option<&'a RawValue>,
}

impl OpenBlock {
    pub(super) fn new(announced: &RawValue) -> Result<Self, Malformed> {
        let head: RawJson = serde_json::from_str(announced.get()).map_err(start)?;
        let block = Block::parse(head.bytes()).map_err(Malformed::Block)?;
        // Servers other than the provider announce a block with its first words; deltas follow
        // them.
        let words = block.readable_text().filter(|words| !words.is_empty());
        let (text, thinking) = match block.kind() {
            BlockKind::Text => (words, None),
            BlockKind::Thinking => (None, words),
            _ => (None, None),
        };
        Ok(Self {
            head,
            announced: block,
            text,
            thinking,
            signature: None,
            input: None,
            citations: Vec::new(),
            set: Vec::new(),
        })
    }

    pub(super) fn kind(&self) -> BlockKind {
        self.announced.kind()
    }

    pub(super) fn head(&self) -> &RawJson {
        &self.head
    }

    /// Grows the block. A kind of delta that is not known is handed on and leaves it as it is.
    pub(super) fn grow(&mut self, raw: &RawValue) -> Result<Delta, Malformed> {
        let delta: WireDelta<'_> = serde_json::from_str(raw.get()).map_err(shape)?;
        let owned = |text: Text<'_>| text.0.unwrap_or_default().into_owned();
        Ok(match delta.kind.0.as_deref() {
            Some("text_delta") => Delta::Text(push(&mut self.text, owned(delta.text))),
            Some("thinking_delta") => {
                Delta::Thinking(push(&mut self.thinking, owned(delta.thinking)))
            }
            Some("signature_delta") => {
                Delta::Signature(push(&mut self.signature, owned(delta.signature)))
            }
            Some("input_json_delta") => {
                Delta::InputJson(push(&mut self.input, owned(delta.partial_json)))
            }
            Some("citations_delta") if delta.citation.is_some() => {
                let citation: RawJson =
                    serde_json::from_str(delta.citation.map_or("null", RawValue::get))
                        .map_err(shape)?;
                self.citations.push(citation.clone());
                Delta::Citation(citation)
            }
            Some("compaction_delta") => {
                let members: RawMembers<'_> = serde_json::from_str(raw.get()).map_err(shape)?;
                for (name, value) in members.0 {
                    // The delta's own type would overwrite the block's.
                    if name != "type" {
                        let value = serde_json::from_str(value.get()).map_err(shape)?;
                        self.set.push((name.into_owned(), value));
                    }
                }
                Delta::Other(serde_json::from_str(raw.get()).map_err(shape)?)
            }
            _ => Delta::Other(serde_json::from_str(raw.get()).map_err(shape)?),
        })
    }

    /// The received part of a block that does not end.
    pub(super) fn unfinished(self) -> Unfinished {
        let received = self.text.or(self.thinking).or(self.input);
        Unfinished {
            head: self.head,
            received: received.unwrap_or_default(),
        }
    }

    pub(super) fn close(self) -> Result<Closed, Malformed> {
        let input = match self.input.as_deref().map(str::trim) {
            None => None,
            // A call without arguments sends no input at all.
            Some("") => Some(Bytes::from_static(b"{}")),
            Some(text) => match serde_json::from_str::<RawMembers<'_>>(text) {
                // Compact, so that the same call has the same bytes however the model spaced it.
                Ok(_) => Some(json::compact(&Bytes::copy_from_slice(text.as_bytes()))),
                Err(source) => {
                    let tool = self.announced.tool().unwrap_or_default().to_owned();
                    let error = Malformed::Input { tool, source };
                    return Ok(Closed::BadInput(self.unfinished(), error));
                }
            },
        };
        let mut values = self.set;
        // The first piece of input is often empty, also of calls that were announced whole.
        let keep_announced = input.as_deref() == Some(b"{}") && has_input(self.head.bytes());
        if let Some(input) = input.filter(|_| !keep_announced) {
            let input = serde_json::from_slice(&input).map_err(shape)?;
            values.push(("input".to_owned(), input));
        }
        for (name, text) in [
            ("text", self.text),
            ("thinking", self.thinking),
            ("signature", self.signature),
        ] {
            if let Some(text) = text {
                let value = RawJson::from_value(&text).map_err(shape)?;
                values.push((name.to_owned(), value));
            }
        }
        if !self.citations.is_empty() {
            let value = RawJson::from_value(&self.citations).map_err(shape)?;
            values.push(("citations".to_owned(), value));
        }
        // The announced bytes are kept: the provider must get back what it sent.
        if values.is_empty() {
            return Ok(Closed::Block(self.announced));
        }
        let bytes = with_values(self.head.bytes(), &values)?;
        let block = Block::parse(&Bytes::from(bytes)).map_err(Malformed::Block)?;
        Ok(Closed::Block(block))
    }
}

fn has_input(object: &Bytes) -> bool {
    serde_json::from_slice::<RawMembers<'_>>(object)
        .is_ok_and(|members| members.0.iter().any(|(name, _)| name == "input"))
}

/// The object with some members replaced, those it lacks at its end.
fn with_values(object: &Bytes, values: &[(String, RawJson)]) -> Result<Vec<u8>, Malformed> {
    let members: RawMembers<'_> = serde_json::from_slice(object).map_err(start)?;
    let added: usize = values.iter().map(|(_, value)| value.bytes().len()).sum();
    let mut out = ObjectWriter::with_capacity(object.len() + added + 64);
    let find = |wanted: &str| values.iter().rev().find(|(name, _)| name == wanted);
    for (name, value) in &members.0 {
        let value = find(name).map_or(value.get().as_bytes(), |(_, value)| value.bytes());
        out.raw(name).extend_from_slice(value);
    }
    for (at, (name, value)) in values.iter().enumerate() {
        let announced = members.0.iter().any(|(known, _)| known == name);
        // A member set twice is written once, with its last value.
        let again = values[at + 1..].iter().any(|(later, _)| later == name);
        if !announced && !again {
            out.raw(name).extend_from_slice(value.bytes());
        }
    }
    Ok(out.finish())
}

fn push(to: &mut Option<String>, piece: String) -> String {
    to.get_or_insert_default().push_str(&piece);
    piece
}

fn start(source: serde_json::Error) -> Malformed {
    Malformed::Json {
        what: "content_block_start",
        source,
    }
}

fn shape(source: serde_json::Error) -> Malformed {
    Malformed::Json {
        what: "content_block_delta",
        source,
    }
}

#[cfg(test)]
#[path = "open_block_tests.rs"]
mod tests;
