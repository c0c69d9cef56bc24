//! A request's body, divided into turns and parts by its bytes.
//!
//! Nothing is copied and nothing is made canonical here: parts are slices of the body.

use bytes::Bytes;
use dormouse_core::block::Block;
use dormouse_core::json::Text;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::Range;

/// Reason that a body is passed on as it is.
#[derive(Debug, thiserror::Error)]
pub enum NotDivided {
    /// Not in the shape of the Messages API.
    #[error("the body cannot be divided into messages")]
    Shape(#[from] serde_json::Error),
    /// A member whose meaning depends on the messages' bytes.
    #[error("the request has `{0}`, which refers to its messages")]
    Member(&'static str),
}

/// Speaker of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    System,
}

/// Type of a part, as far as the layers differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Thinking,
    ToolUse,
    ToolResult,
    /// The provider's own summary, which must stay where it is.
    Compaction,
    Other,
}

/// One message of the client.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    /// The message's bytes.
    pub(crate) raw: Bytes,
    /// Place of its content within them.
    pub(crate) content: Range<usize>,
    /// Indices of its parts.
    pub(crate) parts: Range<usize>,
}

/// One content block of the client.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) kind: Kind,
    /// The block's bytes; those of a plain string are made here.
    pub(crate) raw: Bytes,
    /// Id of a call, or of the call that a result answers.
    pub(crate) call: Option<String>,
    /// Name of a called tool.
    pub(crate) tool: Option<String>,
    pub(crate) is_error: bool,
    /// True if a marker stands on the block or within it.
    pub(crate) is_marked: bool,
    /// True if the API lets a marker stand on it.
    pub(crate) takes_marker: bool,
}

/// A body in parts. See the module documentation.
#[derive(Clone, Debug)]
pub struct Body {
    pub(crate) bytes: Bytes,
    /// Place of the messages' list.
    pub(crate) messages: Range<usize>,
    /// Place of the limit of the answer.
    pub(crate) max_tokens: Option<(Range<usize>, u64)>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) parts: Vec<Part>,
    /// Bytes of system prompt and tools.
    pub(crate) prefix: usize,
    /// Markers outside of the messages, the provider's automatic one included.
    pub(crate) markers_outside: usize,
    /// True if the provider is told to place a marker by itself.
    pub(crate) automatic: bool,
    /// A marker as this client writes them.
    pub(crate) marker: Option<String>,
    /// True if tools are offered: such a conversation goes on.
    pub(crate) has_tools: bool,
    /// Model that is asked for.
    pub model: String,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow)]
    messages: &'a RawValue,
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thread: Option<&'a RawValue>,
    #[serde(borrow, default)]
    compaction: Option<&'a RawValue>,
    #[serde(borrow, default)]
    context_management: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireTurn<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct WirePart<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    tool_use_id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    is_error: Option<&'a RawValue>,
}

/// Name of the member that marks a block.
const MARKER: &[u8] = b"\"cache_control\"";

impl Body {
    /// Divides a body.
    ///
    /// # Errors
    /// When the body has no such shape, or is one whose messages must stay as they are.
    pub fn read(bytes: &Bytes) -> Result<Self, NotDivided> {
        let wire: Wire<'_> = serde_json::from_slice(bytes)?;
        // A thread's history is the provider's, and so is one that the provider compacts. Its other
        // edits take thinking or results out of whatever prompt they are given.
        let compacts = |edits: &&RawValue| edits.get().contains("\"compact");
        for (name, member) in [
            ("thread", wire.thread),
            ("compaction", wire.compaction),
            (
                "context_management",
                wire.context_management.filter(compacts),
            ),
        ] {
            if member.is_some_and(|member| member.get() != "null") {
                return Err(NotDivided::Member(name));
            }
        }
        let place = |raw: &RawValue| {
            let start = raw.get().as_ptr().addr() - bytes.as_ptr().addr();
            start..start + raw.get().len()
        };
        let mut turns = Vec::new();
        let mut parts = Vec::new();
        let list: Vec<&RawValue> = serde_json::from_str(wire.messages.get())?;
        for raw in list {
            turns.push(turn(bytes, raw, &mut parts)?);
        }
        if parts
            .iter()
            .any(|part: &Part| part.kind == Kind::Compaction)
        {
            return Err(NotDivided::Member("compaction"));
        }
        let outside: Vec<&str> = [wire.tools, wire.system]
            .into_iter()
            .flatten()
            .map(RawValue::get)
            .collect();
        let in_outside = outside
            .iter()
            .map(|text| count(text.as_bytes()))
            .sum::<usize>();
        let automatic = wire
            .cache_control
            .is_some_and(|marker| marker.get() != "null");
        let marked = parts.iter().rev().find(|part: &&Part| part.is_marked);
        let marker = marked.and_then(|part| marker_in(&part.raw)).or_else(|| {
            outside
                .iter()
                .rev()
                .find_map(|text| marker_in(text.as_bytes()))
        });
        let limit = wire.max_tokens.and_then(|raw| {
            let value = raw.get().parse().ok()?;
            Some((place(raw), value))
        });
        Ok(Self {
            bytes: bytes.clone(),
            messages: place(wire.messages),
            max_tokens: limit,
            prefix: outside.iter().map(|text| text.len()).sum(),
            markers_outside: in_outside + usize::from(automatic),
            automatic,
            marker,
            has_tools: wire.tools.is_some_and(|tools| tools.get().len() > 2),
            model: wire.model.0.unwrap_or_default().into_owned(),
            turns,
            parts,
        })
    }

    /// Number of content blocks.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// True without a content block.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// True if a block of the messages carries a marker.
    pub(crate) fn is_marked(&self) -> bool {
        self.parts.iter().any(|part| part.is_marked)
    }

    /// Index of the first part that no answer follows: the newest words and results.
    pub(crate) fn round(&self) -> usize {
        let answers = self
            .turns
            .iter()
            .rposition(|turn| turn.role == Role::Assistant);
        answers.map_or(0, |at| self.turns[at].parts.end)
    }

    /// Index of the first part of the newest answer; the end of the history without one.
    pub(crate) fn last_answer(&self) -> usize {
        let answers = self
            .turns
            .iter()
            .rposition(|turn| turn.role == Role::Assistant);
        answers.map_or(self.parts.len(), |at| self.turns[at].parts.start)
    }

    /// The part that makes the call of a result.
    pub(crate) fn call_of(&self, result: usize) -> Option<&Part> {
        let id = self.parts.get(result)?.call.as_deref()?;
        let before = self.parts.get(..result)?.iter().rev();
        let mut calls = before.filter(|part| part.kind == Kind::ToolUse);
        calls.find(|part| part.call.as_deref() == Some(id))
    }
}

impl Part {
    /// Estimated tokens of the part.
    pub(crate) fn tokens(&self, bytes: BytesPerToken) -> Tokens {
        tokens_of(&self.raw, bytes)
    }

    /// The part as a block: canonical, without markers.
    pub(crate) fn block(&self) -> Option<Block> {
        Block::parse(&self.raw).ok()
    }
}

/// Estimated tokens of a block's bytes. Images are not measured by their bytes.
pub(crate) fn tokens_of(raw: &Bytes, bytes: BytesPerToken) -> Tokens {
    let whole = || bytes.text.tokens_of(raw.len() as u64);
    if memmem::find(raw, b"\"base64\"").is_none() {
        return whole();
    }
    match Block::parse(raw) {
        Ok(block) => dormouse_context::tokens::estimate(block.weight(), bytes),
        Err(_) => whole(),
    }
}

fn turn(body: &Bytes, raw: &RawValue, parts: &mut Vec<Part>) -> Result<Turn, serde_json::Error> {
    let wire: WireTurn<'_> = serde_json::from_str(raw.get())?;
    let start = wire.content.get().as_ptr().addr() - raw.get().as_ptr().addr();
    let first = parts.len();
    let content = wire.content.get();
    if content.starts_with('"') {
        parts.push(Part {
            kind: Kind::Text,
            raw: format!("{{\"type\":\"text\",\"text\":{content}}}").into(),
            call: None,
            tool: None,
            is_error: false,
            is_marked: false,
            takes_marker: content.len() > 2,
        });
    } else {
        let list: Vec<&RawValue> = serde_json::from_str(content)?;
        for block in list {
            parts.push(part(body, block)?);
        }
    }
    Ok(Turn {
        role: match wire.role.0.as_deref() {
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => Role::User,
        },
        raw: body.slice_ref(raw.get().as_bytes()),
        content: start..start + content.len(),
        parts: first..parts.len(),
    })
}

fn part(body: &Bytes, raw: &RawValue) -> Result<Part, serde_json::Error> {
    let wire: WirePart<'_> = serde_json::from_str(raw.get())?;
    let kind = match wire.kind.0.as_deref() {
        Some("text") => Kind::Text,
        Some("thinking" | "redacted_thinking") => Kind::Thinking,
        Some("tool_use") => Kind::ToolUse,
        Some("tool_result") => Kind::ToolResult,
        Some("compaction") => Kind::Compaction,
        _ => Kind::Other,
    };
    let call = match kind {
        Kind::ToolUse => wire.id.0,
        Kind::ToolResult => wire.tool_use_id.0,
        _ => None,
    };
    let is_blank = wire.text.is_none_or(|text| text.get().len() <= 2);
    Ok(Part {
        kind,
        raw: body.slice_ref(raw.get().as_bytes()),
        call: call.map(std::borrow::Cow::into_owned),
        tool: wire.name.0.map(std::borrow::Cow::into_owned),
        is_error: wire.is_error.is_some_and(|flag| flag.get() == "true"),
        is_marked: memmem::find(raw.get().as_bytes(), MARKER).is_some(),
        takes_marker: match kind {
            Kind::Text => !is_blank,
            Kind::ToolUse | Kind::ToolResult => true,
            Kind::Thinking | Kind::Compaction | Kind::Other => false,
        },
    })
}

/// Number of markers in some JSON. Words that look like one count, too: fewer of ours is safe.
fn count(json: &[u8]) -> usize {
    memmem::find_iter(json, MARKER).count()
}

/// The last marker in some JSON, as it is written there.
fn marker_in(json: &[u8]) -> Option<String> {
    let at = memmem::rfind(json, MARKER)? + MARKER.len();
    let rest = std::str::from_utf8(json.get(at..)?).ok()?;
    let value = rest.trim_start().strip_prefix(':')?;
    // One value, whatever follows it.
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<&RawValue>();
    let value = values.next()?.ok()?.get();
    value.starts_with('{').then(|| value.to_owned())
}
