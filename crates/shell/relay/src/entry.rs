//! One line of the book: the facts of one request, without content.

use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use dormouse_recognise::{Chain, Footprint, Relation};
use serde::{Deserialize, Serialize};

/// Version of the lines that this program writes.
pub(crate) const VERSION: u32 = 1;

/// Way in which an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The reply reached its end.
    Whole,
    /// The upstream broke the reply off, or sent nothing for too long.
    Cut,
    /// The client went away first.
    ClientGone,
    /// No reply came: the upstream could not be reached, or did not answer.
    NoReply,
}

/// Facts of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of the line.
    pub v: u32,
    /// Time at which the request had arrived.
    pub at: Millis,
    /// Id of the request, as its reply's header says it.
    pub request: String,
    /// First digits of the credential's MAC: tells keys apart, and is none.
    pub client: String,
    /// Chains by which later requests are recognised; absent if the request was not understood.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<Footprint>,
    /// Relation to earlier requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// Conversation beside which this one runs, or after which it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Chain>,
    /// Blocks that were sent before.
    #[serde(default)]
    pub known: u64,
    /// Blocks of the history.
    #[serde(default)]
    pub blocks: u64,
    /// Model that answered, or was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Status of the reply; 0 if there was none.
    pub status: u16,
    /// Way in which the exchange ended.
    pub ended: Ended,
    /// Billed usage, if the reply could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Usage of the gateway's own questions for this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<TokenUsage>,
    /// Usage that the client's own prompt would have had, where the layers changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untouched: Option<TokenUsage>,
    /// Milliseconds from the request's arrival to the end of its reply.
    pub ms: u64,
    /// Bytes of the request's body.
    pub sent: u64,
    /// Bytes of the reply's body.
    pub received: u64,
}
