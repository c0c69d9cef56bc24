//! The agent as the long session uses it: open, a turn, close.

use dormouse_agent::protocol::When;
use dormouse_agent::{AgentAsk, AgentHandle, Command, Event, Mode, Resume, open};
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_host::Host;
use std::sync::Arc;

/// An agent that is open, and the answers it is given.
pub(crate) struct Talk {
    agent: Option<AgentHandle>,
}

impl Talk {
    pub(crate) async fn open(host: &Arc<Host>, resume: Resume, session: Option<SessionId>) -> Self {
        let ask = AgentAsk {
            resume,
            session,
            mode: Mode::All,
            ..AgentAsk::default()
        };
        let agent = open(Arc::clone(host), ask).await.unwrap();
        Self { agent: Some(agent) }
    }

    /// The last answer of a turn.
    pub(crate) async fn turn(&mut self, words: &str) -> String {
        let agent = self.agent.as_mut().unwrap();
        let prompt = Command::Prompt {
            content: vec![Block::text(words)],
            attachments: Vec::new(),
            when: When::default(),
        };
        assert!(agent.send(prompt).await);
        loop {
            let told = agent.next().await.unwrap();
            if let Event::TurnEnded(end) = told.event {
                assert!(end.is_answered(), "{end:?}");
                return end.text;
            }
        }
    }

    pub(crate) async fn close(&mut self) {
        let agent = self.agent.take().unwrap();
        agent.send(Command::Quit { now: false }).await;
        agent.ended().await.unwrap();
    }
}
