//! `dormouse` without a command and without a terminal: the commands that work, and the first two to try.
//!
//! The list is taken from the command line's definition, so it cannot promise what is not there.

use crate::app::App;
use crate::cli::Cli;
use crate::error::Outcome;
use crate::help::GROUPS;
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
        // Programs get every command by its full name; a group by itself cannot be run.
        commands: leaves(&Cli::command(), ""),
    };
    app.tell(&welcome)
}

impl Report for Welcome {
    fn text(&self, out: &mut Out) -> Outcome {
        let title = Line::new().role(Role::Strong, format!("Dormouse {}", self.version));
        out.line(title.text(", the memory of a coding agent."))?;
        out.line(
            "`dormouse -p 'fix the failing test'` lets it work; on a terminal, `dormouse` alone. Commands:",
        )?;
        out.blank()?;
        let definition = Cli::command();
        // One table for all groups, so that the columns stand below each other.
        let mut table = Table::new([Column::left(""), Column::left(""), Column::left("")]);
        for (title, names) in GROUPS {
            for (nth, name) in names.iter().enumerate() {
                let title = if nth == 0 { title } else { "" };
                let Some(command) = definition.find_subcommand(name) else {
                    continue;
                };
                let command = shown(command);
                let name = Cell::with_role(Role::Strong, command.name);
                table.row([title.into(), name, command.about.into()]);
            }
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

/// A command for people: a group stands for its commands, and one that cannot run by itself is
/// marked, since `memory …` needs a command of its own.
fn shown(command: &clap::Command) -> Command {
    let dots = if runs(command) { "" } else { " …" };
    entry(command, format!("{}{dots}", command.get_name()))
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
