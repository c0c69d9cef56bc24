//! `dormouse config trust` and `untrust`.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Format, Line, Role, Table};
use dormouse_config::{Loaded, set_trust};
use dormouse_core::settings::{Trust, changed};
use serde_json::json;
use std::path::{Path, PathBuf};

const TRUST_HELP: &str = "\
A project you do not trust cannot choose where requests go, which programs run or what they may
do. Trust a folder only if you know who wrote the files in its .dormouse folder. Trust is kept for
the folder itself, not for what lies above or below it.

Examples:
  dormouse config trust              The project around the current folder
  dormouse config trust ~/src/mine

JSON: {\"folder\", \"trusted\", \"changed\", \"settings\": [keys whose value changed by it]}";

const UNTRUST_HELP: &str = "\
Example:
  dormouse config untrust ~/src/mine

JSON: {\"folder\", \"trusted\", \"changed\", \"settings\": [keys whose value changed by it]}";

/// Arguments of `config trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = TRUST_HELP)]
pub(super) struct TrustArgs {
    /// A folder of the project [default: the current one]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Arguments of `config untrust`.
#[derive(Debug, clap::Args)]
#[command(after_help = UNTRUST_HELP)]
pub(super) struct UntrustArgs {
    /// A folder of the project; it may be gone [default: the current one]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(super) fn trust(args: &TrustArgs, app: &mut App) -> Outcome {
    change(args.folder.as_deref(), Trust::Trusted, app)
}

pub(super) fn untrust(args: &UntrustArgs, app: &mut App) -> Outcome {
    change(args.folder.as_deref(), Trust::Untrusted, app)
}

fn change(folder: Option<&Path>, trust: Trust, app: &mut App) -> Outcome {
    let config = app.config()?;
    let places = config.loader.places();
    let folder = folder.unwrap_or(&places.current_dir);
    let done = set_trust(&*app.system.files, places, folder, trust)?;
    let after = config.loader.reload(&config.loaded);
    let keys = changed(&config.loaded.settings, &after.settings);
    if app.out.format() == Format::Json {
        return Ok(app.out.json(&json!({
            "folder": done.folder.to_string_lossy(),
            "trusted": trust == Trust::Trusted,
            "changed": done.changed,
            "settings": keys,
        }))?);
    }
    let said = match (trust, done.changed) {
        (Trust::Trusted, true) => "is trusted now.",
        (Trust::Trusted, false) => "was trusted already.",
        (Trust::Untrusted, true) => "is no longer trusted.",
        (Trust::Untrusted, false) => "was not trusted.",
    };
    let line = Line::new().role(Role::Strong, done.folder.display());
    app.out.line(line.text(" ").text(said))?;
    show_changes(&keys, &after, app)
}

/// What difference it made, for a look at what one has just let in.
fn show_changes(keys: &[String], after: &Loaded, app: &mut App) -> Outcome {
    if keys.is_empty() {
        return Ok(());
    }
    app.out.line("These settings changed by it:")?;
    let mut table = Table::new([Column::left(""), Column::left(""), Column::left("")]);
    for entry in keys.iter().filter_map(|key| after.settings.entry(key)) {
        let key = Cell::with_role(Role::Strong, &entry.key);
        table.row(["".into(), key, entry.shown().into()]);
    }
    Ok(app.out.table(&table)?)
}
