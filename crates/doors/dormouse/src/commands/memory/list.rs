//! `dormouse memory list`.

use super::place::{Which, find};
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Format, Line, Role, Table, figures};
use dormouse_memory::snapshot::is_pinned;
use dormouse_memory::topic::{Kind, Topic};
use serde::Serialize;

const HELP: &str = "\
JSON: {\"directory\", \"memories\": [{\"path\", \"name\", \"description\", \"type\",
\"trust\", \"modified\", \"bytes\", \"pinned\", \"over\"}]}
\"over\" says that another memory or the calendar has overtaken it.";

/// A file's name and its description are hardly told apart in less.
const FILE_COLUMNS: usize = 24;

/// Arguments of `memory list`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Only memories of this type: user, feedback, project, reference
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_kind)]
    kind: Option<Kind>,
    /// Also those that were overtaken
    #[arg(long)]
    all: bool,
}

/// Reads a type.
pub(super) fn parse_kind(text: &str) -> Result<Kind, String> {
    Kind::parse(text).ok_or_else(|| "one of user, feedback, project, reference".to_owned())
}

#[derive(Serialize)]
struct Listing {
    directory: String,
    memories: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    path: String,
    name: String,
    description: String,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    trust: Option<&'static str>,
    modified: String,
    bytes: usize,
    pinned: bool,
    over: bool,
    #[serde(skip)]
    at: dormouse_core::units::Millis,
}

/// Lists, newest first.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let found = find(which, app)?;
    let snapshot = found.snapshot(app)?;
    let now = app.system.clock.now();
    let today = super::show::day(now);
    let mut rows: Vec<Row> = snapshot
        .topics()
        .map(|(path, file)| {
            let topic = Topic::read(&file.text());
            Row {
                path: path.to_string(),
                over: topic.is_over(today),
                kind: topic.kind.map(Kind::name),
                trust: topic.trust.map(dormouse_memory::trust::Trust::name),
                name: topic.name,
                description: topic.description,
                modified: file.modified.to_string(),
                bytes: file.content.len(),
                pinned: is_pinned(path),
                at: file.modified,
            }
        })
        .filter(|row| args.kind.is_none_or(|kind| row.kind == Some(kind.name())))
        .filter(|row| args.all || !row.over)
        .collect();
    rows.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.path.cmp(&b.path)));
    let listing = Listing {
        directory: found.root.display().to_string(),
        memories: rows,
    };
    if app.out.format() == Format::Json {
        return Ok(app.out.json(&listing)?);
    }
    if listing.memories.is_empty() {
        app.out
            .line(format!("There are no memories in {}.", listing.directory))?;
        return Ok(app.out.line(
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
    for row in &listing.memories {
        let role = if row.over { Role::Dim } else { Role::Plain };
        table.row([
            Cell::with_role(role, &row.path),
            Cell::new(figures::age(now, row.at)),
            Cell::with_role(Role::Dim, row.kind.unwrap_or("-")),
            Cell::with_role(role, shown(row)),
        ]);
    }
    app.out.table(&table)?;
    app.out.blank()?;
    let count = super::forget::count(listing.memories.len(), "memory", "memories");
    Ok(app
        .out
        .line(Line::new().role(Role::Dim, format!("{count} in {}", listing.directory)))?)
}

fn shown(row: &Row) -> String {
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
