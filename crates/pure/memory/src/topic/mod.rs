//! A topic file: one memory.
//!
//! # Model
//! Front matter, then a body. The file is its bytes: reading takes what is understood out of them
//! ([`Topic`]), and editing ([`edit`]) changes the lines of the keys it was asked to change and
//! nothing else, so that keys of other tools, comments, blanks and the body survive byte for byte.
//! Reading never fails. Front matter that is no YAML is read line by line (an unquoted colon in a
//! description is the usual reason); a type that is none of ours reads as untyped; the newer form
//! of other tools with a nested `metadata` is understood.
//!
//! # Not here
//! Trust in a memory: `trust` in a file is a note for people and for recall; the writer derives it
//! from the source ([`crate::extract`]). Cards for lists ([`crate::card`]).

mod edit;
mod front;
#[cfg(test)]
mod tests;

pub use edit::{Field, edit};
pub use front::{FrontMatter, split};

use crate::trust::{Origin, Speaker, Trust};
use dormouse_core::show;
use dormouse_core::units::Millis;
use serde_json::Value;
use std::fmt;

/// Subject of a memory.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The user: role, goals, knowledge, preferences.
    User,
    /// Way of working: corrections and confirmations.
    Feedback,
    /// Plans, owners, reasons and dates of the project, as far as the code does not tell them.
    Project,
    /// Locations of things in outside systems.
    Reference,
}

impl Kind {
    /// Every kind, in the order of a generated index.
    pub const ALL: [Self; 4] = [Self::User, Self::Feedback, Self::Project, Self::Reference];

    /// Lower-case name, as front matter has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
        }
    }

    /// Inverse of [`Self::name`], case-insensitive.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name.trim()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Work that calls for a memory, whatever the words of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Triggers {
    /// Names of tools that are used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Globs for paths of files that are worked on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Languages of files that are worked on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// First words of commands that are run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

impl Triggers {
    /// True without any trigger.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Understood part of a topic file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topic {
    /// Title; empty if the file has none.
    pub name: String,
    /// One line for recall and the index; empty if the file has none.
    pub description: String,
    /// Subject; `None` is untyped.
    pub kind: Option<Kind>,
    /// Span of a log it stems from, if Dormouse wrote the file.
    pub origin: Option<Origin>,
    /// Trust that the file claims; `None` for files that Dormouse did not write.
    pub trust: Option<Trust>,
    /// Work that calls for it, whatever the words of a prompt.
    pub triggers: Triggers,
    /// File that overtook it.
    pub superseded_by: Option<String>,
    /// Last day on which it holds, as it is written.
    pub valid_until: Option<String>,
    /// Time at which its claims were last checked against the working tree.
    pub verified: Option<Millis>,
    /// Author (team memory only).
    pub author: Option<String>,
    /// Files it was merged from.
    pub sources: Vec<String>,
    /// Files that say the contrary.
    pub contradicts: Vec<String>,
    /// Times the user called it useful.
    pub useful: u32,
    /// Times the user called it wrong.
    pub wrong: u32,
    /// Byte offset of the body.
    pub body: usize,
}

impl Topic {
    /// Reads a file. Never fails: a key that is not understood stays at its default.
    pub fn read(text: &str) -> Self {
        let (front, body) = split(text);
        let Some(front) = front else {
            return Self {
                body,
                ..Self::default()
            };
        };
        let values = front.values(text);
        let nested = values.get("metadata");
        // Newer files of other tools nest their keys; ours stand at the top and win.
        let find = |key: &str| values.get(key).or_else(|| nested?.get(key));
        let string = |key: &str| find(key).and_then(scalar);
        let count = |key: &str| string(key).and_then(|text| text.parse().ok()).unwrap_or(0);
        Self {
            name: string("name").unwrap_or_default(),
            // Lists show it on one line; a folded YAML text would break them.
            description: show::flat(&string("description").unwrap_or_default()),
            kind: string("type").and_then(|name| Kind::parse(&name)),
            origin: find("origin").and_then(origin),
            // A level that a newer version knows must not pass for the user's own word.
            trust: string("trust").map(|name| Trust::parse(&name).unwrap_or(Trust::External)),
            triggers: find("triggers").map(triggers).unwrap_or_default(),
            superseded_by: string("superseded_by"),
            valid_until: string("valid_until"),
            verified: string("verified").and_then(|at| Millis::parse(&at)),
            author: string("author"),
            sources: find("sources").map(strings).unwrap_or_default(),
            contradicts: find("contradicts").map(strings).unwrap_or_default(),
            useful: count("useful"),
            wrong: count("wrong"),
            body,
        }
    }

    /// True once another memory, the calendar or the user's judgement has overtaken it.
    pub fn is_over(&self, today: jiff::civil::Date) -> bool {
        self.is_wrong()
            || is_over(
                self.superseded_by.as_deref(),
                self.valid_until.as_deref(),
                today,
            )
    }

    /// True if the user called it wrong, and not useful as often.
    pub const fn is_wrong(&self) -> bool {
        self.wrong > self.useful
    }
}

/// Shared by topics and cards, so that lists and recall agree on the day.
pub(crate) fn is_over(
    superseded_by: Option<&str>,
    valid_until: Option<&str>,
    today: jiff::civil::Date,
) -> bool {
    let until = valid_until.and_then(last_day);
    // A date that cannot be read never ends a memory: losing it silently would be worse.
    superseded_by.is_some() || until.is_some_and(|day| day < today)
}

/// Day of a date or of a timestamp.
fn last_day(text: &str) -> Option<jiff::civil::Date> {
    text.get(..10).unwrap_or(text).parse().ok()
}

/// Text of a scalar. YAML reads `name: 42` and `name: true` as no text, though people mean one.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Texts of a list, or of a single value instead of one: a usual slip in hand-written files.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        other => scalar(other).into_iter().collect(),
    }
}

fn origin(value: &Value) -> Option<Origin> {
    let field = |key: &str| value.get(key).and_then(scalar);
    Some(Origin {
        session: field("session"),
        message: field("message"),
        // Without a speaker nothing follows about trust, so the whole origin is dropped.
        speaker: Speaker::parse(&field("speaker")?)?,
        time: field("time")
            .and_then(|at| Millis::parse(&at))
            .unwrap_or_default(),
    })
}

fn triggers(value: &Value) -> Triggers {
    let list = |key: &str| value.get(key).map(strings).unwrap_or_default();
    Triggers {
        tools: list("tools"),
        paths: list("paths"),
        languages: list("languages"),
        commands: list("commands"),
    }
}
