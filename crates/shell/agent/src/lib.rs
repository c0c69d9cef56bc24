#![doc = include_str!("../README.md")]

mod agent;
mod checkpoints;
mod event;
mod judge;
mod prefix;
mod services;
mod surroundings;

pub use agent::{Agent, AgentAsk, AgentError, Resume, Turn};
pub use checkpoints::{
    FileRewound, RewindAsk, RewindError, RewindPart, Rewound, rewind, rewind_points,
};
pub use dormouse_context::checkpoints::RewindPoint;
pub use dormouse_permit::{Mode, UnknownMode};
pub use event::{Denied, Event, Listener};
