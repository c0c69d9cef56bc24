//! The bundle of all ports that is handed around.

use crate::commands::Commands;
use crate::files::Files;
use crate::memory::MemorySystem;
use crate::processes::Processes;
use crate::real::{
    RealClock, RealCommands, RealEnvironment, RealFiles, RealIds, RealProcesses, RealSandbox,
};
use crate::sandbox::Sandbox;
use crate::world::{Clock, Environment, Ids};
use std::sync::Arc;

/// One of each port. Cheap to clone; clones share their state.
#[derive(Clone, Debug)]
pub struct System {
    /// Files and directories, with locks.
    pub files: Arc<dyn Files>,
    /// Wall clock and monotonic clock.
    pub clock: Arc<dyn Clock>,
    /// Environment variables and well-known directories.
    pub env: Arc<dyn Environment>,
    /// Source of fresh, ordered ids.
    pub ids: Arc<dyn Ids>,
    /// Facts about running processes, for locks.
    pub processes: Arc<dyn Processes>,
    /// Programs that may only read.
    pub sandbox: Arc<dyn Sandbox>,
    /// Command lines that may change things.
    pub commands: Arc<dyn Commands>,
}

impl System {
    /// The machine we run on.
    pub fn real() -> Self {
        Self {
            files: Arc::new(RealFiles),
            clock: Arc::new(RealClock::new()),
            env: Arc::new(RealEnvironment),
            ids: Arc::new(RealIds),
            processes: Arc::new(RealProcesses),
            sandbox: Arc::new(RealSandbox),
            commands: Arc::new(RealCommands),
        }
    }

    /// A machine of its own in memory: empty, reproducible, its clock standing still.
    /// Use [`MemorySystem`] to keep hold of its levers.
    pub fn memory() -> Self {
        MemorySystem::new().system()
    }
}
