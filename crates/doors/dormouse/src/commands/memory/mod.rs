//! `dormouse memory …`: the memories of this project, by hand.
//!
//! # Model
//! Every command works on one directory: the project's own, the team's (`--team`), or any
//! (`--dir`). Reading never makes anything; a change is a transaction with an entry in the journal,
//! so that `memory undo` takes it back.
//!
//! # Not here
//! Finding, placing and writing memories: `dormouse-host` and `dormouse-memdir`.

mod add;
mod check;
pub(crate) mod diff;
mod edit;
mod feedback;
mod forget;
mod history;
mod import;
mod inbox;
mod index;
mod list;
mod show;
mod status;
mod tool;

use crate::app::App;
use crate::error::Outcome;
use clap::Subcommand;
use dormouse_host::{Judgement, Which};
use std::path::PathBuf;

const HELP: &str = "\
A memory is a Markdown file with a name, a description and a type. NAME is its
file, with or without `.md`, or its name. Every change is in the journal and can
be undone.

Examples:
  dormouse memory add 'Integration tests use the real database, never mocks'
  dormouse memory list
  dormouse memory status
  dormouse memory show feedback_tests
  dormouse memory log
  dormouse memory undo";

/// Arguments of `dormouse memory`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = HELP)]
pub struct Args {
    /// Work on the memory in DIR instead of the project's
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "team")]
    dir: Option<PathBuf>,
    /// Work on the memory shared by the people of the project
    #[arg(long, global = true)]
    team: bool,
    #[command(subcommand)]
    command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// Show where memory lies, what a session would load, what was cut and why
    Status(status::Args),
    /// List memories, newest first
    List(list::Args),
    /// Show a memory, where it comes from and how far it is trusted
    Show(show::Args),
    /// Remember something: a text becomes a memory
    Add(add::Args),
    /// Change a memory: its text in your editor, or single fields
    Edit(edit::Args),
    /// Forget memories; undo brings them back
    Forget(forget::Args),
    /// Say that a memory helped: it ranks higher from now on
    Useful(feedback::Args),
    /// Say that a memory does not hold: it is kept and no longer recalled
    Wrong(feedback::Args),
    /// Put a memory where automation does not touch it
    Pin(forget::PinArgs),
    /// Let automation touch it again
    Unpin(forget::PinArgs),
    /// List what was changed, when, by whom and why
    Log(history::LogArgs),
    /// Show what a change changed
    Diff(history::DiffArgs),
    /// Take a change back
    Undo(history::UndoArgs),
    /// List memories that wait for approval
    Inbox(inbox::Args),
    /// Approve memories that wait
    Approve(inbox::DecideArgs),
    /// Reject memories that wait
    Reject(inbox::DecideArgs),
    /// Bring in memories of other tools, or a folder of notes
    Import(import::Args),
    /// Mend the index MEMORY.md: missing lines, lines without a file
    Index(index::Args),
    /// Look for problems: drift, front matter, secrets, length
    Check(check::Args),
    /// Answer one command of the provider's memory tool as the model would get it
    Tool(tool::Args),
}

/// Runs the command that was asked for, on the directory that the options name.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let which = Which::of(args.dir.as_deref(), args.team);
    match &args.command {
        MemoryCommand::Status(args) => status::run(args, &which, app),
        MemoryCommand::List(args) => list::run(args, &which, app),
        MemoryCommand::Show(args) => show::run(args, &which, app),
        MemoryCommand::Add(args) => add::run(args, &which, app),
        MemoryCommand::Edit(args) => edit::run(args, &which, app),
        MemoryCommand::Forget(args) => forget::run(args, &which, app),
        MemoryCommand::Useful(args) => feedback::run(args, Judgement::Useful, &which, app),
        MemoryCommand::Wrong(args) => feedback::run(args, Judgement::Wrong, &which, app),
        MemoryCommand::Pin(args) => forget::pin(args, &which, app),
        MemoryCommand::Unpin(args) => forget::unpin(args, &which, app),
        MemoryCommand::Log(args) => history::log(args, &which, app),
        MemoryCommand::Diff(args) => history::diff(args, &which, app),
        MemoryCommand::Undo(args) => history::undo(args, &which, app),
        MemoryCommand::Inbox(args) => inbox::list(args, &which, app),
        MemoryCommand::Approve(args) => inbox::approve(args, &which, app),
        MemoryCommand::Reject(args) => inbox::reject(args, &which, app),
        MemoryCommand::Import(args) => import::run(args, &which, app),
        MemoryCommand::Index(args) => index::run(args, &which, app),
        MemoryCommand::Check(args) => check::run(args, &which, app),
        MemoryCommand::Tool(args) => tool::run(args, &which, app),
    }
}
