//! `dormouse memory log`, `diff`, `undo`: the journal of changes.

use super::diff as differences;
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_host::{EntryDiff, EntryRow, HistoryList, Undone, Which};

/// Columns that the files keep before others are left out: names of memories begin alike, with
/// their type.
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
    /// Entries at most, the newest
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
    after_help = "An undo is a change too and can be undone. What was changed again since is not lost: then nothing is undone, and the command says what stands in the way. Edits that were made without Dormouse are in the log (by outside) and are only taken back by their id.\n\nJSON: {\"undone\", \"entry\"}"
)]
pub(super) struct UndoArgs {
    /// The entry, as `memory log` shows it; the newest of a command if none is given
    #[arg(value_name = "ENTRY")]
    entry: Option<String>,
}

/// Lists changes, newest first.
pub(super) fn log(args: &LogArgs, which: &Which, app: &mut App) -> Outcome {
    let name = args.name.as_deref();
    let list = app.host()?.history(which, name, args.limit)?;
    app.tell(&list)
}

impl Report for HistoryList {
    fn text(&self, out: &mut Out) -> Outcome {
        if self.entries.is_empty() {
            return Ok(out.line("Nothing was changed here yet.")?);
        }
        let mut table = Table::new([
            Column::left("entry"),
            Column::left("when").can_go(),
            Column::left("by").can_go(),
            Column::left("files").gives_way_until(FILE_COLUMNS),
            Column::left("why").gives_way(),
        ]);
        for entry in &self.entries {
            let undone = entry.undone_by.is_some();
            let reason = if undone {
                format!("(undone) {}", entry.reason)
            } else {
                entry.reason.clone()
            };
            // The word "(undone)" says it too: colour is never the only sign.
            let role = if undone { Role::Dim } else { Role::Plain };
            table.row([
                Cell::with_role(Role::Strong, &entry.short),
                Cell::new(figures::age(out.now(), entry.at)),
                Cell::new(entry.author),
                Cell::with_role(Role::Dim, files(entry)),
                Cell::with_role(role, reason),
            ]);
        }
        Ok(out.table(&table)?)
    }
}

/// The files of a change: the first, and the number of the others.
fn files(entry: &EntryRow) -> String {
    match entry.files().as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        // An import changes hundreds of files; the table has one line for it.
        [one, rest @ ..] => format!("{one} +{}", rest.len()),
    }
}

/// Shows the change of an entry, file by file.
pub(super) fn diff(args: &DiffArgs, which: &Which, app: &mut App) -> Outcome {
    let diff = app.host()?.entry_diff(which, args.entry.as_deref())?;
    app.tell(&diff)
}

impl Report for EntryDiff {
    fn text(&self, out: &mut Out) -> Outcome {
        let EntryRow {
            at,
            author,
            reason,
            short,
            ..
        } = &self.entry;
        let age = figures::age(out.now(), *at);
        let line = Line::new().role(Role::Strong, short);
        out.line(line.text("  ").text(format!("{age} by {author}: {reason}")))?;
        for change in &self.changes {
            out.blank()?;
            differences::show(out, change)?;
        }
        Ok(())
    }
}

/// Takes a change back, as a change of its own.
pub(super) fn undo(args: &UndoArgs, which: &Which, app: &mut App) -> Outcome {
    let undone = app.host()?.undo(which, args.entry.as_deref())?;
    app.tell(&undone)
}

impl Report for Undone {
    fn text(&self, out: &mut Out) -> Outcome {
        let what = files(&self.was);
        let line = Line::new().role(Role::Good, "Undone");
        Ok(out.line(line.text(format!(": {} ({what})", self.was.reason)))?)
    }
}
