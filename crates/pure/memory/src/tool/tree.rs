//! Files that a command is carried out on.

use crate::snapshot::Snapshot;
use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use std::collections::BTreeMap;

/// Snapshot of the files below the root. `None` for a directory means the root, which always
/// exists.
pub trait Tree {
    /// File or directory at a path.
    fn find(&self, path: &SafePath) -> Option<TreeEntry>;

    /// Names directly inside a directory, in order. Empty for anything but a directory.
    fn list(&self, directory: Option<&SafePath>) -> Vec<(String, TreeEntry)>;

    /// Content of a file; `None` for directories.
    fn read(&self, path: &SafePath) -> Option<Bytes>;
}

/// Kind of thing at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeEntry {
    /// File with its size.
    File {
        /// Length of the content.
        bytes: u64,
    },
    /// Directory, which exists as long as a file lies in it.
    Directory,
}

/// Files by path; directories are implied by the paths.
impl Tree for BTreeMap<SafePath, Bytes> {
    fn find(&self, path: &SafePath) -> Option<TreeEntry> {
        let length = self.get(path).map(Bytes::len);
        find(length, self.keys(), path)
    }

    fn list(&self, directory: Option<&SafePath>) -> Vec<(String, TreeEntry)> {
        list(
            self.iter().map(|(path, file)| (path, file.len())),
            directory,
        )
    }

    fn read(&self, path: &SafePath) -> Option<Bytes> {
        self.get(path).cloned()
    }
}

impl Tree for Snapshot {
    fn find(&self, path: &SafePath) -> Option<TreeEntry> {
        let length = self.get(path).map(|file| file.content.len());
        find(length, self.files().map(|(file, _)| file), path)
    }

    fn list(&self, directory: Option<&SafePath>) -> Vec<(String, TreeEntry)> {
        let files = self.files();
        list(
            files.map(|(path, file)| (path, file.content.len())),
            directory,
        )
    }

    fn read(&self, path: &SafePath) -> Option<Bytes> {
        self.get(path).map(|file| file.content.clone())
    }
}

fn file(length: usize) -> TreeEntry {
    TreeEntry::File {
        bytes: length as u64,
    }
}

/// File of that length, or the directory that some file is in.
fn find<'a>(
    length: Option<usize>,
    mut files: impl Iterator<Item = &'a SafePath>,
    path: &SafePath,
) -> Option<TreeEntry> {
    // Lazily: looking for a file below a path walks all of them.
    let mut is_directory = || files.any(|file| inside(file, Some(path)).is_some());
    length
        .map(file)
        .or_else(|| is_directory().then_some(TreeEntry::Directory))
}

fn list<'a>(
    files: impl Iterator<Item = (&'a SafePath, usize)>,
    directory: Option<&SafePath>,
) -> Vec<(String, TreeEntry)> {
    let mut entries = BTreeMap::new();
    for (path, length) in files {
        let Some(rest) = inside(path, directory) else {
            continue;
        };
        match rest.split_once('/') {
            // A directory has as many entries as files below it; the map keeps one.
            Some((name, _)) => entries.insert(name.to_owned(), TreeEntry::Directory),
            None => entries.insert(rest.to_owned(), file(length)),
        };
    }
    entries.into_iter().collect()
}

/// Path of a file relative to a directory it lies in.
fn inside<'a>(file: &'a SafePath, directory: Option<&SafePath>) -> Option<&'a str> {
    match directory {
        None => Some(file.as_str()),
        Some(directory) => file
            .as_str()
            .strip_prefix(directory.as_str())?
            .strip_prefix('/'),
    }
}

/// Every file at or below a path, in order. Names that no path may have are left out.
pub(super) fn files_below(tree: &dyn Tree, path: &SafePath) -> Vec<SafePath> {
    let mut found = Vec::new();
    let mut open: Vec<(SafePath, TreeEntry)> = tree
        .find(path)
        .map(|entry| (path.clone(), entry))
        .into_iter()
        .collect();
    while let Some((next, entry)) = open.pop() {
        match entry {
            TreeEntry::File { .. } => found.push(next),
            TreeEntry::Directory => {
                let inner = tree.list(Some(&next)).into_iter();
                open.extend(
                    inner.filter_map(|(name, entry)| Some((next.join(&name).ok()?, entry))),
                );
            }
        }
    }
    // The stack yields them in no useful order.
    found.sort();
    found
}
