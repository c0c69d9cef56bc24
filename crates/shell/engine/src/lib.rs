//! The imperative shell around the context engine.
//!
//! # Model
//! A [`Session`] is a conversation with everything it needs around it: its log, a model, tools,
//! files. It carries out what the planners of `dormouse-context` decide: sends requests, runs
//! tools, puts long results into files, clears, keeps notes, compacts, undoes. The decisions are
//! values; nothing here decides when to forget.
//!
//! One task drives a session. What runs beside it (an update of the notes) is a task of its own
//! that only talks to the model; its outcome is taken in by the session when it looks next.
//!
//! # Responsibilities
//! - The order of things that must be on disk before others.
//! - The small loop of requests and tools ([`Session::turn`]).
//! - Forks: one call on the conversation's own bytes, or a small loop with tools of their own.
//!
//! # Not here
//! Deciding (the context engine), wires (`dormouse-model`), files (`dormouse-store`), printing: what
//! people should know is a [`Notice`].

mod append;
mod clear;
mod compact;
mod error;
mod fork;
mod inject;
mod keep_alive;
mod notes;
mod notice;
mod offload;
mod ports;
mod provider;
mod send;
mod session;
mod tidy;
mod turn;
mod undo;

pub use compact::CompactWish;
pub use error::EngineError;
pub use fork::{ForkAnswer, ForkLimits, ForkRun};
pub use notice::Notice;
pub use ports::{
    AskModel, Asker, CompactHooks, Companion, DiskRestorer, HookAnswer, HookFuture, Injection,
    NoCompanion, NoHooks, NoTools, Purpose, Restorer, Seen, ToolCall, ToolFuture, ToolHost,
    ToolTraits,
};
pub use session::{Notices, Opened, Ports, Session, SessionConfig, SessionPlace, SettingsSource};
pub use turn::TurnEnd;
