//! `dormouse memory useful` and `wrong`: the user's judgement moves ranking and trust.

use super::forget::undo_hint;
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Line, Out, Report, Role, figures};
use dormouse_host::{Judgement, MemoryJudged, Which};
use serde::Serialize;

const HELP: &str = "\
A memory that was called useful ranks higher, and one that an assistant wrote then
counts as your own word. One that was called wrong is history: it is kept, and no
longer recalled or listed, until it is called useful again.

JSON: {\"path\", \"useful\", \"wrong\", \"recalled\", \"entry\"}";

/// Arguments of `memory useful` and `memory wrong`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The memory, by its file or its name
    #[arg(value_name = "NAME")]
    name: String,
}

/// The answer of the host, and the directory that the undo hint names.
#[derive(Serialize)]
#[serde(transparent)]
struct JudgedScreen<'a> {
    judged: MemoryJudged,
    #[serde(skip)]
    which: &'a Which,
}

/// Counts a judgement of the user.
pub(super) fn run(args: &Args, judgement: Judgement, which: &Which, app: &mut App) -> Outcome {
    let judged = app.host()?.judge_memory(which, &args.name, judgement)?;
    app.tell(&JudgedScreen { judged, which })
}

impl Report for JudgedScreen<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        let MemoryJudged {
            path,
            useful,
            recalled,
            ..
        } = &self.judged;
        let line = if *recalled {
            let line = Line::new().role(Role::Good, "Useful");
            let times = figures::count(*useful as usize, "time", "times");
            line.text(format!(": {path} (called so {times})"))
        } else {
            let line = Line::new().role(Role::Good, "Wrong");
            line.text(format!(": {path} is kept as history and not recalled"))
        };
        out.line(line)?;
        undo_hint(self.which, out)
    }
}
