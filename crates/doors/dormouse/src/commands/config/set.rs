//! `dormouse config set` and `unset`: one value of a settings file.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Line, Out, Report, Role};
use dormouse_core::settings::FileLayer;
use dormouse_host::SettingWritten;

const HELP: &str = "\
The file keeps its comments and every other line. Without --project or --local it is
your own: settings.toml in the home of Dormouse.

Examples:
  dormouse config set compact.auto off
  dormouse config set context.window 400000 --project
  dormouse config unset compact.auto

JSON: {\"key\", \"file\", \"set\", \"changed\", \"value\", \"from\", \"ignored_because\"}; value and from as they are in force";

/// The settings file that is meant.
#[derive(Clone, Copy, Debug, clap::Args)]
struct File {
    /// The project's file, committed with it
    #[arg(long, conflicts_with = "local")]
    project: bool,
    /// The project's file for this checkout alone
    #[arg(long)]
    local: bool,
}

impl File {
    const fn layer(self) -> FileLayer {
        match self {
            Self { project: true, .. } => FileLayer::Project,
            Self { local: true, .. } => FileLayer::ProjectLocal,
            _ => FileLayer::User,
        }
    }
}

/// Arguments of `config set`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct SetArgs {
    /// The setting; `dormouse config docs` lists all
    key: String,
    /// Its value
    #[arg(allow_hyphen_values = true)]
    value: String,
    #[command(flatten)]
    file: File,
}

/// Arguments of `config unset`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct UnsetArgs {
    /// The setting
    key: String,
    #[command(flatten)]
    file: File,
}

/// Writes a setting and says whether it counts.
pub(super) fn set(args: &SetArgs, app: &mut App) -> Outcome {
    change(&args.key, Some(&args.value), args.file, app)
}

/// Takes a setting out of a file and says which value counts now.
pub(super) fn unset(args: &UnsetArgs, app: &mut App) -> Outcome {
    change(&args.key, None, args.file, app)
}

fn change(key: &str, value: Option<&str>, file: File, app: &mut App) -> Outcome {
    let written = app.host()?.set_setting(file.layer(), key, value)?;
    app.tell(&written)
}

impl Report for SettingWritten {
    fn text(&self, out: &mut Out) -> Outcome {
        let line = Line::new().role(Role::Strong, &self.key);
        out.line(line.text(format!(" = {}", self.value)))?;
        let how = match (self.changed, self.set) {
            (false, _) => "unchanged in",
            (true, true) => "written to",
            (true, false) => "taken out of",
        };
        out.line(format!("  {how} {}", self.file))?;
        match &self.ignored_because {
            Some(why) => {
                let line = Line::new().role(Role::Warning, "  without effect");
                out.line(line.text(format!(": {why}")))?;
            }
            // Another layer wins: said, or the change would seem to have been lost.
            None if !self.from.starts_with(&self.file) => {
                out.line(format!("  the value in force is from: {}", self.from))?;
            }
            None => {}
        }
        Ok(())
    }
}
