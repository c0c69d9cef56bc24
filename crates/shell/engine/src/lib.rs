#![doc = include_str!("../README.md")]

mod ask;
mod beside;
mod child;
mod engine;
mod error;
mod execute;
mod fork;
mod ports;
mod recorder;
mod session;
mod setup;
mod store;
mod subscribe;

pub use dormouse_core::record::Purpose;
pub use dormouse_drive::{
    CompactWish, ForkLimits, HookAnswer, HookMoment, HookPoint, HookVerdict, Injection, Notice,
    Opened, Seen, ToolCall, ToolFuture, ToolHost, ToolTraits,
};
pub use engine::{Engine, PersonAnswer, Question};
pub use error::EngineError;
pub use fork::{ForkAnswer, ForkRun};
pub use ports::{
    AskModel, Asker, Companion, DiskRestorer, HookFuture, Hooks, NoCompanion, NoHooks, NoTools,
    Notices, Restorer,
};
pub use recorder::{NotRecorded, Recorder};
pub use session::{Session, TurnEnd};
pub use setup::{Ports, SessionConfig, SessionPlace, SettingsSource};
pub use store::{BlockingLog, LogStore, StoreFuture};
pub use subscribe::{Subscription, Told};
