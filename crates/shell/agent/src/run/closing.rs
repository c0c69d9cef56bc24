//! The end of an agent: background commands, what is being learnt, hooks, the log.

use super::Loop;
use crate::agent::{Agent, AgentError};
use crate::protocol::{Ask, Command, Event};
use std::time::Duration;
use tokio::sync::mpsc;

/// Time that background commands get to end by themselves; Claude Code gives the same.
const GRACE: Duration = Duration::from_secs(5);
/// Time between two looks at the commands that still run: short beside the grace, long beside a
/// look.
const LOOK: Duration = Duration::from_millis(25);

impl Agent {
    pub(super) async fn close(
        mut self,
        state: &mut Loop,
        commands: &mut mpsc::Receiver<Ask>,
    ) -> Result<(), AgentError> {
        let now = state.quit.is_none_or(|quit| quit.now);
        if !now {
            self.grace(commands).await;
        }
        // Also where the rest fails: no process outlives its session.
        self.tools.close();
        self.hooks.session_end().await;
        let learnt = match &mut self.learning {
            // In a hurry it is left to the next session.
            Some(learning) if now => {
                let session = &mut self.session;
                learning.finish(session, std::future::ready(())).await
            }
            Some(learning) => learning.finish(&mut self.session, hurried(commands)).await,
            None => Ok(()),
        };
        let events = self.events.clone();
        while let Some(heard) = state.told.try_next() {
            self.heard(state, heard);
        }
        let closed = self.session.close().await;
        let result = learnt.and(closed).map_err(AgentError::from);
        let failed = result
            .as_ref()
            .err()
            .map(|error| dormouse_core::show::chain(error));
        events.tell(Event::Closed { failed });
        events.close();
        result
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
