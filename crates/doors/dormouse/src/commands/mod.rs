//! The commands, one file each: arguments, a `run`, and the report it prints.
//!
//! # Not here
//! The work itself: services of `dormouse-host`, which other programs can call as well.

pub mod acp;
pub mod completions;
pub mod config;
pub mod context;
pub mod demo;
pub mod doctor;
mod draw;
pub mod dream;
mod editor;
pub mod eval;
pub mod export;
pub mod extract;
mod frontier;
pub mod gateway;
pub mod gc;
pub mod guard;
pub mod hook;
pub mod install;
pub mod log;
pub mod mcp;
pub mod memory;
pub mod print;
pub mod recall;
pub mod replay;
pub mod rewind;
mod screen;
pub mod search;
pub mod sessions;
pub mod sim;
pub mod stats;
pub mod top;
pub mod usage;
pub mod view;
mod welcome;

use crate::app::App;
use crate::cli::{Cli, Command};
use crate::error::{Exit, Outcome, UserError};

/// Runs the command of the command line. Without one, the agent's screen opens; without a terminal,
/// the list of commands is printed.
pub fn run(cli: &Cli, app: &mut App) -> Outcome {
    if let (Some(_), Some(option)) = (&cli.command, cli.agent.given()) {
        let what = format!("{option} is an option of the agent, which has no command");
        let error = UserError::new(Exit::Usage, what);
        let hint = format!("leave the command out, or `{option}`");
        return Err(error.hint(hint).into());
    }
    match &cli.command {
        None if cli.agent.is_wanted() => print::run(&cli.agent, app),
        None if app.has_screen() => screen::run(&cli.agent, app),
        None => match cli.agent.given() {
            None => welcome::run(app),
            Some(option) => {
                let what = format!("{option} needs a terminal, or a prompt");
                let error = UserError::new(Exit::Usage, what);
                Err(error
                    .hint("write the prompt behind -p: dormouse -p 'fix the test'")
                    .into())
            }
        },
        Some(Command::Acp(args)) => acp::run(args, app),
        Some(Command::Context(args)) => context::run(args, app),
        Some(Command::Sessions(args)) => sessions::run(args, app),
        Some(Command::Log(args)) => log::run(args, app),
        Some(Command::Memory(args)) => memory::run(args, app),
        Some(Command::Demo(args)) => demo::run(args, app),
        Some(Command::Dream(args)) => dream::run(args, app),
        Some(Command::Extract(args)) => extract::run(args, app),
        Some(Command::Recall(args)) => recall::run(args, app),
        Some(Command::Search(args)) => search::run(args, app),
        Some(Command::View(args)) => view::run(args, app),
        Some(Command::Rewind(args)) => rewind::run(args, app),
        Some(Command::Usage(args)) => usage::run(args, app),
        Some(Command::Stats(args)) => stats::run(args, app),
        Some(Command::Top(args)) => top::run(args, app),
        Some(Command::Doctor(args)) => doctor::run(args, app),
        Some(Command::Replay(args)) => replay::run(args, app),
        Some(Command::Eval(args)) => eval::run(args, app),
        Some(Command::Gateway(args)) => gateway::run(args, app),
        Some(Command::Sim(args)) => sim::run(args, app),
        Some(Command::Export(args)) => export::run_export(args, app),
        Some(Command::Convert(args)) => export::run_convert(args, app),
        Some(Command::Config(args)) => config::run(args, app),
        Some(Command::Guard(args)) => guard::run(args, app),
        Some(Command::Gc(args)) => gc::run(args, app),
        Some(Command::Hook(args)) => hook::run(args, app),
        Some(Command::Install(args)) => install::run_install(args, app),
        Some(Command::Uninstall(args)) => install::run_uninstall(args, app),
        Some(Command::Mcp(args)) => mcp::run(args, app),
        Some(Command::Completions(args)) => completions::run(args, app),
    }
}
