//! Digests of JSON values in canonical form.
//!
//! # Model
//! Values are hashed while they are parsed; nothing is kept of them. Members of an object are
//! ordered by their names, numbers by value (`1.0` is `1`), strings by their decoded text. A content
//! block is an object whose `cache_control` and `null` members do not count, and whose `content` may
//! be a string in place of one text block. Space at the end of a block's text does not count either.
//!
//! # Not here
//! The place of blocks in a request: [`crate::seen`].

use dormouse_core::hash::Hash;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Kinds of links, so that values of different types never digest alike.
const NULL: u8 = 1;
const TRUE: u8 = 2;
const FALSE: u8 = 3;
const NUMBER: u8 = 4;
const STRING: u8 = 5;
const ITEM: u8 = 6;
const NAME: u8 = 7;
const MEMBER: u8 = 8;
const LIST: u8 = 9;
const OBJECT: u8 = 10;

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

/// Digest of a content block, with the facts that recognition needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockDigest {
    pub(crate) digest: Hash,
    pub(crate) handle: Handle,
    pub(crate) is_attribution: bool,
}

impl BlockDigest {
    /// Digest of the text block that a plain string stands for.
    pub(crate) fn of_text(text: &str) -> Self {
        let (digest, fact) = TextFact::of(text);
        let mut members = Members::default();
        members.add("type", string("text"));
        members.add("text", digest);
        let facts = Facts {
            kind: Some(Kind::Text),
            text: Some(fact),
            id: None,
        };
        facts.block(members.finish())
    }
}

fn string(text: &str) -> Hash {
    Hash::START.link(STRING, Hash::of(text.as_bytes()))
}

fn number(text: &str) -> Hash {
    Hash::START.link(NUMBER, Hash::of(text.as_bytes()))
}

/// Members of an object by the hash of their name.
#[derive(Default)]
struct Members(Vec<(Hash, Hash)>);

impl Members {
    fn add(&mut self, name: &str, value: Hash) {
        self.0.push((Hash::of(name.as_bytes()), value));
    }

    fn finish(mut self) -> Hash {
        self.0.sort_unstable();
        let start = Hash::START.link(OBJECT, Hash::START);
        self.0.into_iter().fold(start, |chain, (name, value)| {
            chain.link(NAME, name).link(MEMBER, value)
        })
    }
}

fn list(items: impl Iterator<Item = Hash>) -> Hash {
    let start = Hash::START.link(LIST, Hash::START);
    items.fold(start, |chain, item| chain.link(ITEM, item))
}

/// Type of a block, as far as handles differ by it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Other,
}

impl Kind {
    /// Digest of a block's type, and its kind.
    fn of(name: &str) -> (Hash, Self) {
        let kind = match name {
            "text" => Self::Text,
            "thinking" | "redacted_thinking" => Self::Thinking,
            _ => Self::Other,
        };
        (string(name), kind)
    }
}

#[derive(Clone, Copy)]
struct TextFact {
    /// Hash without the white space around it, which clients trim.
    trimmed: Hash,
    is_empty: bool,
    is_strong: bool,
    is_attribution: bool,
}

impl TextFact {
    /// Digest of a block's text, and its facts. Space at the end does not count: one client adds a
    /// line end to its last message when it has the history compacted.
    fn of(text: &str) -> (Hash, Self) {
        let ended = text.trim_end();
        let trimmed = ended.trim_start();
        let hash = Hash::of(ended.as_bytes());
        let fact = Self {
            trimmed: if trimmed.len() == ended.len() {
                hash
            } else {
                Hash::of(trimmed.as_bytes())
            },
            is_empty: trimmed.is_empty(),
            is_strong: trimmed.len() >= STRONG_TEXT,
            is_attribution: trimmed.starts_with(ATTRIBUTION),
        };
        (Hash::START.link(STRING, hash), fact)
    }
}

/// Facts gathered while the members of a block pass by.
#[derive(Default)]
struct Facts {
    kind: Option<Kind>,
    id: Option<Hash>,
    text: Option<TextFact>,
}

impl Facts {
    fn block(self, digest: Hash) -> BlockDigest {
        let handle = match (self.kind, self.id, self.text) {
            (Some(Kind::Thinking), ..) => Handle::Absent,
            (Some(Kind::Text), _, Some(text)) if text.is_empty => Handle::Absent,
            (Some(Kind::Text), _, Some(text)) if text.is_strong => Handle::Strong(text.trimmed),
            (Some(Kind::Text), _, Some(text)) => Handle::Weak(text.trimmed),
            (_, Some(id), _) => Handle::Strong(id),
            _ => Handle::Weak(digest),
        };
        BlockDigest {
            digest,
            handle,
            is_attribution: self.text.is_some_and(|text| text.is_attribution),
        }
    }
}

/// Digest of any value that is data: every member counts.
#[derive(Clone, Copy)]
pub(crate) struct Data;

impl<'de> DeserializeSeed<'de> for Data {
    type Value = Hash;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Hash, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Data {
    type Value = Hash;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Hash, E> {
        Ok(Hash::START.link(NULL, Hash::START))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Hash, E> {
        Ok(Hash::START.link(if value { TRUE } else { FALSE }, Hash::START))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Hash, E> {
        Ok(number(&value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Hash, E> {
        Ok(number(&value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Hash, E> {
        // Languages with one type of number write `1.0` as `1`. Without a fraction the text of
        // both is the same; a negative zero becomes zero.
        Ok(number(&format!("{}", value + 0.0)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Hash, E> {
        Ok(string(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Hash, A::Error> {
        let mut hashes = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            hashes.push(item);
        }
        Ok(list(hashes.into_iter()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Hash, A::Error> {
        let mut members = Members::default();
        while let Some(name) = map.next_key_seed(Name)? {
            let value = map.next_value_seed(Self)?;
            members.0.push((name.hash, value));
        }
        Ok(members.finish())
    }
}

/// Name of a member: its hash, and its meaning in a block.
struct Name;

struct Named {
    hash: Hash,
    meaning: Meaning,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Marker,
    Kind,
    Id,
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
            "text" => Meaning::Text,
            "content" => Meaning::Content,
            _ => Meaning::Plain,
        };
        let hash = Hash::of(name.as_bytes());
        Ok(Named { hash, meaning })
    }
}

/// Digest of a string member, together with a fact that is read from its text.
struct Fact<F>(F);

impl<'de, T, F: FnOnce(&str) -> (Hash, T)> DeserializeSeed<'de> for Fact<F> {
    type Value = (Hash, Option<T>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T, F: FnOnce(&str) -> (Hash, T)> Visitor<'de> for Fact<F> {
    type Value = (Hash, Option<T>);

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
    type Value = BlockDigest;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<BlockDigest, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneBlock {
    type Value = BlockDigest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a content block")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BlockDigest, A::Error> {
        let mut members = Members::default();
        let mut facts = Facts::default();
        let null = Hash::START.link(NULL, Hash::START);
        while let Some(name) = map.next_key_seed(Name)? {
            let value = match name.meaning {
                Meaning::Marker => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                Meaning::Kind => {
                    let (value, kind) = map.next_value_seed(Fact(Kind::of))?;
                    facts.kind = kind.or(facts.kind);
                    value
                }
                Meaning::Id => {
                    let id = Fact(|id: &str| (string(id), Hash::of(id.as_bytes())));
                    let (value, id) = map.next_value_seed(id)?;
                    facts.id = id.or(facts.id);
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
            if value != null {
                members.0.push((name.hash, value));
            }
        }
        Ok(facts.block(members.finish()))
    }
}

/// Content of a block, such as a tool result: blocks, a string, or anything else.
struct Inner;

impl<'de> DeserializeSeed<'de> for Inner {
    type Value = Hash;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Hash, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inner {
    type Value = Hash;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the content of a block")
    }

    fn visit_str<E>(self, text: &str) -> Result<Hash, E> {
        Ok(list(std::iter::once(BlockDigest::of_text(text).digest)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Hash, A::Error> {
        let mut hashes = Vec::new();
        while let Some(block) = items.next_element_seed(OneBlock)? {
            hashes.push(block.digest);
        }
        Ok(list(hashes.into_iter()))
    }

    fn visit_unit<E: Error>(self) -> Result<Hash, E> {
        Data.visit_unit()
    }

    // An object, as in the results of a provider's own tools.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Hash, A::Error> {
        Data.visit_map(map)
    }
}
