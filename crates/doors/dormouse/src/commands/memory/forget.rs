//! `dormouse memory forget`, `pin`, `unpin`: files leave memory or the reach of automation.

use crate::app::App;
use crate::arguments::which_options;
use crate::error::Outcome;
use crate::output::{Line, Out, Report, Role};
use dormouse_host::{Forgotten, Moved, Purge, Which};
use serde::Serialize;

const HELP: &str = "\
`dormouse memory undo` brings a forgotten memory back, unless --purge was given:
then what it ever held is removed from the journal too, and so are older indexes
with a line about it. That there was a file of its name is still known.

On a full disk a memory can still be forgotten, for good if there is no room to
keep what it held.

JSON: {\"forgotten\": [paths], \"entry\", \"purged\", \"undoable\",
\"mentioned\": [lines of the index]}";

/// Arguments of `memory forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The memories, by file or whole name
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// The reason, for the journal
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Also remove what they held from the journal; this cannot be undone
    #[arg(long)]
    purge: bool,
}

/// Arguments of `memory pin` and `memory unpin`.
#[derive(Debug, clap::Args)]
#[command(after_help = "JSON: {\"path\", \"entry\"}")]
pub(super) struct PinArgs {
    /// The memory, by its file or its name
    #[arg(value_name = "NAME")]
    name: String,
}

/// The answer of the host, and the directory that the undo hint names.
#[derive(Serialize)]
#[serde(transparent)]
struct ForgetScreen<'a> {
    gone: Forgotten,
    #[serde(skip)]
    which: &'a Which,
}

/// Forgets memories in one change.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let purge = if args.purge {
        Purge::Contents
    } else {
        Purge::Keep
    };
    let reason = args.reason.as_deref();
    let gone = app.host()?.forget(which, &args.names, reason, purge)?;
    app.tell(&ForgetScreen { gone, which })
}

impl Report for ForgetScreen<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        for path in &self.gone.forgotten {
            let line = Line::new().role(Role::Good, "Forgotten");
            out.line(line.text(format!(": {path}")))?;
        }
        if !self.gone.mentioned.is_empty() {
            let lines: Vec<String> = self.gone.mentioned.iter().map(usize::to_string).collect();
            out.line(format!(
                "MEMORY.md still links to it in text of yours, line {}.",
                lines.join(", ")
            ))?;
        }
        // A purge cannot be undone, so no hint is given.
        if self.gone.purged {
            return Ok(out.line("What they held is gone from the journal too.")?);
        }
        if !self.gone.undoable {
            let full = "The disk had no room for what they held: this cannot be undone.";
            return Ok(out.line(full)?);
        }
        undo_hint(self.which, out)
    }
}

/// Prints the command that takes a change back, with the options that reach the same directory.
pub(super) fn undo_hint(which: &Which, out: &mut Out) -> Outcome {
    let place = which_options(which);
    let line = Line::new()
        .role(Role::Hint, format!("`dormouse memory{place} undo`"))
        .text(" takes it back.");
    Ok(out.line(line)?)
}

/// The answer of the host, and the word for what was done.
#[derive(Serialize)]
#[serde(transparent)]
struct Pinning {
    moved: Moved,
    #[serde(skip)]
    done: &'static str,
}

/// Pins a memory: automation leaves it alone.
pub(super) fn pin(args: &PinArgs, which: &Which, app: &mut App) -> Outcome {
    let moved = app.host()?.pin(which, &args.name)?;
    let done = "Pinned";
    app.tell(&Pinning { moved, done })
}

/// Unpins a memory: automation may change it again.
pub(super) fn unpin(args: &PinArgs, which: &Which, app: &mut App) -> Outcome {
    let moved = app.host()?.unpin(which, &args.name)?;
    let done = "Unpinned";
    app.tell(&Pinning { moved, done })
}

impl Report for Pinning {
    fn text(&self, out: &mut Out) -> Outcome {
        // The new path is shown: pinning moves the file.
        let path = self.moved.path.as_ref().map(ToString::to_string);
        let path = path.unwrap_or_default();
        let line = Line::new().role(Role::Good, self.done);
        Ok(out.line(line.text(format!(": {path}")))?)
    }
}
