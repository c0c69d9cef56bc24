//! Digests of JSON values in canonical form.
//!
//! # Model
//! Values are hashed while they are parsed; nothing is kept of them but texts that are shorter than a
//! hash, which stand for themselves: hashing them would take most of the time. Members of an object
//! are ordered by their names, numbers by value (`1.0` is `1`), strings by their decoded text. A content
//! block is an object whose `cache_control` and `null` members do not count, and whose `content` may
//! be a string in place of one text block. Space at the end of a block's text does not count either.
//!
//! # Not here
//! The place of blocks in a request: [`crate::seen`].

use crate::digest::{Digest, Members, list, number, string};
use dormouse_core::hash::Hash;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Characters of a reply's text from which on two replies are not alike by chance.
const STRONG_TEXT: usize = 40;

/// Beginning of the block by which one client tells the provider its version. It changes within a
/// conversation, so it is no part of the face.
const ATTRIBUTION: &str = "x-anthropic-billing-header";

/// Identity of a block of the assistant, independent of fields that clients drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handle {
    /// Thinking, which some clients drop, or nothing at all.
    Absent,
    /// Few words, which other conversations may have, too.
    Weak(Hash),
    /// A call's id or many words.
    Strong(Hash),
}

impl Handle {
    /// The identity itself, however sure it is.
    pub(crate) const fn hash(self) -> Option<Hash> {
        match self {
            Self::Absent => None,
            Self::Weak(hash) | Self::Strong(hash) => Some(hash),
        }
    }
}

/// Digest of a content block, with the facts that recognition needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockDigest {
    pub(crate) digest: Hash,
    pub(crate) handle: Handle,
    pub(crate) is_attribution: bool,
}

/// The text block that a plain string stands for.
pub(crate) fn text_block(text: &str) -> ReadBlock {
    let (digest, fact) = TextFact::of(text);
    let mut members = Members::default();
    members.add("type", string("text"));
    members.add("text", digest);
    ReadBlock {
        digest: members.finish(),
        facts: Facts {
            kind: PartKind::Text,
            text: Some(fact),
            ..Facts::default()
        },
    }
}

/// Type of a block, as far as its readers differ by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartKind {
    /// Words.
    Text,
    /// Reasoning, readable or not.
    Thinking,
    /// Call of a client's tool.
    ToolUse,
    /// Answer to such a call.
    ToolResult,
    /// The provider's own summary.
    Compaction,
    /// Anything else.
    #[default]
    Other,
}

impl PartKind {
    /// Digest of a block's type, and its kind.
    fn of(name: &str) -> (Digest, Self) {
        let kind = match name {
            "text" => Self::Text,
            "thinking" | "redacted_thinking" => Self::Thinking,
            "tool_use" => Self::ToolUse,
            "tool_result" => Self::ToolResult,
            "compaction" => Self::Compaction,
            _ => Self::Other,
        };
        (string(name), kind)
    }
}

#[derive(Clone, Copy)]
struct TextFact {
    /// Hash without the white space around it, which clients trim.
    trimmed: Digest,
    is_empty: bool,
    is_strong: bool,
    is_attribution: bool,
}

impl TextFact {
    /// Digest of a block's text, and its facts. Space at the end does not count: one client adds a
    /// line end to its last message when it has the history compacted.
    fn of(text: &str) -> (Digest, Self) {
        let ended = text.trim_end();
        let trimmed = ended.trim_start();
        let digest = string(ended);
        let fact = Self {
            trimmed: if trimmed.len() == ended.len() {
                digest
            } else {
                string(trimmed)
            },
            is_empty: trimmed.is_empty(),
            is_strong: trimmed.len() >= STRONG_TEXT,
            is_attribution: trimmed.starts_with(ATTRIBUTION),
        };
        (digest, fact)
    }
}

/// Facts gathered while the members of a block pass by.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) kind: PartKind,
    /// Id of a block, such as a call.
    pub(crate) id: Option<String>,
    /// Id of the call that a result answers.
    pub(crate) answers: Option<String>,
    /// Name of a called tool.
    pub(crate) name: Option<String>,
    pub(crate) is_error: bool,
    text: Option<TextFact>,
}

/// A block that was read.
pub(crate) struct ReadBlock {
    digest: Digest,
    pub(crate) facts: Facts,
}

impl ReadBlock {
    pub(crate) fn block(&self) -> BlockDigest {
        let facts = &self.facts;
        let handle = match (facts.kind, &facts.id, facts.text) {
            (PartKind::Thinking, ..) => Handle::Absent,
            (PartKind::Text, _, Some(text)) if text.is_empty => Handle::Absent,
            (PartKind::Text, _, Some(text)) if text.is_strong => {
                Handle::Strong(text.trimmed.hash())
            }
            (PartKind::Text, _, Some(text)) => Handle::Weak(text.trimmed.hash()),
            (_, Some(id), _) => Handle::Strong(string(id).hash()),
            _ => Handle::Weak(self.digest.hash()),
        };
        BlockDigest {
            digest: self.digest.hash(),
            handle,
            is_attribution: facts.text.is_some_and(|text| text.is_attribution),
        }
    }

    /// True for a text block without a word.
    pub(crate) fn is_blank(&self) -> bool {
        self.facts.text.is_none_or(|text| text.is_empty)
    }
}

/// Digest of any value that is data: every member counts.
#[derive(Clone, Copy)]
pub(crate) struct Data;

impl<'de> DeserializeSeed<'de> for Data {
    type Value = Digest;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Digest, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Data {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Digest, E> {
        Ok(Digest::NULL)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Digest, E> {
        Ok(Digest::flag(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Digest, E> {
        Ok(number(&value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Digest, E> {
        Ok(number(&value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Digest, E> {
        // Languages with one type of number write `1.0` as `1`. Without a fraction the text of
        // both is the same; a negative zero becomes zero.
        Ok(number(&format!("{}", value + 0.0)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Digest, E> {
        Ok(string(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Digest, A::Error> {
        let mut hashes = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            hashes.push(item);
        }
        Ok(list(&hashes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Digest, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key_seed(Name)? {
            let value = map.next_value_seed(Self)?;
            members.push(name.digest, value);
        }
        Ok(members.finish())
    }
}

/// Name of a member: its hash, and its meaning in a block.
struct Name;

struct Named {
    digest: Digest,
    meaning: Meaning,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Marker,
    Kind,
    Id,
    Answers,
    Name,
    Error,
    Text,
    Content,
    Plain,
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Named;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Named, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Named, E> {
        let meaning = match name {
            "cache_control" => Meaning::Marker,
            "type" => Meaning::Kind,
            "id" => Meaning::Id,
            "tool_use_id" => Meaning::Answers,
            "name" => Meaning::Name,
            "is_error" => Meaning::Error,
            "text" => Meaning::Text,
            "content" => Meaning::Content,
            _ => Meaning::Plain,
        };
        let digest = string(name);
        Ok(Named { digest, meaning })
    }
}

/// Digest of a string member, together with a fact that is read from its text.
struct Fact<F>(F);

impl<'de, T, F: FnOnce(&str) -> (Digest, T)> DeserializeSeed<'de> for Fact<F> {
    type Value = (Digest, Option<T>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T, F: FnOnce(&str) -> (Digest, T)> Visitor<'de> for Fact<F> {
    type Value = (Digest, Option<T>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        let (digest, fact) = self.0(text);
        Ok((digest, Some(fact)))
    }

    // A type, id or text of another kind is data like any other.
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok((Data.visit_unit()?, None))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok((Data.visit_bool(value)?, None))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok((Data.visit_u64(value)?, None))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok((Data.visit_i64(value)?, None))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok((Data.visit_f64(value)?, None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Ok((Data.visit_seq(items)?, None))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Ok((Data.visit_map(map)?, None))
    }
}

/// Digest of one content block.
#[derive(Clone, Copy)]
pub(crate) struct OneBlock;

impl<'de> DeserializeSeed<'de> for OneBlock {
    type Value = ReadBlock;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ReadBlock, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneBlock {
    type Value = ReadBlock;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a content block")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReadBlock, A::Error> {
        let mut members = Members::default();
        let mut facts = Facts::default();
        while let Some(name) = map.next_key_seed(Name)? {
            let value = match name.meaning {
                Meaning::Marker => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                Meaning::Kind => {
                    let (value, kind) = map.next_value_seed(Fact(PartKind::of))?;
                    facts.kind = kind.unwrap_or(facts.kind);
                    value
                }
                Meaning::Id => kept(&mut map, &mut facts.id)?,
                Meaning::Answers => kept(&mut map, &mut facts.answers)?,
                Meaning::Name => kept(&mut map, &mut facts.name)?,
                Meaning::Error => {
                    let value = map.next_value_seed(Data)?;
                    facts.is_error = value == Digest::flag(true);
                    value
                }
                Meaning::Text => {
                    let (value, text) = map.next_value_seed(Fact(TextFact::of))?;
                    facts.text = text.or(facts.text);
                    value
                }
                Meaning::Content => map.next_value_seed(Inner)?,
                Meaning::Plain => map.next_value_seed(Data)?,
            };
            // Null means absent; some clients echo the nulls of a reply and some do not.
            if value != Digest::NULL {
                members.push(name.digest, value);
            }
        }
        Ok(ReadBlock {
            digest: members.finish(),
            facts,
        })
    }
}

/// Digest of a member whose text is kept.
fn kept<'de, A: MapAccess<'de>>(
    map: &mut A,
    text: &mut Option<String>,
) -> Result<Digest, A::Error> {
    let (value, found) = map.next_value_seed(Fact(|one: &str| (string(one), one.to_owned())))?;
    *text = found.or(text.take());
    Ok(value)
}

/// Content of a block, such as a tool result: blocks, a string, or anything else.
struct Inner;

impl<'de> DeserializeSeed<'de> for Inner {
    type Value = Digest;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Digest, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inner {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the content of a block")
    }

    fn visit_str<E>(self, text: &str) -> Result<Digest, E> {
        Ok(list(&[text_block(text).digest]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Digest, A::Error> {
        let mut hashes = Vec::new();
        while let Some(block) = items.next_element_seed(OneBlock)? {
            hashes.push(block.digest);
        }
        Ok(list(&hashes))
    }

    fn visit_unit<E: Error>(self) -> Result<Digest, E> {
        Data.visit_unit()
    }

    // An object, as in the results of a provider's own tools.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Digest, A::Error> {
        Data.visit_map(map)
    }
}
