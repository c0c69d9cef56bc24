//! `dormouse eval …`: measurements of compaction, extraction and recall.

mod fidelity;
mod fidelity_text;
mod pollution;
mod recall;
mod recall_read;
mod recall_text;
mod used;

use crate::app::App;
use crate::error::Outcome;
use clap::Subcommand;

/// Arguments of `dormouse eval`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    command: EvalCommand,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// Measure what of a session is still there after compactions
    Fidelity(fidelity::Args),
    /// Measure what of hostile and of honest sessions becomes a trusted memory
    Pollution(pollution::Args),
    /// Measure how well documents are found that answer a query
    Recall(recall::Args),
}

/// Runs the measurement that was asked for.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    match &args.command {
        EvalCommand::Fidelity(args) => fidelity::run(args, app),
        EvalCommand::Pollution(args) => pollution::run(args, app),
        EvalCommand::Recall(args) => recall::run(args, app),
    }
}
