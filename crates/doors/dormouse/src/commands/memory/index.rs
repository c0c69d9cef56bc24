//! `dormouse memory index`: MEMORY.md made to fit the files.

use super::diff;
use super::forget::undo_hint;
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Line, Out, Report, Role};
use dormouse_host::{FileDiff, IndexMended, IndexMending, Which};
use serde::Serialize;

/// File name of the index, as the heading of the difference.
const INDEX: &str = "MEMORY.md";

const HELP: &str = "\
Files without a line get one, and lines that Dormouse made follow their files.
Lines that you wrote stay byte for byte, also where their file is missing (a folder
may be half synced): they go only if Dormouse itself removed the file, or with
--remove-missing. If not all memories fit into the index, the pinned, then by type
the newest ones have lines, and a remark counts the others; recall finds them all.
--rebuild makes the whole index anew from the files.

JSON: {\"changed\", \"before\", \"after\", \"entry\"}";

/// Arguments of `memory index`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Make it anew from the files alone
    #[arg(long)]
    rebuild: bool,
    /// Also remove lines of yours whose file is not here
    #[arg(long)]
    remove_missing: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
}

/// The answer of the host, and the options that decide about its last line.
#[derive(Serialize)]
#[serde(transparent)]
struct IndexScreen<'a> {
    mended: IndexMended,
    #[serde(skip)]
    dry_run: bool,
    #[serde(skip)]
    which: &'a Which,
}

/// Mends or rebuilds the index, as a change that can be undone.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let dry_run = args.dry_run;
    let how = IndexMending {
        rebuild: args.rebuild,
        remove_missing: args.remove_missing,
        dry_run,
    };
    let mended = app.host()?.mend_index(which, how)?;
    app.tell(&IndexScreen {
        mended,
        dry_run,
        which,
    })
}

impl Report for IndexScreen<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        if !self.mended.changed {
            return Ok(out.line("The index fits the files.")?);
        }
        let file = FileDiff {
            path: INDEX.to_owned(),
            before: Some(self.mended.before.clone()),
            after: Some(self.mended.after.clone()),
        };
        // The whole difference, since hand-written lines may be among those that go.
        diff::show(out, &file)?;
        out.blank()?;
        if self.dry_run {
            return Ok(out.line("Nothing was changed; without --dry-run it is.")?);
        }
        out.line(Line::new().role(Role::Good, "Mended").text("."))?;
        undo_hint(self.which, out)
    }
}
