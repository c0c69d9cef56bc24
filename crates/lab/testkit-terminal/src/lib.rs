//! A terminal for tests.
//!
//! # Model
//! [`Emulator`] is a parser with scrollback: everything that a person could scroll to. [`Pty`] runs a
//! program behind a pseudo-terminal and feeds its bytes to an emulator; bytes and sizes are kept in
//! order as a [`Recording`], which another emulator can play. [`lint`] names every sequence that a
//! screen with scrollback must not send.
//!
//! # Not here
//! A second emulator: `.ci/terminal` plays the recordings in one that loses rows which this one keeps.

#![expect(clippy::expect_used, reason = "a test helper fails by panicking")]

mod emulator;
mod lint;
mod pty;

pub use emulator::{Emulator, Recording, Step};
pub use lint::lint;
pub use pty::Pty;
