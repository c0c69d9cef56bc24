//! `dormouse config trust` and `untrust`: the user's word on a project's settings.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table};
use dormouse_core::settings::Trust;
use dormouse_host::Trusted;
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

/// Trusts a folder and prints the settings whose values change by it.
pub(super) fn trust(args: &TrustArgs, app: &mut App) -> Outcome {
    change(args.folder.as_deref(), Trust::Trusted, app)
}

/// Takes the trust back; the folder need not exist any more.
pub(super) fn untrust(args: &UntrustArgs, app: &mut App) -> Outcome {
    change(args.folder.as_deref(), Trust::Untrusted, app)
}

fn change(folder: Option<&Path>, trust: Trust, app: &mut App) -> Outcome {
    let done = app.host()?.set_trust(folder, trust)?;
    app.tell(&done)
}

impl Report for Trusted {
    fn text(&self, out: &mut Out) -> Outcome {
        let said = match (self.trusted, self.changed) {
            (true, true) => "is trusted now.",
            // Not an error: scripts may trust a folder every time they run.
            (true, false) => "was trusted already.",
            (false, true) => "is no longer trusted.",
            (false, false) => "was not trusted.",
        };
        let line = Line::new().role(Role::Strong, &self.folder);
        out.line(line.text(" ").text(said))?;
        // Nothing follows from the change at once; there is no table to print.
        if self.values.is_empty() {
            return Ok(());
        }
        out.line("These settings changed by it:")?;
        let mut table = Table::new([Column::left(""), Column::left(""), Column::left("")]);
        for (key, value) in &self.values {
            let key = Cell::with_role(Role::Strong, key);
            table.row(["".into(), key, value.as_str().into()]);
        }
        Ok(out.table(&table)?)
    }
}
