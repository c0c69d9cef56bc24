//! The directive for the fork that writes the notes.
//!
//! It is appended to the conversation, so everything before it is read from the cache. A user's own
//! prompt replaces the built-in text. Placeholders such as `{{currentNotes}}` are substituted in
//! one pass and values are not scanned again, so notes that quote a placeholder cannot pull
//! anything in. Three parts are appended if a user's prompt lacks them, because an update without
//! them could only do harm: the current notes, the sections that are too long, and the format of
//! the answer.
//!
//! Not here: the call itself, and reading the answer ([`super::answer`]).

use super::document::Notes;
use super::limits::{Excess, Limits};
use dormouse_core::fragment::{CURRENT_NOTES, render};
use dormouse_core::show::Grouped;

// Prompt texts; snapshot-tested in `tests/it/notes.rs`.
const BUILTIN: &str = include_str!("directive.md");
const ANSWER_FORMAT: &str = include_str!("answer_format.md");

const TOO_LONG: &str = "These sections have grown too long. Rewrite each of them within its \
                        limit, with a `section` block, in this very answer:";
const NOT_TOO_LONG: &str = "No section is too long at present.";

/// Inputs of the directive.
#[derive(Clone, Copy, Debug)]
pub struct Directive<'a> {
    /// Current notes, quoted in full.
    pub notes: &'a Notes,
    /// Path of the notes file as the model is told.
    pub path: &'a str,
    /// Sections that exceed their limit.
    pub excess: &'a [Excess],
    /// Limits to state in the text.
    pub limits: Limits,
    /// The user's own prompt, if there is one (`session-memory/config/prompt.md`).
    pub custom: Option<&'a str>,
}

/// Placeholders that a prompt may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    CurrentNotes,
    NotesPath,
    Sections,
    Shorten,
    SectionLimit,
    TotalLimit,
    AnswerFormat,
}

impl Placeholder {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "currentNotes" => Self::CurrentNotes,
            "notesPath" => Self::NotesPath,
            "sections" => Self::Sections,
            "shorten" => Self::Shorten,
            "sectionLimit" => Self::SectionLimit,
            "totalLimit" => Self::TotalLimit,
            "answerFormat" => Self::AnswerFormat,
            _ => return None,
        })
    }

    fn value(self, directive: &Directive<'_>) -> String {
        match self {
            Self::CurrentNotes => directive.notes.text().trim_end().to_owned(),
            Self::NotesPath => directive.path.to_owned(),
            Self::Sections => sections(directive.notes),
            Self::Shorten => shorten(directive.excess),
            Self::SectionLimit => Grouped(directive.limits.section.get()).to_string(),
            Self::TotalLimit => Grouped(directive.limits.total.get()).to_string(),
            Self::AnswerFormat => ANSWER_FORMAT.trim_end().to_owned(),
        }
    }
}

/// A piece of a prompt.
enum Piece<'a> {
    Words(&'a str),
    /// `{{name}}`, known or unknown.
    Name(&'a str),
}

/// Text to append to the conversation.
pub fn directive(directive: &Directive<'_>) -> String {
    // An empty prompt file counts as absent, or the fork would get no instructions.
    let custom = directive.custom.filter(|text| !text.trim().is_empty());
    let Some(custom) = custom else {
        return rendered(BUILTIN, directive);
    };
    let mut text = rendered(custom, directive);
    let has = |placeholder| {
        pieces(custom).any(|piece| {
            matches!(piece, Piece::Name(name) if Placeholder::named(name) == Some(placeholder))
        })
    };
    let mut add = |paragraph: &str| {
        text.push_str("\n\n");
        text.push_str(paragraph);
    };
    if !has(Placeholder::CurrentNotes) {
        let notes = Placeholder::CurrentNotes.value(directive);
        add(&render(&CURRENT_NOTES, &notes));
    }
    if !has(Placeholder::Shorten) && !directive.excess.is_empty() {
        add(&shorten(directive.excess));
    }
    // Searched in the user's prompt only: the notes may quote the tags without explaining them.
    let explains_form = ["<section title=\"", "<append title=\""]
        .iter()
        .all(|tag| custom.contains(tag));
    if !has(Placeholder::AnswerFormat) && !explains_form {
        add(&Placeholder::AnswerFormat.value(directive));
    }
    text
}

/// Unknown placeholders of a user's prompt, each once. They stay in the text as they are.
pub fn unknown_placeholders(custom: &str) -> Vec<&str> {
    let mut unknown = Vec::new();
    for piece in pieces(custom) {
        if let Piece::Name(name) = piece
            && Placeholder::named(name).is_none()
            && !unknown.contains(&name)
        {
            unknown.push(name);
        }
    }
    unknown
}

fn rendered(prompt: &str, directive: &Directive<'_>) -> String {
    let mut text = String::new();
    for piece in pieces(prompt.trim()) {
        match piece {
            Piece::Words(words) => text.push_str(words),
            Piece::Name(name) => match Placeholder::named(name) {
                Some(placeholder) => text.push_str(&placeholder.value(directive)),
                // Unknown names stay visible, so that a typing error shows.
                None => text.extend(["{{", name, "}}"]),
            },
        }
    }
    text
}

/// Splits a prompt at its placeholders. Braces around anything but a name are ordinary text.
fn pieces(prompt: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = prompt;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((name, behind)) = name_at(rest) {
            rest = behind;
            return Some(Piece::Name(name));
        }
        // A single brace, or braces around other text, is not a placeholder.
        let next = rest
            .match_indices('{')
            .map(|(at, _)| at)
            .find(|at| rest.get(*at..).and_then(name_at).is_some())
            .unwrap_or(rest.len());
        let (words, behind) = rest.split_at(next);
        rest = behind;
        Some(Piece::Words(words))
    })
}

/// Name of a placeholder at the beginning of a text, and the rest behind it.
fn name_at(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix("{{")?;
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, behind) = inner.split_at_checked(end)?;
    let behind = behind.strip_prefix("}}")?;
    (!name.is_empty()).then_some((name, behind))
}

fn sections(notes: &Notes) -> String {
    let lines = notes.template().sections().iter();
    let lines = lines.map(|section| format!("- {}: {}", section.title(), section.purpose()));
    lines.collect::<Vec<_>>().join("\n")
}

fn shorten(excess: &[Excess]) -> String {
    if excess.is_empty() {
        return NOT_TOO_LONG.to_owned();
    }
    let mut lines = vec![TOO_LONG.to_owned()];
    lines.extend(excess.iter().map(|section| {
        let (tokens, limit) = (section.tokens.get(), section.limit.get());
        let title = &section.title;
        format!(
            "- {title}: {} tokens, limit {}",
            Grouped(tokens),
            Grouped(limit)
        )
    }));
    lines.join("\n")
}
