//! `dormouse memory add`: a text becomes a memory, placed among those that are there.

use super::forget::undo_hint;
use super::list::parse_kind;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role};
use dormouse_host::{Host, Kind, NewMemoryText, Remembered, Which};
use serde::Serialize;
use std::io::Read as _;

/// Longest text that is read from standard input, in bytes. A memory is a page; 1 MiB is far beyond
/// one and still cheap to refuse.
const MOST_BYTES: u64 = 1024 * 1024;

const HELP: &str = "\
What is there already is not added again; what is nearly there is merged; what
says the contrary of another memory overtakes it, and the other one is kept and
says so. Text with a credential in it is refused.

Examples:
  dormouse memory add 'Never mock the database in integration tests' --type feedback
  dormouse memory add --name 'Release freeze' 'No merges from 12 to 15 March' --until 2027-03-15
  git log -1 --format=%B | dormouse memory add -

JSON: {\"path\", \"placement\": created | known | merged | overtook | contradicts, \"other\", \"entry\"}";

/// Arguments of `memory add`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The text to remember; `-` reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// Further words of the text, where it is not in quotes
    #[arg(value_name = "WORDS", hide = true)]
    more: Vec<String>,
    /// Its type: user, feedback, project, reference; guessed if not given
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_kind)]
    kind: Option<Kind>,
    /// Its name; a few telling words if not given
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    name: Option<String>,
    /// The line that recall reads; the first sentence if not given
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// The last day it holds: `2027-03-15`, `tomorrow`, `in two weeks`
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// Bring it in whenever files that match are worked on; may be repeated
    #[arg(long = "when-path", value_name = "GLOB")]
    paths: Vec<String>,
    /// Bring it in whenever this command is run; may be repeated
    #[arg(long = "when-command", value_name = "COMMAND")]
    commands: Vec<String>,
}

/// The answer of the host, and the directory that the undo hint names.
#[derive(Serialize)]
#[serde(transparent)]
struct AddScreen<'a> {
    remembered: Remembered,
    #[serde(skip)]
    which: &'a Which,
}

/// Adds a memory, or finds that it is there already.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let host = app.host()?;
    let until = args.until.as_deref().map(|text| day(text, &host));
    let new = NewMemoryText {
        text: text(args, app)?,
        kind: args.kind,
        name: args.name.clone(),
        description: args.description.clone(),
        until: until.transpose()?,
        paths: args.paths.clone(),
        commands: args.commands.clone(),
    };
    let remembered = host.remember(which, &new)?;
    app.tell(&AddScreen { remembered, which })
}

impl Report for AddScreen<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        let Remembered {
            path,
            placement,
            other,
            entry,
        } = &self.remembered;
        let done = |word: &str| Line::new().role(Role::Good, word);
        out.line(match (*placement, other) {
            ("created", _) => done("Remembered").text(format!(": {path}")),
            // Without an entry nothing was written: the words were all there.
            ("merged", _) if entry.is_some() => {
                done("Added to").text(format!(" {path}, which says nearly the same"))
            }
            (_, Some(other)) => {
                done("Remembered").text(format!(": {path}. It overtakes {other}, which is kept."))
            }
            _ => done("Known already").text(format!(": {path}")),
        })?;
        if entry.is_some() {
            undo_hint(self.which, out)?;
        }
        Ok(())
    }
}

fn text(args: &Args, app: &App) -> Result<String, Failure> {
    let given = app.free_text(&args.text, &args.more)?;
    // The convention of most tools for the standard input.
    let text = if given == "-" { read_input()? } else { given };
    // An empty pipe or variable must not become a memory.
    if text.trim().is_empty() {
        let error = UserError::new(Exit::Usage, "there is nothing to remember");
        return Err(error.hint("dormouse memory add 'TEXT'").into());
    }
    Ok(text)
}

/// The day that an option names.
pub(super) fn day(text: &str, host: &Host) -> Result<jiff::civil::Date, Failure> {
    host.day_meant(text).ok_or_else(|| {
        let error = UserError::new(Exit::Usage, format!("`{text}` is no date"));
        error
            .hint("write it like 2027-03-15, `tomorrow` or `in two weeks`")
            .into()
    })
}

/// The standard input as text. One byte more than the limit is read, to tell full from too long.
pub(super) fn read_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin()
        .lock()
        .take(MOST_BYTES + 1)
        .read_to_string(&mut text);
    read.map_err(|error| UserError::of(Exit::Unreadable, &error).hint("give it as UTF-8 text"))?;
    if text.len() as u64 > MOST_BYTES {
        let error = UserError::new(Exit::Unsuitable, "standard input has more than 1 MiB");
        return Err(error
            .hint("a memory is a page; keep the text elsewhere and say where")
            .into());
    }
    Ok(text)
}
