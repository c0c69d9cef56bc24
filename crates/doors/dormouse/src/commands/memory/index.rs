//! `dormouse memory index`.

use super::diff;
use super::forget::undo_hint;
use super::place::{Which, find};
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Format, Line, Role};
use dormouse_guard::paths::SafePath;
use dormouse_memory::index::{generated, reconciled};
use dormouse_memory::snapshot::{INDEX, Snapshot};
use dormouse_memory::transaction::{Author, Transaction};
use serde_json::json;

const HELP: &str = "\
Lines without a file go, files without a line get one; everything else in the
index stays as it is. --rebuild makes the whole index anew from the files.

JSON: {\"changed\", \"before\", \"after\", \"entry\"}";

/// Arguments of `memory index`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Make it anew from the files alone
    #[arg(long)]
    rebuild: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

/// Mends the index.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let mut found = find(which, app)?;
    let today = super::show::day(app.system.clock.now());
    let make = |snapshot: &Snapshot| {
        if args.rebuild {
            generated(snapshot, today)
        } else {
            reconciled(snapshot, today)
        }
    };
    let snapshot = found.snapshot(app)?;
    let (before, after) = (snapshot.index(), make(&snapshot));
    let changed = before != after && !(snapshot.is_empty() && before.is_empty());
    let entry = if args.dry_run || !changed {
        None
    } else {
        found.update(app, |snapshot| {
            let mut change = Transaction::by(Author::User, "mend the index");
            if let Ok(path) = SafePath::parse(INDEX) {
                change.put(snapshot, path, make(snapshot));
            }
            Ok(change.without_idle(snapshot))
        })?
    };
    if app.out.format() == Format::Json {
        let report = json!({"changed": changed, "before": before, "after": after, "entry": entry.map(|entry| entry.id)});
        return Ok(app.out.json(&report)?);
    }
    if !changed {
        return Ok(app.out.line("The index fits the files.")?);
    }
    diff::show(&mut app.out, INDEX, Some(&before), Some(&after))?;
    app.out.blank()?;
    if args.dry_run {
        return Ok(app
            .out
            .line("Nothing was changed; without --dry-run it is.")?);
    }
    app.out
        .line(Line::new().role(Role::Good, "Mended").text("."))?;
    undo_hint(which, app)
}
