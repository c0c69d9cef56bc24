//! `dormouse config …`: settings in force, changing them, their reference, and trust in folders.

mod docs;
mod set;
mod show;
mod show_text;
mod trust;

use crate::app::App;
use crate::error::Outcome;
use clap::Subcommand;

/// Arguments of `dormouse config`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show settings, where each comes from and what was ignored
    Show(show::Args),
    /// Write one setting into a settings file
    Set(set::SetArgs),
    /// Take one setting out of a settings file
    Unset(set::UnsetArgs),
    /// Print the reference of all settings as Markdown
    #[command(after_help = "JSON: {\"markdown\"}")]
    Docs,
    /// Let a project's settings count fully
    Trust(trust::TrustArgs),
    /// Take the trust in a project back
    Untrust(trust::UntrustArgs),
}

/// Runs the command that was asked for.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    match &args.command {
        ConfigCommand::Show(args) => show::run(args, app),
        ConfigCommand::Set(args) => set::set(args, app),
        ConfigCommand::Unset(args) => set::unset(args, app),
        ConfigCommand::Docs => docs::run(app),
        ConfigCommand::Trust(args) => trust::trust(args, app),
        ConfigCommand::Untrust(args) => trust::untrust(args, app),
    }
}
