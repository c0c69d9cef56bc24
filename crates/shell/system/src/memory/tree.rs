//! The shape of a disk in memory: entries by path, and the contents they lead to.
//!
//! Contents are shared by reference, as with inodes: an opened file outlives its entry, and a
//! directory tree can be copied without copying bytes.
//!
//! # Not here
//! Faults and free space: [`super::disk`].

use super::world::locked;
use crate::files::{
    DEEPEST_WALK, DirEntry, FileKind, MOST_WALKED, Metadata, Stamp, Walked, walk_too_deep,
    walk_too_long,
};
use dormouse_core::units::Millis;
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Content of a file, shared by all entries and handles.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) data: Vec<u8>,
    /// Bytes of `data` that would survive a power cut.
    pub(super) synced: usize,
    pub(super) mode: u32,
    pub(super) modified: Millis,
    /// Number of the file, unique on its disk.
    pub(super) inode: u64,
    /// Grows with every change, so that each shows in the stamp although the clock stands still.
    pub(super) changes: u64,
}

impl Content {
    fn stamp(&self) -> Stamp {
        /// Nanoseconds in a millisecond.
        const NANOS: i128 = 1_000_000;
        let modified_ns = i128::from(self.modified.0) * NANOS;
        Stamp {
            inode: self.inode,
            len: length(self.data.len()),
            modified_ns,
            changed_ns: modified_ns.saturating_add(i128::from(self.changes)),
        }
    }
}

pub(super) type Inode = Arc<Mutex<Content>>;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Directory { mode: u32, modified: Millis },
    File(Inode),
}

impl Node {
    pub(super) fn metadata(&self) -> Metadata {
        match self {
            Self::Directory { mode, modified } => Metadata {
                kind: FileKind::Directory,
                len: 0,
                modified: *modified,
                mode: Some(*mode),
                stamp: Stamp::default(),
            },
            Self::File(inode) => {
                let content = locked(inode);
                Metadata {
                    kind: FileKind::File,
                    len: length(content.data.len()),
                    modified: content.modified,
                    mode: Some(content.mode),
                    stamp: content.stamp(),
                }
            }
        }
    }
}

/// All entries, by absolute path. The root is not among them; it is always there.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree(BTreeMap<PathBuf, Node>);

impl Tree {
    pub(super) fn get(&self, path: &Path) -> Option<&Node> {
        self.0.get(path)
    }

    pub(super) fn insert(&mut self, path: PathBuf, node: Node) -> Option<Node> {
        self.0.insert(path, node)
    }

    pub(super) fn remove(&mut self, path: &Path) -> Option<Node> {
        self.0.remove(path)
    }

    pub(super) fn is_dir(&self, path: &Path) -> bool {
        // The root has no entry, but is always a directory.
        path.parent().is_none() || matches!(self.get(path), Some(Node::Directory { .. }))
    }

    /// The file at a path, or the error that the operating system would give.
    pub(super) fn file(&self, path: &Path) -> io::Result<Inode> {
        self.check_parent(path)?;
        match self.get(path) {
            Some(Node::File(inode)) => Ok(Arc::clone(inode)),
            None if path.parent().is_some() => Err(io::ErrorKind::NotFound.into()),
            // `None` here is the root, which has no entry of its own.
            Some(Node::Directory { .. }) | None => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    pub(super) fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.check_parent(path)?;
        match self.get(path) {
            Some(node) => Ok(node.metadata()),
            None if path.parent().is_none() => Ok(Node::Directory {
                mode: 0o755,
                modified: Millis::default(),
            }
            .metadata()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Error if nothing can lie at this path: everything above must be a directory.
    pub(super) fn check_parent(&self, path: &Path) -> io::Result<()> {
        for (distance, ancestor) in path.ancestors().skip(1).enumerate() {
            if self.is_dir(ancestor) {
                return if distance == 0 {
                    Ok(())
                } else {
                    Err(io::ErrorKind::NotFound.into())
                };
            }
            if self.get(ancestor).is_some() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        // Reached for the root alone, which has nothing above it.
        Ok(())
    }

    pub(super) fn list(&self, directory: &Path) -> io::Result<Vec<DirEntry>> {
        self.check_parent(directory)?;
        if !self.is_dir(directory) {
            return Err(match self.get(directory) {
                Some(_) => io::ErrorKind::NotADirectory.into(),
                None => io::ErrorKind::NotFound.into(),
            });
        }
        let entries = self.children(directory).filter_map(|(path, node)| {
            Some(DirEntry {
                name: path.file_name()?.to_owned(),
                metadata: node.metadata(),
            })
        });
        Ok(entries.collect())
    }

    /// All files below a directory, in the order of [`Files::walk`](crate::Files::walk).
    pub(super) fn walk(
        &self,
        directory: &Path,
        skip: &dyn Fn(&Path) -> bool,
    ) -> io::Result<Vec<Walked>> {
        self.list(directory)?;
        let mut skipped: Option<&Path> = None;
        let mut found = Vec::new();
        // The order of paths puts the entries below a directory right behind it.
        for (full, node) in &self.0 {
            let Ok(path) = full.strip_prefix(directory) else {
                continue;
            };
            if path.as_os_str().is_empty() || skipped.is_some_and(|above| full.starts_with(above)) {
                continue;
            }
            // Remembered, because everything below comes next in the order of paths.
            if skip(path) {
                skipped = Some(full);
                continue;
            }
            match node {
                Node::Directory { .. } if path.components().count() > DEEPEST_WALK => {
                    return Err(walk_too_deep());
                }
                Node::Directory { .. } => {}
                Node::File(_) if found.len() == MOST_WALKED => return Err(walk_too_long()),
                Node::File(inode) => found.push(Walked {
                    path: path.to_owned(),
                    stamp: locked(inode).stamp(),
                }),
            }
        }
        Ok(found)
    }

    /// Takes over the entries that `other` has directly in a directory.
    pub(super) fn copy_entries(&mut self, other: &Self, directory: &Path) {
        // Removals become durable with the directory too.
        self.0.retain(|path, _| path.parent() != Some(directory));
        let copied = other
            .children(directory)
            .map(|(path, node)| (path.clone(), node.clone()));
        self.0.extend(copied);
    }

    /// Drops entries that no directory leads to.
    pub(super) fn drop_orphans(&mut self) {
        let all = self.clone();
        self.0.retain(|path, _| {
            path.ancestors()
                .skip(1)
                .all(|ancestor| all.is_dir(ancestor))
        });
    }

    pub(super) fn inodes(&self) -> impl Iterator<Item = &Inode> {
        self.0.values().filter_map(|node| match node {
            Node::File(inode) => Some(inode),
            Node::Directory { .. } => None,
        })
    }

    fn children<'a>(
        &'a self,
        directory: &'a Path,
    ) -> impl Iterator<Item = (&'a PathBuf, &'a Node)> {
        self.0
            .iter()
            .filter(move |(path, _)| path.parent() == Some(directory))
    }
}

/// The absolute form of a path: relative ones start at the root, `.` and `..` are resolved.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            // Above the root lies the root, as on Unix.
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    normal
}

pub(super) fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
