//! Distillation: answered results that became shorter.

use crate::block::Block;
use crate::hash::Hash;
use crate::id::BlockKey;
use crate::units::Tokens;
use serde::{Deserialize, Serialize};

/// Tool results replaced by their distillates after the model had answered them, by layer 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Distillation {
    /// Results with their distillates.
    pub blocks: Vec<DistilledBlock>,
    /// Thinking blocks after the first of them, dropped because they were bound to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thinking: Vec<BlockKey>,
    /// Arithmetic of the decision, for `dormouse log`.
    pub reason: String,
    /// Tokens freed, by the estimate at that time.
    pub freed: Tokens,
}

/// One result with its distillate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistilledBlock {
    /// Address of the result.
    pub key: BlockKey,
    /// Exact block that is sent instead.
    pub block: Block,
    /// Hash of the whole text.
    pub blob: Hash,
    /// File with the whole text in the session's `tool-results` folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}
