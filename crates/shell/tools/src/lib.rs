#![doc = include_str!("../README.md")]

mod agent;
mod background;
mod bash;
mod definitions;
mod edit;
mod glob;
mod grep;
mod host;
mod input;
pub mod limits;
mod lines;
mod places;
mod read;
mod reply;
mod walk;

pub use agent::{
    AGENT_TOOLS, AgentPlaces, AgentTools, Changes, Confine, LEAN_TOOLS, MemoryDesk, NoChanges,
    NoOne, PageReader, People, PersonAnswer, PersonOption, PersonQuestion, SearchBy, Services,
    Todo, TodoState, Toolset, Unconfined, agent_definitions,
};
pub use definitions::{TOOL_NAMES, definitions};
pub use host::{ForkTools, MemoryWrites, Roots};
pub use reply::Denial;
pub use walk::files_below;
