//! The command line of Dormouse.
//!
//! # Model
//! [`cli`] is the command line as typed. [`commands`] has one file per command: its arguments, a
//! `run` that asks the host, and the answer's [`output::Report`]. [`App::tell`] prints it, as text
//! or as JSON. [`error`] is the one edge where errors become text, a hint and an exit code.
//!
//! # Adding a command
//! Write `commands/<name>.rs` with `Args` (clap) and `run(&Args, &mut App) -> Outcome`; add a
//! variant to [`cli::Command`] and an arm to `commands::run`. Help, completions and the list that a
//! bare `dormouse` shows follow from that. The result implements [`output::Report`] and goes
//! through [`App::tell`]: `Serialize` is its JSON.
//!
//! # Not here
//! Anything that another program could want too: that is a service of `dormouse-host`.

pub mod app;
pub mod arguments;
pub mod captured;
pub mod cli;
pub mod commands;
pub mod describe;
pub mod error;
pub mod help;
pub mod output;
pub mod remark;
pub mod trace;

pub use app::App;
