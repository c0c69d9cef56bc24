//! The ports as a test wants them: in memory, reproducible, and broken on command.

mod commands;
mod disk;
mod fault;
mod files;
mod handle;
mod processes;
mod sandbox;
mod tree;
mod world;

pub use commands::ScriptedCommands;
pub use fault::{Fault, Performed, Survives};
pub use files::MemoryFiles;
pub use processes::MemoryProcesses;
pub use sandbox::ScriptedSandbox;
pub use world::{ManualClock, MapEnvironment, MemorySystem, SequentialIds};
