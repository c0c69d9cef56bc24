//! The memory directory as a value.
//!
//! # Model
//! A snapshot holds every file that means something: the index, topic files, pinned ones, daily
//! logs. What Dormouse keeps beside them for itself (journal, inbox, cache, locks; all in names that
//! begin with a dot) is never part of it.
//!
//! # Not here
//! Reading it from disk (`dormouse-memdir`).

use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use std::collections::BTreeMap;

/// The name of the index, at the top and in any folder.
pub const INDEX: &str = "MEMORY.md";
/// What automation never touches lies below this folder.
pub const PINNED: &str = "pinned";
/// Daily logs lie below this folder.
pub const LOGS: &str = "logs";

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its bytes.
    pub content: Bytes,
    /// When it changed last.
    pub modified: Millis,
}

impl StoredFile {
    /// Its text; bytes that are no text are shown as such.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.content)
    }
}

/// All files that mean something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    files: BTreeMap<SafePath, StoredFile>,
}

impl Snapshot {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file in; the one before, if there was one.
    pub fn insert(&mut self, path: SafePath, file: StoredFile) -> Option<StoredFile> {
        self.files.insert(path, file)
    }

    /// Takes a file out.
    pub fn remove(&mut self, path: &SafePath) -> Option<StoredFile> {
        self.files.remove(path)
    }

    /// A file.
    pub fn get(&self, path: &SafePath) -> Option<&StoredFile> {
        self.files.get(path)
    }

    /// All files by path.
    pub fn files(&self) -> impl Iterator<Item = (&SafePath, &StoredFile)> {
        self.files.iter()
    }

    /// The topic files by path, pinned ones among them.
    pub fn topics(&self) -> impl Iterator<Item = (&SafePath, &StoredFile)> {
        self.files.iter().filter(|(path, _)| is_topic(path))
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The text of the index at the top; empty if there is none.
    pub fn index(&self) -> String {
        let index = self.files.iter().find(|(path, _)| path.as_str() == INDEX);
        index
            .map(|(_, file)| file.text().into_owned())
            .unwrap_or_default()
    }

    /// A hash over all paths and contents: equal snapshots have equal versions.
    pub fn version(&self) -> Hash {
        let mut all = Vec::new();
        for (path, file) in &self.files {
            all.extend_from_slice(Hash::of(path.as_str().as_bytes()).to_string().as_bytes());
            all.extend_from_slice(Hash::of(&file.content).to_string().as_bytes());
        }
        Hash::of(&all)
    }
}

/// Whether a file is a memory: Markdown, no index, no daily log, nothing hidden.
pub fn is_topic(path: &SafePath) -> bool {
    let markdown = path.file_name().len() > 3
        && path
            .as_str()
            .get(path.as_str().len() - 3..)
            .is_some_and(|end| end.eq_ignore_ascii_case(".md"));
    markdown && path.file_name() != INDEX && belongs(path) && !is_below(path, LOGS)
}

/// Whether a file belongs to the directory's meaning: nothing in its path is hidden.
pub fn belongs(path: &SafePath) -> bool {
    path.components().all(|part| !part.starts_with('.'))
}

/// Whether automation must leave a file alone.
pub fn is_pinned(path: &SafePath) -> bool {
    is_below(path, PINNED)
}

fn is_below(path: &SafePath, folder: &str) -> bool {
    let mut parts = path.components();
    parts.next() == Some(folder) && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> SafePath {
        SafePath::parse(text).unwrap()
    }

    #[test]
    fn topics_are_markdown_that_is_neither_index_nor_log_nor_hidden() {
        for yes in ["a.md", "sub/b.md", "pinned/c.md", "logs.md", "A.MD"] {
            assert!(is_topic(&path(yes)), "{yes}");
        }
        for no in [
            "MEMORY.md",
            "sub/MEMORY.md",
            "logs/2026/11/2026-11-15.md",
            ".inbox/a.md",
            "a.txt",
            ".md",
        ] {
            assert!(!is_topic(&path(no)), "{no}");
        }
    }

    #[test]
    fn a_version_is_of_paths_and_contents_alone() {
        let file = |text: &'static str, at| StoredFile {
            content: text.into(),
            modified: Millis(at),
        };
        let mut one = Snapshot::new();
        one.insert(path("a.md"), file("x", 1));
        let mut two = Snapshot::new();
        two.insert(path("a.md"), file("x", 2));
        assert_eq!(one.version(), two.version());
        two.insert(path("b.md"), file("x", 2));
        assert_ne!(one.version(), two.version());
    }
}
