//! Manifest: the blocks of the records that make up a view, without their bytes.
//!
//! A record with a manifest (boundary, checkpoint, undo, start of a fork) is sufficient to rebuild
//! the view: read the ranges it names, then take the blocks the layout lists, in its order. An
//! unbroken session applies the same layout when it reaches a boundary, so that resuming and
//! continuing give the same bytes by construction.

use super::message::Role;
use super::state::FoldedState;
use crate::id::{BlockKey, MessageId, RecordId, Seq, SessionId};
use serde::{Deserialize, Serialize};

/// Block that is not in the log but is a pure function of one that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Derived {
    /// Stand-in for the missing result of the call in the source block; the API rejects unanswered
    /// calls.
    MissingResult,
    /// Result that arrived after its call was answered or removed, as text.
    LateResult,
    /// User turn before a conversation that would begin with the assistant, which the API rejects.
    Opening,
    /// Assistant turn between an unanswered request and the next user turn.
    NoResponse,
}

/// Run of segments of a view. Short names and omitted defaults: a manifest has thousands of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutRun {
    /// Record that contains the blocks.
    #[serde(rename = "r")]
    pub record: Seq,
    /// Last record, when the run is all blocks of several successive messages.
    #[serde(rename = "to", default, skip_serializing_if = "Option::is_none")]
    pub last_record: Option<Seq>,
    /// Index of the first block in the record.
    #[serde(rename = "i", default, skip_serializing_if = "is_zero")]
    pub index: u32,
    /// Number of blocks; ignored when the run spans records.
    #[serde(rename = "n", default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Role, where it differs from the record's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Address of the original block, for a block that a rewrite put in its place.
    #[serde(rename = "at", default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<BlockKey>,
    /// Derivation, when the block is computed from the one named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<Derived>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_one(value: &u32) -> bool {
    *value == 1
}

const fn one() -> u32 {
    1
}

/// Range of records that a manifest needs, with hints where to find them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRange {
    /// Log that contains them, if not this one: a fork refers to its parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Sequence number of the first record.
    pub first: Seq,
    /// Sequence number of the last record.
    pub last: Seq,
    /// Byte offset of the first record's line: a hint.
    pub offset: u64,
    /// Byte offset of the last record's line: a hint.
    pub last_offset: u64,
    /// Id of the first record; a mismatch at `offset` means that the hint is stale.
    pub first_id: RecordId,
}

/// Everything needed to rebuild a view and the session's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Records that contain the blocks.
    pub ranges: Vec<KeptRange>,
    /// Segments that were part of a request and are frozen.
    pub frozen: Vec<LayoutRun>,
    /// Blocks of the response that is being answered.
    #[serde(default)]
    pub response: Vec<LayoutRun>,
    /// Message id of that response.
    #[serde(default)]
    pub response_id: Option<MessageId>,
    /// True if a request was sent and no response has arrived.
    #[serde(default)]
    pub awaiting: bool,
    /// Segments that arrived since the last request, in order of arrival.
    #[serde(default)]
    pub incoming: Vec<LayoutRun>,
    /// Folded state at this point.
    #[serde(default)]
    pub state: FoldedState,
}
