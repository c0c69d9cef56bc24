//! `dormouse memory log`, `diff`, `undo`.

use super::place::{Which, find};
use super::{diff as differences, names};
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Format, Line, Role, Table, figures};
use dormouse_core::hash::Hash;
use dormouse_memdir::{MemdirError, MemoryDir};
use dormouse_memory::journal::{Change, Entry, undone_by};
use serde_json::json;

/// Letters of an id that people are shown.
const SHORT_ID: usize = 18;

/// Names of files are hardly told apart in less.
const FILE_COLUMNS: usize = 24;

/// Arguments of `memory log`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "JSON: {\"directory\", \"entries\": [{\"id\", \"time\", \"author\", \"reason\", \"source\", \"undoes\", \"undone_by\", \"changes\": [{\"path\", \"before\", \"after\"}]}]}, newest first."
)]
pub(super) struct LogArgs {
    /// Only changes of this memory
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Entries at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Arguments of `memory diff`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "JSON: {\"id\", \"changes\": [{\"path\", \"before\", \"after\"}]} with the texts."
)]
pub(super) struct DiffArgs {
    /// The entry, as `memory log` shows it; the newest if none is given
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,
}

/// Arguments of `memory undo`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An undo is a change too and can be undone. What was changed again since is not lost: then nothing is undone.\n\nJSON: {\"undone\", \"entry\"}"
)]
pub(super) struct UndoArgs {
    /// The entry, as `memory log` shows it; the newest that is not undone if none is given
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,
}

fn history(which: &Which, app: &mut App) -> Result<Option<(MemoryDir, Vec<Entry>)>, Failure> {
    let found = find(which, app)?;
    let Some(dir) = found.existing(app)? else {
        return Ok(None);
    };
    let entries = dir.history()?.entries;
    Ok(Some((dir, entries)))
}

/// Lists changes, newest first.
pub(super) fn log(args: &LogArgs, which: &Which, app: &mut App) -> Outcome {
    let Some((dir, entries)) = history(which, app)? else {
        return nothing(app);
    };
    let wanted = match &args.name {
        Some(name) => Some(past_name(&dir, &entries, name)?),
        None => None,
    };
    let touches = |entry: &&Entry| {
        let changes = |path: &String| {
            entry
                .changes
                .iter()
                .any(|change| change.path.as_str() == path)
        };
        wanted.as_ref().is_none_or(changes)
    };
    let shown: Vec<&Entry> = entries
        .iter()
        .rev()
        .filter(touches)
        .take(args.limit)
        .collect();
    if app.out.format() == Format::Json {
        let rows: Vec<_> = shown
            .iter()
            .map(|entry| {
                let mut row = json!(entry);
                row["time"] = json!(entry.time.to_string());
                row["undone_by"] = json!(undone_by(&entry.id, &entries));
                row
            })
            .collect();
        let directory = dir.root().display().to_string();
        return Ok(app
            .out
            .json(&json!({"directory": directory, "entries": rows}))?);
    }
    if shown.is_empty() {
        return nothing(app);
    }
    let now = app.system.clock.now();
    let mut table = Table::new([
        Column::left("entry"),
        Column::left("when").can_go(),
        Column::left("by").can_go(),
        Column::left("files").gives_way_until(FILE_COLUMNS),
        Column::left("why").gives_way(),
    ]);
    for entry in shown {
        let undone = undone_by(&entry.id, &entries).is_some();
        let reason = if undone {
            format!("(undone) {}", entry.reason)
        } else {
            entry.reason.clone()
        };
        let role = if undone { Role::Dim } else { Role::Plain };
        table.row([
            Cell::with_role(Role::Strong, short(&entry.id)),
            Cell::new(figures::age(now, entry.time)),
            Cell::new(entry.author),
            Cell::with_role(Role::Dim, files(&entry.changes)),
            Cell::with_role(role, reason),
        ]);
    }
    Ok(app.out.table(&table)?)
}

fn nothing(app: &mut App) -> Outcome {
    if app.out.format() == Format::Json {
        return Ok(app.out.json(&json!({"directory": null, "entries": []}))?);
    }
    Ok(app.out.line("Nothing was changed here yet.")?)
}

/// A memory that is there, or was once.
fn past_name(dir: &MemoryDir, entries: &[Entry], name: &str) -> Result<String, Failure> {
    let known = |path: &str| path == name || path.strip_suffix(".md") == Some(name);
    let past = entries.iter().rev().flat_map(|entry| &entry.changes);
    let past = past
        .map(|change| change.path.as_str())
        .find(|path| known(path));
    match past {
        Some(path) => Ok(path.to_owned()),
        None => Ok(names::find(&dir.snapshot()?, name)?.to_string()),
    }
}

/// The part of an id that people are shown; ids that begin alike are told apart by it.
fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// The files of a change, the index left out where it only follows.
fn files(changes: &[Change]) -> String {
    let named: Vec<&str> = changes
        .iter()
        .map(|change| change.path.as_str())
        .filter(|path| changes.len() == 1 || *path != dormouse_memory::snapshot::INDEX)
        .collect();
    match named.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [one, rest @ ..] => format!("{one} +{}", rest.len()),
    }
}

/// The entry that a person means.
fn entry<'a>(entries: &'a [Entry], wanted: &str) -> Result<&'a Entry, Failure> {
    let found: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.id.starts_with(wanted))
        .collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(MemdirError::NoEntry(wanted.to_owned()).into()),
        many => {
            let message = format!("`{wanted}` could be any of {} entries", many.len());
            let error = UserError::new(Exit::Usage, message);
            Err(error
                .hint("give more of the id: `dormouse memory log --json`")
                .into())
        }
    }
}

fn no_entries() -> Failure {
    UserError::new(Exit::Unsuitable, "nothing was changed here yet")
        .hint("`dormouse memory add` makes a first change")
        .into()
}

fn all_undone() -> Failure {
    UserError::new(Exit::Unsuitable, "every change is undone already")
        .hint("`dormouse memory undo ENTRY` takes an undo back; `dormouse memory log` lists them")
        .into()
}

/// Shows a change.
pub(super) fn diff(args: &DiffArgs, which: &Which, app: &mut App) -> Outcome {
    let (dir, entries) = history(which, app)?.ok_or_else(no_entries)?;
    let chosen = match &args.entry {
        Some(wanted) => entry(&entries, wanted)?,
        None => entries.last().ok_or_else(no_entries)?,
    };
    let text = |hash: Option<Hash>| -> Result<Option<String>, Failure> {
        let Some(hash) = hash else { return Ok(None) };
        let content = dir.content(hash)?;
        let text = content.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Some(text.unwrap_or_else(|| "(purged)\n".to_owned())))
    };
    let mut changes = Vec::new();
    for change in &chosen.changes {
        changes.push((
            change.path.to_string(),
            text(change.before)?,
            text(change.after)?,
        ));
    }
    if app.out.format() == Format::Json {
        let rows: Vec<_> = changes
            .iter()
            .map(|(path, before, after)| json!({"path": path, "before": before, "after": after}))
            .collect();
        return Ok(app.out.json(&json!({"id": chosen.id, "changes": rows}))?);
    }
    let age = figures::age(app.system.clock.now(), chosen.time);
    let about = format!("{} by {}: {}", age, chosen.author, chosen.reason);
    app.out.line(
        Line::new()
            .role(Role::Strong, short(&chosen.id))
            .text("  ")
            .text(about),
    )?;
    for (path, before, after) in &changes {
        app.out.blank()?;
        differences::show(&mut app.out, path, before.as_deref(), after.as_deref())?;
    }
    Ok(())
}

/// Takes a change back.
pub(super) fn undo(args: &UndoArgs, which: &Which, app: &mut App) -> Outcome {
    let (dir, entries) = history(which, app)?.ok_or_else(no_entries)?;
    let chosen = match &args.entry {
        Some(wanted) => entry(&entries, wanted)?,
        None if entries.is_empty() => return Err(no_entries()),
        None => newest(&entries).ok_or_else(all_undone)?,
    };
    let done = dir.undo(&chosen.id)?;
    if app.out.format() == Format::Json {
        let report = json!({"undone": chosen.id, "entry": done.map(|entry| entry.id)});
        return Ok(app.out.json(&report)?);
    }
    let what = files(&chosen.changes);
    let line = Line::new()
        .role(Role::Good, "Undone")
        .text(format!(": {} ({what})", chosen.reason));
    Ok(app.out.line(line)?)
}

/// The newest change that stands and is itself no undo: pressing undo twice goes back two steps.
fn newest(entries: &[Entry]) -> Option<&Entry> {
    let stands = |entry: &&Entry| entry.undoes.is_none() && undone_by(&entry.id, entries).is_none();
    entries.iter().rev().find(stands)
}
