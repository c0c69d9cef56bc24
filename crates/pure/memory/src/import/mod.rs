//! Memories of other tools.
//!
//! # Model
//! Files go in, as paths and bytes; memories come out, and for every file that gave none the reason
//! ([`Skipped`]). Nothing is guessed that the files do not say: what has no type stays untyped. The
//! memories are then placed in a directory in one transaction ([`plan`]).
//!
//! # Responsibilities
//! - Credentials, binaries, blanks and what is known already stay outside, and are named.
//! - What an agent wrote is believed as an agent's word; a folder of notes is the user's own. A file
//!   may claim less, never more.
//!
//! # Not here
//! Finding the folders and reading them; transcripts.

mod plan;
mod read;
#[cfg(test)]
mod tests;

pub use plan::plan;

use crate::snapshot::Snapshot;
use crate::topic::Topic;
use crate::trust::Trust;
use crate::write::NewMemory;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;
use dormouse_text::duplicates::{Index, Likeness, NEAR, Sketch};
use std::fmt;

/// Whose memories they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Claude Code's memory folder: an index and a file for each memory.
    ClaudeCode,
    /// Codex's memories: plain files with a section for each memory.
    Codex,
    /// Letta's tree of blocks, `system/` and others, with a description each.
    Letta,
    /// A folder of notes.
    Markdown,
}

impl Format {
    /// How far its memories are believed.
    const fn trust(self) -> Trust {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Letta => Trust::Assistant,
            Self::Markdown => Trust::User,
        }
    }
}

/// A file to be imported.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a> {
    /// Its path below the folder, with `/`.
    pub path: &'a str,
    /// Its bytes.
    pub content: &'a [u8],
}

/// A memory and where it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The file it was in.
    pub from: String,
    /// The name it should have, if that is free.
    pub path: SafePath,
    /// The memory.
    pub memory: NewMemory,
}

/// Why a file, or a part of it, gave no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is an index; a new one is made.
    Index,
    /// It is hidden, or its name cannot be used.
    Name,
    /// It is no Markdown.
    NotMarkdown,
    /// It is no text.
    Binary,
    /// There is nothing in it.
    Empty,
    /// It is longer than a memory may be.
    TooLong,
    /// It is made by the other tool from other things.
    Derived,
    /// It holds a credential.
    Secret {
        /// The rule that found it.
        rule: &'static str,
        /// The line.
        line: usize,
    },
    /// It says what another file says.
    Duplicate(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index => f.write_str("an index; it is made anew"),
            Self::Name => f.write_str("hidden, or a name that cannot be used"),
            Self::NotMarkdown => f.write_str("no Markdown"),
            Self::Binary => f.write_str("no text"),
            Self::Empty => f.write_str("empty"),
            Self::TooLong => f.write_str("too long for a memory"),
            Self::Derived => f.write_str("not a memory, but made from others or from sessions"),
            Self::Secret { rule, line } => write!(f, "line {line} holds a credential ({rule})"),
            Self::Duplicate(other) => write!(f, "says the same as {other}"),
        }
    }
}

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: String,
    /// Why.
    pub why: Why,
}

/// What an import found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Import {
    /// The memories.
    pub memories: Vec<Imported>,
    /// What was left out.
    pub skipped: Vec<Skipped>,
}

/// Reads the memories of another tool. `known` is the directory they would go to.
pub fn import(format: Format, files: &[Foreign<'_>], known: &Snapshot) -> Import {
    let mut seen = Seen::of(known);
    let mut import = Import::default();
    for file in files {
        let mut skip = |why: Why| {
            import.skipped.push(Skipped {
                path: file.path.to_owned(),
                why,
            });
        };
        let text = match readable(file) {
            Ok(text) => text,
            Err(why) => {
                skip(why);
                continue;
            }
        };
        let parts = match read::parts(format, file.path, text) {
            Ok(parts) => parts,
            Err(why) => {
                skip(why);
                continue;
            }
        };
        for (path, mut memory) in parts {
            if memory.body.trim().is_empty() && memory.description.is_empty() {
                skip(Why::Empty);
                continue;
            }
            if let Some(other) = seen.meets(&memory, file.path) {
                skip(Why::Duplicate(other));
                continue;
            }
            let claimed = memory.trust.unwrap_or(Trust::User);
            memory.trust = Some(claimed.min(format.trust()));
            let from = file.path.to_owned();
            import.memories.push(Imported { from, path, memory });
        }
    }
    import
}

/// The text of a file that may become a memory.
fn readable<'a>(file: &Foreign<'a>) -> Result<&'a str, Why> {
    let hidden = file.path.split('/').any(|part| part.starts_with('.'));
    if hidden || SafePath::parse(file.path).is_err() {
        return Err(Why::Name);
    }
    if !file.path.to_lowercase().ends_with(".md") {
        return Err(Why::NotMarkdown);
    }
    if file.content.contains(&0) {
        return Err(Why::Binary);
    }
    let text = std::str::from_utf8(file.content).map_err(|_| Why::Binary)?;
    if text.trim().is_empty() {
        return Err(Why::Empty);
    }
    match secrets::scan(text).first() {
        Some(found) => Err(Why::Secret {
            rule: found.rule,
            line: found.line,
        }),
        None => Ok(text),
    }
}

/// What is known, by its words.
struct Seen {
    index: Index,
    names: Vec<String>,
}

impl Seen {
    fn of(known: &Snapshot) -> Self {
        let mut seen = Self {
            index: Index::new(NEAR),
            names: Vec::new(),
        };
        for (path, file) in known.topics() {
            let text = file.text();
            let topic = Topic::read(&text);
            seen.add(&topic.description, &text[topic.body..], path.to_string());
        }
        seen
    }

    fn add(&mut self, description: &str, body: &str, name: String) {
        self.index.insert(Sketch::new(statement(description, body)));
        self.names.push(name);
    }

    /// The file that says the same; else the memory is known from now on.
    fn meets(&mut self, memory: &NewMemory, name: &str) -> Option<String> {
        let sketch = Sketch::new(statement(&memory.description, &memory.body));
        let found = self.index.find(&sketch).into_iter().next();
        if let Some(found) = found.filter(|found| found.likeness >= Likeness::Same) {
            return self.names.get(found.id).cloned();
        }
        self.index.insert(sketch);
        self.names.push(name.to_owned());
        None
    }
}

fn statement<'a>(description: &'a str, body: &'a str) -> &'a str {
    if body.trim().is_empty() {
        description.trim()
    } else {
        body.trim()
    }
}
