//! The command line of Dormouse.
//!
//! # Model
//! [`cli`] is what the user typed. [`commands`] has one file per command: its arguments and a `run`
//! that takes an [`App`] and prints through [`output::Out`]. [`error`] is the one edge where errors
//! become text, a hint and an exit code.
//!
//! # Adding a command
//! Write `commands/<name>.rs` with `Args` (clap) and `run(&Args, &mut App) -> Outcome`; add a variant
//! to [`cli::Command`] and an arm to `commands::run`. Help, completions and the list that a bare
//! `dormouse` shows follow from that. Print JSON if `app.out.format()` asks for it.
//!
//! # Not here
//! Anything another door might want too: that belongs in the library crates.

pub mod app;
pub mod cli;
pub mod commands;
pub mod describe;
pub mod error;
pub mod output;
pub mod trace;
pub mod transcript;

pub use app::App;
