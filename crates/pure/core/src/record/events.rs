//! What records say that is no part of the prompt: changes of state, agents, mail.

use crate::id::{AgentId, RecordId, Seq};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change of session state. Each has a subtype of its own on disk.
#[derive(Clone, Debug, PartialEq)]
pub enum StateChange {
    /// Memories were shown to the model.
    Surfaced {
        /// Which, and how large.
        memories: Vec<(String, u64)>,
    },
    /// A file was read or changed.
    ReadState {
        /// Its path.
        path: String,
        /// What the tools noted; null forgets the file.
        detail: Value,
    },
    /// A memory was written.
    MemorySaved {
        /// What and where.
        detail: Value,
    },
    /// A background job has got this far.
    Cursor {
        /// Whose cursor.
        name: String,
        /// The last record it has dealt with.
        at: Seq,
    },
    /// A dream ran.
    Dream {
        /// What it did.
        detail: Value,
    },
    /// A request failed: why, and what follows.
    Attempt(Attempt),
    /// A named fact of a layer; null removes it.
    Fact {
        /// Its name.
        name: String,
        /// Its value.
        value: Value,
    },
}

impl StateChange {
    /// The name on disk.
    pub const fn subtype(&self) -> &'static str {
        match self {
            Self::Surfaced { .. } => "surfaced",
            Self::ReadState { .. } => "read-state",
            Self::MemorySaved { .. } => "memory-saved",
            Self::Cursor { .. } => "cursor",
            Self::Dream { .. } => "dream",
            Self::Attempt(_) => "attempt",
            Self::Fact { .. } => "fact",
        }
    }
}

/// One attempt at a request that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The request's record; none for requests beside the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RecordId>,
    /// Number of the attempt that failed, counted from one.
    pub number: u32,
    /// The error in one line.
    pub why: String,
    /// Milliseconds until the next attempt; none if there is no further one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_after: Option<u64>,
}

/// An agent started, changed or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEvent {
    /// The agent.
    pub agent: AgentId,
    /// Whether it has ended.
    #[serde(default)]
    pub ended: bool,
    /// Its lineage and whatever its owner notes.
    #[serde(default)]
    pub detail: Value,
}

/// A message between agents. What the model sees of it is a [`super::Fragment`] of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MailEvent {
    /// Who sent it.
    pub from: AgentId,
    /// To whom.
    pub to: AgentId,
    /// The message and its state.
    #[serde(default)]
    pub detail: Value,
}
