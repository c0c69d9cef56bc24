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
            attended: true,
            ..AgentAsk::default()
        };
        let agent = open(Arc::clone(host), ask).await.unwrap();
        Self { agent: Some(agent) }
    }

    /// Says something and waits for an answer with these words. Turns that a sub-agent's report begins
    /// may end before.
    pub(crate) async fn turn(&mut self, words: &str, answer: &str) {
        let agent = self.agent.as_mut().unwrap();
        let prompt = Command::Prompt {
            content: vec![Block::text(words)],
            attachments: Vec::new(),
            when: When::default(),
        };
        assert!(agent.send(prompt).await);
        loop {
            match agent.next().await.unwrap().event {
                Event::TurnEnded(end) => {
                    assert!(end.is_answered(), "{end:?}");
                    if end.text.contains(answer) {
                        return;
                    }
                }
                // A plan; everything else is allowed by the mode.
                Event::PermissionWanted(wanted) => {
                    let permit = Command::Permit {
                        call: wanted.call.clone(),
                        allow: true,
                        words: None,
                        input: None,
                        remember: None,
                    };
                    assert!(agent.send(permit).await);
                }
                _ => {}
            }
        }
    }

    pub(crate) async fn close(&mut self) {
        let agent = self.agent.take().unwrap();
        agent.send(Command::Quit { now: false }).await;
        agent.ended().await.unwrap();
    }
}
