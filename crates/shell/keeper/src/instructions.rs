//! Instruction files on disk, and their places for a session.
//!
//! # Not here
//! Their order, limits and text: `dormouse_memory::instructions`.

use dormouse_core::settings::{Settings, Trust, keys};
use dormouse_core::show::expand_home;
use dormouse_memory::instructions::{
    Limits, Listed, MANAGED, MemoryIndex, Places, Source, SourceResult,
};
use dormouse_system::{FileKind, Files};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of the disk as instruction files.
#[derive(Clone, Debug)]
pub struct DiskSource(pub Arc<dyn Files>);

impl Source for DiskSource {
    fn read(&self, path: &Path, limit: u64) -> SourceResult {
        let facts = self.0.metadata(path);
        let Some(facts) = facts.ok().filter(|facts| facts.kind == FileKind::File) else {
            return SourceResult::Missing;
        };
        match (self.0.real_path(path), self.0.read(path, limit)) {
            (Ok(real), Ok(bytes)) => SourceResult::Content { real, bytes },
            (_, Err(error)) if error.too_large() => SourceResult::TooLarge { bytes: facts.len },
            _ => SourceResult::Missing,
        }
    }

    fn list(&self, directory: &Path) -> Vec<Listed> {
        let entries = self.0.list(directory).unwrap_or_default();
        let listed = |entry: dormouse_system::DirEntry| {
            // Asked again behind a link: the listing reports the link itself.
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

/// Facts that decide where instruction files are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Dormouse's home directory, which may hold `AGENTS.md`.
    pub home: &'a Path,
    /// User's home, for `~` and for `.claude`.
    pub user_home: Option<&'a Path>,
    /// Root of the project.
    pub project_root: Option<&'a Path>,
    /// Working directory of the session.
    pub working_dir: &'a Path,
    /// Trust in that folder; instructions of a project without it are not read.
    pub trust: Trust,
}

/// Places of instruction files.
pub fn places(settings: &Settings, around: Around<'_>, index: Option<MemoryIndex>) -> Places {
    let own = |home: &Path| home.join(".claude");
    let claude = match settings.get(keys::MEMORY_CLAUDE_HOME) {
        // Without a known home the text is taken as it is, and nothing will be found there.
        Some(text) => Some(expand_home(&text, around.user_home)),
        None => around.user_home.map(own),
    };
    Places {
        managed: MANAGED.iter().map(PathBuf::from).collect(),
        home: around.home.to_owned(),
        user_home: around.user_home.map(Path::to_owned),
        claude_home: claude,
        project_root: around.project_root.map(Path::to_owned),
        working_dir: around.working_dir.to_owned(),
        untrusted: around.trust != Trust::Trusted,
        memory_index: index,
    }
}

/// Limits on instruction files, from the settings.
pub fn limits(settings: &Settings) -> Limits {
    Limits {
        include_depth: settings.get(keys::INSTRUCTIONS_INCLUDE_DEPTH),
        file_chars: settings.get(keys::INSTRUCTIONS_FILE_LIMIT),
    }
}
