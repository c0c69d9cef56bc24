//! The tree of a session's agents, and its bounds.

use crate::servers::ServerTools;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Depth of the deepest sub-agent, the session's own being zero: deeper trees lose the task on the way
/// down.
const DEEPEST: u8 = 3;
/// Sub-agents of a session that work at once, all depths together.
pub(super) const MOST_AT_ONCE: usize = 20;

/// Place of an agent in the tree of a session's agents.
#[derive(Clone, Debug)]
pub struct Lineage {
    depth: u8,
    /// Room for agents that work at once, shared by the whole tree.
    pub(super) room: Arc<Semaphore>,
    /// Servers of tools, which the whole tree shares: one process each, however many agents work.
    servers: Option<ServerTools>,
}

impl Default for Lineage {
    /// The session's own agent.
    fn default() -> Self {
        Self {
            depth: 0,
            room: Arc::new(Semaphore::new(MOST_AT_ONCE)),
            servers: None,
        }
    }
}

impl Lineage {
    /// True for every agent but the session's own.
    pub(crate) const fn is_sub_agent(&self) -> bool {
        self.depth > 0
    }

    /// Gives the servers of an agent to those below it.
    pub(crate) fn share(&mut self, servers: &ServerTools) {
        self.servers = Some(servers.clone());
    }

    /// Servers of the agent above; `None` for the session's own agent.
    pub(crate) fn shared(&self) -> Option<&ServerTools> {
        self.servers.as_ref().filter(|_| self.is_sub_agent())
    }

    /// The place below; `None` at the deepest.
    pub(super) fn child(&self) -> Option<Self> {
        (self.depth < DEEPEST).then(|| Self {
            depth: self.depth + 1,
            room: Arc::clone(&self.room),
            servers: self.servers.clone(),
        })
    }
}
