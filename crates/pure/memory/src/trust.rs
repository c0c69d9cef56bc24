//! Trust in a memory.
//!
//! # Model
//! The speaker decides: [`Trust`] follows from the [`Speaker`] of the span a memory stems from,
//! never from a claim of a file or a model about itself. A memory with several sources has the
//! least trust of any of them.
//!
//! # Not here
//! Finding the span that a text stems from (`extract`).

use dormouse_core::units::Millis;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Levels of belief, least first: `min` of two sources is the trust of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// From outside: a web page, a document, a package.
    External,
    /// From a tool that looked at the project.
    ToolOutput,
    /// Concluded by the assistant.
    Assistant,
    /// Said by the user.
    User,
}

impl Trust {
    /// True if recall brings such memories into a conversation without the user's approval. Tool
    /// output is not: a page could otherwise write itself into every later session.
    pub const fn is_recalled(self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }

    /// Kebab-case name, as front matter has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::ToolOutput => "tool-output",
            Self::Assistant => "assistant",
            Self::User => "user",
        }
    }

    /// Reads [`Self::name`]; also `untrusted`, which says no more than "not the user or assistant".
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            // The cautious reading: the least trust that the word allows.
            "external" | "untrusted" => Some(Self::External),
            "tool-output" => Some(Self::ToolOutput),
            "assistant" => Some(Self::Assistant),
            "user" => Some(Self::User),
            _ => None,
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Speaker of a span of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// User of the session.
    User,
    /// Model that answered the user.
    Assistant,
    /// Tool result, whatever the tool read.
    Tool,
}

impl Speaker {
    /// Trust of this speaker's own words.
    pub const fn trust(self) -> Trust {
        match self {
            Self::User => Trust::User,
            Self::Assistant => Trust::Assistant,
            Self::Tool => Trust::ToolOutput,
        }
    }

    /// Lower-case name, as front matter has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// Inverse of [`Self::name`]; `None` for anything else.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "tool" => Some(Self::Tool),
            _ => None,
        }
    }
}

/// Span of a log that a memory stems from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Session whose log has the span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Record of that log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Speaker of that record.
    pub speaker: Speaker,
    /// Time of that record, from the log.
    pub time: Millis,
}

impl Origin {
    /// True if it names a record of a log. A memory that the user adds by command has only a
    /// speaker and a time.
    pub const fn resolves(&self) -> bool {
        self.session.is_some() && self.message.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_cannot_raise_trust() {
        assert_eq!(Trust::User.min(Trust::External), Trust::External);
        assert!(Trust::External < Trust::ToolOutput);
        assert!(Trust::ToolOutput < Trust::Assistant);
        assert!(!Trust::ToolOutput.is_recalled());
    }

    #[test]
    fn names_are_read_back() {
        for trust in [
            Trust::External,
            Trust::ToolOutput,
            Trust::Assistant,
            Trust::User,
        ] {
            assert_eq!(Trust::parse(trust.name()), Some(trust));
        }
        assert_eq!(Trust::parse("system"), None);
    }
}
