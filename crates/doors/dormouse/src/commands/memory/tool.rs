//! `dormouse memory tool`: one command of the provider's memory tool, answered as for a model.

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Out, Report};
use dormouse_host::{Overwrite, ToolAnswer, Which};
use serde_json::Value;

const HELP: &str = "\
The commands are view, create, str_replace, insert, delete and rename, with paths
below /memories. The answer is printed exactly as the model would get it; exit
code 4 if it is an error.

Examples:
  dormouse memory tool '{\"command\": \"view\", \"path\": \"/memories\"}'
  dormouse memory tool - < command.json

JSON: {\"content\", \"is_error\"}";

/// Arguments of `memory tool`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The tool's input; `-` reads it from standard input
    #[arg(value_name = "JSON")]
    input: String,
    /// Let `create` replace a file that exists
    #[arg(long)]
    overwrite: bool,
}

/// Runs one command of the tool and prints the answer byte for byte.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let text = if args.input == "-" {
        super::add::read_input()?
    } else {
        args.input.clone()
    };
    let input: Value = serde_json::from_str(&text).map_err(|error| {
        UserError::of(Exit::Usage, &error)
            .hint("give one JSON object, as in the examples of --help")
    })?;
    let overwrite = if args.overwrite {
        Overwrite::Allow
    } else {
        Overwrite::Refuse
    };
    let answer = app.host()?.memory_tool(which, &input, overwrite)?;
    app.tell(&answer)
}

impl Report for ToolAnswer {
    fn text(&self, out: &mut Out) -> Outcome {
        // Byte for byte in a pipe, control characters included: the output is compared with what a
        // model gets.
        out.bytes(self.content.as_bytes())?;
        Ok(out.bytes(b"\n")?)
    }

    fn verdict(&self) -> Outcome {
        // The answer itself is the error text; a second message would be told twice.
        if self.is_error {
            return Err(Failure::Told(Exit::Unsuitable));
        }
        Ok(())
    }
}
