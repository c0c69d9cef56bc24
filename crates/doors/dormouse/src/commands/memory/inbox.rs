//! `dormouse memory inbox`, `approve`, `reject`.

use super::place::{Which, find};
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Format, Line, Role, Table, figures};
use dormouse_memdir::{Item, MemoryDir};
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::topic::{self, Field, Topic};
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_memory::trust::Trust;
use dormouse_memory::write::retext;
use serde_json::json;

/// Letters of an id that people are shown.
const SHORT_ID: usize = 18;

const HELP: &str = "\
What stems from the output of a tool or from a web page waits here until somebody
has looked at it; it is not recalled before.

JSON: {\"items\": [{\"id\", \"time\", \"path\", \"author\", \"trust\", \"reason\",
\"waits_because\", \"content\"}]}";

/// Arguments of `memory inbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Show the whole text of each
    #[arg(long)]
    full: bool,
}

/// Arguments of `memory approve` and `memory reject`.
#[derive(Debug, clap::Args)]
#[command(after_help = "JSON: {\"approved\" or \"rejected\": [{\"id\", \"path\"}]}")]
pub(super) struct DecideArgs {
    /// The items, as `memory inbox` shows them
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// All that wait
    #[arg(long, conflicts_with = "ids")]
    all: bool,
}

/// Lists what waits.
pub(super) fn list(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let found = find(which, app)?;
    let inbox = match found.existing(app)? {
        Some(dir) => dir.inbox()?,
        None => dormouse_memdir::Inbox::default(),
    };
    for (path, why) in &inbox.unreadable {
        app.note(&format!("{} is left out: {why}", path.display()));
    }
    if app.out.format() == Format::Json {
        let rows: Vec<_> = inbox
            .items
            .iter()
            .map(|item| {
                let mut row = json!(item);
                row["time"] = json!(item.time.to_string());
                row
            })
            .collect();
        return Ok(app.out.json(&json!({"items": rows}))?);
    }
    if inbox.items.is_empty() {
        return Ok(app.out.line("Nothing waits for approval.")?);
    }
    let now = app.system.clock.now();
    if args.full {
        for item in &inbox.items {
            app.out.line(
                Line::new()
                    .role(Role::Strong, short(&item.id))
                    .text(format!("  {}", item.path)),
            )?;
            app.out.paragraph(Role::Dim, &item.waits_because, 2)?;
            for line in item.content.lines() {
                app.out.line(format!("  {line}"))?;
            }
            app.out.blank()?;
        }
    } else {
        let mut table = Table::new([
            Column::left("item"),
            Column::left("when"),
            Column::left("file").gives_way(),
            Column::left("says").gives_way(),
            Column::left("waits because").gives_way().can_go(),
        ]);
        for item in &inbox.items {
            table.row([
                Cell::with_role(Role::Strong, short(&item.id)),
                Cell::new(figures::age(now, item.time)),
                Cell::new(&item.path),
                Cell::new(Topic::read(&item.content).description),
                Cell::with_role(Role::Dim, &item.waits_because),
            ]);
        }
        app.out.table(&table)?;
        app.out.blank()?;
    }
    let hint = Line::new()
        .role(Role::Hint, "`dormouse memory approve ID`")
        .text(" or ");
    Ok(app
        .out
        .line(hint.role(Role::Hint, "`dormouse memory reject ID`"))?)
}

fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// The items that are meant.
fn chosen(args: &DecideArgs, dir: &MemoryDir) -> Result<Vec<Item>, Failure> {
    let items = dir.inbox()?.items;
    if args.all {
        return Ok(items);
    }
    let mut chosen = Vec::new();
    for wanted in &args.ids {
        let mut found = items
            .iter()
            .filter(|item| item.id.starts_with(wanted.as_str()));
        match (found.next(), found.next()) {
            (Some(item), None) => chosen.push(item.clone()),
            (None, _) => return Err(dormouse_memdir::MemdirError::NoItem(wanted.clone()).into()),
            (Some(_), Some(_)) => {
                let error =
                    UserError::new(Exit::Usage, format!("`{wanted}` could be several items"));
                return Err(error
                    .hint("give more of the id: `dormouse memory inbox --json`")
                    .into());
            }
        }
    }
    Ok(chosen)
}

/// Approving is the user's word: from here on the memory is as good as said by the user. Where it
/// came from stays written in it.
pub(super) fn approve(args: &DecideArgs, which: &Which, app: &mut App) -> Outcome {
    let dir = find(which, app)?.open(app)?;
    let chosen = chosen(args, &dir)?;
    for item in &chosen {
        dir.approve(&item.id, |item, snapshot| {
            Ok::<_, Failure>(approved(item, snapshot))
        })?;
    }
    told("approved", "Approved", &chosen, app)
}

fn approved(item: &Item, snapshot: &Snapshot) -> Transaction {
    let text = topic::edit(&item.content, &[Field::Trust(Trust::User)]);
    let reason = format!("approved: {}", item.reason);
    let mut change = retext(snapshot, &item.path, &text, Author::User, &reason);
    change.source.clone_from(&item.origin);
    for operation in &mut change.operations {
        if operation.path == item.path {
            operation.expected = item.expected;
        }
    }
    change
}

/// Rejects.
pub(super) fn reject(args: &DecideArgs, which: &Which, app: &mut App) -> Outcome {
    let dir = find(which, app)?.open(app)?;
    let chosen = chosen(args, &dir)?;
    for item in &chosen {
        dir.reject(&item.id)?;
    }
    told("rejected", "Rejected", &chosen, app)
}

fn told(key: &str, word: &str, items: &[Item], app: &mut App) -> Outcome {
    if app.out.format() == Format::Json {
        let rows: Vec<_> = items
            .iter()
            .map(|item| json!({"id": item.id, "path": item.path}))
            .collect();
        return Ok(app.out.json(&json!({key: rows}))?);
    }
    if items.is_empty() {
        return Ok(app.out.line("Nothing waits for approval.")?);
    }
    for item in items {
        app.out.line(
            Line::new()
                .role(Role::Good, word)
                .text(format!(": {}", item.path)),
        )?;
    }
    Ok(())
}
