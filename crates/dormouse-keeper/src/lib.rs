//! The imperative shell around memory.
//!
//! # Not here
//! Deciding: `dormouse-memory`'s. Files: `dormouse-memdir`'s.

pub mod budget;
pub mod client;
pub mod instructions;
pub mod side;
pub mod tree;
