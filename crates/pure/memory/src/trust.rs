//! How far a memory may be believed.
//!
//! # Model
//! Who said something decides how far it is believed: [`Trust`] follows from the [`Speaker`] of the
//! span it stems from, never from what a file or a model claims about itself. What has several
//! sources is worth what the least of them is worth.
//!
//! # Not here
//! Finding the span that a text stems from (`extract`).

use dormouse_core::units::Millis;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far a memory may be believed, least first.
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
    /// Whether memories of this trust are brought into a conversation without anybody's approval.
    pub const fn is_recalled(self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }

    /// As it is written in front matter.
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

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The user.
    User,
    /// The assistant.
    Assistant,
    /// A tool.
    Tool,
}

impl Speaker {
    /// What is said by this speaker is worth so much.
    pub const fn trust(self) -> Trust {
        match self {
            Self::User => Trust::User,
            Self::Assistant => Trust::Assistant,
            Self::Tool => Trust::ToolOutput,
        }
    }

    /// As it is written in front matter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// Reads [`Self::name`].
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "tool" => Some(Self::Tool),
            _ => None,
        }
    }
}

/// The span of a log that a memory stems from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The session whose log has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The record in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who spoke.
    pub speaker: Speaker,
    /// When.
    pub time: Millis,
}

impl Origin {
    /// Whether it names a place in a log.
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
