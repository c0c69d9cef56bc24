//! `dormouse memory edit`: the text in an editor, or single fields by options.

use super::forget::undo_hint;
use super::list::parse_kind;
use crate::app::App;
use crate::commands::editor;
use crate::error::{Failure, Outcome};
use crate::output::{Line, Out, Report, Role};
use dormouse_host::{FieldChanges, Host, Kind, MemoryDraft, MemoryEdited, Which};
use serde::Serialize;

const HELP: &str = "\
Without options the memory is opened in $VISUAL or $EDITOR. Keys of other tools in
the front matter, and everything that is not changed, stay byte for byte. If
somebody else changes the memory meanwhile, nothing is overwritten. With --text, a
name and a description that were made of the old text follow the new one.

JSON: {\"path\", \"changed\", \"entry\"}";

/// Arguments of `memory edit`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The memory, by its file or its name
    #[arg(value_name = "NAME")]
    memory: String,
    /// Its name from now on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    name: Option<String>,
    /// The line that recall reads
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// Its type: user, feedback, project, reference
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_kind)]
    kind: Option<Kind>,
    /// The last day it holds, also `tomorrow`; `never` takes the date away
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// The text below the front matter; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
}

/// The answer of the host, and the directory that the undo hint names.
#[derive(Serialize)]
#[serde(transparent)]
struct EditScreen<'a> {
    edited: MemoryEdited,
    #[serde(skip)]
    which: &'a Which,
}

/// Edits a memory. The draft knows the text it began with; saving refuses if it changed meanwhile.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let host = app.host()?;
    let mut draft = host.draft(which, &args.memory)?;
    let changes = changes(args, &*app.host()?)?;
    if changes == FieldChanges::default() {
        let text = editor::Draft {
            text: &draft.text,
            name: "memory-",
            longest: MemoryDraft::LONGEST,
            no_editor: "set EDITOR, or use --name, --description, --type, --until or --text",
            stays: "the memory stays as it was",
        };
        draft.text = editor::edit(text, &app.system)?;
    } else {
        draft.change(&changes);
    }
    let edited = host.save_draft(which, &draft)?;
    app.tell(&EditScreen { edited, which })
}

impl Report for EditScreen<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        let MemoryEdited { path, changed, .. } = &self.edited;
        if !changed {
            return Ok(out.line(format!("{path} stays as it was."))?);
        }
        let line = Line::new().role(Role::Good, "Changed");
        out.line(line.text(format!(": {path}")))?;
        undo_hint(self.which, out)
    }
}

fn changes(args: &Args, host: &Host) -> Result<FieldChanges, Failure> {
    let until = match args.until.as_deref() {
        None => None,
        // An empty date could be a variable that is not set; taking a date away is said in a word.
        Some("never") => Some(None),
        Some(text) => Some(Some(super::add::day(text, host)?)),
    };
    Ok(FieldChanges {
        name: args.name.clone(),
        description: args.description.clone(),
        kind: args.kind,
        until,
        body: match args.text.as_deref() {
            Some("-") => Some(super::add::read_input()?),
            given => given.map(str::to_owned),
        },
    })
}
