//! Text of the instructions in a prompt.

use super::parts::{File, Loaded, Scope};
use dormouse_core::fragment::{self, CONVERSATION_SUMMARY, INSTRUCTIONS_HEAD, REMINDER, defuse};
use std::fmt::Write as _;
use std::path::Path;

const FRAME: &str = include_str!("frame.md");
const LATER: &str = include_str!("later.md");

/// Fragment that a prompt begins with; `None` without files.
pub fn render(loaded: &Loaded) -> Option<String> {
    let files: Vec<&File> = loaded.always.iter().collect();
    (!files.is_empty()).then(|| sections(FRAME, &files))
}

/// Fragment for the files that [`Loader::load_for_file`](super::Loader::load_for_file) found;
/// `None` if it found none.
pub fn render_later(files: &[File]) -> Option<String> {
    let files: Vec<&File> = files.iter().collect();
    (!files.is_empty()).then(|| sections(LATER, &files))
}

fn sections(frame: &str, files: &[&File]) -> String {
    let mut out = frame.trim_end().to_owned();
    for file in files {
        // Writing to a string cannot fail.
        write!(
            out,
            "\n\n{INSTRUCTIONS_HEAD}{} ({})",
            shown(&file.path),
            whose(file.scope)
        )
        .ok();
        if let Some(outer) = &file.included_by {
            write!(out, ", included by {}", shown(outer)).ok();
        }
        write!(out, "\n\n{}", harmless(&file.text)).ok();
    }
    wrap(&out)
}

/// Puts a text into the tags of a reminder.
pub(super) fn wrap(text: &str) -> String {
    fragment::render(&REMINDER, text)
}

fn whose(scope: Scope) -> &'static str {
    match scope {
        Scope::Managed => "set for this machine",
        Scope::User => "the user's, for all projects",
        Scope::Project => "the project's",
        Scope::Local => "the user's, for this project",
        Scope::Memory => "index of the memory",
    }
}

/// Path on one line, without control characters and tags: a file name is written by others, too.
pub(super) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let line: String = text
        .chars()
        .map(|letter| {
            if letter.is_control() {
                '\u{fffd}'
            } else {
                letter
            }
        })
        .collect();
    untagged(&line)
}

/// Kept part of a file that is too long, with a line that says so.
pub(super) fn cut_marker(text: &str, of: u64, path: &Path) -> String {
    format!(
        "{text}\n[Cut: only the first {} of {of} characters of {} are shown. Read the file for the rest.]",
        text.chars().count(),
        shown(path)
    )
}

/// Text that can neither leave the reminder nor pretend to be another file.
fn harmless(text: &str) -> String {
    let text = untagged(text);
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        // Otherwise a project's file could speak with the heading of the administrator's.
        if line.trim_start().starts_with(INSTRUCTIONS_HEAD.trim_end()) {
            out.push('\\');
        }
        out.push_str(line);
    }
    out
}

/// Breaks the tags around the fragments that a file could end or forge.
fn untagged(text: &str) -> String {
    defuse(&CONVERSATION_SUMMARY, &defuse(&REMINDER, text))
}
