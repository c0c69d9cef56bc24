//! A client's end of an agent: commands in, events out.

use crate::agent::{Agent, AgentError};
use crate::protocol::{Ask, Command, Event, OpenedSession, Told, rebuild};
use crate::stream::EventStream;
use dormouse_core::id::Seq;
use dormouse_host::Host;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Commands that may wait: far more than a person types during one append.
const MOST_COMMANDS: usize = 256;

/// An agent that runs as a task.
#[derive(Debug)]
pub struct AgentHandle {
    /// Facts about the session, as its first event tells them.
    pub opened: OpenedSession,
    /// Events of the agent.
    pub events: EventStream,
    commands: Commands,
    host: Arc<Host>,
    task: JoinHandle<Result<(), AgentError>>,
}

/// Sender of commands. Clones send to the same agent.
#[derive(Clone, Debug)]
pub struct Commands(mpsc::Sender<Ask>);

impl Commands {
    /// Sends a command; `false` if the agent has ended.
    pub async fn send(&self, ask: impl Into<Ask>) -> bool {
        self.0.send(ask.into()).await.is_ok()
    }
}

impl AgentHandle {
    pub(crate) fn start(agent: Agent, opened: OpenedSession, events: EventStream) -> Self {
        let (sender, commands) = mpsc::channel(MOST_COMMANDS);
        let host = Arc::clone(&agent.host);
        agent.events.tell(Event::Opened(Box::new(opened.clone())));
        let task = tokio::spawn(agent.run(commands));
        Self {
            opened,
            events,
            commands: Commands(sender),
            host,
            task,
        }
    }

    /// A sender of commands, for tasks of the client.
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// Sends a command; `false` if the agent has ended.
    pub async fn send(&self, command: Command) -> bool {
        self.commands.send(command).await
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Told> {
        let told = self.events.next().await?;
        // A cleared session is followed by another.
        if let Event::Opened(opened) = &told.event {
            self.opened = (**opened).clone();
        }
        Some(told)
    }

    /// Durable events behind a record, read from the log: for a client that was told it lagged.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn missed(&self, after: Seq) -> Result<Vec<Told>, AgentError> {
        let file = self.host.session_log(&self.opened.session)?;
        let read = self.host.transcripts().read(&file)?;
        let mut events = rebuild(&read.records, &self.host.models());
        events.retain(|told| told.seq > Some(after));
        Ok(events)
    }

    /// Ends the task where it stands, without closing the session: as a crash would. Returns when
    /// the log is free to be opened again.
    pub async fn kill(self) {
        self.task.abort();
        let _aborted = self.task.await;
    }

    /// Waits for the end of the agent, after [`Command::Quit`].
    ///
    /// # Errors
    /// When the session could not be closed.
    pub async fn ended(self) -> Result<(), AgentError> {
        let Self { commands, task, .. } = self;
        drop(commands);
        task.await.unwrap_or(Err(AgentError::Ended))
    }
}
