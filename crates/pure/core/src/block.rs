//! Content blocks: the atoms of every prompt.
//!
//! A [`Block`] is its canonical bytes: the JSON object as it was first seen, without insignificant
//! white space and without any `cache_control`. The bytes are made once, shared by every view,
//! fork and request, and never printed again. What the engine must know about a block (its kind,
//! the call it belongs to, its weight) is read from the bytes when the block is made and kept
//! beside them. Cloning a block copies a pointer.
//!
//! Equality and hash are those of the bytes; cache markers are no part of them. A block of an
//! unknown type is a block like any other.
//!
//! Not here: roles, order and markers (they belong to the view and to assembly), and what a block
//! costs in tokens for a given model (see `dormouse-context`, which uses [`Weight`]).

use crate::hash::Hash;
use crate::id::CallId;
use crate::json::{self, Flag, RawJson, RawMembers, Text};
use crate::weight::Weight;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Why some JSON cannot be a content block.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// Not JSON, or an object that names a member twice.
    #[error("the content block is not a JSON object of the expected shape")]
    Malformed(#[source] serde_json::Error),
    /// JSON, but not an object.
    #[error("a content block must be a JSON object, not {found}")]
    NotAnObject {
        /// What stands there instead.
        found: &'static str,
    },
    /// The object has no `type`.
    #[error("the content block has no `type`")]
    NoType,
    /// A value could not be serialised.
    #[error("the content block could not be serialised")]
    Unserialisable(#[source] serde_json::Error),
}

/// What a block is, as far as the engine treats it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Plain text.
    Text,
    /// An image.
    Image,
    /// A document (PDF or text).
    Document,
    /// Reasoning with a signature.
    Thinking,
    /// Reasoning the provider hides.
    RedactedThinking,
    /// A call of a tool that the client runs.
    ToolUse,
    /// The answer to such a call.
    ToolResult,
    /// The provider's own compaction summary.
    Compaction,
    /// Everything else, known to the provider or not: carried through untouched.
    Other,
}

impl BlockKind {
    fn of(name: &str) -> Self {
        match name {
            "text" => Self::Text,
            "image" => Self::Image,
            "document" => Self::Document,
            "thinking" => Self::Thinking,
            "redacted_thinking" => Self::RedactedThinking,
            "tool_use" => Self::ToolUse,
            "tool_result" => Self::ToolResult,
            "compaction" => Self::Compaction,
            _ => Self::Other,
        }
    }

    /// Whether the block is reasoning, open or hidden.
    pub const fn is_thinking(self) -> bool {
        matches!(self, Self::Thinking | Self::RedactedThinking)
    }
}

#[derive(PartialEq, Eq)]
struct Inner {
    bytes: Bytes,
    kind: BlockKind,
    hash: Hash,
    call: Option<CallId>,
    tool: Option<Arc<str>>,
    /// Text without a character, or thinking without a signature: the API would refuse it.
    unsendable: bool,
    is_error: bool,
    weight: Weight,
}

/// One content block. See the module documentation.
#[derive(Clone)]
pub struct Block(Arc<Inner>);

/// The members the engine looks at; everything else is skipped, not parsed.
#[derive(Deserialize)]
pub(crate) struct Head<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    tool_use_id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    signature: Text<'a>,
    #[serde(default)]
    is_error: Flag,
    #[serde(borrow, default)]
    pub(crate) text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) source: Option<&'a RawValue>,
}

impl Block {
    /// Takes one JSON object as a block. The bytes are shared, not copied, when they are already
    /// canonical.
    ///
    /// # Errors
    /// When the text is not a JSON object with a `type`.
    pub fn parse(raw: &Bytes) -> Result<Self, BlockError> {
        let bytes = strip_markers(&json::compact(raw))?;
        match bytes.first() {
            Some(b'{') => {}
            Some(b'"') => return Err(BlockError::NotAnObject { found: "a string" }),
            Some(b'[') => return Err(BlockError::NotAnObject { found: "an array" }),
            _ => {
                return Err(BlockError::NotAnObject {
                    found: "a plain value",
                });
            }
        }
        let head: Head<'_> = serde_json::from_slice(&bytes).map_err(BlockError::Malformed)?;
        let name = head.kind.0.as_deref().ok_or(BlockError::NoType)?;
        let kind = BlockKind::of(name);
        let unsendable = match kind {
            BlockKind::Text => head.text.is_none_or(|text| text.get() == "\"\""),
            BlockKind::Thinking => head.signature.0.as_deref().unwrap_or_default().is_empty(),
            _ => false,
        };
        let call = match kind {
            BlockKind::ToolUse => head.id.0.as_deref(),
            BlockKind::ToolResult => head.tool_use_id.0.as_deref(),
            _ => None,
        };
        let inner = Inner {
            kind,
            hash: Hash::of(&bytes),
            call: call.map(CallId::from),
            tool: head.name.0.as_deref().map(Arc::from),
            unsendable,
            is_error: head.is_error.0,
            weight: Weight::of_block(kind, &head, bytes.len()),
            bytes: bytes.clone(),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Serialises a value as a block. This is the one place where prompt bytes are made.
    ///
    /// # Errors
    /// When the value is not an object with a `type`.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, BlockError> {
        let bytes = json::to_bytes(value).map_err(BlockError::Unserialisable)?;
        Self::parse(&bytes)
    }

    /// A text block.
    pub fn text(text: &str) -> Self {
        Self::of_text(text.is_empty(), &json_string(text))
    }

    /// The text block that a message with plain string content stands for. `raw` is the JSON
    /// string, quotes included; its bytes are kept as they are.
    pub(crate) fn of_json_string(raw: &RawValue) -> Self {
        Self::of_text(raw.get() == "\"\"", raw.get())
    }

    fn of_text(empty: bool, quoted: &str) -> Self {
        let mut bytes = Vec::with_capacity(quoted.len() + 24);
        bytes.extend_from_slice(b"{\"type\":\"text\",\"text\":");
        bytes.extend_from_slice(quoted.as_bytes());
        bytes.push(b'}');
        Self(Arc::new(Inner {
            kind: BlockKind::Text,
            hash: Hash::of(&bytes),
            call: None,
            tool: None,
            unsendable: empty,
            is_error: false,
            weight: Weight::of_json_text(quoted),
            bytes: Bytes::from(bytes),
        }))
    }

    /// A tool result with text as its content.
    pub fn tool_result(call: &CallId, text: &str, is_error: bool) -> Self {
        let quoted = json_string(text);
        let mut bytes = Vec::with_capacity(quoted.len() + 96);
        bytes.extend_from_slice(b"{\"type\":\"tool_result\",\"tool_use_id\":");
        bytes.extend_from_slice(json_string(call.as_str()).as_bytes());
        bytes.extend_from_slice(b",\"content\":");
        bytes.extend_from_slice(quoted.as_bytes());
        if is_error {
            bytes.extend_from_slice(b",\"is_error\":true");
        }
        bytes.push(b'}');
        Self(Arc::new(Inner {
            kind: BlockKind::ToolResult,
            hash: Hash::of(&bytes),
            call: Some(call.clone()),
            tool: None,
            unsendable: false,
            is_error,
            weight: Weight::of_json_text(&quoted),
            bytes: Bytes::from(bytes),
        }))
    }

    /// The canonical bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// What kind of block it is.
    pub fn kind(&self) -> BlockKind {
        self.0.kind
    }

    /// The hash of the canonical bytes.
    pub fn hash(&self) -> Hash {
        self.0.hash
    }

    /// The call a `tool_use` makes or a `tool_result` answers.
    pub fn call(&self) -> Option<&CallId> {
        self.0.call.as_ref()
    }

    /// The tool a `tool_use` names.
    pub fn tool(&self) -> Option<&str> {
        self.0.tool.as_deref()
    }

    /// Whether a tool result says that the tool failed.
    pub fn is_error(&self) -> bool {
        self.0.is_error
    }

    /// Whether the provider would refuse the block by itself: empty text, unsigned thinking.
    pub fn is_unsendable(&self) -> bool {
        self.0.unsendable
    }

    /// Whether a cache marker may stand on the block.
    pub fn takes_marker(&self) -> bool {
        !self.0.kind.is_thinking() && !self.0.unsendable
    }

    /// What the token estimate needs to know.
    pub fn weight(&self) -> &Weight {
        &self.0.weight
    }

    /// Whether both are the very same allocation: shared, not equal by chance.
    pub fn shares_bytes_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The block's readable text: of a text block, of thinking, of a tool result's text parts, or of
    /// the provider's summary.
    pub fn readable_text(&self) -> Option<String> {
        let head: Head<'_> = serde_json::from_slice(&self.0.bytes).ok()?;
        let raw = match self.0.kind {
            BlockKind::Text => head.text?,
            BlockKind::Thinking => head.thinking?,
            BlockKind::ToolResult | BlockKind::Compaction => head.content?,
            _ => return None,
        };
        text_of(raw)
    }

    /// The string at `name` of a tool call's input, such as the path a file tool was given.
    pub fn input_text(&self, name: &str) -> Option<String> {
        serde_json::from_str(&self.input_json(name)?).ok()
    }

    /// The JSON at `name` of a tool call's input.
    pub fn input_json(&self, name: &str) -> Option<String> {
        let head: Head<'_> = serde_json::from_slice(&self.0.bytes).ok()?;
        let members: RawMembers<'_> = serde_json::from_str(head.input?.get()).ok()?;
        let (_, value) = members.0.into_iter().find(|(key, _)| key == name)?;
        Some(value.get().to_owned())
    }
}

/// The text of a JSON string, or of all text blocks in an array of blocks.
fn text_of(raw: &RawValue) -> Option<String> {
    if raw.get().starts_with('"') {
        return serde_json::from_str(raw.get()).ok();
    }
    let parts: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    let mut text = String::new();
    for part in parts {
        let head: Head<'_> = serde_json::from_str(part.get()).ok()?;
        if let Some(raw) = head.text {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&serde_json::from_str::<String>(raw.get()).ok()?);
        }
    }
    Some(text)
}

/// JSON strings cannot fail to serialise; an empty string stands in for the impossible.
fn json_string(text: &str) -> String {
    json::to_bytes(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes.into()).ok())
        .unwrap_or_else(|| "\"\"".to_owned())
}

/// Takes `cache_control` out of a block and out of the parts of a tool result.
fn strip_markers(bytes: &Bytes) -> Result<Bytes, BlockError> {
    const MARKER: &str = "cache_control";
    if memchr::memmem::find(bytes, b"\"cache_control\"").is_none() {
        return Ok(bytes.clone());
    }
    let members: RawMembers<'_> = serde_json::from_slice(bytes).map_err(BlockError::Malformed)?;
    let mut out = json::ObjectWriter::with_capacity(bytes.len());
    for (name, value) in members.0 {
        if name == MARKER {
            continue;
        }
        let key = json_string(&name);
        let value = if name == "content" && value.get().starts_with('[') {
            strip_parts(value)?
        } else {
            Cow::Borrowed(value.get().as_bytes())
        };
        out.raw(key.trim_matches('"')).extend_from_slice(&value);
    }
    Ok(Bytes::from(out.finish()))
}

fn strip_parts(array: &RawValue) -> Result<Cow<'_, [u8]>, BlockError> {
    let parts: Vec<&RawValue> = serde_json::from_str(array.get()).map_err(BlockError::Malformed)?;
    let mut out = Vec::with_capacity(array.get().len());
    for part in parts {
        out.push(if out.is_empty() { b'[' } else { b',' });
        let part = Bytes::copy_from_slice(part.get().as_bytes());
        let stripped = if part.starts_with(b"{") {
            strip_markers(&part)?
        } else {
            part
        };
        out.extend_from_slice(&stripped);
    }
    if out.is_empty() {
        out.push(b'[');
    }
    out.push(b']');
    Ok(Cow::Owned(out))
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.shares_bytes_with(other) || self.0.bytes == other.0.bytes
    }
}

impl Eq for Block {}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0.bytes))
    }
}

impl From<&Block> for RawJson {
    /// The block's bytes as JSON, shared.
    fn from(block: &Block) -> Self {
        Self::of_canonical(block.bytes().clone())
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawJson::of_canonical(self.0.bytes.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text: Box<str> = raw.into();
        Self::parse(&Bytes::from(text.into_string())).map_err(de::Error::custom)
    }
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
