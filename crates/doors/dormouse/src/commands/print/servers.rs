//! Tools that live in the program: servers of the Model Context Protocol inside it, reached through
//! its pipes.
//!
//! # Model
//! Each message of the protocol travels inside a request to the program. A server is greeted and
//! asked for its tools once, before the session is opened; one that is mute or fails is left out and
//! named. Tools are called `mcp__<server>__<tool>`, as rules know them.
//!
//! # Not here
//! Servers that are processes or reached over the network: the agent connects to those.

use super::program::{Answer, Program};
use dormouse_agent::{ClientTool, server_tools, tool_failure, tool_output};
use dormouse_drive::{ToolCall, ToolFuture};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Version of the protocol that is spoken.
const PROTOCOL: &str = "2025-06-18";
/// Time for the answers of a server at the beginning: the user waits for it.
const GREETING: Duration = Duration::from_secs(10);

/// Servers of the program.
#[derive(Debug)]
pub(super) struct Servers {
    program: Program,
    tools: Vec<ClientTool>,
    /// Server and its own name for a tool, by the name that the model knows.
    places: HashMap<String, (String, String)>,
    states: Vec<(String, Result<(), String>)>,
    /// Tools that are left out, each with its reason.
    faults: Vec<String>,
    next: Arc<AtomicU64>,
}

impl Servers {
    /// Greets the servers of these names and asks for their tools.
    pub(super) async fn connect(program: &Program, names: &[String]) -> Self {
        let mut servers = Self {
            program: program.clone(),
            tools: Vec::new(),
            places: HashMap::new(),
            states: Vec::new(),
            faults: Vec::new(),
            next: Arc::default(),
        };
        for name in names {
            let state = servers.greet(name).await;
            servers.states.push((name.clone(), state));
        }
        servers
    }

    pub(super) fn tools(&self) -> &[ClientTool] {
        &self.tools
    }

    /// Servers that are left out, each in a sentence.
    pub(super) fn faults(&self) -> Vec<String> {
        let fault = |(name, state): &(String, Result<(), String>)| {
            let why = state.as_ref().err()?;
            Some(format!(
                "the tools of the server {name} are left out: {why}"
            ))
        };
        let tools = self.faults.iter();
        let tools = tools.map(|fault| format!("a tool is left out: {fault}"));
        self.states.iter().filter_map(fault).chain(tools).collect()
    }

    /// Servers with their states, as programs ask for them.
    pub(super) fn states(&self) -> Vec<Value> {
        let state = |(name, state): &(String, Result<(), String>)| match state {
            Ok(()) => json!({ "name": name, "status": "connected" }),
            Err(why) => json!({ "name": name, "status": "failed", "error": why }),
        };
        self.states.iter().map(state).collect()
    }

    async fn greet(&mut self, server: &str) -> Result<(), String> {
        let hello = json!({
            "protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": { "name": "dormouse", "version": env!("CARGO_PKG_VERSION") },
        });
        self.call(server, "initialize", &hello, Some(GREETING))
            .await?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        // A notification has no answer of its own; the program only says that it came.
        self.send(server, &ready, Some(GREETING)).await?;
        let listed = self
            .call(server, "tools/list", &json!({}), Some(GREETING))
            .await?;
        let tools = listed["tools"].as_array().map(Vec::as_slice);
        let (tools, faults) = server_tools(server, tools.unwrap_or_default());
        self.faults
            .extend(faults.into_iter().map(|why| format!("{server}: {why}")));
        for tool in tools {
            self.tools.push(ClientTool {
                definition: tool.definition(),
                only_reads: tool.only_reads,
                name: tool.name.clone(),
            });
            self.places
                .insert(tool.name, (server.to_owned(), tool.own_name));
        }
        Ok(())
    }

    /// Calls a method and returns its result.
    fn call(
        &self,
        server: &str,
        method: &str,
        params: &Value,
        patience: Option<Duration>,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = self.send(server, &message, patience);
        async move {
            let mut said = answer.await?;
            if let Some(error) = said.get("error").filter(|error| !error.is_null()) {
                let words = error["message"].as_str();
                return Err(words.map_or_else(|| error.to_string(), str::to_owned));
            }
            Ok(said["result"].take())
        }
    }

    fn send(
        &self,
        server: &str,
        message: &Value,
        patience: Option<Duration>,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let request = json!({
            "subtype": "mcp_message", "server_name": server, "message": message,
        });
        let program = self.program.clone();
        async move {
            let mut answer = program.ask(request, patience).await?;
            Ok(answer["mcp_response"].take())
        }
    }

    /// Runs a call of one of the tools.
    pub(super) fn run(&self, call: ToolCall) -> ToolFuture {
        let block: Value = serde_json::from_slice(call.block.bytes()).unwrap_or_default();
        let place = self.places.get(&call.tool);
        let Some((server, name)) = place else {
            let text = format!("There is no tool `{}`.", call.tool);
            return Box::pin(std::future::ready(tool_failure(call.id, text)));
        };
        let params = json!({ "name": name, "arguments": block["input"] });
        let answer = self.call(server, "tools/call", &params, None);
        Box::pin(async move {
            match answer.await {
                Ok(result) => tool_output(call.id, &result),
                Err(why) => tool_failure(call.id, format!("The tool failed: {why}")),
            }
        })
    }
}
