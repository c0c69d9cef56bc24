//! The folded state of a session: what must survive a restart and is not part of the view.

use super::payload::{Lineage, Marker};
use crate::hash::Hash;
use crate::id::{AgentId, MessageId, RecordId, Seq};
use crate::units::{Millis, Tokens};
use crate::usage::TokenUsage;
use crate::weight::Weight;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The state that records fold into.
///
/// Later layers keep their facts under [`FoldedState::facts`] by name (estimators, breaker,
/// to-dos, plan, skills, discovered tools, grants, title, the date last told): values that only
/// their owner interprets, carried by every manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FoldedState {
    /// How far extraction, notes, mail and the like have got.
    pub cursors: BTreeMap<String, Seq>,
    /// The last response of this branch.
    pub last_usage: Option<LastUsage>,
    /// Measured against estimated tokens, by model.
    pub calibration: BTreeMap<String, Calibration>,
    /// What the session has used.
    pub totals: Totals,
    /// Named facts of the layers.
    pub facts: BTreeMap<String, Value>,
    /// Files the agent has read, with what their owner noted.
    pub read_files: BTreeMap<String, Value>,
    /// Memories shown in this session, with their size.
    pub surfaced: BTreeMap<String, u64>,
    /// The prefix in use.
    pub prefix: Option<Hash>,
    /// The model last used.
    pub model: Option<String>,
    /// The effort last used.
    pub effort: Option<String>,
    /// The last request.
    pub last_request: Option<LastRequest>,
    /// Agents that have not ended.
    pub agents: BTreeMap<AgentId, Value>,
    /// Where a fork comes from (without its manifest).
    pub lineage: Option<Box<Lineage>>,
    /// The last boundary.
    pub boundary: Option<RecordId>,
}

/// The last response of a branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastUsage {
    /// Its id, if the provider gave one.
    pub message: Option<MessageId>,
    /// The model.
    pub model: String,
    /// What it used.
    pub usage: TokenUsage,
    /// What the answer weighs.
    #[serde(default)]
    pub answer: Weight,
    /// What was appended since the answer.
    #[serde(default)]
    pub since: Weight,
    /// Estimate removed from what the figure covers by rewrites since.
    #[serde(default)]
    pub removed: Tokens,
    /// Estimate added to it by rewrites since.
    #[serde(default)]
    pub added: Tokens,
}

/// Sums of measured and estimated growth; their ratio corrects estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// Tokens the provider counted.
    pub measured: Tokens,
    /// Tokens estimated for the same content.
    pub estimated: Tokens,
}

/// What a session has used. A response counts once, whatever number of records tells of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Settled sums by model.
    pub by_model: BTreeMap<String, ModelTotals>,
    /// The newest responses, whose figures may still be corrected by a later record.
    pub recent: Vec<RecentUsage>,
}

/// Sums for one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTotals {
    /// Responses.
    pub requests: u64,
    /// Their tokens.
    pub usage: TokenUsage,
}

/// A response whose figures are not settled yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecentUsage {
    /// Its id.
    pub message: MessageId,
    /// The model.
    pub model: String,
    /// The latest figures.
    pub usage: TokenUsage,
}

/// What the last request looked like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastRequest {
    /// The record.
    pub id: RecordId,
    /// When it left.
    pub at: Option<Millis>,
    /// How many segments it had.
    pub segments: u64,
    /// The chain over them.
    pub chain: Hash,
    /// Its cache markers.
    pub markers: Vec<Marker>,
}
