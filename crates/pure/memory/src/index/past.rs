//! Facts of the journal about the files that an index points to.
//!
//! # Model
//! A line is Dormouse's own if it is, byte for byte, the line that Dormouse makes of a file: of its
//! present content, or of one that the journal has. Such a line can be made again, so nothing is
//! lost if it is changed or goes. Every other line is a person's. That a file is missing says
//! little: a folder may be half synced today and whole tomorrow. Only a removal that the journal
//! has lets its line go.
//!
//! # Not here
//! Reading the journal (`dormouse-memdir`).

use super::{entries, line_of};
use crate::snapshot::{Snapshot, is_topic};
use crate::topic::Topic;
use dormouse_guard::paths::SafePath;
use std::collections::{BTreeMap, BTreeSet};

/// Past of the files that an index points to; empty where there is no journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexPast {
    files: BTreeMap<SafePath, FilePast>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FilePast {
    /// Lines that Dormouse made of earlier contents.
    lines: BTreeSet<String>,
    /// Descriptions of earlier contents.
    descriptions: BTreeSet<String>,
    /// Lines about the file that the index had when Dormouse removed it.
    removed: BTreeSet<String>,
}

impl IndexPast {
    /// Adds an earlier content of a file.
    pub fn add_version(&mut self, path: &SafePath, content: &str) {
        let topic = Topic::read(content);
        let past = self.files.entry(path.clone()).or_default();
        past.lines.insert(line_of(path, &topic));
        if !topic.description.is_empty() {
            past.descriptions.insert(topic.description);
        }
    }

    /// Adds that Dormouse removed a file, and the index as it was then.
    pub fn add_removal(&mut self, path: &SafePath, index_then: &str) {
        self.add_removals(&BTreeSet::from([path]), index_then);
    }

    /// Adds that Dormouse removed files in one change, and the index as it was before.
    pub fn add_removals(&mut self, paths: &BTreeSet<&SafePath>, index_then: &str) {
        for path in paths {
            self.files.entry((*path).clone()).or_default();
        }
        for entry in entries(index_then) {
            if paths.contains(&entry.path)
                && let Some(past) = self.files.get_mut(&entry.path)
            {
                past.removed.insert(bare(&index_then[entry.range]));
            }
        }
    }

    /// Past after a change that is about to be made: contents and removals of the files it touches.
    #[must_use]
    pub fn after(&self, before: &Snapshot, after: &Snapshot) -> Self {
        let mut past = self.clone();
        let index = before.index();
        let linked: BTreeSet<SafePath> = entries(&index)
            .into_iter()
            .map(|entry| entry.path)
            .collect();
        let mut removed = BTreeSet::new();
        for path in linked.iter().filter(|path| is_topic(path)) {
            let Some(old) = before.get(path) else {
                continue;
            };
            let new = after.get(path);
            if new.is_none_or(|new| new.content != old.content) {
                past.add_version(path, &old.text());
            }
            if new.is_none() {
                removed.insert(path);
            }
        }
        if !removed.is_empty() {
            past.add_removals(&removed, &index);
        }
        past
    }

    /// True if Dormouse made this line of an earlier content of the file.
    pub(super) fn made(&self, path: &SafePath, line: &str) -> bool {
        let past = self.files.get(path);
        past.is_some_and(|past| past.lines.contains(&bare(line)))
    }

    /// True if the line stood in the index when Dormouse removed its file.
    pub(super) fn removed(&self, path: &SafePath, line: &str) -> bool {
        let past = self.files.get(path);
        past.is_some_and(|past| past.removed.contains(&bare(line)))
    }

    /// True if a text is an earlier description of the file.
    pub(super) fn described(&self, path: &SafePath, text: &str) -> bool {
        let past = self.files.get(path);
        past.is_some_and(|past| past.descriptions.contains(text))
    }
}

/// Line without its ending.
fn bare(line: &str) -> String {
    line.trim_end_matches(['\r', '\n']).to_owned()
}
