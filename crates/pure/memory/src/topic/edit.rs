//! Edits of front matter that touch nothing else.
//!
//! # Model
//! Each field replaces the lines of its key, or is appended behind the last one; every byte outside
//! these lines is copied. Values are written on one line of YAML that other readers understand.
//!
//! # Not here
//! Reading front matter (`front`); changes of the body ([`crate::write`](mod@crate::write)).

use super::front::split;
use super::{Kind, Triggers};
use crate::trust::{Origin, Trust};
use dormouse_core::show;
use dormouse_core::units::Millis;
use std::fmt::Write as _;

/// Key of front matter with its new value.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Title for people, the key `name`.
    Name(String),
    /// One line for recall and the index.
    Description(String),
    /// Subject, the key `type`.
    Kind(Kind),
    /// Span of a log it stems from.
    Origin(Origin),
    /// Trust derived from the source.
    Trust(Trust),
    /// Work that calls for it; an empty value removes the key.
    Triggers(Triggers),
    /// File that overtook it; `None` removes the key.
    SupersededBy(Option<String>),
    /// Last day on which it holds; `None` removes the key.
    ValidUntil(Option<String>),
    /// Time of the last check of its claims.
    Verified(Millis),
    /// Author (team memory only).
    Author(String),
    /// Files it was merged from; an empty list removes the key.
    Sources(Vec<String>),
    /// Reason why a person should look at it; `None` removes the key.
    Review(Option<String>),
    /// Files that say the contrary; an empty list removes the key.
    Contradicts(Vec<String>),
    /// Times the user called it useful; zero removes the key.
    Useful(u32),
    /// Times the user called it wrong; zero removes the key.
    Wrong(u32),
}

impl Field {
    const fn key(&self) -> &'static str {
        match self {
            Self::Name(_) => "name",
            Self::Description(_) => "description",
            Self::Kind(_) => "type",
            Self::Origin(_) => "origin",
            Self::Trust(_) => "trust",
            Self::Triggers(_) => "triggers",
            Self::SupersededBy(_) => "superseded_by",
            Self::ValidUntil(_) => "valid_until",
            Self::Verified(_) => "verified",
            Self::Author(_) => "author",
            Self::Sources(_) => "sources",
            Self::Review(_) => "review",
            Self::Contradicts(_) => "contradicts",
            Self::Useful(_) => "useful",
            Self::Wrong(_) => "wrong",
        }
    }

    /// The value as YAML on one line; `None` removes the key.
    fn value(&self) -> Option<String> {
        match self {
            Self::Name(text) | Self::Description(text) | Self::Author(text) => Some(plain(text)),
            Self::Kind(kind) => Some(kind.name().to_owned()),
            Self::Origin(origin) => Some(origin_value(origin)),
            Self::Trust(trust) => Some(trust.name().to_owned()),
            Self::Triggers(triggers) => (!triggers.is_empty()).then(|| triggers_value(triggers)),
            Self::SupersededBy(text) | Self::ValidUntil(text) | Self::Review(text) => {
                text.as_deref().map(plain)
            }
            Self::Verified(at) => Some(at.to_string()),
            Self::Sources(list) | Self::Contradicts(list) => {
                (!list.is_empty()).then(|| list_value(list))
            }
            Self::Useful(count) | Self::Wrong(count) => (*count > 0).then(|| count.to_string()),
        }
    }
}

/// Changes the fields given and leaves every other byte as it is. A file without front matter gets
/// one. A key that a nested `metadata` has already is written at the top all the same, because
/// reading looks there first.
pub fn edit(text: &str, fields: &[Field]) -> String {
    let (front, body) = split(text);
    let Some(front) = front else {
        // A byte order mark stays in front; behind the fence it would be content.
        let (mark, rest) = text.split_at(body);
        let mut out = format!("{mark}---\n");
        for field in fields {
            push_line(&mut out, field, "\n");
        }
        out.push_str("---\n");
        // One blank line between fence and body, as people write it.
        if !rest.is_empty() && !rest.starts_with(['\n', '\r']) {
            out.push('\n');
        }
        out.push_str(rest);
        return out;
    };
    let entries = front.entries(text);
    let mut out = text[..front.inner.start].to_owned();
    let mut at = front.inner.start;
    for entry in &entries {
        let Some(field) = fields.iter().find(|field| field.key() == entry.key) else {
            continue;
        };
        out.push_str(&text[at..entry.range.start]);
        push_line(&mut out, field, front.newline);
        at = entry.range.end;
    }
    out.push_str(&text[at..front.inner.end]);
    for field in fields {
        // At the end, so that keys keep the order in which the user wrote them.
        if entries.iter().all(|entry| entry.key != field.key()) {
            push_line(&mut out, field, front.newline);
        }
    }
    out.push_str(&text[front.inner.end..]);
    out
}

fn push_line(out: &mut String, field: &Field, newline: &str) {
    if let Some(value) = field.value() {
        out.push_str(field.key());
        out.push_str(": ");
        out.push_str(&value);
        out.push_str(newline);
    }
}

/// Text as YAML: bare if nothing in it could mean anything else, otherwise in double quotes.
fn plain(text: &str) -> String {
    let text = show::flat(text);
    let first = text.chars().next();
    // A leading digit, quote, dash or bracket would make it a number, a string or a list.
    let safe_start = first.is_some_and(char::is_alphabetic);
    let special = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    let safe = safe_start
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with(':')
        && !text.contains(special)
        && !reserved(&text);
    if safe { text } else { quoted(&text) }
}

/// Words that some YAML reader takes for a boolean or null.
fn reserved(text: &str) -> bool {
    // YAML 1.1 readers, which other tools still use, know more booleans than 1.2.
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Text in double quotes with JSON's escapes, which YAML shares.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn list_value(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

fn origin_value(origin: &Origin) -> String {
    let mut parts = Vec::new();
    if let Some(session) = &origin.session {
        parts.push(format!("session: {}", quoted(session)));
    }
    if let Some(message) = &origin.message {
        parts.push(format!("message: {}", quoted(message)));
    }
    parts.push(format!("speaker: {}", origin.speaker.name()));
    parts.push(format!("time: {}", quoted(&origin.time.to_string())));
    format!("{{{}}}", parts.join(", "))
}

fn triggers_value(triggers: &Triggers) -> String {
    let lists = [
        ("tools", &triggers.tools),
        ("paths", &triggers.paths),
        ("languages", &triggers.languages),
        ("commands", &triggers.commands),
    ];
    let parts: Vec<String> = lists
        .iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(key, list)| format!("{key}: {}", list_value(list)))
        .collect();
    format!("{{{}}}", parts.join(", "))
}
