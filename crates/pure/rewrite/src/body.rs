//! A request's body, divided into turns and parts by its bytes.
//!
//! Nothing is copied and nothing is made canonical here: parts are slices of the body. The places of
//! messages and members ([`Layout`]) are read only for a body that is written anew; most are not.

use bytes::Bytes;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;
use dormouse_recognise::{Divided, DividedPart, NotUnderstood, Seen};
pub(crate) use dormouse_recognise::{PartKind as Kind, Role};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// Reason that a body is passed on as it is.
#[derive(Debug, thiserror::Error)]
pub enum NotDivided {
    /// Not in the shape of the Messages API.
    #[error("the body cannot be divided into messages")]
    NotUnderstood(#[from] NotUnderstood),
    /// A member whose meaning depends on the messages' bytes.
    #[error("the request has `{0}`, which refers to its messages")]
    Member(&'static str),
}

/// One message of the client.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    /// Indices of its parts.
    pub(crate) parts: Range<usize>,
}

/// Bytes of one message.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// Bytes of the message, as the client sent them.
    pub(crate) raw: Bytes,
    /// Place of its content within them.
    pub(crate) content: Range<usize>,
}

/// Places of the members that are written anew.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Place of the messages' list.
    pub(crate) messages: Range<usize>,
    /// Place of the limit of the answer, and the limit.
    pub(crate) max_tokens: Option<(Range<usize>, u64)>,
    pub(crate) system: Option<Range<usize>>,
    pub(crate) tools: Option<Range<usize>>,
    /// Messages, one for each turn.
    pub(crate) spans: Vec<Span>,
}

/// One content block of the client.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts of a block that do not exclude each other"
)]
pub(crate) struct Part {
    pub(crate) kind: Kind,
    /// The block's bytes; those of a plain string are made here.
    pub(crate) raw: Bytes,
    /// Id of a call, or of the call that a result answers.
    pub(crate) call: Option<String>,
    /// Name of a called tool.
    pub(crate) tool: Option<String>,
    pub(crate) is_error: bool,
    /// True if encoded media stand within: they are not measured by their bytes.
    has_media: bool,
    /// True if a marker stands on the block or within it.
    pub(crate) is_marked: bool,
    /// True if the API lets a marker stand on it.
    pub(crate) takes_marker: bool,
}

/// A body in parts. See the module documentation.
#[derive(Clone, Debug)]
pub struct Body {
    pub(crate) bytes: Bytes,
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

/// The same body, for the places of its members.
#[derive(Deserialize)]
struct WireLayout<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_tokens: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireTurn<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Name of the member that marks a block.
const MARKER: &[u8] = b"\"cache_control\"";
/// Name of the encoding of media.
const MEDIA: &[u8] = b"\"base64\"";

impl Body {
    /// Divides a body.
    ///
    /// # Errors
    /// When the body has no such shape, or is one whose messages must stay as they are.
    pub fn read(bytes: &Bytes) -> Result<Self, NotDivided> {
        Self::of(bytes, Seen::divide(bytes)?).1
    }

    /// The body of a request that was divided, and its digests.
    pub fn of(bytes: &Bytes, divided: Divided<'_>) -> (Seen, Result<Self, NotDivided>) {
        // A thread's history is the provider's, and so is one that the provider compacts. Its other
        // edits take thinking or results out of whatever prompt they are given.
        let compacts = |edits: &&RawValue| edits.get().contains("\"compact");
        for (name, member) in [
            ("thread", divided.thread),
            ("compaction", divided.compaction),
            (
                "context_management",
                divided.context_management.filter(compacts),
            ),
        ] {
            if member.is_some_and(|member| member.get() != "null") {
                return (divided.seen, Err(NotDivided::Member(name)));
            }
        }
        let mut turns = Vec::with_capacity(divided.turns.len());
        let mut parts: Vec<Part> = Vec::with_capacity(divided.seen.len());
        for turn in divided.turns {
            let first = parts.len();
            parts.extend(turn.parts.into_iter().map(|one| part(bytes, one)));
            turns.push(Turn {
                role: turn.role,
                parts: first..parts.len(),
            });
        }
        if parts.iter().any(|part| part.kind == Kind::Compaction) {
            return (divided.seen, Err(NotDivided::Member("compaction")));
        }
        let outside: Vec<&str> = [divided.tools, divided.system]
            .into_iter()
            .flatten()
            .map(RawValue::get)
            .collect();
        let in_outside = outside
            .iter()
            .map(|text| count(text.as_bytes()))
            .sum::<usize>();
        let automatic = divided
            .cache_control
            .is_some_and(|marker| marker.get() != "null");
        let marked = parts.iter().rev().find(|part: &&Part| part.is_marked);
        let marker = marked.and_then(|part| marker_in(&part.raw)).or_else(|| {
            outside
                .iter()
                .rev()
                .find_map(|text| marker_in(text.as_bytes()))
        });
        let body = Self {
            bytes: bytes.clone(),
            prefix: outside.iter().map(|text| text.len()).sum(),
            markers_outside: in_outside + usize::from(automatic),
            automatic,
            marker,
            has_tools: divided.tools.is_some_and(|tools| tools.get().len() > 2),
            model: divided.seen.model.clone().unwrap_or_default(),
            turns,
            parts,
        };
        (divided.seen, Ok(body))
    }

    /// Places of the members; `None` if the body is read otherwise than before.
    pub(crate) fn layout(&self) -> Option<Layout> {
        let place = |raw: &RawValue| {
            let start = raw.get().as_ptr().addr() - self.bytes.as_ptr().addr();
            start..start + raw.get().len()
        };
        let wire: WireLayout<'_> = serde_json::from_slice(&self.bytes).ok()?;
        let list: Vec<&RawValue> = serde_json::from_str(wire.messages.get()).ok()?;
        let mut spans = Vec::with_capacity(list.len());
        for raw in list {
            let turn: WireTurn<'_> = serde_json::from_str(raw.get()).ok()?;
            let start = turn.content.get().as_ptr().addr() - raw.get().as_ptr().addr();
            spans.push(Span {
                raw: self.bytes.slice_ref(raw.get().as_bytes()),
                content: start..start + turn.content.get().len(),
            });
        }
        let limit = wire.max_tokens.and_then(|raw| {
            let value = raw.get().parse().ok()?;
            Some((place(raw), value))
        });
        let layout = Layout {
            messages: place(wire.messages),
            max_tokens: limit,
            system: wire.system.map(place),
            tools: wire.tools.map(place),
            spans,
        };
        (layout.spans.len() == self.turns.len()).then_some(layout)
    }

    /// Number of content blocks.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// True without a content block.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// True if the client offers tools: its conversation goes on.
    pub const fn offers_tools(&self) -> bool {
        self.has_tools
    }

    /// True once the history holds an answer.
    pub fn is_answered(&self) -> bool {
        self.round() > 0
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
        if self.has_media {
            return tokens_of(&self.raw, bytes);
        }
        bytes.text.tokens_of(self.raw.len() as u64)
    }

    /// The part as a block: canonical, without markers.
    pub(crate) fn block(&self) -> Option<Block> {
        Block::parse(&self.raw).ok()
    }
}

/// Estimated tokens of a block's bytes. Images are not measured by their bytes.
pub(crate) fn tokens_of(raw: &Bytes, bytes: BytesPerToken) -> Tokens {
    let whole = || bytes.text.tokens_of(raw.len() as u64);
    if memmem::find(raw, MEDIA).is_none() {
        return whole();
    }
    match Block::parse(raw) {
        Ok(block) => dormouse_context::tokens::estimate(block.weight(), bytes),
        Err(_) => whole(),
    }
}

fn part(body: &Bytes, one: DividedPart<'_>) -> Part {
    let raw = match one.raw {
        Cow::Borrowed(raw) => body.slice_ref(raw.as_bytes()),
        Cow::Owned(raw) => raw.into(),
    };
    Part {
        kind: one.kind,
        call: one.call,
        tool: one.tool,
        is_error: one.is_error,
        has_media: memmem::find(&raw, MEDIA).is_some(),
        is_marked: memmem::find(&raw, MARKER).is_some(),
        takes_marker: match one.kind {
            Kind::Text => !one.is_blank,
            Kind::ToolUse | Kind::ToolResult => true,
            Kind::Thinking | Kind::Compaction | Kind::Other => false,
        },
        raw,
    }
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
