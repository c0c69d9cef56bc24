#![doc = include_str!("../README.md")]

mod agent;
mod beside;
mod checkpoints;
mod client;
mod coordinator;
mod crew;
mod figures;
mod fragments;
mod handle;
mod hooks;
mod judge;
mod learning;
mod past;
mod plan;
mod post;
mod prefix;
pub mod protocol;
mod question;
mod restoring;
mod run;
mod servers;
mod services;
mod skills;
mod slash;
mod stream;
mod surroundings;

pub use agent::{AgentAsk, AgentError, Resume, ServerAsk, open};
pub use checkpoints::{
    FileRewound, RewindAsk, RewindError, RewindPart, Rewound, rewind, rewind_points,
};
pub use client::{Client, ClientTool, OutsideTools};
pub use crew::Lineage;
pub use dormouse_context::checkpoints::RewindPoint;
pub use dormouse_engine::HookFuture;
pub use dormouse_mcp::{ServerConfig, read_servers, server_tools, tool_failure, tool_output};
pub use dormouse_permit::{Mode, UnknownMode};
pub use dormouse_tools::files_below;
pub use figures::{Figures, ModelFigures};
pub use handle::{AgentHandle, Commands};
pub use past::Past;
pub use plan::{ENTER_PLAN, EXIT_PLAN};
pub use protocol::{Ask, Command, Event, Told, TurnEnd};
pub use question::ASK_USER;
pub use slash::commands;
pub use stream::EventStream;
