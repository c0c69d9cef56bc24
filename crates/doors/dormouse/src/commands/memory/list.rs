//! `dormouse memory list`: the memories of a directory, newest first.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_host::{Kind, ListFilter, MemoryList, MemoryRow, Which};

const HELP: &str = "\
JSON: {\"directory\", \"memories\": [{\"path\", \"name\", \"description\", \"type\",
\"trust\", \"modified\", \"bytes\", \"pinned\", \"over\"}]}
\"over\" says that another memory or the calendar has overtaken it.";

/// Columns that the path keeps before others are left out: names of memories begin alike, with
/// their type.
const FILE_COLUMNS: usize = 24;

/// Arguments of `memory list`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Only memories of this type: user, feedback, project, reference
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_kind)]
    kind: Option<Kind>,
    /// Also show memories that were overtaken
    #[arg(long)]
    all: bool,
}

/// A type from its name on the command line.
pub(super) fn parse_kind(text: &str) -> Result<Kind, String> {
    Kind::parse(text).ok_or_else(|| "one of user, feedback, project, reference".to_owned())
}

/// Lists memories, newest first.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let filter = ListFilter {
        kind: args.kind,
        overtaken: args.all,
    };
    let listing = app.host()?.memories(which, filter)?;
    app.tell(&listing)
}

impl Report for MemoryList {
    fn text(&self, out: &mut Out) -> Outcome {
        if self.memories.is_empty() {
            // With the directory: an empty list is most often the wrong place.
            out.line(format!("There are no memories in {}.", self.directory))?;
            return Ok(out.line(
                Line::new()
                    .role(Role::Hint, "`dormouse memory add 'TEXT'`")
                    .text(" remembers something."),
            )?);
        }
        let mut table = Table::new([
            Column::left("file").gives_way_until(FILE_COLUMNS),
            Column::left("changed").can_go(),
            Column::left("type").can_go(),
            Column::left("description").gives_way_until(FILE_COLUMNS),
        ]);
        for row in &self.memories {
            let role = if row.over { Role::Dim } else { Role::Plain };
            table.row([
                Cell::with_role(role, &row.path),
                Cell::new(figures::age(out.now(), row.at)),
                Cell::with_role(Role::Dim, row.kind.unwrap_or("-")),
                Cell::with_role(role, shown(row)),
            ]);
        }
        out.table(&table)?;
        out.blank()?;
        let count = figures::count(self.memories.len(), "memory", "memories");
        Ok(out.line(Line::new().role(Role::Dim, format!("{count} in {}", self.directory)))?)
    }
}

fn shown(row: &MemoryRow) -> String {
    // Memories written by hand or by other tools may have a name only.
    let text = if row.description.is_empty() {
        &row.name
    } else {
        &row.description
    };
    if row.over {
        format!("(overtaken) {text}")
    } else {
        text.clone()
    }
}
