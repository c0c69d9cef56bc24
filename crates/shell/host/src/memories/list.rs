//! Lists of memories, and single memories in full.

use super::names;
use crate::error::HostError;
use crate::host::{Host, day};
use crate::place::Which;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::snapshot::is_pinned;
use dormouse_memory::topic::{Kind, Topic, Triggers};
use dormouse_memory::trust::{Origin, Trust};
use dormouse_memory::write::dependents;
use serde::Serialize;

/// The memories that are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Only those of one type; all if it is `None`.
    pub kind: Option<Kind>,
    /// Include those that were overtaken.
    pub overtaken: bool,
}

/// The memories of a directory, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryList {
    /// The directory, also where it does not exist yet.
    pub directory: String,
    /// One row for each memory.
    pub memories: Vec<MemoryRow>,
}

/// A memory in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryRow {
    /// Its file, relative to the directory.
    pub path: String,
    /// Its `name`; empty if it has none.
    pub name: String,
    /// Its `description`; empty if it has none.
    pub description: String,
    /// Its `type`, if that is known.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The trust that its file claims.
    pub trust: Option<&'static str>,
    /// Time of its last change.
    pub modified: String,
    /// Length of the whole file, in bytes.
    pub bytes: usize,
    /// Set if automation may not touch it.
    pub pinned: bool,
    /// Set if another memory or the calendar has overtaken it.
    pub over: bool,
    /// `modified` as a number, to compute ages from.
    #[serde(skip)]
    pub at: Millis,
}

/// One memory with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryShown {
    /// Its file, relative to the directory.
    pub path: SafePath,
    /// Its `name`; empty if it has none.
    pub name: String,
    /// Its `description`; empty if it has none.
    pub description: String,
    /// Its `type`, if that is known.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The trust that its file claims.
    pub trust: Option<&'static str>,
    /// The words it comes from, as far as the file says.
    pub origin: Option<Origin>,
    /// Work that calls for it: files and commands.
    pub triggers: Triggers,
    /// The file that overtook it.
    pub superseded_by: Option<String>,
    /// The last day on which it holds, as the file spells it.
    pub valid_until: Option<String>,
    /// Set if another memory or the calendar has overtaken it.
    pub over: bool,
    /// Set if automation may not touch it.
    pub pinned: bool,
    /// Time of its last change.
    pub modified: String,
    /// Memories that link to it, by path.
    pub linked_from: Vec<String>,
    /// The whole file, front matter included.
    pub text: String,
    /// `modified` as a number, to compute ages from.
    #[serde(skip)]
    pub at: Millis,
}

impl Host {
    /// Lists the memories of a directory, newest first.
    ///
    /// # Errors
    /// When memory is off, or the directory cannot be read.
    pub fn memories(&self, which: &Which, filter: ListFilter) -> Result<MemoryList, HostError> {
        let found = self.find(which)?;
        let snapshot = found.snapshot()?;
        let today = day(self.now());
        let mut rows: Vec<MemoryRow> = snapshot
            .topics()
            .map(|(path, file)| {
                let topic = Topic::read(&file.text());
                MemoryRow {
                    path: path.to_string(),
                    over: topic.is_over(today),
                    kind: topic.kind.map(Kind::name),
                    trust: topic.trust.map(Trust::name),
                    name: topic.name,
                    description: topic.description,
                    modified: file.modified.to_string(),
                    bytes: file.content.len(),
                    pinned: is_pinned(path),
                    at: file.modified,
                }
            })
            .filter(|row| filter.kind.is_none_or(|kind| row.kind == Some(kind.name())))
            .filter(|row| filter.overtaken || !row.over)
            .collect();
        // By path where times are equal: an import writes many files in one millisecond.
        rows.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.path.cmp(&b.path)));
        Ok(MemoryList {
            directory: found.root.display().to_string(),
            memories: rows,
        })
    }

    /// One memory, by its file or its name.
    ///
    /// # Errors
    /// When the name means no single memory, or the directory cannot be read.
    pub fn memory(&self, which: &Which, name: &str) -> Result<MemoryShown, HostError> {
        let snapshot = self.find(which)?.snapshot()?;
        let path = names::find(&snapshot, name)?;
        let file = snapshot.get(&path);
        let text = file.map(|file| file.text().into_owned());
        let text = text.unwrap_or_default();
        let modified = file.map(|file| file.modified).unwrap_or_default();
        let topic = Topic::read(&text);
        let links = dependents(&snapshot, &path);
        Ok(MemoryShown {
            over: topic.is_over(day(self.now())),
            pinned: is_pinned(&path),
            linked_from: links.iter().map(ToString::to_string).collect(),
            path,
            name: topic.name,
            description: topic.description,
            kind: topic.kind.map(Kind::name),
            trust: topic.trust.map(Trust::name),
            origin: topic.origin,
            triggers: topic.triggers,
            superseded_by: topic.superseded_by,
            valid_until: topic.valid_until,
            modified: modified.to_string(),
            text,
            at: modified,
        })
    }
}
