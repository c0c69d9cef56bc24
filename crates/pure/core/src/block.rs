//! Content blocks, the smallest units of every prompt.
//!
//! A [`Block`] is its canonical bytes: the JSON object as it was first seen, without insignificant
//! white space and without any `cache_control`. The bytes are made once, shared by every view, fork
//! and request, and never serialised again. The facts the engine needs about a block (its kind, the
//! call it belongs to, its weight) are read from the bytes when the block is made and stored beside
//! them. Cloning a block copies a pointer.
//!
//! Equality and hash cover the bytes and therefore no cache markers. A block of an unknown type is
//! carried through like any other.
//!
//! Not here: roles, order and markers (the view and assembly own those), and the token count for a
//! given model (`dormouse-context` computes it from [`Weight`]).

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

/// Reason why JSON text was rejected as a content block.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// Invalid JSON, or an object that names a member twice.
    #[error("the content block is not a JSON object of the expected shape")]
    Malformed(#[source] serde_json::Error),
    /// Valid JSON that is a string, an array or a plain value.
    #[error("a content block must be a JSON object, not {found}")]
    NotAnObject {
        /// JSON type that was found instead, with its article, for the error text.
        found: &'static str,
    },
    /// Object without a textual `type`, so that its kind is undefined.
    #[error("the content block has no `type`")]
    NoType,
    /// Value whose `Serialize` implementation failed.
    #[error("the content block could not be serialised")]
    Unserialisable(#[source] serde_json::Error),
}

/// Kind of a block, as far as the engine treats kinds differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Plain text, of either side.
    Text,
    /// Image, inline as base64 or by reference.
    Image,
    /// Document: PDF or plain text.
    Document,
    /// Reasoning with a signature; the API rejects it without one.
    Thinking,
    /// Reasoning that the provider encrypted.
    RedactedThinking,
    /// Call of a tool that the client runs.
    ToolUse,
    /// Result of such a call.
    ToolResult,
    /// Summary written by the provider's own compaction.
    Compaction,
    /// Every other type, known to the provider or not; carried through untouched.
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

    /// True if the block is reasoning, open or hidden.
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
    /// Set for text without a character and thinking without a signature: the API rejects both.
    unsendable: bool,
    is_error: bool,
    weight: Weight,
}

/// One content block: canonical bytes plus the facts read from them, behind one pointer.
#[derive(Clone)]
pub struct Block(Arc<Inner>);

/// Members the engine reads; serde skips all others without parsing their values.
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
    /// Parses one JSON object. Bytes that are already canonical are shared, not copied.
    ///
    /// # Errors
    /// When the text is not a JSON object with a `type`, or names a member twice.
    pub fn parse(raw: &Bytes) -> Result<Self, BlockError> {
        let bytes = strip_markers(&json::compact(raw))?;
        // Checked by hand: serde would accept an array as the members of `Head` in order.
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
        // Call and result carry the same id under different names.
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

    /// Serialises a value as a block. All prompt bytes made from values pass through here, which is
    /// why [`json::serialised_bytes`] can prove that nothing is serialised twice.
    ///
    /// # Errors
    /// When the value is not an object with a `type`.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, BlockError> {
        let bytes = json::to_bytes(value).map_err(BlockError::Unserialisable)?;
        Self::parse(&bytes)
    }

    /// Text block with the given text, serialised here.
    pub fn text(text: &str) -> Self {
        Self::of_text(text.is_empty(), &json_string(text))
    }

    /// Text block for a message whose content is a plain JSON string. `raw` includes the quotes;
    /// its bytes are kept, because escapes may be written in several ways and the provider hashes
    /// what was sent first.
    pub(crate) fn of_json_string(raw: &RawValue) -> Self {
        Self::of_text(raw.get() == "\"\"", raw.get())
    }

    fn of_text(empty: bool, quoted: &str) -> Self {
        // 24 bytes hold the fixed members around the string.
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

    /// Tool result whose content is one string.
    pub fn tool_result(call: &CallId, text: &str, is_error: bool) -> Self {
        let quoted = json_string(text);
        // 96 leaves room for the fixed members, the call id and `is_error`.
        let mut bytes = Vec::with_capacity(quoted.len() + 96);
        bytes.extend_from_slice(b"{\"type\":\"tool_result\",\"tool_use_id\":");
        bytes.extend_from_slice(json_string(call.as_str()).as_bytes());
        bytes.extend_from_slice(b",\"content\":");
        bytes.extend_from_slice(quoted.as_bytes());
        // Left out when false: the API's default, and a shorter prompt.
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

    /// Canonical bytes, as they appear in logs and requests.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// Kind, as read from `type`.
    pub fn kind(&self) -> BlockKind {
        self.0.kind
    }

    /// BLAKE3 hash of the canonical bytes, computed once.
    pub fn hash(&self) -> Hash {
        self.0.hash
    }

    /// Id of the call that a `tool_use` makes or a `tool_result` answers; none for other kinds.
    pub fn call(&self) -> Option<&CallId> {
        self.0.call.as_ref()
    }

    /// Name of the tool that a `tool_use` calls.
    pub fn tool(&self) -> Option<&str> {
        self.0.tool.as_deref()
    }

    /// True if a tool result reports a failure of the tool.
    pub fn is_error(&self) -> bool {
        self.0.is_error
    }

    /// True if the provider rejects the block by itself: empty text, unsigned thinking.
    pub fn is_unsendable(&self) -> bool {
        self.0.unsendable
    }

    /// True if the API accepts `cache_control` on the block.
    pub fn takes_marker(&self) -> bool {
        !self.0.kind.is_thinking() && !self.0.unsendable
    }

    /// Byte and character counts for the token estimate.
    pub fn weight(&self) -> &Weight {
        &self.0.weight
    }

    /// Same block with bytes of its own. A parsed block shares the memory of the lines it was read
    /// with; kept alone it would hold all of them.
    #[must_use]
    pub fn detached(&self) -> Self {
        let inner = &self.0;
        Self(Arc::new(Inner {
            bytes: Bytes::copy_from_slice(&inner.bytes),
            call: inner.call.clone(),
            tool: inner.tool.clone(),
            ..**inner
        }))
    }

    /// Kind and call of the block, with its hash in place of its content: enough to tell which lines
    /// belong together and which are copies.
    #[must_use]
    pub(crate) fn outline(&self) -> Self {
        let inner = &self.0;
        Self(Arc::new(Inner {
            bytes: Bytes::copy_from_slice(inner.hash.as_bytes()),
            call: inner.call.clone(),
            tool: None,
            ..**inner
        }))
    }

    /// True if both are one allocation; tests use this to tell sharing from equality.
    pub fn shares_bytes_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Readable text of a text block, of thinking, of a tool result's text parts, or of the
    /// provider's summary; none for other kinds.
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

    /// String member `name` of a tool call's input, such as the path given to a file tool.
    pub fn input_text(&self, name: &str) -> Option<String> {
        serde_json::from_str(&self.input_json(name)?).ok()
    }

    /// Raw JSON of member `name` of a tool call's input.
    pub fn input_json(&self, name: &str) -> Option<String> {
        let head: Head<'_> = serde_json::from_slice(&self.0.bytes).ok()?;
        let members: RawMembers<'_> = serde_json::from_str(head.input?.get()).ok()?;
        let (_, value) = members.0.into_iter().find(|(key, _)| key == name)?;
        Some(value.get().to_owned())
    }
}

/// Text of a JSON string, or of all text blocks in an array, joined by newlines.
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

/// JSON string literal of `text`. Serialising a `str` cannot fail; the empty literal only avoids a
/// panic path.
fn json_string(text: &str) -> String {
    json::to_bytes(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes.into()).ok())
        .unwrap_or_else(|| "\"\"".to_owned())
}

/// Removes `cache_control` from a block and from the parts of a tool result. Markers are set per
/// request; kept in the bytes, they would change the hash whenever a marker moved.
fn strip_markers(bytes: &Bytes) -> Result<Bytes, BlockError> {
    const MARKER: &str = "cache_control";
    // Nearly all blocks have no marker: one search instead of parsing the members.
    if memchr::memmem::find(bytes, b"\"cache_control\"").is_none() {
        return Ok(bytes.clone());
    }
    let members: RawMembers<'_> = serde_json::from_slice(bytes).map_err(BlockError::Malformed)?;
    let mut out = json::ObjectWriter::with_capacity(bytes.len());
    for (name, value) in members.0 {
        if name == MARKER {
            continue;
        }
        // The name may need escapes; `raw` adds the quotes itself.
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
    // An empty array never entered the loop, which writes the opening bracket.
    if out.is_empty() {
        out.push(b'[');
    }
    out.push(b']');
    Ok(Cow::Owned(out))
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        // Views share blocks, so that most comparisons end at the pointer.
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
    /// Shares the block's bytes; no copy.
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
