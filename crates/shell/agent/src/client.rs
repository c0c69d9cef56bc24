//! Tools and hooks from outside: those of a client, and those of servers.
//!
//! # Model
//! Tools from outside are offered to the model behind the agent's own, and their calls pass the same
//! permissions. Definitions in the prompt are fixed when the session is opened, because the provider
//! caches them; tools that come later are reached through such a definition (`servers`).
//!
//! A program that drives the agent may take part in it as a [`Client`]: its hooks run beside those of
//! the settings and are judged like them.
//!
//! # Not here
//! The way to the client: doors.

use dormouse_drive::{ToolCall, ToolFuture, ToolHost, ToolTraits};
use dormouse_engine::HookFuture;
use dormouse_host::HookTable;
use dormouse_tools::AgentTools;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Port to tools that do not belong to the agent.
pub trait OutsideTools: fmt::Debug + Send + Sync {
    /// Tools whose definitions are part of the prompt. Fixed when the session is opened.
    fn offered(&self) -> Vec<ClientTool>;

    /// True for a tool of these that changes nothing; `None` for a tool of others. The answer for a
    /// name stays as long as the session runs.
    fn only_reads(&self, tool: &str) -> Option<bool>;

    /// Runs a call of one of the tools. A failure is returned as a result.
    fn run(&self, call: ToolCall) -> ToolFuture;
}

/// Port to a client that takes part in a session.
pub trait Client: OutsideTools {
    /// Hooks that it answers.
    fn hooks(&self) -> &HookTable;

    /// Asks one of its hooks. The answer has the shape that a command prints.
    fn hook(&self, name: &str, input: Value) -> HookFuture<Result<Value, String>>;
}

/// Tool from outside that is part of the prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientTool {
    /// Name by which the model and the rules know it.
    pub name: String,
    /// Definition as a request carries it.
    pub definition: Value,
    /// True if it says that it changes nothing.
    pub only_reads: bool,
}

/// Tools of the agent and from outside in one.
#[derive(Clone, Debug)]
pub(crate) struct Toolbox {
    own: AgentTools,
    outside: Vec<Arc<dyn OutsideTools>>,
}

impl Toolbox {
    pub(crate) fn new(own: &AgentTools, outside: &[Arc<dyn OutsideTools>]) -> Self {
        Self {
            own: own.clone(),
            outside: outside.to_vec(),
        }
    }
}

impl ToolHost for Toolbox {
    fn traits(&self, tool: &str) -> ToolTraits {
        let mut outside = self.outside.iter();
        match outside.find_map(|tools| tools.only_reads(tool)) {
            Some(only_reads) => ToolTraits {
                declared_limit: None,
                reads_files: false,
                only_reads,
            },
            None => self.own.traits(tool),
        }
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let mut outside = self.outside.iter();
        match outside.find(|tools| tools.only_reads(&call.tool).is_some()) {
            Some(tools) => tools.run(call),
            None => self.own.run(call),
        }
    }
}
