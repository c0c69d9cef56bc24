//! Instruction files from the port to the disk.

use dormouse_memory::instructions::{Listed, Source, SourceResult};
use dormouse_system::{FileKind, Files};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Disk(pub(crate) Arc<dyn Files>);

impl Source for Disk {
    fn read(&self, path: &Path, limit: u64) -> SourceResult {
        if !self.is_file(path) {
            return SourceResult::Missing;
        }
        match (self.0.real_path(path), self.0.read(path, limit)) {
            (Ok(real), Ok(bytes)) => SourceResult::Content { real, bytes },
            (_, Err(error)) if error.too_large() => SourceResult::TooLarge { bytes: limit + 1 },
            _ => SourceResult::Missing,
        }
    }

    fn list(&self, directory: &Path) -> Vec<Listed> {
        let entries = self.0.list(directory).unwrap_or_default();
        let listed = |entry: dormouse_system::DirEntry| {
            let facts = self.0.metadata(&directory.join(&entry.name)).ok()?;
            Some(Listed {
                name: entry.name.into_string().ok()?,
                is_directory: facts.kind == FileKind::Directory,
            })
        };
        entries.into_iter().filter_map(listed).collect()
    }

    fn is_file(&self, path: &Path) -> bool {
        let facts = self.0.metadata(path);
        facts.is_ok_and(|facts| facts.kind == FileKind::File)
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        self.0.real_path(path).ok()
    }
}
