//! Identifiers, one type per kind, so that a record id cannot be passed for a call id.
//!
//! Ids are opaque text. Dormouse writes UUIDs, transcripts of other tools contain anything; no code
//! may parse an id.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text of an id; any text is accepted.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_id! {
    /// Id of one record of a log (`uuid` on disk).
    RecordId
}
text_id! {
    /// Id of one session and of the log that holds it.
    SessionId
}
text_id! {
    /// Id of one model response (`message.id` on the wire).
    MessageId
}
text_id! {
    /// Id of one tool call (`tool_use.id` on the wire).
    CallId
}
text_id! {
    /// Id of one agent inside a session.
    AgentId
}

/// Position of a record in the order of its log.
///
/// Dormouse numbers its records from 1. Lines of other tools have no number; their byte offset
/// stands in, marked by one bit so that the two never collide.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(u64);

impl Seq {
    /// Bit that marks an offset: far above any record number or file size, and below 2^53, so that
    /// JSON readers which hold numbers as doubles keep it exact.
    const FROM_OFFSET: u64 = 1 << 52;

    /// Number as written in the log.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Stand-in for a line without a number, from its byte offset.
    pub const fn from_offset(offset: u64) -> Self {
        Self(Self::FROM_OFFSET | offset)
    }

    /// Raw value: the number, or the offset with its mark.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// True if this is a stand-in made from a byte offset; such values order only among themselves.
    pub const fn is_offset(self) -> bool {
        self.0 & Self::FROM_OFFSET != 0
    }

    /// Next number in the log.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_offset() {
            write!(f, "@{}", self.0 & !Self::FROM_OFFSET)
        } else {
            self.0.fmt(f)
        }
    }
}

/// Address of one block of one record. Decisions of the layers about a block are keyed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockKey {
    /// Sequence number of the record.
    pub record: Seq,
    /// Zero-based position among the blocks of the record.
    pub index: u32,
}

impl BlockKey {
    /// Address of the block at `index` of `record`.
    pub const fn new(record: Seq, index: u32) -> Self {
        Self { record, index }
    }
}

impl fmt::Display for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.record, self.index)
    }
}
