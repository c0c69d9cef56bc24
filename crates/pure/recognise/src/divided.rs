//! A request with the bytes of its blocks, read in the same pass as its digests.
//!
//! # Not here
//! The meaning of the blocks: `dormouse-rewrite`.

use crate::canonical::{Handle, OneBlock, PartKind, ReadBlock, text_block};
use crate::seen::{Metadata, Role, Seen, SeenBlock, speaker};
use dormouse_core::json::Text;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed as _, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A request in parts.
#[derive(Debug)]
pub struct Divided<'a> {
    /// Digests of the same request.
    pub seen: Seen,
    /// Messages in order.
    pub turns: Vec<DividedTurn<'a>>,
    /// System prompt.
    pub system: Option<&'a RawValue>,
    /// Tools.
    pub tools: Option<&'a RawValue>,
    /// The provider's automatic marker.
    pub cache_control: Option<&'a RawValue>,
    /// Thread of the provider.
    pub thread: Option<&'a RawValue>,
    /// Compaction by the provider.
    pub compaction: Option<&'a RawValue>,
    /// Edits by the provider.
    pub context_management: Option<&'a RawValue>,
}

/// One message.
#[derive(Debug)]
pub struct DividedTurn<'a> {
    /// Its speaker.
    pub role: Role,
    /// Its content blocks.
    pub parts: Vec<DividedPart<'a>>,
}

/// One content block.
#[derive(Debug)]
pub struct DividedPart<'a> {
    /// Bytes of the block; those of the block that a plain string stands for are made here.
    pub raw: Cow<'a, str>,
    /// Its type.
    pub kind: PartKind,
    /// Id of a call, or of the call that a result answers.
    pub call: Option<String>,
    /// Name of a called tool.
    pub tool: Option<String>,
    /// True for the result of a call that failed.
    pub is_error: bool,
    /// True for a text without a word.
    pub is_blank: bool,
    pub(crate) seen: SeenBlock,
}

impl<'a> DividedPart<'a> {
    fn new(raw: Cow<'a, str>, read: ReadBlock) -> Self {
        let block = read.block();
        Self {
            raw,
            kind: read.facts.kind,
            is_blank: read.is_blank(),
            call: match read.facts.kind {
                PartKind::ToolUse => read.facts.id,
                PartKind::ToolResult => read.facts.answers,
                _ => None,
            },
            tool: read.facts.name,
            is_error: read.facts.is_error,
            seen: SeenBlock {
                // Set with its message, whose speaker may stand behind its content.
                role: Role::User,
                digest: block.digest,
                handle: block.handle,
            },
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct WireDivided<'a> {
    #[serde(borrow, default)]
    pub(crate) model: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) messages: Option<Turns<'a>>,
    #[serde(borrow, default)]
    pub(crate) system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) thread: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) metadata: Option<Metadata>,
    #[serde(borrow, default)]
    pub(crate) cache_control: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) compaction: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) context_management: Option<&'a RawValue>,
}

pub(crate) struct Turns<'a>(pub(crate) Vec<DividedTurn<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Turns<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for DividedTurn<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneTurn;
        impl<'de> Visitor<'de> for OneTurn {
            type Value = DividedTurn<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut role, mut content) = (None, None);
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    match &*name {
                        "role" => role = Some(speaker(&map.next_value::<Cow<'de, str>>()?)?),
                        "content" => content = Some(map.next_value::<Parts<'de>>()?.0),
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                let role = role.ok_or_else(|| A::Error::missing_field("role"))?;
                let mut parts = content.ok_or_else(|| A::Error::missing_field("content"))?;
                for part in &mut parts {
                    part.seen.role = role;
                    if role != Role::Assistant {
                        part.seen.handle = Handle::Absent;
                    }
                }
                Ok(DividedTurn { role, parts })
            }
        }
        deserializer.deserialize_map(OneTurn)
    }
}

struct Parts<'a>(Vec<DividedPart<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Parts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;
        impl<'de> Visitor<'de> for Content {
            type Value = Parts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of content blocks")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let quoted = serde_json::to_string(text).map_err(E::custom)?;
                let raw = format!("{{\"type\":\"text\",\"text\":{quoted}}}");
                let part = DividedPart::new(Cow::Owned(raw), text_block(text));
                Ok(Parts(vec![part]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(raw) = items.next_element::<&'de RawValue>()? {
                    let mut block = serde_json::Deserializer::from_str(raw.get());
                    let read = OneBlock.deserialize(&mut block).map_err(A::Error::custom)?;
                    parts.push(DividedPart::new(Cow::Borrowed(raw.get()), read));
                }
                Ok(Parts(parts))
            }
        }
        deserializer.deserialize_any(Content)
    }
}
