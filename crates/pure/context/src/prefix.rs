//! The rendered prefix of a prompt: tools, system blocks, instruction fragments.
//!
//! It is rendered once and kept as bytes, like every block. A log refers to each part by hash and
//! the blob store holds its bytes, so that any earlier request can be rebuilt byte for byte.
//!
//! Not here: when a prefix is rendered anew (the driver decides) and cache markers
//! ([`crate::ledger`]).

use bytes::Bytes;
use dormouse_core::block::{Block, BlockError};
use dormouse_core::hash::Hash;
use dormouse_core::json;
use dormouse_core::record::{Prefix, PrefixPart};
use dormouse_core::weight::Weight;
use serde_json::Value;

/// A part that a log names and the blob store does not hold, or holds in unreadable form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the blob {blob} of `{name}` is missing, so the request cannot be rebuilt")]
pub struct MissingPart {
    /// Name of the part, as in the log.
    pub name: String,
    /// Hash under which the blob was looked up.
    pub blob: Hash,
}

/// One rendered part of the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Display name: the tool's name, or a label given by the caller. Not sent.
    pub name: String,
    /// Canonical JSON, without cache markers.
    pub bytes: Bytes,
    /// Hash of `bytes`; the key of the blob.
    pub hash: Hash,
    /// Size figures from which tokens are estimated.
    pub weight: Weight,
}

impl Part {
    /// Renders a tool definition.
    ///
    /// # Errors
    /// When the value cannot be serialised.
    pub fn tool(definition: &Value) -> Result<Self, serde_json::Error> {
        let name = definition
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("unnamed");
        let bytes = json::to_bytes(definition)?;
        Ok(Self::of_json(name.to_owned(), bytes))
    }

    /// Takes a system block or an instruction fragment as it is.
    pub fn block(name: &str, block: &Block) -> Self {
        Self {
            name: name.to_owned(),
            bytes: block.bytes().clone(),
            hash: block.hash(),
            weight: *block.weight(),
        }
    }

    fn of_json(name: String, bytes: Bytes) -> Self {
        // A definition is JSON throughout, so all its bytes count at the JSON rate.
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

/// The complete prefix, with its hash chain in cache order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedPrefix {
    tools: Vec<Part>,
    system: Vec<Part>,
    fragments: Vec<Part>,
    /// Hash chain after each part, in cache order: tools, system, fragments.
    chain: Vec<Hash>,
    weight: Weight,
}

impl RenderedPrefix {
    /// Joins the parts and computes chain and weight.
    pub fn new(tools: Vec<Part>, system: Vec<Part>, fragments: Vec<Part>) -> Self {
        // The tag is part of the hash: the same bytes in another place are another prefix.
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

    /// Rebuilds the prefix that a log names, with `blob` as the lookup.
    ///
    /// # Errors
    /// When a blob is missing or does not parse as a block.
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
                    // Tools are plain JSON objects; the other parts are content blocks.
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

    /// Record that names the parts by hash.
    pub fn to_record(&self) -> Prefix {
        let parts = |parts: &[Part]| parts.iter().map(Part::to_record).collect();
        Prefix {
            id: self.id(),
            tools: parts(&self.tools),
            system: parts(&self.system),
            fragments: parts(&self.fragments),
        }
    }

    /// Blobs to store before [`Self::to_record`] is appended.
    pub fn blobs(&self) -> impl Iterator<Item = (Hash, &Bytes)> {
        self.parts().map(|part| (part.hash, &part.bytes))
    }

    /// Identity of the prefix: the hash chain over all parts.
    pub fn id(&self) -> Hash {
        self.chain.last().copied().unwrap_or(Hash::START)
    }

    /// Tool definitions, in the order they are sent.
    pub fn tools(&self) -> &[Part] {
        &self.tools
    }

    /// System blocks, in the order they are sent.
    pub fn system(&self) -> &[Part] {
        &self.system
    }

    /// Instruction fragments, sent at the head of the first user turn.
    pub fn fragments(&self) -> &[Part] {
        &self.fragments
    }

    /// All parts in cache order: tools, system, fragments.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.tools.iter().chain(&self.system).chain(&self.fragments)
    }

    /// Number of parts of all three kinds.
    pub fn len(&self) -> usize {
        self.chain.len()
    }

    /// True if the prefix has no parts at all.
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// Hash chain over the first `count` parts in cache order.
    pub fn chain(&self, count: usize) -> Hash {
        count
            .checked_sub(1)
            .and_then(|last| self.chain.get(last).copied())
            .unwrap_or(Hash::START)
    }

    /// Sum of the weights of all parts.
    pub fn weight(&self) -> &Weight {
        &self.weight
    }

    /// Sum of the weights of the first `count` parts in cache order.
    pub(crate) fn weight_of(&self, count: usize) -> Weight {
        self.parts()
            .take(count)
            .fold(Weight::default(), |sum, part| sum + part.weight)
    }
}
