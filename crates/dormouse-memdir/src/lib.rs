//! The memory directory on disk.
//!
//! # Not here
//! What the files mean is `dormouse-memory`'s.

mod dir;
mod disk;
mod error;
mod git;
#[cfg(test)]
mod kit;
mod log;
mod pending;
mod place;

pub use dir::{Look, MemoryDir, Skipped};
pub use error::MemdirError;
pub use git::Repository;
pub use log::History;
pub use place::{NoPlace, Place, Surroundings, Why};
