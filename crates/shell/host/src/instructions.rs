//! Instruction files while a session runs: changed ones, and those of folders that are worked in.
//!
//! # Not here
//! The files that a session begins with ([`crate::SessionTexts`]).

use crate::error::HostError;
use crate::host::{Host, user_home};
use dormouse_core::settings::keys;
use dormouse_keeper::instructions::{Around, DiskSource, limits, places};
use dormouse_memdir::Repository;
use dormouse_memory::instructions::{
    Approvals, FileDigest, Limits, Loaded, Loader, MemoryIndex, Places, diff, render_later,
};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Instruction files of a running session.
pub struct InstructionFiles {
    places: Places,
    limits: Limits,
    source: DiskSource,
    loaded: Loaded,
}

impl fmt::Debug for InstructionFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstructionFiles")
            .field("always", &self.loaded.always.len())
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Instruction files of a session in this folder; `None` where they are switched off.
    ///
    /// # Errors
    /// When the working tree cannot be read.
    pub fn instruction_files(&self) -> Result<Option<InstructionFiles>, HostError> {
        let settings = self.settings();
        if !settings.get(keys::INSTRUCTIONS) {
            return Ok(None);
        }
        // Without the index of memory, which changes with every memory that is saved.
        let mut all = InstructionFiles {
            places: self.instruction_places(None)?,
            limits: limits(&settings),
            source: DiskSource(Arc::clone(&self.system().files)),
            loaded: Loaded::default(),
        };
        all.loaded = all.load();
        Ok(Some(all))
    }

    /// Places of the instruction files of a session in this folder, and the index of memory.
    ///
    /// # Errors
    /// When the working tree cannot be read.
    pub(crate) fn instruction_places(
        &self,
        index: Option<MemoryIndex>,
    ) -> Result<Places, HostError> {
        let files = &*self.system().files;
        let known = self.places();
        // Instructions are looked for from here upwards; a link would lead up another tree.
        let current = files.real_path(&known.current_dir)?;
        let repository = Repository::around(files, &current)?;
        let home = user_home(self.system());
        let around = Around {
            home: &known.home,
            user_home: home.as_deref(),
            project_root: repository.as_ref().map(|found| found.worktree.as_path()),
            working_dir: &current,
            trust: self.loaded().trust,
        };
        Ok(places(&self.settings(), around, index))
    }
}

impl InstructionFiles {
    fn load(&self) -> Loaded {
        let approvals = Approvals::default();
        self.loader(&approvals).load()
    }

    fn loader<'a>(&'a self, approvals: &'a Approvals) -> Loader<'a> {
        Loader {
            places: &self.places,
            limits: &self.limits,
            approvals,
            source: &self.source,
        }
    }

    /// Digests of the files that hold from the start.
    pub fn digests(&self) -> Vec<FileDigest> {
        FileDigest::of(&self.loaded)
    }

    /// Announcement of files that changed since these digests, with the new digests.
    pub fn changed(&self, recorded: &[FileDigest]) -> Option<(String, Vec<FileDigest>)> {
        let now = self.load();
        let text = diff(recorded, &now)?;
        Some((text, FileDigest::of(&now)))
    }

    /// Files that hold now that a file is read, as a text with their paths; each once, and none of
    /// those that were told before.
    pub fn for_file(&mut self, path: &Path, told: &[PathBuf]) -> Option<(String, Vec<PathBuf>)> {
        let approvals = Approvals::default();
        let mut loaded = std::mem::take(&mut self.loaded);
        let mut more = self.loader(&approvals).load_for_file(&mut loaded, path);
        self.loaded = loaded;
        more.retain(|file| !told.contains(&file.path));
        let text = render_later(&more)?;
        let paths = more.into_iter().map(|file| file.path).collect();
        Some((text, paths))
    }
}
