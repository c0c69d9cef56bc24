//! `dormouse demo`: two minutes in which every layer acts, without a key and without a network.
//!
//! # Model
//! The real agent works on a small project in a temporary folder and talks to the simulator, in the
//! screen that a person knows. A tour (`script`) types the prompts. Without a terminal the same tour is
//! printed as lines, without pauses.
//!
//! # Not here
//! The screen and its pictures: `dormouse-tui`. The provider: `dormouse-sim`.

mod script;
pub(super) mod stage;

use super::screen;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use dormouse_system::Access;
use dormouse_tui::{Looks, Shot, svg};
use std::path::{Path, PathBuf};

/// Size of the recorded screen where there is no terminal: readable in a page, and wide enough for the
/// tables.
const RECORDED: (usize, usize) = (100, 34);
/// Time that a picture of the recording is shown, in milliseconds: enough to read a screen's news.
const SHOWN: u64 = 4_500;
/// Title above the pictures.
const TITLE: &str = "dormouse demo";

const HELP: &str = "\
The real agent works on a small project in a temporary folder; the built-in
simulator answers for the provider. Nothing leaves this machine, and nothing of
yours is read or changed.

Keys: Space pauses, n goes to the next step, q leaves.

Examples:
  dormouse demo
  dormouse demo --record demo.svg   The screens, moving; one picture of each beside it
  dormouse demo | less              As lines, without pauses";

/// Arguments of `dormouse demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Write the screens as SVG: all of them moving to FILE, each one to FILE-NAME.svg
    #[arg(long, value_name = "FILE.svg")]
    record: Option<PathBuf>,
    /// Lines only, for screen readers and plain terminals
    #[arg(long)]
    plain: bool,
}

/// Plays the demo on the screen, as plain lines, or into a recording.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    if let Some(file) = &args.record {
        let is_svg = file.extension().is_some_and(|ending| ending == "svg");
        if !is_svg {
            let what = format!("`{}` does not end in .svg", file.display());
            return Err(UserError::new(Exit::Usage, what).into());
        }
    }
    if app.is_for_programs() {
        let error = UserError::new(Exit::Usage, "the demo is for people: it has no JSON");
        return Err(error
            .hint("`dormouse replay --json` has the figures")
            .into());
    }
    let terminal = app.has_screen();
    // A recording has no pauses: it is made within seconds.
    let watched = terminal && args.record.is_none();
    let looks = Looks {
        deaf: !terminal,
        records: args.record.is_some(),
        size: (!terminal || args.record.is_some()).then_some(RECORDED),
        ..screen::looks(app, args.plain || !watched)
    };
    app.out.flush()?;
    let runtime = screen::runtime()?;
    let shots = runtime.block_on(async {
        let scene = Box::pin(stage::open(looks, watched)).await?;
        let shots = Box::pin(dormouse_tui::run(scene, looks)).await;
        shots.map_err(|error| screen::no_screen(&error))
    });
    runtime.shutdown_background();
    let shots = shots?;
    if let Some(file) = &args.record {
        let count = record(file, shots, app)?;
        app.out.line(format!(
            "{count} pictures are in `{}` and beside it",
            file.display()
        ))?;
    }
    Ok(())
}

/// Writes the pictures; returns how many there are.
fn record(file: &Path, shots: Vec<Shot>, app: &App) -> Result<usize, Failure> {
    let files = &app.system.files;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    for shot in &shots {
        let name = format!("{stem}-{}.svg", shot.name);
        let picture = svg::still(shot, TITLE);
        files.replace(
            &file.with_file_name(name),
            picture.as_bytes(),
            Access::Shared,
        )?;
    }
    let count = shots.len();
    let timed: Vec<(Shot, u64)> = shots.into_iter().map(|shot| (shot, SHOWN)).collect();
    files.replace(file, svg::moving(&timed, TITLE).as_bytes(), Access::Shared)?;
    Ok(count)
}
