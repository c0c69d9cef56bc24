//! Tools that live in the program: servers of the Model Context Protocol inside it, reached through
//! its pipes.
//!
//! # Model
//! Each message of the protocol travels inside a request to the program. A server is greeted and
//! asked for its tools once, before the session is opened; one that is mute or fails is left out and
//! named. Tools are called `mcp__<server>__<tool>`, as rules know them.
//!
//! # Not here
//! Servers that are processes or reached over the network.

use super::program::{Answer, Program};
use dormouse_agent::ClientTool;
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
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
/// Tools of one server at most; a list without end must not fill the prompt.
const MOST_TOOLS: usize = 200;

/// Servers of the program.
#[derive(Debug)]
pub(super) struct Servers {
    program: Program,
    tools: Vec<ClientTool>,
    /// Server and its own name for a tool, by the name that the model knows.
    places: HashMap<String, (String, String)>,
    states: Vec<(String, Result<(), String>)>,
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
        self.states.iter().filter_map(fault).collect()
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
        for tool in tools.unwrap_or_default().iter().take(MOST_TOOLS) {
            let Some(name) = tool["name"].as_str() else {
                continue;
            };
            let full = format!("mcp__{server}__{name}");
            let mut schema = tool["inputSchema"].clone();
            if !schema.is_object() {
                schema = json!({ "type": "object" });
            }
            let description = tool["description"].as_str().unwrap_or_default();
            self.tools.push(ClientTool {
                definition: json!({
                    "name": full, "description": description, "input_schema": schema,
                }),
                only_reads: tool["annotations"]["readOnlyHint"] == true,
                name: full.clone(),
            });
            self.places
                .insert(full, (server.to_owned(), name.to_owned()));
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
            let output = ToolOutput {
                is_error: true,
                ..ToolOutput::text(call.id, text)
            };
            return Box::pin(std::future::ready(output));
        };
        let params = json!({ "name": name, "arguments": block["input"] });
        let answer = self.call(server, "tools/call", &params, None);
        Box::pin(async move {
            match answer.await {
                Ok(result) => output(call, &result),
                Err(why) => ToolOutput {
                    is_error: true,
                    ..ToolOutput::text(call.id, format!("The tool failed: {why}"))
                },
            }
        })
    }
}

/// Result of a call as the conversation takes it: text, with images beside it.
fn output(call: ToolCall, result: &Value) -> ToolOutput {
    let mut texts = Vec::new();
    let mut media = Vec::new();
    for part in result["content"].as_array().into_iter().flatten() {
        match part["type"].as_str() {
            Some("text") => texts.push(part["text"].as_str().unwrap_or_default().to_owned()),
            Some("image") => {
                let source = json!({
                    "type": "base64", "media_type": part["mimeType"], "data": part["data"],
                });
                let image = json!({ "type": "image", "source": source });
                match Block::from_value(&image) {
                    Ok(block) => media.push(block),
                    Err(_) => texts.push("[an image that cannot be shown]".to_owned()),
                }
            }
            // Resources and later kinds: the model gets what there is.
            _ => texts.push(part.to_string()),
        }
    }
    if texts.is_empty() && media.is_empty() && !result["structuredContent"].is_null() {
        texts.push(result["structuredContent"].to_string());
    }
    ToolOutput {
        is_error: result["isError"] == true || result["is_error"] == true,
        media,
        ..ToolOutput::text(call.id, texts.join("\n"))
    }
}
