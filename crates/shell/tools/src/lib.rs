#![doc = include_str!("../README.md")]

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

pub use definitions::{TOOL_NAMES, definitions};
pub use host::{ForkTools, MemoryWrites, Roots};
pub use reply::Denial;
