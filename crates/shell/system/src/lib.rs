//! The one door between synchronous code and the outside world.
//!
//! # Model
//! Six ports, each a small object-safe trait: [`Files`], [`Clock`], [`Environment`], [`Ids`],
//! [`Processes`] and [`Sandbox`]. [`System`] bundles one of each. Every port comes twice: the real
//! thing, and an in-memory twin that a test can steer. The twin of the files also fails as a disk
//! does: it loses unsynced bytes, fills up, tears writes and refuses access, all on command
//! ([`Fault`]).
//!
//! # Responsibilities
//! - State the disk's content after every call, so that a store can promise something.
//! - Put the path and the operation into every error ([`FileError`]).
//! - Keep files private to their owner unless asked otherwise ([`Access`]).
//!
//! # Not here
//! - No formats: the meaning of the bytes is the store's business.
//! - No waiting, unless the name says so ([`Files::lock_waiting`], [`Sandbox::run`]): nothing else
//!   blocks for a lock, sleeps or retries, except a write that came out short.
//! - No asynchronous code, no network.
//! - No judgement whether a path may be touched; `dormouse-guard` decides before. Enforced here is
//!   only that a path stays below its directory ([`Files::beneath`]).

mod error;
mod files;
mod memory;
mod processes;
mod real;
mod sandbox;
mod system;
mod world;

pub use error::{FileError, FileResult, Operation, OptionalFile};
pub use files::{
    Access, AppendFile, DEEPEST_WALK, DirEntry, FileKind, Files, LockGuard, MOST_WALKED, Metadata,
    RandomRead, Stamp, Walked, is_temporary, lock_path,
};
pub use memory::{
    Fault, ManualClock, MapEnvironment, MemoryFiles, MemoryProcesses, MemorySystem, Performed,
    ScriptedSandbox, SequentialIds, Survives,
};
pub use processes::{ProcessId, ProcessStart, Processes};
pub use real::{RealClock, RealEnvironment, RealFiles, RealIds, RealProcesses, RealSandbox};
pub use sandbox::{Confinement, End, Finished, Program, Sandbox, SandboxError, Task};
pub use system::System;
pub use world::{Clock, Environment, EnvironmentError, Ids, Ticks};
