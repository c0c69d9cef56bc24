//! Parts of a session that its client brings: hooks that it answers, tools that it runs.
//!
//! # Model
//! A program that drives the agent may take part in it. Its hooks run beside those of the settings
//! and are judged like them. Its tools are offered to the model behind the agent's own, and their
//! calls pass the same permissions. Both are fixed when the session is opened: tools are part of the
//! prompt that the provider caches.
//!
//! # Not here
//! The way to the client: doors.

use crate::crew::{AGENT, Crew};
use dormouse_drive::{ToolCall, ToolFuture, ToolHost, ToolTraits};
use dormouse_engine::HookFuture;
use dormouse_host::HookTable;
use dormouse_tools::AgentTools;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Port to a client that takes part in a session.
pub trait Client: fmt::Debug + Send + Sync {
    /// Hooks that it answers.
    fn hooks(&self) -> &HookTable;

    /// Asks one of its hooks. The answer has the shape that a command prints.
    fn hook(&self, name: &str, input: Value) -> HookFuture<Result<Value, String>>;

    /// Tools that it runs.
    fn tools(&self) -> &[ClientTool];

    /// Runs a call of one of its tools. A failure is returned as a result.
    fn run(&self, call: ToolCall) -> ToolFuture;
}

/// Tool that a client runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientTool {
    /// Name by which the model and the rules know it.
    pub name: String,
    /// Definition as a request carries it.
    pub definition: Value,
    /// True if it says that it changes nothing.
    pub only_reads: bool,
}

/// Tools of the agent, of its client, and the one for sub-agents, in one.
#[derive(Clone, Debug)]
pub(crate) struct Toolbox {
    own: AgentTools,
    crew: Option<Crew>,
    client: Option<Arc<dyn Client>>,
    /// The client's tools; true for those that only read.
    theirs: Arc<HashMap<String, bool>>,
}

impl Toolbox {
    pub(crate) fn new(
        own: &AgentTools,
        crew: Option<&Crew>,
        client: Option<&Arc<dyn Client>>,
    ) -> Self {
        let tools = client.map(|client| client.tools()).unwrap_or_default();
        let theirs = tools
            .iter()
            .map(|tool| (tool.name.clone(), tool.only_reads));
        Self {
            own: own.clone(),
            crew: crew.cloned(),
            client: client.cloned(),
            theirs: Arc::new(theirs.collect()),
        }
    }
}

impl ToolHost for Toolbox {
    fn traits(&self, tool: &str) -> ToolTraits {
        let theirs = self.theirs.get(tool).copied();
        let crew = self.crew.as_ref().filter(|_| tool == AGENT);
        match theirs.or_else(|| crew.map(|crew| crew.tool().only_reads)) {
            Some(only_reads) => ToolTraits {
                declared_limit: None,
                reads_files: false,
                only_reads,
            },
            None => self.own.traits(tool),
        }
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        match (&self.client, &self.crew) {
            (Some(client), _) if self.theirs.contains_key(&call.tool) => client.run(call),
            (_, Some(crew)) if call.tool == AGENT => crew.run(call),
            _ => self.own.run(call),
        }
    }
}
