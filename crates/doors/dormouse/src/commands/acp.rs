//! `dormouse acp`: the agent inside an editor, by the Agent Client Protocol on the standard streams.
//!
//! # Model
//! One JSON-RPC message a line, in both directions. The main loop reads requests and prints messages;
//! each session is a task of its own (`session`) with an agent in the folder that the editor named.
//! Sessions are opened by tasks, too: hooks at their start may take long, and nothing else waits for
//! them. Requests to the editor wait in a table until it answers. Types of the messages are those of the
//! protocol's own crate, version 1.
//!
//! # Not here
//! The agent itself: `dormouse-agent`, which also connects to the servers of tools that the editor names.
//! Events as messages: `updates`.

mod session;
mod updates;
mod wire;

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::printable_lines;
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, CancelNotification, Implementation, InitializeResponse, LoadSessionRequest,
    LoadSessionResponse, McpCapabilities, NewSessionRequest, NewSessionResponse,
    PromptCapabilities, PromptRequest, SessionMode, SessionModeState, SetSessionModeRequest,
    SetSessionModeResponse,
};
use dormouse_agent::{
    AgentAsk, AgentHandle, Mode, Resume, ServerAsk, ServerConfig, open, read_servers,
};
use dormouse_core::usage::Usd;
use dormouse_host::Host;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use session::{Order, Session};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;
use wire::{Editor, Incoming, Problem};

/// Work inside an editor, by the Agent Client Protocol on the standard streams
///
/// Editors start this themselves: name `dormouse acp` as a custom agent in their settings.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer to calls that no rule decides, until the editor sets another
    #[arg(
        long,
        value_name = "MODE",
        default_value = "ask",
        hide_default_value = true
    )]
    mode: Mode,
    /// End the work of a session once it has cost this many dollars
    #[arg(long, value_name = "USD")]
    max_budget_usd: Option<Usd>,
}

/// Serves an editor until it closes the input.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    let outcome = runtime.block_on(Box::pin(serve(args, app)));
    // A thread that waits for the standard input would keep the program alive.
    runtime.shutdown_background();
    outcome
}

async fn serve(args: &Args, app: &mut App) -> Outcome {
    let (editor, mut frames) = Editor::new();
    let mut lines = wire::lines();
    let (ready, mut opened) = mpsc::unbounded_channel();
    let mut desk = Desk {
        args,
        app,
        editor: editor.clone(),
        sessions: HashMap::new(),
        ready,
        opening: 0,
    };
    let mut open = true;
    // A session that is being opened when the editor leaves is still closed in order.
    while open || desk.opening > 0 {
        tokio::select! {
            Some(frame) = frames.recv() => desk.app.out.json_line(&frame)?,
            Some(opened) = opened.recv() => desk.opened(opened).await,
            line = lines.recv(), if open => {
                if let Some(line) = line {
                    desk.handle(line).await;
                } else {
                    open = false;
                    editor.forget_all();
                }
            }
        }
    }
    let Desk { app, sessions, .. } = desk;
    // Each session is closed in order; what they still say is printed.
    for (_, session) in sessions {
        tokio::pin! { let closing = session.close(); }
        loop {
            tokio::select! {
                () = &mut closing => break,
                Some(frame) = frames.recv() => app.out.json_line(&frame)?,
            }
        }
    }
    while let Ok(frame) = frames.try_recv() {
        app.out.json_line(&frame)?;
    }
    Ok(())
}

/// A session that was asked for, opened or not.
struct OpenedFor {
    request: Value,
    /// True if the editor wants to hear the conversation so far.
    load: bool,
    session: Result<(Arc<Host>, AgentHandle), Problem>,
}

/// Everything that a line of the editor may touch.
struct Desk<'a> {
    args: &'a Args,
    app: &'a mut App,
    editor: Editor,
    sessions: HashMap<String, Session>,
    /// Way back for the tasks that open sessions.
    ready: mpsc::UnboundedSender<OpenedFor>,
    /// Number of sessions that are being opened.
    opening: usize,
}

impl Desk<'_> {
    async fn handle(&mut self, line: Incoming) {
        match line {
            Incoming::Request { id, method, params } => {
                match self.request(&id, &method, params).await {
                    Ok(Some(answer)) => self.editor.answer(&id, Ok(answer)),
                    // Answered later: when the turn is over, or the session is open.
                    Ok(None) => {}
                    Err(problem) => self.editor.answer(&id, Err(problem)),
                }
            }
            Incoming::Notification { method, params } => {
                if method == "session/cancel"
                    && let Ok(cancel) = read::<CancelNotification>(params)
                    && let Some(session) = self.sessions.get(cancel.session_id.0.as_ref())
                {
                    session.order(Order::Cancel).await;
                }
            }
            Incoming::Response { id, answer } => self.editor.take(id, answer),
            Incoming::Wrong(problem) => self.editor.answer(&Value::Null, Err(problem)),
        }
    }

    /// Answer to a request; `None` if it comes later.
    async fn request(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Result<Option<Value>, Problem> {
        match method {
            "initialize" => written(&welcome()).map(Some),
            "authenticate" => Ok(Some(json!({}))),
            "session/new" => {
                let servers = self.servers(&params);
                let wish: NewSessionRequest = read(params)?;
                let more = (wish.additional_directories, servers);
                self.open(id, Resume::New, &wish.cwd, more)?;
                Ok(None)
            }
            "session/load" => {
                let servers = self.servers(&params);
                let wish: LoadSessionRequest = read(params)?;
                let named = Resume::Named(wish.session_id.0.to_string());
                let more = (wish.additional_directories, servers);
                self.open(id, named, &wish.cwd, more)?;
                Ok(None)
            }
            "session/set_mode" => {
                let wish: SetSessionModeRequest = read(params)?;
                let mode: Mode = wish.mode_id.0.parse().map_err(Problem::params)?;
                let session = self.session(wish.session_id.0.as_ref())?;
                session.order(Order::Mode(mode)).await;
                written(&SetSessionModeResponse::new()).map(Some)
            }
            "session/prompt" => {
                let wish: PromptRequest = read(params)?;
                let content = updates::blocks(&wish.prompt)?;
                let session = self.session(wish.session_id.0.as_ref())?;
                let request = id.clone();
                session.order(Order::Prompt { request, content }).await;
                Ok(None)
            }
            other => Err(Problem::method(other)),
        }
    }

    fn session(&self, id: &str) -> Result<&Session, Problem> {
        let found = self.sessions.get(id);
        found.ok_or_else(|| Problem::params(format!("no session `{id}` is open")))
    }

    /// Servers of tools that the editor names; those that cannot be used are said.
    fn servers(&mut self, params: &Value) -> Vec<ServerConfig> {
        let listed = params["mcpServers"].as_array().into_iter().flatten();
        let named = listed.filter_map(|server| {
            let name = server["name"].as_str()?.to_owned();
            Some((name, server.clone()))
        });
        let servers = Value::Object(named.collect());
        // Values of an editor are no patterns: a variable in them stands for itself.
        let literal = |name: &str| Some(format!("${{{name}}}"));
        let (servers, faults) = read_servers(&servers, "the editor", &literal);
        for fault in faults {
            self.app.note(&printable_lines(&fault.to_string()));
        }
        servers
    }

    /// Begins to open a session; [`Self::opened`] hears of it.
    fn open(
        &mut self,
        request: &Value,
        resume: Resume,
        folder: &Path,
        (folders, servers): (Vec<PathBuf>, Vec<ServerConfig>),
    ) -> Result<(), Problem> {
        if !folder.is_absolute() {
            let what = format!("the folder `{}` is not absolute", folder.display());
            return Err(Problem::params(what));
        }
        let failed = |failure: Failure| Problem::failed(words(failure));
        let host = self.app.host_in(folder).map_err(failed)?;
        let load = matches!(resume, Resume::Named(_));
        let ask = AgentAsk {
            resume,
            mode: self.args.mode,
            attended: true,
            folders,
            servers: ServerAsk {
                given: servers,
                ..ServerAsk::default()
            },
            budget: self.args.max_budget_usd,
            ..AgentAsk::default()
        };
        let (ready, request) = (self.ready.clone(), request.clone());
        self.opening += 1;
        tokio::spawn(async move {
            let opened = Box::pin(open(Arc::clone(&host), ask)).await;
            let session = match opened {
                Ok(agent) => Ok((host, agent)),
                Err(error) => {
                    let words = dormouse_core::show::chain(&error);
                    Err(Problem::failed(printable_lines(&words).into_owned()))
                }
            };
            // The main loop waits for every session that is being opened.
            let _heard = ready.send(OpenedFor {
                request,
                load,
                session,
            });
        });
        Ok(())
    }

    /// Takes a session over that was opened, and answers its request.
    async fn opened(&mut self, opened: OpenedFor) {
        self.opening -= 1;
        let (host, agent) = match opened.session {
            Ok(session) => session,
            Err(problem) => return self.editor.answer(&opened.request, Err(problem)),
        };
        let id = agent.opened.session.as_str().to_owned();
        let modes = modes(agent.opened.mode);
        let window = host.models().lookup(&agent.opened.model).info.window;
        let session = Session::start(agent, self.editor.clone(), window);
        for remark in host.take_remarks() {
            self.app.note(&crate::remark::words(&remark));
        }
        if opened.load {
            let answer = written(&LoadSessionResponse::new().modes(modes));
            let request = opened.request;
            session.order(Order::Replay { request, answer }).await;
        } else {
            let answer = written(&NewSessionResponse::new(id.clone()).modes(modes));
            self.editor.answer(&opened.request, answer);
        }
        session.order(Order::Commands).await;
        self.sessions.insert(id, session);
    }
}

/// An error as one text: the sentence, its causes, the remedy.
fn words(failure: Failure) -> String {
    match failure {
        Failure::Error(error) => {
            let mut parts = vec![error.message.clone()];
            parts.extend(error.causes.iter().cloned());
            parts.extend(error.hint.clone());
            parts.join("; ")
        }
        Failure::Told(_) | Failure::ReaderIsGone => "the session cannot be opened".to_owned(),
    }
}

fn welcome() -> InitializeResponse {
    let prompts = PromptCapabilities::new().image(true).embedded_context(true);
    let can = AgentCapabilities::new()
        .load_session(true)
        .mcp_capabilities(McpCapabilities::new().http(true))
        .prompt_capabilities(prompts);
    let me =
        Implementation::new("dormouse", env!("CARGO_PKG_VERSION")).title("Dormouse".to_owned());
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(can)
        .agent_info(me)
}

fn modes(current: Mode) -> SessionModeState {
    let mode = |mode: Mode| SessionMode::new(mode.name(), mode.name());
    SessionModeState::new(current.name(), Mode::ORDER.map(mode).to_vec())
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Problem> {
    serde_json::from_value(params).map_err(Problem::params)
}

fn written(value: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value).map_err(|error| Problem::failed(error.to_string()))
}

/// Orders that may wait for a session; an editor that sends more is slowed down.
const MOST_ORDERS: usize = 64;

fn orders() -> (mpsc::Sender<Order>, mpsc::Receiver<Order>) {
    mpsc::channel(MOST_ORDERS)
}
