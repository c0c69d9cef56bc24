//! Modes: what happens where no rule decides.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Answer of the agent to calls that no rule decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A person is asked about everything but reading.
    #[default]
    Ask,
    /// Edits inside the project need no question.
    AcceptEdits,
    /// Only reading, until a plan is approved.
    Plan,
    /// Commands run in the sandbox without a question, edits inside the project too.
    Sandbox,
    /// Calls that no rule allows are refused.
    Deny,
    /// Everything runs that no rule refuses.
    All,
}

impl Mode {
    /// Every mode, in the order in which a key steps through them.
    pub const ORDER: [Self; 6] = [
        Self::Ask,
        Self::AcceptEdits,
        Self::Plan,
        Self::Sandbox,
        Self::Deny,
        Self::All,
    ];

    /// Name on screens and in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Plan => "plan",
            Self::Sandbox => "sandbox",
            Self::Deny => "deny",
            Self::All => "all",
        }
    }

    /// Name by which Claude Code and its SDKs know the mode.
    pub const fn foreign_name(self) -> &'static str {
        match self {
            Self::Ask => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::Sandbox => "auto",
            Self::Deny => "dontAsk",
            Self::All => "bypassPermissions",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Name that no mode has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no mode `{name}`; the modes are ask, accept-edits, plan, sandbox, deny and all")]
pub struct UnknownMode {
    /// The name as given.
    pub name: String,
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        let found = Self::ORDER
            .into_iter()
            .find(|mode| name == mode.name() || name == mode.foreign_name());
        // "manual" is the label under which Claude Code shows its default mode.
        found
            .or_else(|| (name == "manual").then_some(Self::Ask))
            .ok_or_else(|| UnknownMode {
                name: name.to_owned(),
            })
    }
}
