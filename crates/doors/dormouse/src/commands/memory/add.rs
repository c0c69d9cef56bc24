//! `dormouse memory add`.

use super::forget::undo_hint;
use super::list::parse_kind;
use super::place::{Which, find};
use super::wording;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Format, Line, Role};
use dormouse_core::settings::{Settings, keys};
use dormouse_guard::secrets;
use dormouse_memory::index::{Limits, nearness};
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::topic::{Kind, Triggers};
use dormouse_memory::transaction::Author;
use dormouse_memory::trust::{Origin, Speaker, Trust};
use dormouse_memory::write::{self, NewMemory, Placement};
use serde_json::json;
use std::io::Read as _;

/// Why, for the journal. It says nothing of the text: that must be gone after a purge.
const REASON: &str = "added by hand";
/// Longest text that is read from standard input.
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
    /// What to remember; `-` reads it from standard input
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// Its type: user, feedback, project, reference; guessed if not given
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_kind)]
    kind: Option<Kind>,
    /// Its name; a few telling words if not given
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// The line that recall reads; the first sentence if not given
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The last day it holds
    #[arg(long, value_name = "DATE")]
    until: Option<jiff::civil::Date>,
    /// Bring it in whenever files that match are worked on; may be repeated
    #[arg(long = "when-path", value_name = "GLOB")]
    paths: Vec<String>,
    /// Bring it in whenever this command is run; may be repeated
    #[arg(long = "when-command", value_name = "COMMAND")]
    commands: Vec<String>,
}

/// Adds.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let text = text(args)?;
    refuse_secrets(args, &text)?;
    let memory = memory(args, &text, app.system.clock.now(), which);
    let mut found = find(which, app)?;
    let mut placement = None;
    let mut near = None;
    let settings = found.config.loaded.settings.clone();
    let entry = found.update(app, |snapshot| {
        let added = write::add(snapshot, &memory, Author::User, REASON);
        near = warning(
            &settings,
            &added
                .transaction
                .applied(snapshot, dormouse_core::units::Millis(0)),
        );
        placement = Some(added.placement);
        Ok(added.transaction)
    })?;
    let Some(placement) = placement else {
        return Ok(());
    };
    let (word, other) = match &placement {
        Placement::Create(_) => ("created", None),
        Placement::Known(_) => ("known", None),
        Placement::Merge(_) => ("merged", None),
        Placement::Contradict { other, .. } => ("overtook", Some(other.to_string())),
    };
    if app.out.format() == Format::Json {
        let entry = entry.map(|entry| entry.id);
        let report =
            json!({"path": placement.path(), "placement": word, "other": other, "entry": entry});
        app.out.json(&report)?;
    } else {
        let path = placement.path();
        let done = |word: &str| Line::new().role(Role::Good, word);
        app.out.line(match &placement {
            Placement::Create(_) => done("Remembered").text(format!(": {path}")),
            Placement::Known(_) => done("Known already").text(format!(": {path}")),
            Placement::Merge(_) if entry.is_none() => {
                done("Known already").text(format!(": {path}"))
            }
            Placement::Merge(_) => {
                done("Added to").text(format!(" {path}, which says nearly the same"))
            }
            Placement::Contradict { other, .. } => {
                done("Remembered").text(format!(": {path}. It overtakes {other}, which is kept."))
            }
        })?;
        if entry.is_some() {
            undo_hint(which, app)?;
        }
    }
    if let Some(near) = near {
        app.note(&near);
    }
    Ok(())
}

/// What to say when the index nears its limits.
pub(super) fn warning(settings: &Settings, after: &Snapshot) -> Option<String> {
    nearness(&after.index(), limits(settings))
}

/// How much of the index is loaded.
pub(super) fn limits(settings: &Settings) -> Limits {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Limits {
        lines: size(settings.get(keys::MEMORY_INDEX_LINES)),
        bytes: size(settings.get(keys::MEMORY_INDEX_BYTES)),
    }
}

fn text(args: &Args) -> Result<String, Failure> {
    let given = args.text.join(" ");
    let text = if given == "-" { read_input()? } else { given };
    if text.trim().is_empty() {
        let error = UserError::new(Exit::Usage, "there is nothing to remember");
        return Err(error.hint("dormouse memory add 'TEXT'").into());
    }
    Ok(text)
}

/// A file is named by its text, and so is the error about the file: what must not be kept must not
/// be shown either.
fn refuse_secrets(args: &Args, text: &str) -> Outcome {
    let given = [
        ("the text", Some(text)),
        ("--name", args.name.as_deref()),
        ("--description", args.description.as_deref()),
    ];
    for (what, text) in given {
        if let Some(found) = text.and_then(|text| secrets::scan(text).into_iter().next()) {
            let message = format!(
                "line {} of {what} holds a credential ({}); nothing was remembered",
                found.line, found.rule
            );
            let hint = "leave it out and name the place where it is kept instead";
            return Err(UserError::new(Exit::Refused, message).hint(hint).into());
        }
    }
    Ok(())
}

/// Standard input as text.
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

fn memory(args: &Args, text: &str, now: dormouse_core::units::Millis, which: &Which) -> NewMemory {
    let first = wording::description(text);
    let triggers = Triggers {
        paths: args.paths.clone(),
        commands: args.commands.clone(),
        ..Triggers::default()
    };
    NewMemory {
        kind: Some(args.kind.unwrap_or_else(|| wording::kind(text))),
        name: args.name.clone().unwrap_or_else(|| wording::name(&first)),
        description: args.description.clone().unwrap_or_else(|| first.clone()),
        body: text.trim().to_owned(),
        origin: Some(Origin {
            session: None,
            message: None,
            speaker: Speaker::User,
            time: now,
        }),
        trust: Some(Trust::User),
        triggers,
        valid_until: args.until.map(|day| day.to_string()),
        author: (*which == Which::Team).then(|| "user".to_owned()),
    }
}
