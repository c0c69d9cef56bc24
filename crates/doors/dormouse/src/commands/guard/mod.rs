//! `dormouse guard …`: the judges that stand between a model and the machine, for any script to
//! ask.

mod call;
mod secrets;
mod shell;

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use clap::Subcommand;
use std::io::Read as _;

/// Longest standard input that is read, in bytes. 64 MiB are more than any diff or list of
/// commands; without an end, an endless pipe would fill the memory.
const LONGEST_INPUT: u64 = 64 * 1024 * 1024;

/// Arguments of `dormouse guard`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    command: GuardCommand,
}

#[derive(Debug, Subcommand)]
enum GuardCommand {
    /// Say which command lines only read, and why others may do more
    Shell(shell::Args),
    /// Say which tool calls may run here, and which rule decides
    Call(call::Args),
    /// Find keys and passwords in files, without showing them
    Secrets(secrets::Args),
}

/// Runs the judge that was asked for.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    match &args.command {
        GuardCommand::Shell(args) => shell::run(args, app),
        GuardCommand::Call(args) => call::run(args, app),
        GuardCommand::Secrets(args) => secrets::run(args, app),
    }
}

/// The standard input, up to its limit. One byte more is read to tell a full input from a long one.
fn input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin().lock();
    stdin
        .take(LONGEST_INPUT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            let failed = UserError::new(Exit::Unreadable, "failed to read the standard input");
            UserError {
                causes: vec![error.to_string()],
                ..failed
            }
        })?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST_INPUT) {
        let error = UserError::new(
            Exit::Unsuitable,
            format!("the standard input is longer than {LONGEST_INPUT} bytes"),
        );
        return Err(error.hint("send less at a time").into());
    }
    Ok(bytes)
}
