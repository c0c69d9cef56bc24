//! The tree of a session's agents, and its bounds.

use super::fork::NewFork;
use crate::post::{Office, Seat};
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
    /// Origin of an agent that begins as a fork of the one above; `None` for every other.
    fork: Option<NewFork>,
    /// Seat in the team, which the agent above gave; the session's own agent takes one itself.
    seat: Option<(Office, Seat)>,
    /// Model that the definition of a sub-agent names; `None` for that of the session.
    model: Option<String>,
}

impl Default for Lineage {
    /// The session's own agent.
    fn default() -> Self {
        Self {
            depth: 0,
            room: Arc::new(Semaphore::new(MOST_AT_ONCE)),
            servers: None,
            fork: None,
            seat: None,
            model: None,
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
            fork: None,
            seat: None,
            model: None,
        })
    }

    /// The place of an agent with its seat, and with the origin of a fork.
    #[must_use]
    pub(super) fn placed(mut self, fork: Option<NewFork>, seat: Option<(Office, Seat)>) -> Self {
        (self.fork, self.seat) = (fork, seat);
        self
    }

    /// The place of an agent with a model of its own.
    #[must_use]
    pub(super) fn asking(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    /// Model that the definition names.
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Seat in the team.
    pub(super) const fn seat(&self) -> Option<&(Office, Seat)> {
        self.seat.as_ref()
    }

    /// Origin of a fork that is opened for the first time.
    pub(crate) const fn fork(&self) -> Option<&NewFork> {
        self.fork.as_ref()
    }
}
