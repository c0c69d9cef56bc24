//! Identifiers. Each kind has its own type, so that a record id cannot be passed for a call id.
//!
//! Ids are opaque text: Dormouse writes UUIDs, but transcripts of other tools use what they like.

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
            /// Wraps the text of an id.
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
    /// One record of a log (`uuid` on disk).
    RecordId
}
text_id! {
    /// One session, and the log that holds it.
    SessionId
}
text_id! {
    /// One response of a model (`message.id` on the wire).
    MessageId
}
text_id! {
    /// One tool call (`tool_use.id` on the wire).
    CallId
}
text_id! {
    /// One agent inside a session.
    AgentId
}

/// The place of a record in the order of its log.
///
/// Dormouse numbers its records from 1. Lines of other tools carry no number; their byte offset
/// stands in, marked by the top bit so that the two can never collide.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(u64);

impl Seq {
    const FROM_OFFSET: u64 = 1 << 52;

    /// A number written in the log.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The stand-in for a line without a number.
    pub const fn from_offset(offset: u64) -> Self {
        Self(Self::FROM_OFFSET | offset)
    }

    /// The number, or the marked offset.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether this is a stand-in made from a byte offset.
    pub const fn is_offset(self) -> bool {
        self.0 & Self::FROM_OFFSET != 0
    }

    /// The number after this one.
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

/// Names one block of one record. What a layer decides about a block is keyed by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockKey {
    /// The record.
    pub record: Seq,
    /// The block's position in the record.
    pub index: u32,
}

impl BlockKey {
    /// The block at `index` of `record`.
    pub const fn new(record: Seq, index: u32) -> Self {
        Self { record, index }
    }
}

impl fmt::Display for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.record, self.index)
    }
}
