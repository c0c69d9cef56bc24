//! A topic file: one memory.
//!
//! # Model
//! Front matter, then a body. The file is its bytes: reading takes what is understood out of them
//! ([`Topic`]), and editing ([`edit`]) changes the lines of the keys it was asked to change and
//! nothing else, so that keys of other tools, comments, blanks and the body survive byte for byte.
//!
//! Reading never fails. Front matter that is no YAML is read line by line (an unquoted colon in a
//! description is the usual reason); a type that is none of ours reads as untyped; the newer form of
//! other tools with a nested `metadata` is understood.
//!
//! # Not here
//! What a memory is worth: `trust` in a file is a note for people and for recall. Whoever writes
//! decides it from the source.

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

/// What a memory is about.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The user: role, goals, knowledge, preferences.
    User,
    /// How to work: corrections and confirmations.
    Feedback,
    /// Who does what, why, by when; what cannot be told from the code.
    Project,
    /// Where things are in outside systems.
    Reference,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::User, Self::Feedback, Self::Project, Self::Reference];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
        }
    }

    /// Reads [`Self::name`], in any case.
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

/// When a standing rule applies, whatever the words of the question.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Triggers {
    /// A tool is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// A file is worked on whose path matches a glob.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// A file in a language is worked on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// A command is run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

impl Triggers {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What is understood of a topic file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topic {
    /// Its name; empty if it has none.
    pub name: String,
    /// What recall reads, one line.
    pub description: String,
    /// What it is about; `None` is untyped.
    pub kind: Option<Kind>,
    /// Where it comes from.
    pub origin: Option<Origin>,
    /// What the file says of its trust; `None` for files that Dormouse did not write.
    pub trust: Option<Trust>,
    /// When it applies.
    pub triggers: Triggers,
    /// The file that overtook it.
    pub superseded_by: Option<String>,
    /// The last day it holds, as it is written.
    pub valid_until: Option<String>,
    /// When its claims were last checked.
    pub verified: Option<Millis>,
    /// Who wrote it (team memory).
    pub author: Option<String>,
    /// The files it was merged from.
    pub sources: Vec<String>,
    /// Where the body begins.
    pub body: usize,
}

impl Topic {
    /// Reads a file.
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
        let find = |key: &str| values.get(key).or_else(|| nested?.get(key));
        let string = |key: &str| find(key).and_then(scalar);
        Self {
            name: string("name").unwrap_or_default(),
            description: show::flat(&string("description").unwrap_or_default()),
            kind: string("type").and_then(|name| Kind::parse(&name)),
            origin: find("origin").and_then(origin),
            trust: string("trust").and_then(|name| Trust::parse(&name)),
            triggers: find("triggers").map(triggers).unwrap_or_default(),
            superseded_by: string("superseded_by"),
            valid_until: string("valid_until"),
            verified: string("verified").and_then(|at| Millis::parse(&at)),
            author: string("author"),
            sources: find("sources").map(strings).unwrap_or_default(),
            body,
        }
    }

    /// Whether the memory was overtaken, by another one or by the calendar.
    pub fn is_over(&self, today: jiff::civil::Date) -> bool {
        is_over(
            self.superseded_by.as_deref(),
            self.valid_until.as_deref(),
            today,
        )
    }
}

/// Whether a memory with these two fields was overtaken on a day.
pub(crate) fn is_over(
    superseded_by: Option<&str>,
    valid_until: Option<&str>,
    today: jiff::civil::Date,
) -> bool {
    let until = valid_until.and_then(last_day);
    superseded_by.is_some() || until.is_some_and(|day| day < today)
}

/// The day of a date or of a time.
fn last_day(text: &str) -> Option<jiff::civil::Date> {
    text.get(..10).unwrap_or(text).parse().ok()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

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
