//! `dormouse memory edit`.

use super::forget::undo_hint;
use super::list::parse_kind;
use super::names;
use super::place::{Which, find};
use super::wording;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Format, Line, Role};
use dormouse_guard::paths::SafePath;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::topic::{self, Field, Kind};
use dormouse_memory::transaction::{Author, Expected, Transaction};
use dormouse_memory::write::retext;
use serde_json::json;
use std::process::Command;

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
    /// The memory
    #[arg(value_name = "NAME")]
    memory: String,
    /// Its name from now on
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// The line that recall reads
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its type
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_kind)]
    kind: Option<Kind>,
    /// The last day it holds; `never` takes the date away
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// The text below the front matter; `-` reads it from standard input
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

/// Edits.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let mut found = find(which, app)?;
    let snapshot = found.snapshot(app)?;
    let path = names::find(&snapshot, &args.memory)?;
    let expected = Expected::now(&snapshot, &path);
    let old = text_of(&snapshot, &path)?;
    let fields = fields(args)?;
    let new = if fields.is_empty() && args.text.is_none() {
        in_editor(&old, app)?
    } else {
        edited(args, &old, fields)?
    };
    let reason = format!("edit {path}");
    let entry = found.update(app, |now| {
        let mut change: Transaction = retext(now, &path, &new, Author::User, &reason);
        for operation in &mut change.operations {
            if operation.path == path {
                operation.expected = expected;
            }
        }
        Ok(change)
    })?;
    if app.out.format() == Format::Json {
        let report =
            json!({"path": path, "changed": entry.is_some(), "entry": entry.map(|entry| entry.id)});
        return Ok(app.out.json(&report)?);
    }
    if entry.is_none() {
        return Ok(app.out.line(format!("{path} stays as it was."))?);
    }
    app.out.line(
        Line::new()
            .role(Role::Good, "Changed")
            .text(format!(": {path}")),
    )?;
    undo_hint(which, app)
}

fn text_of(snapshot: &Snapshot, path: &SafePath) -> Result<String, Failure> {
    let content = snapshot.get(path).map(|file| file.content.to_vec());
    String::from_utf8(content.unwrap_or_default()).map_err(|_| {
        UserError::new(Exit::Unsuitable, format!("`{path}` is not UTF-8 text"))
            .hint("what is not understood is not rewritten; save it as UTF-8 first")
            .into()
    })
}

/// The text with what the options ask for.
fn edited(args: &Args, old: &str, mut fields: Vec<Field>) -> Result<String, Failure> {
    let body = match args.text.as_deref() {
        Some("-") => Some(super::add::read_input()?),
        given => given.map(str::to_owned),
    };
    if let Some(body) = &body {
        fields.extend(following(args, old, body));
    }
    // Without fields a file without front matter would get an empty one.
    let text = if fields.is_empty() {
        old.to_owned()
    } else {
        topic::edit(old, &fields)
    };
    Ok(body.map_or_else(|| text.clone(), |body| with_body(&text, &body)))
}

/// Name and description where they were made of the text: they follow it.
fn following(args: &Args, old: &str, body: &str) -> Vec<Field> {
    let topic = topic::Topic::read(old);
    let (was, is) = (
        wording::description(&old[topic.body..]),
        wording::description(body),
    );
    let mut fields = Vec::new();
    if args.name.is_none() && !topic.name.is_empty() && topic.name == wording::name(&was) {
        fields.push(Field::Name(wording::name(&is)));
    }
    if args.description.is_none() && !topic.description.is_empty() && topic.description == was {
        fields.push(Field::Description(is));
    }
    fields
}

fn fields(args: &Args) -> Result<Vec<Field>, Failure> {
    let mut fields = Vec::new();
    fields.extend(args.name.clone().map(Field::Name));
    fields.extend(args.description.clone().map(Field::Description));
    fields.extend(args.kind.map(Field::Kind));
    if let Some(until) = &args.until {
        let day = match until.as_str() {
            "never" => None,
            text => {
                let day = text.parse::<jiff::civil::Date>().map_err(|_| {
                    UserError::new(Exit::Usage, format!("`{text}` is no date"))
                        .hint("write it like 2027-03-15, or `never`")
                })?;
                Some(day.to_string())
            }
        };
        fields.push(Field::ValidUntil(day));
    }
    Ok(fields)
}

/// The text with another body; the blank line behind the front matter stays.
fn with_body(text: &str, body: &str) -> String {
    let at = topic::Topic::read(text).body;
    let head = &text[..at];
    let gap = if head.is_empty() { "" } else { "\n" };
    format!("{head}{gap}{}\n", body.trim_end())
}

/// Lets the user change a text.
fn in_editor(text: &str, app: &App) -> Result<String, Failure> {
    let env = &app.system.env;
    let editor = env
        .text("VISUAL")
        .or_else(|| env.text("EDITOR"))
        .filter(|name| !name.trim().is_empty());
    let Some(editor) = editor else {
        let error = UserError::new(Exit::Usage, "no editor is set");
        let hint = "set EDITOR, or use --name, --description, --type, --until or --text";
        return Err(error.hint(hint).into());
    };
    let failed = |error: std::io::Error| -> Failure {
        UserError::of(Exit::Unexpected, &error)
            .hint(format!("the editor is `{editor}`"))
            .into()
    };
    let file = tempfile::Builder::new()
        .prefix("memory-")
        .suffix(".md")
        .tempfile()
        .map_err(failed)?;
    let files = &app.system.files;
    files.replace(
        file.path(),
        text.as_bytes(),
        dormouse_system::Access::Private,
    )?;
    // The variable may hold options, as in `code --wait`.
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let status = command
        .args(words)
        .arg(file.path())
        .status()
        .map_err(failed)?;
    if !status.success() {
        let error = UserError::new(
            Exit::Unexpected,
            format!("the editor `{editor}` failed ({status})"),
        );
        return Err(error.hint("the memory stays as it was").into());
    }
    let bytes = files.read(
        file.path(),
        dormouse_memory::transaction::MOST_BYTES as u64 * 2,
    )?;
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        UserError::new(Exit::Unsuitable, "the edited text is not UTF-8")
            .hint("the memory stays as it was")
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_body_keeps_the_front_matter() {
        let text = "---\nname: a\n---\n\nold\n";
        assert_eq!(with_body(text, "new"), "---\nname: a\n---\n\nnew\n");
        assert_eq!(with_body("old\n", "new\n\n"), "new\n");
    }
}
