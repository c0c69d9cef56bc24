//! The end of an agent: background commands, what is being learnt, hooks, the log.

use super::Loop;
use crate::agent::{Agent, AgentAsk, AgentError, Resume};
use crate::protocol::{Ask, Command, Event};
use crate::stream::EventSender;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Time that background commands get to end by themselves; Claude Code gives the same.
const GRACE: Duration = Duration::from_secs(5);
/// Time between two looks at the commands that still run: short beside the grace, long beside a
/// look.
const LOOK: Duration = Duration::from_millis(25);

impl Agent {
    pub(super) async fn close(
        self,
        state: &mut Loop,
        commands: &mut mpsc::Receiver<Ask>,
    ) -> Result<(), AgentError> {
        let now = state.quit.is_none_or(|quit| quit.now);
        if !now {
            self.grace(commands).await;
        }
        let events = self.events.clone();
        let result = Box::pin(self.close_session(state, commands, now, "other")).await;
        closed(&events, result.as_ref().err());
        result
    }

    /// Closes this session and opens a new one in its place.
    pub(super) async fn cleared(
        self,
        state: &mut Loop,
        commands: &mut mpsc::Receiver<Ask>,
        ask: u64,
    ) -> Result<Self, AgentError> {
        let (host, events) = (Arc::clone(&self.host), self.events.clone());
        let wishes = AgentAsk {
            resume: Resume::New,
            session: None,
            fork: false,
            mode: self.judge.mode(),
            ..self.ask.clone()
        };
        Box::pin(self.close_session(state, commands, false, "clear")).await?;
        let (next, opened) = Self::open(host, wishes, "clear", events.clone()).await?;
        events.tell(Event::Opened(Box::new(opened)));
        events.tell(Event::Done { ask, failed: None });
        Ok(next)
    }

    async fn close_session(
        mut self,
        state: &mut Loop,
        commands: &mut mpsc::Receiver<Ask>,
        now: bool,
        reason: &str,
    ) -> Result<(), AgentError> {
        if let Some(crew) = &self.crew {
            crew.close().await;
        }
        // Also where the rest fails: no process outlives its session.
        self.servers.close().await;
        self.tools.close();
        self.hooks.session_end(reason).await;
        let learnt = match &mut self.learning {
            // In a hurry it is left to the next session.
            Some(learning) if now => {
                let session = &mut self.session;
                learning.finish(session, std::future::ready(())).await
            }
            Some(learning) => learning.finish(&mut self.session, hurried(commands)).await,
            None => Ok(()),
        };
        while let Some(heard) = state.told.try_next() {
            self.heard(state, heard);
        }
        let closed = self.session.close().await;
        learnt.and(closed).map_err(AgentError::from)
    }

    /// Waits for background commands, until a client is in a hurry.
    async fn grace(&self, commands: &mut mpsc::Receiver<Ask>) {
        let deadline = tokio::time::Instant::now() + GRACE;
        while !self.tools.running().is_empty() {
            tokio::select! {
                biased;
                () = hurried(commands) => return,
                () = tokio::time::sleep_until(deadline) => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

/// Tells the end of the agent, and its reason if it did not end well.
pub(super) fn closed(events: &EventSender, error: Option<&AgentError>) {
    let failed = error.map(|error| dormouse_core::show::chain(error));
    events.tell(Event::Closed { failed });
    events.close();
}

/// Waits until a client is in a hurry; for ever if every client is gone, because those that wait for
/// the end send nothing any more.
async fn hurried(commands: &mut mpsc::Receiver<Ask>) {
    loop {
        match commands.recv().await {
            Some(Ask {
                command: Command::Quit { now: true },
                ..
            }) => return,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}
