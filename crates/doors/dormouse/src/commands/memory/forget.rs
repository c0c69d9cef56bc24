//! `dormouse memory forget`, `pin`, `unpin`.

use super::names;
use super::place::{Which, find};
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Format, Line, Role};
use dormouse_guard::paths::SafePath;
use dormouse_memory::journal::Entry;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_memory::write::{self, WriteError};
use serde_json::json;

const HELP: &str = "\
`dormouse memory undo` brings a forgotten memory back, unless --purge was given:
then what it ever held is removed from the journal too, and so are older indexes
with a line about it. That there was a file of its name is still known.

JSON: {\"forgotten\": [paths], \"entry\", \"purged\"}";

/// Arguments of `memory forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The memories
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Also remove what they held from the journal; this cannot be undone
    #[arg(long)]
    purge: bool,
}

/// Arguments of `memory pin` and `memory unpin`.
#[derive(Debug, clap::Args)]
#[command(after_help = "JSON: {\"path\", \"entry\"}")]
pub(super) struct PinArgs {
    /// The memory
    #[arg(value_name = "NAME")]
    name: String,
}

/// A number with its noun.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}

/// Forgets.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let mut found = find(which, app)?;
    let mut forgotten = Vec::new();
    let mut entries = Vec::new();
    for name in &args.names {
        let reason = args
            .reason
            .clone()
            .unwrap_or_else(|| format!("forget {name}"));
        let mut path = None;
        let entry = found.update(app, |snapshot| {
            let file = names::find(snapshot, name)?;
            let transaction = write::forget(snapshot, &file, Author::User, &reason)?;
            path = Some(file);
            Ok(transaction)
        })?;
        entries.extend(entry.map(|entry| entry.id));
        forgotten.extend(path);
    }
    if args.purge {
        let dir = found.open(app)?;
        for path in &forgotten {
            dir.purge(path)?;
        }
    }
    if app.out.format() == Format::Json {
        let report = json!({"forgotten": forgotten, "entry": entries.last(), "purged": args.purge});
        return Ok(app.out.json(&report)?);
    }
    for path in &forgotten {
        app.out.line(
            Line::new()
                .role(Role::Good, "Forgotten")
                .text(format!(": {path}")),
        )?;
    }
    if args.purge {
        return Ok(app
            .out
            .line("What they held is gone from the journal too.")?);
    }
    undo_hint(which, app)
}

/// Says how to take a change back.
pub(super) fn undo_hint(which: &Which, app: &mut App) -> Outcome {
    let place = match which {
        Which::Private => String::new(),
        Which::Team => "--team ".to_owned(),
        Which::Directory(dir) => format!("--dir {} ", dir.display()),
    };
    let line = Line::new()
        .role(Role::Hint, format!("`dormouse memory {place}undo`"))
        .text(" takes it back.");
    Ok(app.out.line(line)?)
}

/// Pins.
pub(super) fn pin(args: &PinArgs, which: &Which, app: &mut App) -> Outcome {
    moved(args, which, app, "Pinned", write::pin)
}

/// Unpins.
pub(super) fn unpin(args: &PinArgs, which: &Which, app: &mut App) -> Outcome {
    moved(args, which, app, "Unpinned", write::unpin)
}

fn moved(
    args: &PinArgs,
    which: &Which,
    app: &mut App,
    done: &str,
    change: impl FnOnce(&Snapshot, &SafePath) -> Result<Transaction, WriteError>,
) -> Outcome {
    let mut found = find(which, app)?;
    let entry = found.update(app, |snapshot| {
        let path = names::find(snapshot, &args.name)?;
        Ok(change(snapshot, &path)?)
    })?;
    let moved = |entry: &Entry| {
        let new = entry.changes.iter().find(|change| change.before.is_none());
        new.map(|change| change.path.clone())
    };
    let path = entry.as_ref().and_then(moved);
    if app.out.format() == Format::Json {
        let report = json!({"path": path, "entry": entry.map(|entry| entry.id)});
        return Ok(app.out.json(&report)?);
    }
    let path = path.map(|path| path.to_string()).unwrap_or_default();
    Ok(app
        .out
        .line(Line::new().role(Role::Good, done).text(format!(": {path}")))?)
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let kind = match &error {
            WriteError::Missing(_) => Exit::Unreadable,
            WriteError::NotTopic(_) | WriteError::Path(_) => Exit::Usage,
            WriteError::AlreadyPinned(_) | WriteError::NotPinned(_) | WriteError::Taken(_) => {
                Exit::Refused
            }
        };
        UserError::of(kind, &error).into()
    }
}
