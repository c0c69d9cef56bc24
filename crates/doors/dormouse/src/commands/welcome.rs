//! `dormouse` without a command: the commands that work, and the first two to try.
//!
//! The list is taken from the command line's definition, so it cannot promise what is not there.

use crate::app::App;
use crate::cli::Cli;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table};
use clap::CommandFactory as _;
use serde::Serialize;

#[derive(Serialize)]
struct Welcome {
    version: &'static str,
    commands: Vec<Command>,
}

#[derive(Serialize)]
struct Command {
    name: String,
    about: String,
}

pub(super) fn run(app: &mut App) -> Outcome {
    let welcome = Welcome {
        version: env!("CARGO_PKG_VERSION"),
        commands: leaves(&Cli::command(), ""),
    };
    app.tell(&welcome)
}

impl Report for Welcome {
    fn text(&self, out: &mut Out) -> Outcome {
        let title = Line::new().role(Role::Strong, format!("Dormouse {}", self.version));
        out.line(title.text(", the memory of a coding agent."))?;
        out.line("It is being built: the agent itself does not run yet. These commands do:")?;
        out.blank()?;
        let mut table = Table::new([Column::left(""), Column::left(""), Column::left("")]);
        for command in shown(&Cli::command()) {
            let name = Cell::with_role(Role::Strong, command.name);
            table.row(["".into(), name, command.about.into()]);
        }
        out.table(&table)?;
        out.blank()?;
        out.line(
            "Start with `dormouse sessions ~/.claude/projects`, then `dormouse context FILE`.",
        )?;
        out.line("`dormouse help COMMAND` explains each of them.")?;
        Ok(())
    }
}

/// The commands for people: a group stands for its commands.
fn shown(command: &clap::Command) -> Vec<Command> {
    let commands = command.get_subcommands();
    let commands = commands.filter(|inner| inner.get_name() != "help");
    commands
        // A group that cannot run by itself is marked: `memory …` needs a command of its own.
        .map(|inner| {
            let dots = if runs(inner) { "" } else { " …" };
            entry(inner, format!("{}{dots}", inner.get_name()))
        })
        .collect()
}

/// True if a command does something without one of its own commands.
fn runs(command: &clap::Command) -> bool {
    !command.has_subcommands() || !command.is_subcommand_required_set()
}

fn entry(command: &clap::Command, name: String) -> Command {
    let about = command.get_about().map(ToString::to_string);
    let about = about.unwrap_or_default();
    Command { name, about }
}

/// The commands that do something, with the groups they are in as part of their names.
fn leaves(command: &clap::Command, group: &str) -> Vec<Command> {
    let mut found = Vec::new();
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        let name = format!("{group}{}", inner.get_name());
        if runs(inner) {
            found.push(entry(inner, name.clone()));
        }
        found.extend(leaves(inner, &format!("{name} ")));
    }
    found
}
