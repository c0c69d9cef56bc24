//! The memory directory as a value.
//!
//! # Model
//! A snapshot holds every file that means something: the index, topic files, pinned ones, daily
//! logs. Files that Dormouse keeps for itself (journal, inbox, cache, locks; all in names that
//! begin with a dot) are never part of it.
//!
//! # Not here
//! Reading it from disk (`dormouse-memdir`).

use crate::topic::Topic;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Name of an index file, at the top and in any folder.
pub const INDEX: &str = dormouse_core::instructions::MEMORY_INDEX;
/// Folder whose files automation never touches.
pub(crate) const PINNED: &str = "pinned";
/// Folder of the daily logs.
pub const LOGS: &str = "logs";

/// One file of the directory, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Raw bytes; not always valid UTF-8, since the user may put any file there.
    pub content: Bytes,
    /// Time of the last change, as the file system reports it.
    pub modified: Millis,
}

impl StoredFile {
    /// Content as text; invalid bytes become U+FFFD, so that one odd file cannot stop a scan.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.content)
    }
}

/// All files that mean something, ordered by path so that iteration is deterministic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    files: BTreeMap<SafePath, Kept>,
}

/// File with the part of it that is understood, read when it is first asked for and shared by copies
/// of the snapshot: a dream asks for every memory half a dozen times.
#[derive(Clone, Debug)]
struct Kept {
    file: StoredFile,
    topic: Arc<OnceLock<Topic>>,
}

impl Kept {
    fn topic(&self) -> &Topic {
        self.topic.get_or_init(|| Topic::read(&self.file.text()))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

impl Eq for Kept {}

impl Snapshot {
    /// Empty directory, without an index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a file and returns the one it replaced.
    pub fn insert(&mut self, path: SafePath, file: StoredFile) -> Option<StoredFile> {
        let topic = Arc::default();
        let old = self.files.insert(path, Kept { file, topic });
        old.map(|old| old.file)
    }

    /// Takes a file over from another snapshot; false if that has none.
    pub fn adopt(&mut self, from: &Self, path: &SafePath) -> bool {
        let kept = from.files.get(path);
        if let Some(kept) = kept {
            self.files.insert(path.clone(), kept.clone());
        }
        kept.is_some()
    }

    /// Removes a file and returns it.
    pub fn remove(&mut self, path: &SafePath) -> Option<StoredFile> {
        self.files.remove(path).map(|old| old.file)
    }

    /// File at a path; case-sensitive, as paths are compared byte for byte.
    pub fn get(&self, path: &SafePath) -> Option<&StoredFile> {
        self.files.get(path).map(|kept| &kept.file)
    }

    /// Understood part of a file; reading never fails.
    pub fn topic(&self, path: &SafePath) -> Option<&Topic> {
        self.files.get(path).map(Kept::topic)
    }

    /// All files, ordered by path.
    pub fn files(&self) -> impl Iterator<Item = (&SafePath, &StoredFile)> {
        self.files.iter().map(|(path, kept)| (path, &kept.file))
    }

    /// Topic files ordered by path, pinned ones among them.
    pub fn topics(&self) -> impl Iterator<Item = (&SafePath, &StoredFile)> {
        self.files().filter(|(path, _)| is_topic(path))
    }

    /// Topic files ordered by path, each with its understood part.
    pub fn read_topics(&self) -> impl Iterator<Item = (&SafePath, &StoredFile, &Topic)> {
        let topics = self.files.iter().filter(|(path, _)| is_topic(path));
        topics.map(|(path, kept)| (path, &kept.file, kept.topic()))
    }

    /// True if there are files in a folder, or in folders below it.
    pub(crate) fn has_folder(&self, folder: &SafePath) -> bool {
        let prefix = format!("{folder}/");
        // Ordered by path, so that the files of a folder follow its name.
        let mut behind = self.files.range(folder..).map(|(path, _)| path.as_str());
        behind
            .find(|path| **path >= *prefix)
            .is_some_and(|path| path.starts_with(&prefix))
    }

    /// Number of files, index and logs included.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// True without any file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Text of the index at the top; empty if the directory has none.
    pub fn index(&self) -> String {
        let index = self.files.iter().find(|(path, _)| path.as_str() == INDEX);
        index
            .map(|(_, kept)| kept.file.text().into_owned())
            .unwrap_or_default()
    }

    /// True if a file is UTF-8, or not there.
    pub fn is_text(&self, path: &SafePath) -> bool {
        let file = self.get(path);
        file.is_none_or(|file| std::str::from_utf8(&file.content).is_ok())
    }

    /// Hash over all paths and contents: equal snapshots have equal versions, whatever their times.
    pub fn version(&self) -> Hash {
        let mut all = Vec::new();
        // Hashes have a fixed length: joined raw, `a` + `bc` and `ab` + `c` would be one version.
        for (path, file) in self.files() {
            all.extend_from_slice(Hash::of(path.as_str().as_bytes()).to_string().as_bytes());
            all.extend_from_slice(Hash::of(&file.content).to_string().as_bytes());
        }
        Hash::of(&all)
    }
}

/// True for a memory: Markdown, no index, no daily log, not hidden.
pub fn is_topic(path: &SafePath) -> bool {
    // A file called `.md` has no name. By `get`, because the last three bytes may cut a character.
    let markdown = path.file_name().len() > 3
        && path
            .as_str()
            .get(path.as_str().len() - 3..)
            .is_some_and(|end| end.eq_ignore_ascii_case(".md"));
    markdown && path.file_name() != INDEX && belongs(path) && !is_below(path, LOGS)
}

/// True if nothing in the path is hidden; hidden files are Dormouse's own.
pub fn belongs(path: &SafePath) -> bool {
    path.components().all(|part| !part.starts_with('.'))
}

/// True if automation must leave the file alone.
pub fn is_pinned(path: &SafePath) -> bool {
    is_below(path, PINNED)
}

/// True if some file system takes the file for a pinned one.
pub(crate) fn is_pinned_on_any_disk(path: &SafePath) -> bool {
    let folded = path.folded();
    let rest = folded.strip_prefix(PINNED);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// True for a path inside a folder; a file that is itself called `pinned` or `logs` is not.
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
