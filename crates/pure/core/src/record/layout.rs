//! The manifest: which blocks of which records make up a view, without their bytes.
//!
//! A record with a manifest (boundary, checkpoint, undo, start of a fork) is enough to rebuild
//! the view: read the ranges it names, then take the blocks the layout lists, in its order. The
//! unbroken session applies the same layout when it meets a boundary, so that resuming and going
//! on give the same bytes by construction.

use super::message::Role;
use super::state::FoldedState;
use crate::id::{BlockKey, MessageId, RecordId, Seq, SessionId};
use serde::{Deserialize, Serialize};

/// A block that is not in the log but follows from one that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Derived {
    /// The stand-in for the missing result of the call in the source block.
    MissingResult,
    /// A result that came when its call had been answered or was gone, as text.
    LateResult,
    /// The user turn in front of a conversation that would begin with the assistant.
    Opening,
    /// The assistant turn between a request that got no answer and what followed it.
    NoResponse,
}

/// A run of segments of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutRun {
    /// The record whose blocks these are.
    #[serde(rename = "r")]
    pub record: Seq,
    /// The last record, when the run is all blocks of several successive messages.
    #[serde(rename = "to", default, skip_serializing_if = "Option::is_none")]
    pub last_record: Option<Seq>,
    /// The first block.
    #[serde(rename = "i", default, skip_serializing_if = "is_zero")]
    pub index: u32,
    /// How many blocks of the record (ignored when the run spans records).
    #[serde(rename = "n", default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// The role, where it is not the record's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The block whose place a rewritten block took.
    #[serde(rename = "at", default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<BlockKey>,
    /// Set when the block is derived from the one named.
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

/// Records that a manifest needs, and where they probably are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRange {
    /// The log they are in, if not this one: a fork refers to its parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The first record.
    pub first: Seq,
    /// The last record.
    pub last: Seq,
    /// Where the first record's line begins: a hint.
    pub offset: u64,
    /// Where the last record's line begins: a hint.
    pub last_offset: u64,
    /// Checks the hint.
    pub first_id: RecordId,
}

/// Everything needed to rebuild a view and the session's state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The records that hold the blocks.
    pub ranges: Vec<KeptRange>,
    /// Segments that are fixed.
    pub frozen: Vec<LayoutRun>,
    /// Blocks of the response that is being answered.
    #[serde(default)]
    pub response: Vec<LayoutRun>,
    /// The id of that response.
    #[serde(default)]
    pub response_id: Option<MessageId>,
    /// Whether a request has left and no response has come.
    #[serde(default)]
    pub awaiting: bool,
    /// What came in since, in order of arrival.
    #[serde(default)]
    pub incoming: Vec<LayoutRun>,
    /// The session's state.
    #[serde(default)]
    pub state: FoldedState,
}
