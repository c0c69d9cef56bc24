#![doc = include_str!("../README.md")]

mod commands;
mod error;
mod files;
mod memory;
mod processes;
mod real;
mod sandbox;
mod secrets;
mod system;
mod world;

pub use commands::{Commands, MARK, Order, Output, Piped, PipedOrder, Room, Running};
pub use error::{FileError, FileResult, Operation, OptionalFile};
pub use files::{
    Access, AppendFile, DEEPEST_WALK, DirEntry, FileKind, Files, LockGuard, MOST_WALKED, Metadata,
    RandomRead, Stamp, Walked, is_temporary, lock_path,
};
pub use memory::{
    Fault, ManualClock, MapEnvironment, MemoryFiles, MemoryProcesses, MemorySystem, Performed,
    ScriptedCommands, ScriptedSandbox, SequentialIds, Survives,
};
pub use processes::{ProcessId, ProcessStart, Processes};
pub use real::{
    RealClock, RealCommands, RealEnvironment, RealFiles, RealIds, RealProcesses, RealSandbox,
};
pub use sandbox::{Confinement, ENVIRONMENT, End, Finished, Program, Sandbox, SandboxError, Task};
pub use secrets::secret_places;
pub use system::System;
pub use world::{Clock, Environment, EnvironmentError, Ids, Ticks};
