//! Memories of other tools.
//!
//! # Model
//! Files go in, as paths and bytes; memories come out, and for every file that gave none the reason
//! ([`Skipped`]). Nothing is guessed: a memory without a type stays untyped. The memories are then
//! placed in a directory in one transaction ([`plan`]).
//!
//! # Responsibilities
//! - Credentials, binaries, blanks and duplicates stay outside, and are named.
//! - An agent's memory is believed as an agent's word; a folder of notes is the user's own. A file
//!   may claim less, never more.
//!
//! # Not here
//! Finding the folders and reading them (`dormouse memory import`); transcripts (`dormouse-store`).

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

/// Tool that wrote the memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Claude Code's memory folder: an index and a file for each memory.
    ClaudeCode,
    /// Codex's memories: plain files with a section for each memory.
    Codex,
    /// Letta's tree of blocks, `system/` and others, with a description each.
    Letta,
    /// Folder of notes that the user wrote.
    Markdown,
}

impl Format {
    /// Most trust that its memories can have.
    const fn trust(self) -> Trust {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Letta => Trust::Assistant,
            Self::Markdown => Trust::User,
        }
    }
}

/// File to be imported.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a> {
    /// Path below the folder, with `/` on every system.
    pub path: &'a str,
    /// Raw bytes; binaries are skipped.
    pub content: &'a [u8],
}

/// Memory with the file it was in.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Path of the foreign file, for the report.
    pub from: String,
    /// Name it should have, if that is free.
    pub path: SafePath,
    /// Memory itself, its trust already capped.
    pub memory: NewMemory,
}

/// Reason why a file, or a part of it, gave no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is an index; a new one is made.
    Index,
    /// Hidden, or no name that this directory can have.
    Name,
    /// Other ending than `.md`.
    NotMarkdown,
    /// NUL bytes or invalid UTF-8.
    Binary,
    /// Only blanks, or a heading without text.
    Empty,
    /// Longer than a memory may be ([`crate::transaction::MOST_BYTES`]).
    TooLong,
    /// Made by the other tool from its memories or sessions.
    Derived,
    /// Credential in the text.
    Secret {
        /// Name of the rule that matched.
        rule: &'static str,
        /// Line number, from 1.
        line: usize,
    },
    /// Same statement as this file, foreign or known.
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

/// File, or part of one, that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Path of the foreign file.
    pub path: String,
    /// Reason for the report.
    pub why: Why,
}

/// Result of reading another tool's memories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Import {
    /// Memories to be added, in the order of the files.
    pub memories: Vec<Imported>,
    /// Files and parts that were left out, each with its reason.
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
            // Some tools keep a memory in its description alone.
            if memory.body.trim().is_empty() && memory.description.is_empty() {
                skip(Why::Empty);
                continue;
            }
            if let Some(other) = seen.meets(&memory, file.path) {
                skip(Why::Duplicate(other));
                continue;
            }
            // No claim means the best this format can give; the format's cap follows.
            let claimed = memory.trust.unwrap_or(Trust::User);
            memory.trust = Some(claimed.min(format.trust()));
            let from = file.path.to_owned();
            import.memories.push(Imported { from, path, memory });
        }
    }
    import
}

/// Text of a file that may become a memory.
fn readable<'a>(file: &Foreign<'a>) -> Result<&'a str, Why> {
    let hidden = file.path.split('/').any(|part| part.starts_with('.'));
    // Hidden files of other tools are their state, not memories.
    if hidden || SafePath::parse(file.path).is_err() {
        return Err(Why::Name);
    }
    if !file.path.to_lowercase().ends_with(".md") {
        return Err(Why::NotMarkdown);
    }
    // Valid UTF-8 may hold NUL bytes all the same; no note does.
    if file.content.contains(&0) {
        return Err(Why::Binary);
    }
    let text = std::str::from_utf8(file.content).map_err(|_| Why::Binary)?;
    if text.trim().is_empty() {
        return Err(Why::Empty);
    }
    // Checked here and not only at the gate: one credential would refuse the whole import.
    match secrets::scan(text).first() {
        Some(found) => Err(Why::Secret {
            rule: found.rule,
            line: found.line,
        }),
        None => Ok(text),
    }
}

/// Statements seen so far, of this directory and of the import.
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

    /// File that says the same; if there is none, the memory is known from now on.
    fn meets(&mut self, memory: &NewMemory, name: &str) -> Option<String> {
        let sketch = Sketch::new(statement(&memory.description, &memory.body));
        let found = self.index.find(&sketch).into_iter().next();
        // Near ones are kept: importing must not lose the difference, a dream may merge them.
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
