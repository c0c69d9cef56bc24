//! Names and addresses of agents.
//!
//! # Not here
//! Whether an addressee exists: `team`.

use crate::error::{MailError, MailResult};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Characters of a name: with an ending it stays far below the 255 bytes of a file name.
const LONGEST_NAME: usize = 64;

/// Name of an agent within its team; also the name of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

impl AgentName {
    /// A name as a model or a person writes it. A `:` (plugins name agents `plugin:agent`) becomes
    /// `-`, because not every file system takes it.
    pub fn new(text: &str) -> MailResult<Self> {
        let name = text.trim().replace(':', "-");
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = !name.is_empty()
            && !name.starts_with('.')
            && name.chars().count() <= LONGEST_NAME
            && name.chars().all(fits);
        if is_name {
            Ok(Self(name))
        } else {
            Err(MailError::BadName(text.to_owned()))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for AgentName {
    type Error = MailError;

    fn try_from(text: String) -> MailResult<Self> {
        Self::new(&text)
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.0
    }
}

/// Place that a letter is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Member of the sender's team.
    Agent(AgentName),
    /// All members of the team except the sender.
    Everyone,
    /// Another session on this machine, by the path of its socket.
    Session(PathBuf),
}

impl Address {
    /// Reads an address: `*`, `uds:<path>`, or a name.
    pub fn parse(text: &str) -> MailResult<Self> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Everyone);
        }
        if let Some(path) = text.strip_prefix("uds:") {
            return Ok(Self::Session(PathBuf::from(path)));
        }
        if text.starts_with("bridge:") {
            return Err(MailError::NoBridge(text.to_owned()));
        }
        AgentName::new(text).map(Self::Agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        let name = |text: &str| Address::Agent(AgentName::new(text).unwrap());
        let cases = [
            ("*", Some(Address::Everyone)),
            ("reviewer", Some(name("reviewer"))),
            (" plugin:tester ", Some(name("plugin-tester"))),
            ("审查员", Some(name("审查员"))),
            (
                "uds:/run/a.sock",
                Some(Address::Session("/run/a.sock".into())),
            ),
            ("bridge:laptop", None),
            ("", None),
            ("..", None),
            ("../other", None),
            ("a/b", None),
            ("two words", None),
            ("line\nbreak", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Address::parse(text).ok(), expected, "{text:?}");
        }
        assert!(AgentName::new(&"x".repeat(65)).is_err());
    }
}
