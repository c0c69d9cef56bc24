//! `dormouse memory tool`.

use super::place::{Which, find};
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::Format;
use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::MemdirError;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::tool::{Answer, Change, Command, Overwrite, answer};
use dormouse_memory::transaction::{Author, Transaction};
use serde_json::{Value, json};
use std::collections::BTreeMap;

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

/// Answers.
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
    let answer = answered(&input, overwrite, which, app)?;
    if app.out.format() == Format::Json {
        app.out
            .json(&json!({"content": answer.text, "is_error": answer.is_error}))?;
    } else {
        app.out.bytes(answer.text.as_bytes())?;
        app.out.bytes(b"\n")?;
    }
    if answer.is_error {
        Err(Failure::Told(Exit::Unsuitable))
    } else {
        Ok(())
    }
}

fn answered(
    input: &Value,
    overwrite: Overwrite,
    which: &Which,
    app: &mut App,
) -> Result<Answer, Failure> {
    let mut found = find(which, app)?;
    let reads = Command::parse(input).is_ok_and(|command| !command.writes());
    if reads {
        return Ok(answer(input, &tree(&found.snapshot(app)?), overwrite));
    }
    let mut told = None;
    let applied = found.open(app)?.update(|snapshot| {
        let answer = answer(input, &tree(snapshot), overwrite);
        let change = transaction(&answer, snapshot);
        told = Some(answer);
        Ok::<_, MemdirError>(change)
    });
    match (applied, told) {
        (Ok(_), Some(answer)) => Ok(answer),
        // What the guard or the disk refuses, the model is told.
        (Err(MemdirError::Refused(why)), _) => Ok(refused(&why.to_string())),
        (Err(MemdirError::Files { source, .. }), _) => {
            let why = crate::error::causes(&source).join(": ");
            Ok(refused(&format!("{source}: {why}")))
        }
        (Err(error), _) => Err(error.into()),
        (Ok(_), None) => Ok(refused("nothing was done")),
    }
}

fn refused(why: &str) -> Answer {
    Answer {
        text: format!("Error: {why}"),
        is_error: true,
        operations: Vec::new(),
    }
}

fn tree(snapshot: &Snapshot) -> BTreeMap<SafePath, Bytes> {
    snapshot
        .files()
        .map(|(path, file)| (path.clone(), file.content.clone()))
        .collect()
}

fn transaction(answer: &Answer, snapshot: &Snapshot) -> Transaction {
    let mut change = Transaction::by(Author::Agent, "memory tool");
    for operation in &answer.operations {
        match operation {
            Change::Put { path, content } => change.put(snapshot, path.clone(), content.clone()),
            Change::Delete { path } => change.delete(snapshot, path.clone()),
        }
    }
    change
}
