//! The rendered prefix: tools, system blocks, instruction fragments.
//!
//! It is rendered once and kept as bytes, like every block. A log refers to it by hash, and the
//! blobs hold the parts, so that any earlier request can be rebuilt.

use bytes::Bytes;
use dormouse_core::block::{Block, BlockError};
use dormouse_core::hash::Hash;
use dormouse_core::json;
use dormouse_core::record::{Prefix, PrefixPart};
use dormouse_core::weight::Weight;
use serde_json::Value;

/// A part of the prefix that cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the blob {blob} of `{name}` is missing, so the request cannot be rebuilt")]
pub struct MissingPart {
    /// The part.
    pub name: String,
    /// Its blob.
    pub blob: Hash,
}

/// One rendered part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// A name for people.
    pub name: String,
    /// Its canonical bytes.
    pub bytes: Bytes,
    /// Their hash.
    pub hash: Hash,
    /// What it weighs.
    pub weight: Weight,
}

impl Part {
    /// A tool definition.
    ///
    /// # Errors
    /// When the value refuses to be serialised.
    pub fn tool(definition: &Value) -> Result<Self, serde_json::Error> {
        let name = definition
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("unnamed");
        let bytes = json::to_bytes(definition)?;
        Ok(Self::of_json(name.to_owned(), bytes))
    }

    /// A system block or fragment.
    pub fn block(name: &str, block: &Block) -> Self {
        Self {
            name: name.to_owned(),
            bytes: block.bytes().clone(),
            hash: block.hash(),
            weight: *block.weight(),
        }
    }

    fn of_json(name: String, bytes: Bytes) -> Self {
        let weight = Weight {
            json_bytes: bytes.len() as u64,
            ..Weight::default()
        };
        let hash = Hash::of(&bytes);
        Self {
            name,
            bytes,
            hash,
            weight,
        }
    }

    fn to_record(&self) -> PrefixPart {
        PrefixPart {
            name: self.name.clone(),
            blob: self.hash,
            bytes: self.bytes.len() as u64,
        }
    }
}

/// The rendered prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedPrefix {
    tools: Vec<Part>,
    system: Vec<Part>,
    fragments: Vec<Part>,
    /// The chain after each part, in cache order.
    chain: Vec<Hash>,
    weight: Weight,
}

impl RenderedPrefix {
    /// Puts the parts together.
    pub fn new(tools: Vec<Part>, system: Vec<Part>, fragments: Vec<Part>) -> Self {
        let tagged = [(b't', &tools), (b's', &system), (b'f', &fragments)];
        let mut chain = Vec::new();
        let mut weight = Weight::default();
        let mut last = Hash::START;
        for (tag, parts) in tagged {
            for part in parts {
                last = last.link(tag, part.hash);
                chain.push(last);
                weight += part.weight;
            }
        }
        Self {
            tools,
            system,
            fragments,
            chain,
            weight,
        }
    }

    /// Finds the parts a log names.
    ///
    /// # Errors
    /// When a blob is missing.
    pub fn from_record(
        prefix: &Prefix,
        blob: impl Fn(&Hash) -> Option<Bytes>,
    ) -> Result<Self, MissingPart> {
        let find = |parts: &[PrefixPart], json: bool| -> Result<Vec<Part>, MissingPart> {
            parts
                .iter()
                .map(|part| {
                    let missing = || MissingPart {
                        name: part.name.clone(),
                        blob: part.blob,
                    };
                    let bytes = blob(&part.blob).ok_or_else(missing)?;
                    if json {
                        return Ok(Part::of_json(part.name.clone(), bytes));
                    }
                    let block: Result<Block, BlockError> = Block::parse(&bytes);
                    block
                        .map(|block| Part::block(&part.name, &block))
                        .map_err(|_| missing())
                })
                .collect()
        };
        Ok(Self::new(
            find(&prefix.tools, true)?,
            find(&prefix.system, false)?,
            find(&prefix.fragments, false)?,
        ))
    }

    /// The record that names the parts.
    pub fn to_record(&self) -> Prefix {
        let parts = |parts: &[Part]| parts.iter().map(Part::to_record).collect();
        Prefix {
            id: self.id(),
            tools: parts(&self.tools),
            system: parts(&self.system),
            fragments: parts(&self.fragments),
        }
    }

    /// The blobs that the record refers to.
    pub fn blobs(&self) -> impl Iterator<Item = (Hash, &Bytes)> {
        self.parts().map(|part| (part.hash, &part.bytes))
    }

    /// Its identity.
    pub fn id(&self) -> Hash {
        self.chain.last().copied().unwrap_or(Hash::START)
    }

    /// Tool definitions.
    pub fn tools(&self) -> &[Part] {
        &self.tools
    }

    /// System blocks.
    pub fn system(&self) -> &[Part] {
        &self.system
    }

    /// Fragments at the head of the first user turn.
    pub fn fragments(&self) -> &[Part] {
        &self.fragments
    }

    /// All parts in cache order.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.tools.iter().chain(&self.system).chain(&self.fragments)
    }

    /// How many parts there are.
    pub fn len(&self) -> usize {
        self.chain.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// The chain over the first `count` parts.
    pub fn chain(&self, count: usize) -> Hash {
        count
            .checked_sub(1)
            .and_then(|last| self.chain.get(last).copied())
            .unwrap_or(Hash::START)
    }

    /// What it weighs.
    pub fn weight(&self) -> &Weight {
        &self.weight
    }

    /// What the first `count` parts weigh.
    pub fn weight_of(&self, count: usize) -> Weight {
        self.parts()
            .take(count)
            .fold(Weight::default(), |sum, part| sum + part.weight)
    }
}
