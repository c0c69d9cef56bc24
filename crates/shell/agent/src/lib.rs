#![doc = include_str!("../README.md")]

mod agent;
mod event;
mod judge;
mod prefix;
mod services;
mod surroundings;

pub use agent::{Agent, AgentAsk, AgentError, Resume, Turn};
pub use dormouse_permit::{Mode, UnknownMode};
pub use event::{Denied, Event, Listener};
