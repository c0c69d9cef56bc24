//! One connection to a server: the only place that knows `rmcp`.
//!
//! # Model
//! A link is a service of `rmcp` and, for a process, the process itself. The greeting is that of the
//! newer protocol, and falls back to the older one where the server does not know it. A server may not
//! ask anything back: it has been promised no capability.
//!
//! # Not here
//! When to connect again: `server`.

use crate::clean::{self, ServerTool};
use crate::config::Way;
use crate::web::Web;
use dormouse_system::{Commands, End, Piped, PipedOrder, Running, SandboxError};
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ListToolsRequest, PaginatedRequestParams, ProtocolVersion, ServerResult,
};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::task::JoinHandle;

/// Pages of a list of tools; a server whose list has no end must not hold the session.
const MOST_PAGES: usize = 32;
/// Bytes of a server's complaints that are kept, to tell why it failed.
const COMPLAINTS: usize = 2_048;
/// Characters of the last complaint in a message.
const LONGEST_COMPLAINT: usize = 300;
/// Time between the end of a server's input and its death by force.
const GRACE: Duration = Duration::from_millis(500);

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Link {
    service: RunningService<RoleClient, Handler>,
    process: Option<Arc<dyn Running>>,
    complaints: Complaints,
}

/// Facts that a server tells when it is greeted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Greeting {
    pub(crate) tools: Vec<ServerTool>,
    pub(crate) instructions: Option<String>,
    /// Tools that are left out, each with its reason.
    pub(crate) faults: Vec<String>,
}

/// Reason why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallFault {
    /// The connection is gone; the call may have had effects.
    Gone(String),
    /// The server answered with an error.
    Said(String),
}

/// Our side of the protocol: nothing is offered to servers.
#[derive(Clone, Debug, Default)]
struct Handler {
    /// Set when the server has said that its tools changed.
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let me = Implementation::new("dormouse", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), me)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

/// Last words of a process on its stream for errors.
#[derive(Clone, Debug, Default)]
struct Complaints(Arc<Mutex<Vec<u8>>>);

impl Complaints {
    fn hear(&self, mut stream: tokio::process::ChildStderr) -> JoinHandle<()> {
        let heard = self.clone();
        // Read to the end: a server whose pipe is full would stop.
        tokio::spawn(async move {
            let mut buffer = vec![0; COMPLAINTS];
            while let Ok(read) = stream.read(&mut buffer).await
                && read > 0
            {
                let mut kept = heard.0.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..read]);
                let old = kept.len().saturating_sub(COMPLAINTS);
                kept.drain(..old);
            }
        })
    }

    /// A reason with the last words beside it.
    fn beside(&self, why: String) -> String {
        match self.last() {
            Some(last) => format!("{why} ({last})"),
            None => why,
        }
    }

    /// The last line, in words for a message.
    fn last(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept).into_owned();
        let last = text
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())?;
        Some(clean::line(last, LONGEST_COMPLAINT))
    }
}

impl Link {
    /// Connects to a server and greets it.
    pub(crate) async fn open(
        way: &Way,
        commands: &Arc<dyn Commands>,
        folder: &Path,
        mark: &str,
    ) -> Result<Self, String> {
        let mode = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let complaints = Complaints::default();
        match way {
            Way::Process { command, args, env } => {
                let order = PipedOrder {
                    program: command.clone(),
                    arguments: args.clone(),
                    variables: env.clone(),
                    directory: folder.to_owned(),
                    mark: mark.to_owned(),
                };
                let commands = Arc::clone(commands);
                // Starting a process may wait for a disk.
                let started = tokio::task::spawn_blocking(move || {
                    let piped = commands.converse(&order)?;
                    // Guarded here: the session may end before anyone looks.
                    let guard = Guard(Some(Arc::clone(&piped.running)));
                    Ok::<_, SandboxError>((piped, guard))
                });
                let (piped, process) = started
                    .await
                    .map_err(|_| "its process could not be started".to_owned())?
                    .map_err(|error| dormouse_core::show::chain(&error))?;
                let Piped {
                    input,
                    output,
                    errors,
                    ..
                } = piped;
                let bad = |error: std::io::Error| format!("its streams cannot be used: {error}");
                let input = tokio::process::ChildStdin::from_std(input).map_err(bad)?;
                let output = tokio::process::ChildStdout::from_std(output).map_err(bad)?;
                let errors = tokio::process::ChildStderr::from_std(errors).map_err(bad)?;
                let hearing = complaints.hear(errors);
                let served = Handler::default().serve_with_lifecycle((output, input), mode);
                let service = match served.await {
                    Ok(service) => service,
                    Err(error) => {
                        let ended = process.ended().await;
                        // Its last words come with its end.
                        let _heard = tokio::time::timeout(GRACE, hearing).await;
                        let why = ended.unwrap_or_else(|| words(&error));
                        return Err(complaints.beside(why));
                    }
                };
                Ok(Self {
                    service,
                    process: process.keep(),
                    complaints,
                })
            }
            Way::Http { url, headers } => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.custom_headers = header_map(headers)?;
                let transport = StreamableHttpClientTransport::with_client(Web::new(url)?, config);
                let served = Handler::default().serve_with_lifecycle(transport, mode);
                Ok(Self {
                    service: served.await.map_err(|error| words(&error))?,
                    process: None,
                    complaints,
                })
            }
        }
    }

    /// True once the connection has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// True once after the server has said that its tools changed.
    pub(crate) fn has_changed(&self) -> bool {
        self.service
            .service()
            .changed
            .swap(false, Ordering::Relaxed)
    }

    /// Tools and instructions of the server.
    pub(crate) async fn greeting(&self, name: &str) -> Result<Greeting, String> {
        let mut listed = Vec::new();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let page = self.page(cursor).await?;
            let tools = page["tools"].as_array();
            listed.extend(tools.into_iter().flatten().cloned());
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        let (tools, faults) = clean::server_tools(name, &listed);
        let info = self.service.peer().peer_info();
        let instructions = info.as_ref().and_then(|info| info.instructions.as_deref());
        Ok(Greeting {
            tools,
            instructions: clean::instructions(instructions),
            faults,
        })
    }

    /// One page of the list of tools. One tool that is not as the protocol wants it makes a list of no
    /// known type, and must not cost the others.
    async fn page(&self, cursor: Option<String>) -> Result<Value, String> {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
        let answer = self.service.peer().send_request(request).await;
        let answer = match answer.map_err(|error| self.fault(&error))? {
            ServerResult::ListToolsResult(page) => serde_json::to_value(page),
            ServerResult::CustomResult(page) => Ok(page.0),
            _ => Ok(Value::Null),
        };
        match answer {
            Ok(page) if page["tools"].is_array() => Ok(page),
            _ => Err("its list of tools cannot be read".to_owned()),
        }
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    pub(crate) async fn call(
        &self,
        tool: &str,
        input: Option<Map<String, Value>>,
    ) -> Result<Value, CallFault> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = input;
        match self.service.peer().call_tool_once(params).await {
            Ok(CallToolResponse::Complete(result)) => serde_json::to_value(result)
                .map_err(|error| CallFault::Said(format!("its result is no JSON: {error}"))),
            Ok(_) => Err(CallFault::Said(
                "it asks for something that is not offered here".to_owned(),
            )),
            Err(error @ (ServiceError::TransportClosed | ServiceError::TransportSend(_))) => {
                Err(CallFault::Gone(self.fault(&error)))
            }
            Err(error) => Err(CallFault::Said(words(&error))),
        }
    }

    /// An error with the last complaint of the process.
    fn fault(&self, error: &ServiceError) -> String {
        self.complaints.beside(words(error))
    }

    /// Ends the connection, and its process after a moment.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        let Some(process) = self.process.clone() else {
            return;
        };
        let _ended = tokio::task::spawn_blocking(move || {
            // Its input has ended: a server of good manners goes by itself.
            if process.wait(GRACE).is_none() {
                process.stop();
            }
        })
        .await;
    }
}

impl Drop for Link {
    // Also where nobody closes it: no server outlives its connection.
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            process.stop();
        }
    }
}

/// Kills a process whose greeting does not end well, or is not waited for any more.
struct Guard(Option<Arc<dyn Running>>);

impl Guard {
    /// The end of the process in words; `None` if it still runs.
    async fn ended(&self) -> Option<String> {
        let process = self.0.clone()?;
        let waited = tokio::task::spawn_blocking(move || process.wait(GRACE)).await;
        Some(match waited.ok().flatten()? {
            End::Exit(code) => format!("its process ended with the code {code}"),
            End::Signal(signal) => format!("its process was ended by the signal {signal}"),
            End::TimedOut => return None,
        })
    }

    fn keep(mut self) -> Option<Arc<dyn Running>> {
        self.0.take()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(process) = &self.0 {
            process.stop();
        }
    }
}

fn header_map(headers: &[(String, String)]) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let read = |(name, value): &(String, String)| {
        let bad = || format!("its header `{}` cannot be sent", clean::line(name, 100));
        let key: HeaderName = name.parse().map_err(|_| bad())?;
        let mut value: HeaderValue = value.parse().map_err(|_| bad())?;
        value.set_sensitive(true);
        Ok((key, value))
    };
    headers.iter().map(read).collect()
}

/// An error and its causes, within a line.
fn words(error: &dyn std::error::Error) -> String {
    /// Characters of an error: servers put whole pages into theirs.
    const LONGEST: usize = 1_000;
    clean::line(&dormouse_core::show::chain(error), LONGEST)
}
