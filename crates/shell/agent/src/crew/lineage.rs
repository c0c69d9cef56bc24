//! The tree of a session's agents, and its bounds.

use std::sync::Arc;
use tokio::sync::Semaphore;

/// Sub-agents above the deepest one: deeper trees lose the task on the way down.
const DEEPEST: u8 = 3;
/// Sub-agents of a session that work at once, all depths together.
pub(super) const MOST_AT_ONCE: usize = 20;

/// Place of an agent in the tree of a session's agents.
#[derive(Clone, Debug)]
pub struct Lineage {
    depth: u8,
    /// Room for agents that work at once, shared by the whole tree.
    pub(super) room: Arc<Semaphore>,
}

impl Default for Lineage {
    /// The session's own agent.
    fn default() -> Self {
        Self {
            depth: 0,
            room: Arc::new(Semaphore::new(MOST_AT_ONCE)),
        }
    }
}

impl Lineage {
    /// True for every agent but the session's own.
    pub(crate) const fn is_sub_agent(&self) -> bool {
        self.depth > 0
    }

    /// The place below; `None` at the deepest.
    pub(super) fn child(&self) -> Option<Self> {
        (self.depth < DEEPEST).then(|| Self {
            depth: self.depth + 1,
            room: Arc::clone(&self.room),
        })
    }
}
