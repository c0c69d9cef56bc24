#![doc = include_str!("../README.md")]
//!
//! # Model
//! [`Agent`] collects the parts of a conversation and opens a [`Session`]; a [`Tool`] is a name, a
//! schema and a function. [`drive`] is the state machine below, for programs with a loop of their
//! own.
//!
//! # Not here
//! Memory across sessions, permissions and sub-agents: they belong to an agent, not to a
//! conversation.

mod agent;
#[cfg(feature = "sim")]
pub mod sim;
mod tool;

pub use agent::{Agent, OpenError};
pub use dormouse_ask::Response;
pub use dormouse_core::block::Block;
pub use dormouse_engine::{EngineError, Notice, Session, TurnEnd};
pub use dormouse_model::Model;
pub use tool::Tool;

/// Clients of providers, and the trait behind which they stand.
pub mod model {
    pub use dormouse_model::*;
}

/// One conversation as a state machine without IO, and the values it is made of.
pub mod drive {
    pub use dormouse_ask::{Capabilities, Params};
    pub use dormouse_context::prefix::RenderedPrefix;
    pub use dormouse_core::settings::{Trust, resolve};
    pub use dormouse_core::units::{Millis, Tokens};
    pub use dormouse_core::usage::TokenUsage;
    pub use dormouse_drive::*;
}
