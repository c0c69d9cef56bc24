//! Blocks inside commands and events. Their bytes come out as they went in; a reader that buffers
//! an object before it knows its kind cannot read raw JSON, so they pass as values.

use dormouse_core::block::Block;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub(super) fn serialize<S: Serializer>(blocks: &[Block], to: S) -> Result<S::Ok, S::Error> {
    let values: Vec<Value> = blocks.iter().map(value).collect();
    values.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Block>, D::Error> {
    let values: Vec<Value> = Vec::deserialize(from)?;
    let blocks = values.iter().map(Block::from_value);
    blocks
        .map(|block| block.map_err(D::Error::custom))
        .collect()
}

fn value(block: &Block) -> Value {
    serde_json::from_slice(block.bytes()).unwrap_or_default()
}

/// The same for one block.
pub(super) mod one {
    use super::{Block, Deserialize as _, Deserializer, Serialize as _, Serializer, Value};
    use serde::de::Error as _;

    pub(in crate::protocol) fn serialize<S: Serializer>(
        block: &Block,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        super::value(block).serialize(to)
    }

    pub(in crate::protocol) fn deserialize<'de, De: Deserializer<'de>>(
        from: De,
    ) -> Result<Block, De::Error> {
        let value = Value::deserialize(from)?;
        Block::from_value(&value).map_err(De::Error::custom)
    }
}
