//! The tool by which sub-agents are asked: its definition, its input, and what is kept of a call.

use super::fork::FORK;
use crate::client::ClientTool;
use crate::protocol::Command;
use dormouse_core::id::CallId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Name of the tool.
pub(crate) const AGENT: &str = "Agent";

/// Input of a call.
#[derive(Debug, Deserialize)]
pub(super) struct Wish {
    pub(super) description: String,
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) subagent_type: Option<String>,
    #[serde(default)]
    pub(super) run_in_background: Option<bool>,
    #[serde(default)]
    pub(super) isolation: Option<Isolation>,
    #[serde(default)]
    pub(super) resume: Option<String>,
    /// Name of a teammate.
    #[serde(default)]
    pub(super) name: Option<String>,
}

impl Wish {
    /// True if the agent is to begin with this conversation's history.
    pub(super) fn wants_fork(&self) -> bool {
        self.subagent_type.as_deref() == Some(FORK) && self.resume.is_none()
    }
}

/// Separation of an agent's work from the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Isolation {
    /// A worktree of its own.
    Worktree,
}

/// Facts about a sub-agent that its transcript lacks, in a file beside it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    pub(super) agent_type: Option<String>,
    pub(super) description: String,
    /// True if it works in a worktree of its own.
    #[serde(default)]
    pub(super) worktree: bool,
    /// Name of a teammate.
    #[serde(default)]
    pub(super) name: Option<String>,
}

/// Definition of the tool that starts and continues sub-agents.
pub(crate) fn tool() -> ClientTool {
    let plain = || json!({ "type": "string" });
    let definition: Value = json!({
        "name": AGENT,
        "description": include_str!("agent-tool.md").trim_end(),
        "input_schema": {
            "type": "object",
            "properties": {
                "description": plain(),
                "prompt": plain(),
                "subagent_type": plain(),
                "run_in_background": { "type": "boolean" },
                "isolation": { "type": "string", "enum": ["worktree"] },
                "resume": plain(),
                "name": plain(),
            },
            "required": ["description", "prompt"],
        },
    });
    ClientTool {
        name: AGENT.to_owned(),
        definition,
        // Its own calls are judged one by one; several agents may work at once.
        only_reads: true,
    }
}

/// Call that a command of the client answers; `None` for commands of another kind.
pub(crate) const fn answers(command: &Command) -> Option<&CallId> {
    match command {
        Command::Permit { call, .. } | Command::Answer { call, .. } => Some(call),
        _ => None,
    }
}
