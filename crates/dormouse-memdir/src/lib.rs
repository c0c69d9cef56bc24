//! The memory directory on disk.
//!
//! # Not here
//! What the files mean is `dormouse-memory`'s.

mod git;
mod place;

pub use git::Repository;
pub use place::{NoPlace, Place, Surroundings, Why};
