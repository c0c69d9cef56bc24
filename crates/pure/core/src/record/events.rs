//! Records without effect on the prompt: changes of state, agents, mail.

use crate::id::{AgentId, RecordId, Seq};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Change of session state. Each variant has a subtype of its own on disk.
#[derive(Clone, Debug, PartialEq)]
pub enum StateChange {
    /// Memories that were shown to the model.
    Surfaced {
        /// Name and size of each.
        memories: Vec<(String, u64)>,
    },
    /// File that was read or changed by a tool.
    ReadState {
        /// Path as the tool resolved it.
        path: String,
        /// Data of the file tools; null removes the entry.
        detail: Value,
    },
    /// Memory that was written.
    MemorySaved {
        /// Name and location, for display.
        detail: Value,
    },
    /// Progress of a background job.
    Cursor {
        /// Name of the job.
        name: String,
        /// Last record the job has processed.
        at: Seq,
    },
    /// Dream that ran during the session.
    Dream {
        /// Result of the dream, for display.
        detail: Value,
    },
    /// Failed attempt at a request, with its cause and the next step.
    Attempt(Attempt),
    /// Named fact of a layer; null removes it.
    Fact {
        /// Name under which the layer finds it again.
        name: String,
        /// Value that only the layer interprets.
        value: Value,
    },
}

impl StateChange {
    /// Subtype of the line on disk; changing one makes old logs unreadable.
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

/// One failed attempt at a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Record of the request; none for side requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RecordId>,
    /// Number of the attempt that failed, counted from one.
    pub number: u32,
    /// Error message in one line.
    pub why: String,
    /// Milliseconds until the next attempt; none if it is not retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_after: Option<u64>,
}

/// Start, change or end of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEvent {
    /// Id of the agent.
    pub agent: AgentId,
    /// True if the agent has ended; it then leaves the folded state.
    #[serde(default)]
    pub ended: bool,
    /// Lineage and further data of its owner.
    #[serde(default)]
    pub detail: Value,
}

/// Message between agents. The text shown to the model is a separate [`super::Fragment`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MailEvent {
    /// Agent that sent the message.
    pub from: AgentId,
    /// Agent that receives the message.
    pub to: AgentId,
    /// Text and delivery state of the message.
    #[serde(default)]
    pub detail: Value,
}
