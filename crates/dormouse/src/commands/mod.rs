//! The commands, one file each: its arguments and what it does.

pub mod completions;
pub mod config;
mod welcome;

use crate::app::App;
use crate::cli::{Cli, Command};
use crate::error::Outcome;

/// Does what was asked for.
pub fn run(cli: &Cli, app: &mut App) -> Outcome {
    match &cli.command {
        None => welcome::run(app),
        Some(Command::Config(args)) => config::run(args, app),
        Some(Command::Completions(args)) => completions::run(args, app),
    }
}
