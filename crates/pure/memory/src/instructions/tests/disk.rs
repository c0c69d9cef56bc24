//! A disk in memory.

use crate::instructions::{Listed, Source, SourceResult};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Files and links in memory. Links are between whole paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    pub(super) files: BTreeMap<PathBuf, Bytes>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Disk {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let mut disk = Self::default();
        for (path, content) in files {
            disk.put(path, content.as_bytes());
        }
        disk
    }

    pub(super) fn put(&mut self, path: &str, content: &[u8]) {
        self.files
            .insert(path.into(), Bytes::copy_from_slice(content));
    }

    pub(super) fn link(&mut self, from: &str, to: &str) {
        self.links.insert(from.into(), to.into());
    }
}

impl Source for Disk {
    fn read(&self, path: &Path, limit: u64) -> SourceResult {
        let Some(real) = self.real_path(path) else {
            return SourceResult::Missing;
        };
        match self.files.get(&real) {
            None => SourceResult::Missing,
            Some(bytes) if bytes.len() as u64 > limit => SourceResult::TooLarge {
                bytes: bytes.len() as u64,
            },
            Some(bytes) => SourceResult::Content {
                real,
                bytes: bytes.clone(),
            },
        }
    }

    fn list(&self, directory: &Path) -> Vec<Listed> {
        let Some(real) = self.real_path(directory) else {
            return Vec::new();
        };
        let mut found = BTreeMap::new();
        for path in self.files.keys().chain(self.links.keys()) {
            let Ok(below) = path.strip_prefix(&real) else {
                continue;
            };
            let mut parts = below.components();
            if let Some(Component::Normal(name)) = parts.next() {
                let target = self.real_path(&real.join(name));
                let is_file = target.is_some_and(|target| self.files.contains_key(&target));
                found.insert(name.to_string_lossy().into_owned(), !is_file);
            }
        }
        // Any order will do.
        found
            .into_iter()
            .rev()
            .map(|(name, is_directory)| Listed { name, is_directory })
            .collect()
    }

    fn is_file(&self, path: &Path) -> bool {
        let real = self.real_path(path);
        real.is_some_and(|real| self.files.contains_key(&real))
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        let mut real = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir => {
                    real.pop();
                }
                Component::CurDir => {}
                _ => real.push(component),
            }
            for _ in 0..8 {
                match self.links.get(&real) {
                    Some(target) => real.clone_from(target),
                    None => break,
                }
            }
        }
        let exists = self.files.keys().any(|file| file.starts_with(&real));
        exists.then_some(real)
    }
}
