//! Servers of a session.

use crate::clean::ServerTool;
use crate::config::ServerConfig;
use crate::result::{tool_failure, tool_output};
use crate::server::{Server, ServerState, Surroundings};
use dormouse_drive::{ToolCall, ToolFuture};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Prefix of the tools of servers.
const PREFIX: &str = "mcp__";

/// Servers of a session. Clones share them; the last one to go ends their processes.
#[derive(Clone, Debug)]
pub struct Servers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    servers: Vec<Arc<Server>>,
    changes: watch::Sender<u64>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop_connecting();
    }
}

impl Inner {
    fn stop_connecting(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        for task in tasks.drain(..) {
            task.abort();
        }
    }
}

impl Servers {
    /// Begins to connect to the servers, each by itself and in the background. Of two with one name
    /// the first counts. Needs a tokio runtime.
    pub fn start(configs: Vec<ServerConfig>, around: &Surroundings) -> Self {
        let changes = watch::Sender::new(0);
        let mut servers: Vec<Arc<Server>> = Vec::new();
        for config in configs {
            if !servers.iter().any(|known| known.config.name == config.name) {
                let server = Server::new(config, around.clone(), changes.clone());
                servers.push(Arc::new(server));
            }
        }
        let connect = |server: &Arc<Server>| {
            let server = Arc::clone(server);
            tokio::spawn(async move {
                // Its state says why it failed.
                let _state = server.connect().await;
            })
        };
        let tasks = Mutex::new(servers.iter().map(connect).collect());
        Self(Arc::new(Inner {
            servers,
            changes,
            tasks,
        }))
    }

    /// True if no server is set up.
    pub fn is_empty(&self) -> bool {
        self.0.servers.is_empty()
    }

    /// Names of the servers, in their order.
    pub fn names(&self) -> Vec<&str> {
        let names = self
            .0
            .servers
            .iter()
            .map(|server| server.config.name.as_str());
        names.collect()
    }

    /// States of the servers as they are now.
    pub fn states(&self) -> Vec<ServerState> {
        self.0.servers.iter().map(|server| server.state()).collect()
    }

    /// Tools that are known by now, in the order of servers and names.
    pub fn tools(&self) -> Vec<ServerTool> {
        let greetings = self.0.servers.iter().map(|server| server.greeting());
        greetings
            .flat_map(|greeting| greeting.tools.clone())
            .collect()
    }

    /// Instructions of the servers that have some, by name.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let said = |server: &Arc<Server>| {
            let words = server.greeting().instructions.clone()?;
            Some((server.config.name.clone(), words))
        };
        self.0.servers.iter().filter_map(said).collect()
    }

    /// Tools that are left out, each with server and reason.
    pub fn faults(&self) -> Vec<String> {
        let fault = |server: &Arc<Server>| {
            let name = server.config.name.clone();
            let faults = server.greeting().faults.clone().into_iter();
            faults.map(move |why| format!("{name}: {why}"))
        };
        self.0.servers.iter().flat_map(fault).collect()
    }

    /// True if a server of this session has the tool, or may turn out to have it.
    pub fn serves(&self, tool: &str) -> bool {
        self.server_of(tool).is_some()
    }

    fn server_of(&self, tool: &str) -> Option<&Arc<Server>> {
        let (server, _) = tool.strip_prefix(PREFIX)?.split_once("__")?;
        let mut servers = self.0.servers.iter();
        servers.find(|known| known.config.name == server)
    }

    /// A tool by the name that the model knows.
    pub fn tool(&self, name: &str) -> Option<ServerTool> {
        self.server_of(name)?.tool(name)
    }

    /// Waits until every server was connected or has failed, at most so long.
    pub async fn settled(&self, most: Duration) {
        let mut changes = self.0.changes.subscribe();
        let settled = |_: &u64| !self.0.servers.iter().any(|server| server.is_pending());
        // The sender lives as long as this.
        let _settled = timeout(most, changes.wait_for(settled)).await;
    }

    /// Runs a call. Its failure is a result; dropping the future cancels it.
    pub fn run(&self, call: ToolCall) -> ToolFuture {
        let server = self.server_of(&call.tool).cloned();
        Box::pin(async move {
            let block: Value = serde_json::from_slice(call.block.bytes()).unwrap_or_default();
            let Some(server) = server else {
                return tool_failure(call.id, format!("There is no tool `{}`.", call.tool));
            };
            let input = block["input"].as_object().cloned();
            match server.call(&call.tool, input).await {
                Ok(result) => tool_output(call.id, &result),
                Err(words) => tool_failure(call.id, words),
            }
        })
    }

    /// Ends all connections and processes.
    pub async fn close(&self) {
        self.0.stop_connecting();
        let close = |server: &Arc<Server>| {
            let server = Arc::clone(server);
            tokio::spawn(async move { server.close().await })
        };
        let closing: Vec<JoinHandle<()>> = self.0.servers.iter().map(close).collect();
        for task in closing {
            let _closed = task.await;
        }
    }
}
