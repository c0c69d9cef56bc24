//! `dormouse -p`: the agent without a screen. It works until it is done and prints its answer.
//!
//! # Not here
//! The agent itself: `dormouse-agent`. Options: `args`; frames: `stream`; the end: `ending`; a program
//! that takes part: `control`.

mod args;
mod control;
mod ending;
mod input;
mod program;
mod servers;
mod stream;

pub use args::{Args, known_only};

use super::doctor;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use args::{InputFormat, OutputFormat};
use control::Driving;
use dormouse_agent::protocol::{ServerFacts, When};
use dormouse_agent::{
    AgentAsk, AgentError, AgentHandle, Ask, Client, Command, Event, Told, TurnEnd, open,
};
use dormouse_core::block::Block;
use dormouse_host::{Host, HostError, NoModel};
use ending::Ending;
use input::{Incoming, Line};
use program::{Heard, Wire};
use serde_json::{Value, json};
use std::sync::Arc;
use stream::Stream;

/// Number by which the end of a prompt is known.
const PROMPT: u64 = 1;

/// Lets the agent work and prints its answers.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let prompt = match args.input_format {
        InputFormat::Text => Some(args.prompt()?),
        InputFormat::StreamJson => None,
    };
    args.apply(app);
    let host = app.living_host()?;
    let ask = args.ask()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    let outcome = runtime.block_on(Box::pin(async {
        let mut wire = Wire::new(app.system.ids.clone(), prompt.is_none());
        let servers = args.servers(app, &host)?;
        let driving = match &prompt {
            Some(_) => None,
            None => control::begin(&mut wire, &servers.in_program, &host, app).await?,
        };
        let mut ask = taking_part(ask, args, driving.as_ref());
        ask.servers.given = servers.others;
        let opening = Box::pin(open(Arc::clone(&host), ask));
        let agent = match wire.during(app, opening).await? {
            Ok(agent) => agent,
            Err(AgentError::Host(error)) => {
                return Err(match *error {
                    HostError::NoModel(why) if why.is_missing() => {
                        without_model(&why, &host).await.into()
                    }
                    error => error.into(),
                });
            }
            Err(error) => return Err(failed(error)),
        };
        app.remarks();
        Printing::new(args, app, agent, wire, driving)
            .run(prompt)
            .await
    }));
    // A thread that waits for the standard input would keep the program alive.
    runtime.shutdown_background();
    outcome
}

/// The wish for an agent, with the part that the program takes in it.
fn taking_part(ask: AgentAsk, args: &Args, driving: Option<&Arc<Driving>>) -> AgentAsk {
    let given = |option: &Option<String>, said: Option<&String>| {
        let option = option.as_ref().filter(|text| !text.trim().is_empty());
        option.or(said).cloned()
    };
    let system = driving.and_then(|driving| driving.system.as_ref());
    let append = driving.and_then(|driving| driving.append.as_ref());
    AgentAsk {
        attended: args.asks_program() && driving.is_some(),
        system: given(&args.system_prompt, system),
        append_system: given(&ask.append_system, append),
        client: driving.map(|driving| Arc::clone(driving) as Arc<dyn Client>),
        ..ask
    }
}

/// A run of the agent and its printing.
struct Printing<'a> {
    app: &'a mut App,
    args: &'a Args,
    agent: AgentHandle,
    wire: Wire,
    /// The program, if it takes part in the session.
    driving: Option<Arc<Driving>>,
    stream: Stream,
    ending: Ending,
    notes: Vec<String>,
    /// Servers of tools with their states, as they were told last.
    servers: Vec<ServerFacts>,
    /// Prompts that were sent and have not ended.
    waiting: usize,
    /// Set when no more prompts come.
    last: bool,
    /// Way in which the last turn ended.
    ended: Option<TurnEnd>,
    stopped: Stopped,
}

/// Signals that have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stopped {
    #[default]
    No,
    /// The user has interrupted the turn.
    Interrupted,
    /// The system has asked for the end.
    Terminated,
}

impl<'a> Printing<'a> {
    fn new(
        args: &'a Args,
        app: &'a mut App,
        agent: AgentHandle,
        wire: Wire,
        driving: Option<Arc<Driving>>,
    ) -> Self {
        let stream = Stream::new(
            args.output_format == Some(OutputFormat::StreamJson),
            args.include_partial_messages,
            agent.opened.session.as_str(),
            app.system.ids.clone(),
        );
        Self {
            ending: Ending::new(&app.system),
            servers: agent.opened.servers.clone(),
            stream,
            args,
            agent,
            wire,
            driving,
            app,
            notes: Vec::new(),
            waiting: 0,
            last: false,
            ended: None,
            stopped: Stopped::No,
        }
    }

    async fn run(mut self, prompt: Option<String>) -> Outcome {
        let servers = self.servers();
        self.stream.begin(&self.agent.opened, &servers, self.app)?;
        if let Some(prompt) = prompt {
            self.send(vec![Block::text(&prompt)], When::Queue).await?;
            self.last = true;
        }
        let mut terminate = terminated()?;
        loop {
            tokio::select! {
                told = self.agent.next() => match told {
                    Some(told) => self.told(told).await?,
                    None => break,
                },
                heard = self.wire.hear() => match heard {
                    Heard::Frame(frame) => self.app.out.json_line(&frame)?,
                    Heard::Line(line) => self.incoming(line).await?,
                },
                _ = tokio::signal::ctrl_c() => self.interrupted().await,
                () = terminate.wait() => {
                    self.stopped = Stopped::Terminated;
                    self.agent.send(Command::Quit { now: true }).await;
                }
            }
        }
        self.end().await
    }

    async fn send(&mut self, content: Vec<Block>, when: When) -> Outcome {
        self.state("running")?;
        self.waiting += 1;
        self.ending.begin();
        let command = Command::Prompt {
            content,
            attachments: Vec::new(),
            when,
        };
        let ask = Ask {
            id: PROMPT,
            command,
        };
        self.agent.commands().send(ask).await;
        Ok(())
    }

    /// Tells a program that takes part whether the session works, waits for it or is idle.
    fn state(&mut self, state: &str) -> Outcome {
        if self.driving.is_some() {
            self.stream.state(state, self.app)?;
        }
        Ok(())
    }

    async fn incoming(&mut self, line: Option<Line>) -> Outcome {
        match line {
            Some(Ok(Incoming::Prompt { content, frame })) => {
                if self.args.replay_user_messages {
                    self.stream.replay(frame, self.app)?;
                }
                self.send(content, When::Queue).await?;
            }
            Some(Ok(Incoming::Request { id, request })) => {
                let (commands, servers) = (self.agent.commands(), self.servers());
                let session = (&commands, servers.as_slice());
                Driving::requested(&self.wire.program, session, &id, &request).await;
            }
            // Kinds of a later version, signs of life, and answers, which the wire hands out.
            Some(Ok(Incoming::Nothing | Incoming::Answer { .. })) => {}
            Some(Err(why)) => {
                self.last = true;
                self.quit(true).await;
                let error = UserError::new(Exit::Unsuitable, why);
                return Err(error
                    .hint("send one JSON object a line: {\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"…\"}}")
                    .into());
            }
            None | Some(Ok(Incoming::End)) => {
                self.last = true;
                if self.waiting == 0 {
                    self.quit(false).await;
                }
            }
        }
        Ok(())
    }

    /// Servers inside the program and outside, in the form of Claude Code.
    fn servers(&self) -> Vec<Value> {
        let inside = self.driving.iter().flat_map(|driving| driving.servers());
        let outside = self.servers.iter().map(
            |server| json!({ "name": server.name, "status": server.status, "error": server.why }),
        );
        inside.chain(outside).collect()
    }

    fn server_changed(&mut self, changed: ServerFacts) {
        if let Some(why) = &changed.why {
            let name = &changed.name;
            self.notes.push(format!("the server {name} is away: {why}"));
        }
        self.servers.retain(|server| server.name != changed.name);
        self.servers.push(changed);
    }

    async fn quit(&self, now: bool) {
        self.agent.send(Command::Quit { now }).await;
    }

    /// The first interrupt ends the turn, the second everything.
    async fn interrupted(&mut self) {
        if self.stopped == Stopped::No {
            self.stopped = Stopped::Interrupted;
            self.agent.send(Command::Interrupt).await;
            if self.waiting == 0 {
                self.quit(false).await;
            }
        } else {
            self.quit(true).await;
        }
    }

    async fn told(&mut self, told: Told) -> Outcome {
        self.ending.take(&told.event);
        match told.event {
            // Behind the last answer at once: the user waits, and should know for what.
            Event::Notice { text } | Event::Saved { what: text } if self.is_over() => {
                self.app.note(&text);
            }
            Event::Notice { text } | Event::Saved { what: text } => self.notes.push(text),
            Event::Lagged { after } => {
                for told in self.agent.missed(after).map_err(failed)? {
                    // The end of the turn, should it be among them, is told again by the agent.
                    self.stream.tell(&told.event, self.app)?;
                }
            }
            Event::PermissionWanted(wanted) if self.driving.is_some() => {
                self.state("requires_action")?;
                let (program, commands) = (self.wire.program.clone(), self.agent.commands());
                tokio::spawn(control::permission(program, commands, *wanted));
            }
            Event::QuestionWanted(wanted) if self.driving.is_some() && wanted.answers.is_none() => {
                self.state("requires_action")?;
                let (program, commands) = (self.wire.program.clone(), self.agent.commands());
                tokio::spawn(control::question(program, commands, *wanted));
            }
            Event::ServerChanged(changed) => self.server_changed(changed),
            Event::Settled { .. } => self.state("running")?,
            Event::TurnEnded(end) => {
                self.waiting = self.waiting.saturating_sub(1);
                let session = self.agent.opened.session.as_str();
                let object = self.ending.object(session, &end, self.app);
                Ending::print(self.args.output_format, &object, &end, self.app)?;
                self.ended = Some(*end);
                if self.waiting == 0 {
                    self.state("idle")?;
                }
                if self.is_over() {
                    self.quit(false).await;
                }
            }
            event => self.stream.tell(&event, self.app)?,
        }
        Ok(())
    }

    /// True once every prompt was answered and no more come.
    const fn is_over(&self) -> bool {
        self.last && self.waiting == 0
    }

    async fn end(mut self) -> Outcome {
        self.wire.flush(self.app)?;
        let id = self.agent.opened.session.as_str().to_owned();
        for note in &self.notes {
            self.app.note(note);
        }
        // Remarks of the session itself, such as hooks that are not trusted.
        self.app.remarks();
        let closed = self.agent.ended().await;
        let go_on = format!("`dormouse --resume {id} -p …` goes on");
        let error = |exit, what: String| UserError::new(exit, what).hint(&go_on).into();
        match (self.stopped, self.ended) {
            (Stopped::Terminated, _) => return Err(Failure::Told(Exit::Terminated)),
            (Stopped::Interrupted, _) => {
                let what = "stopped; everything so far is kept".to_owned();
                return Err(error(Exit::Limit, what));
            }
            (Stopped::No, Some(end)) => match end.end.as_str() {
                "answered" if end.stop_reason.as_deref() == Some("refusal") => {
                    return Err(error(Exit::Refused, "the model declined".to_owned()));
                }
                "answered" => {}
                "requests" => {
                    let requests = end.requests;
                    let what = format!("the limit of {requests} requests has ended the turn");
                    return Err(error(Exit::Limit, what));
                }
                "budget" => {
                    let what = "the budget of this run is spent".to_owned();
                    return Err(error(Exit::Limit, what));
                }
                "interrupted" => return Err(error(Exit::Limit, "stopped".to_owned())),
                "hook" => {
                    let why = end.why.unwrap_or_default();
                    return Err(error(Exit::Refused, format!("stopped by a hook: {why}")));
                }
                "command" => {
                    let why = end.why.unwrap_or_default();
                    return Err(UserError::new(Exit::Usage, why).into());
                }
                _ => return Err(error(Exit::Unexpected, end.why.unwrap_or_default())),
            },
            // No prompt came.
            (Stopped::No, None) => {}
        }
        closed.map_err(failed)
    }
}

/// The signal by which the system asks a program to end.
struct Terminate(#[cfg(unix)] tokio::signal::unix::Signal);

#[cfg(unix)]
fn terminated() -> Result<Terminate, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let heard = signal(SignalKind::terminate());
    heard
        .map(Terminate)
        .map_err(|error| UserError::of(Exit::Unexpected, &error).into())
}

#[cfg(not(unix))]
fn terminated() -> Result<Terminate, Failure> {
    Ok(Terminate())
}

impl Terminate {
    #[cfg(unix)]
    async fn wait(&mut self) {
        self.0.recv().await;
    }

    #[cfg(not(unix))]
    async fn wait(&mut self) {
        std::future::pending().await
    }
}

/// The error about a missing model, with a server that runs on this machine as the remedy.
pub(super) async fn without_model(why: &NoModel, host: &Host) -> UserError {
    let error = UserError::of(Exit::Unreadable, why);
    match host.local_servers().await.first() {
        Some(server) => {
            let (what, how) = (doctor::described(server), doctor::commands(server));
            error.hint(format!("this machine runs {what}; to use it: {how}"))
        }
        None => error.hint(
            "set ANTHROPIC_API_KEY and ANTHROPIC_MODEL, or run a local server; `dormouse doctor` \
             says what is there",
        ),
    }
}

/// An error of the agent as the command line tells it.
pub(super) fn failed(error: AgentError) -> Failure {
    match error {
        AgentError::Host(error) => (*error).into(),
        AgentError::Rule(error) => UserError::of(Exit::Usage, &error)
            .hint("rules look like Bash(git log *), Edit or Read(src/**)")
            .into(),
        AgentError::SessionTaken(_) => UserError::of(Exit::Refused, &error)
            .hint("`--resume ID` goes on with it, `--fork` with a copy")
            .into(),
        AgentError::Engine(error) => UserError::of(Exit::Unexpected, &error).into(),
        AgentError::Tools(_) | AgentError::Ended => UserError::of(Exit::Unexpected, &error).into(),
    }
}
