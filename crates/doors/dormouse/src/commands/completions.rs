//! `dormouse completions`: a script that lets a shell complete commands and options.

use crate::app::App;
use crate::cli::Cli;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Out, Report};
use clap::CommandFactory as _;
use clap_complete::Shell;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  dormouse completions bash > ~/.local/share/bash-completion/completions/dormouse
  dormouse completions zsh > ~/.zfunc/_dormouse
  dormouse completions fish > ~/.config/fish/completions/dormouse.fish

JSON: {\"shell\", \"script\"}";

/// Arguments of `dormouse completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_enum, hide_possible_values = true)]
    shell: Shell,
}

/// Prints the script, made from the definition of the command line.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dormouse", &mut script);
    let script =
        String::from_utf8(script).map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    let shell = args.shell.to_string();
    app.tell(&Script { shell, script })
}

/// A completion script and the shell it is for.
#[derive(Serialize)]
struct Script {
    shell: String,
    script: String,
}

impl Report for Script {
    fn text(&self, out: &mut Out) -> Outcome {
        Ok(out.raw(&self.script)?)
    }
}
