//! `dormouse config …`: settings in force, their reference, and trust in folders.

mod docs;
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
        ConfigCommand::Docs => docs::run(app),
        ConfigCommand::Trust(args) => trust::trust(args, app),
        ConfigCommand::Untrust(args) => trust::untrust(args, app),
    }
}
