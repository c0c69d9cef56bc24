//! `dormouse acp`: the agent inside an editor, by the Agent Client Protocol on the standard streams.
//!
//! # Model
//! One JSON-RPC message a line, in both directions. The main loop reads requests and prints messages;
//! each session is a task of its own (`session`) with an agent in the folder that the editor named.
//! Requests to the editor wait in a table until it answers. Types of the messages are those of the
//! protocol's own crate, version 1.
//!
//! # Not here
//! The agent itself: `dormouse-agent`. Events as messages: `updates`.

mod session;
mod updates;
mod wire;

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::printable_lines;
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, CancelNotification, Implementation, InitializeResponse, LoadSessionRequest,
    LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
    SessionMode, SessionModeState, SetSessionModeRequest, SetSessionModeResponse,
};
use dormouse_agent::{AgentAsk, Mode, Resume, open};
use dormouse_core::usage::Usd;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use session::{Order, Session};
use std::collections::HashMap;
use std::path::PathBuf;
use tokio::sync::mpsc;
use wire::{Editor, Incoming, Problem};

/// Work inside an editor, by the Agent Client Protocol on the standard streams
///
/// Editors start this themselves: name `dormouse acp` as a custom agent in their settings.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer to calls that no rule decides, until the editor sets another
    #[arg(long, value_name = "MODE", default_value = "ask", hide_default_value = true, value_parser = mode)]
    mode: Mode,
    /// End the work of a session once it has cost this many dollars
    #[arg(long, value_name = "USD")]
    max_budget_usd: Option<Usd>,
}

fn mode(text: &str) -> Result<Mode, dormouse_agent::UnknownMode> {
    text.parse()
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
    let mut sessions = HashMap::new();
    loop {
        tokio::select! {
            frame = frames.recv() => match frame {
                Some(frame) => app.out.json_line(&frame)?,
                None => return Ok(()),
            },
            line = lines.recv() => {
                let Some(line) = line else {
                    break;
                };
                let mut desk = Desk { args, app, editor: &editor, sessions: &mut sessions };
                Box::pin(desk.handle(line)).await;
            }
        }
    }
    editor.forget_all();
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
    Ok(())
}

/// Everything that a line of the editor may touch.
struct Desk<'a> {
    args: &'a Args,
    app: &'a mut App,
    editor: &'a Editor,
    sessions: &'a mut HashMap<String, Session>,
}

impl Desk<'_> {
    async fn handle(&mut self, line: Incoming) {
        match line {
            Incoming::Request { id, method, params } => {
                // A prompt is answered by its session when the turn is over.
                if method == "session/prompt" {
                    if let Err(problem) = self.prompt(&id, params).await {
                        self.editor.answer(&id, Err(problem));
                    }
                    return;
                }
                let answer = self.request(&method, params).await;
                self.editor.answer(&id, answer);
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

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, Problem> {
        match method {
            "initialize" => written(&welcome()),
            "authenticate" => Ok(serde_json::json!({})),
            "session/new" => {
                let wish: NewSessionRequest = read(params)?;
                let folders = wish.additional_directories;
                let (id, modes) = self.open(Resume::New, wish.cwd, folders).await?;
                written(&NewSessionResponse::new(id).modes(modes))
            }
            "session/load" => {
                let wish: LoadSessionRequest = read(params)?;
                let named = Resume::Named(wish.session_id.0.to_string());
                let folders = wish.additional_directories;
                let (id, modes) = self.open(named, wish.cwd, folders).await?;
                if let Some(session) = self.sessions.get(&id) {
                    session.order(Order::Replay).await;
                }
                written(&LoadSessionResponse::new().modes(modes))
            }
            "session/set_mode" => {
                let wish: SetSessionModeRequest = read(params)?;
                let mode: Mode = wish.mode_id.0.parse().map_err(Problem::params)?;
                let session = self.session(wish.session_id.0.as_ref())?;
                session.order(Order::Mode(mode)).await;
                written(&SetSessionModeResponse::new())
            }
            other => Err(Problem::method(other)),
        }
    }

    async fn prompt(&mut self, id: &Value, params: Value) -> Result<(), Problem> {
        let wish: PromptRequest = read(params)?;
        let content = updates::blocks(&wish.prompt)?;
        let session = self.session(wish.session_id.0.as_ref())?;
        let request = id.clone();
        session.order(Order::Prompt { request, content }).await;
        Ok(())
    }

    fn session(&self, id: &str) -> Result<&Session, Problem> {
        let found = self.sessions.get(id);
        found.ok_or_else(|| Problem::params(format!("no session `{id}` is open")))
    }

    async fn open(
        &mut self,
        resume: Resume,
        folder: PathBuf,
        folders: Vec<PathBuf>,
    ) -> Result<(String, SessionModeState), Problem> {
        if !folder.is_absolute() {
            let what = format!("the folder `{}` is not absolute", folder.display());
            return Err(Problem::params(what));
        }
        let failed = |failure: Failure| Problem::failed(words(failure));
        let host = self.app.host_in(&folder).map_err(failed)?;
        let ask = AgentAsk {
            resume,
            mode: self.args.mode,
            attended: true,
            folders,
            budget: self.args.max_budget_usd,
            ..AgentAsk::default()
        };
        let opened = open(std::sync::Arc::clone(&host), ask).await;
        let agent = opened.map_err(|error| {
            let words = dormouse_core::show::chain(&error);
            Problem::failed(printable_lines(&words).into_owned())
        })?;
        let id = agent.opened.session.as_str().to_owned();
        let modes = modes(agent.opened.mode);
        let window = host.models().lookup(&agent.opened.model).info.window;
        let session = Session::start(agent, self.editor.clone(), window);
        self.sessions.insert(id.clone(), session);
        for remark in host.take_remarks() {
            self.app.note(&crate::remark::words(&remark));
        }
        Ok((id, modes))
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
