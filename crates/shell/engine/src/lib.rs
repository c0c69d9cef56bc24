//! The imperative shell around a driver.
//!
//! # Model
//! An [`Engine`] runs a `dormouse_drive::Driver` on tokio: one `select!` builds inputs, dumb
//! executors carry effects out. A [`Session`] is a thin face on it: one method a command. All
//! decisions are the driver's; nothing here knows a planner, a policy or a price.
//!
//! # Responsibilities
//! - The ports: log, model, tools, hooks, recall, files.
//! - Blocking work on the blocking pool; no lock across an await.
//! - Subscribers with bounded queues.
//!
//! # Not here
//! Deciding (`dormouse-drive`, `dormouse-context`), wires (`dormouse-model`), formats of logs
//! (`dormouse-store`), printing: facts for people are [`Notice`]s.

mod ask;
mod child;
mod engine;
mod error;
mod execute;
mod fork;
mod ports;
mod session;
mod setup;
mod store;
mod subscribe;

pub use dormouse_core::record::Purpose;
pub use dormouse_drive::{
    CompactWish, ForkLimits, HookAnswer, Injection, Notice, Opened, Seen, ToolCall, ToolFuture,
    ToolHost, ToolTraits,
};
pub use engine::{Engine, Question};
pub use error::EngineError;
pub use fork::{ForkAnswer, ForkRun};
pub use ports::{
    AskModel, Asker, CompactHooks, Companion, DiskRestorer, HookFuture, NoCompanion, NoHooks,
    NoTools, Notices, Restorer,
};
pub use session::{Session, TurnEnd};
pub use setup::{Ports, SessionConfig, SessionPlace, SettingsSource};
pub use store::{BlockingLog, LogStore, StoreFuture};
pub use subscribe::{Subscription, Told};
