//! Builders for tests: blocks, records and whole logs.
//!
//! Everything is deterministic. Used from tests and benchmarks only, so a wrong use panics.
//!
//! # Not here
//! A scripted model (`dormouse-testkit-model`) and a provider (`dormouse-sim`).

#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "a test helper fails by panicking"
)]

pub mod blocks;
pub mod conversation;
mod log;
pub mod material;
mod page;
pub mod processes;

pub use log::LogBuilder;
pub use page::page;

/// A server of tools as a script for bash; its first argument is a file that it adds its number to.
pub const SHELL_SERVER: &str = include_str!("server.sh");
