//! `dormouse` without a command: what works today and how to start.
//!
//! The list is taken from the command line's definition, so it cannot promise what is not there.

use crate::app::App;
use crate::cli::Cli;
use crate::error::Outcome;
use crate::output::{Cell, Column, Format, Line, Role, Table};
use clap::CommandFactory as _;
use serde::Serialize;

/// A group of more commands is shown as one line.
const MOST_OF_A_GROUP: usize = 6;

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
    let out = &mut app.out;
    if out.format() == Format::Json {
        return Ok(out.json(&welcome)?);
    }
    let title = Line::new().role(Role::Strong, format!("Dormouse {}", welcome.version));
    out.line(title.text(", the memory of a coding agent."))?;
    out.line("It is being built: the agent itself does not run yet. These commands do:")?;
    out.blank()?;
    let mut table = Table::new([Column::left(""), Column::left(""), Column::left("")]);
    for command in shown(&Cli::command(), "") {
        let name = Cell::with_role(Role::Strong, command.name);
        table.row(["".into(), name, command.about.into()]);
    }
    out.table(&table)?;
    out.blank()?;
    out.line("Start with `dormouse sessions ~/.claude/projects`, then `dormouse context FILE`.")?;
    out.line("`dormouse help COMMAND` explains each of them.")?;
    Ok(())
}

/// The same, but a group of many commands stands for them.
fn shown(command: &clap::Command, group: &str) -> Vec<Command> {
    let mut found = Vec::new();
    for inner in command.get_subcommands() {
        let all = leaves(inner, "");
        let single = clap::Command::new("").subcommand(inner.clone());
        if all.len() > MOST_OF_A_GROUP {
            let name = format!("{group}{} …", inner.get_name());
            let about = inner.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            found.push(Command { name, about });
        } else {
            found.extend(leaves(&single, group));
        }
    }
    found
}

/// The commands that do something, with the groups they are in as part of their names.
fn leaves(command: &clap::Command, group: &str) -> Vec<Command> {
    let mut found = Vec::new();
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        let name = format!("{group}{}", inner.get_name());
        if inner.has_subcommands() {
            found.extend(leaves(inner, &format!("{name} ")));
        } else {
            let about = inner
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            found.push(Command { name, about });
        }
    }
    found
}
