//! Search for instruction files, in order of priority.
//!
//! # Model
//! Places are visited from the most general to the most special; each file found is handed to
//! `take`. Directories below the working directory are visited when a file in them is read.
//!
//! # Not here
//! Reading a file and its includes (`take`); text of the prompt (`render`).

use super::parts::{File, Loaded, Scope};
use super::places::{Approvals, Limits, MemoryIndex, Places};
use super::report::{FileOutcome, ReportLine, tokens};
use super::source::Source;
use super::take::{Found, Taking};
use dormouse_core::hash::Hash;
use dormouse_core::instructions::{LOCAL_FILES, PROJECT_FILES};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Deepest folder of rules that is looked into. People nest one or two; a link to a large tree ends
/// here.
const RULE_LEVELS: usize = 8;

/// Loads all instruction files of a session.
pub fn load(
    places: &Places,
    limits: &Limits,
    approvals: &Approvals,
    source: &dyn Source,
) -> Loaded {
    let loader = Loader {
        places,
        limits,
        approvals,
        source,
    };
    loader.load()
}

/// Inputs of loading, borrowed from the caller.
#[derive(Clone, Copy)]
pub struct Loader<'a> {
    /// Places to look in.
    pub places: &'a Places,
    /// Limits on includes and sizes.
    pub limits: &'a Limits,
    /// Files outside the project that the user has approved.
    pub approvals: &'a Approvals,
    /// Port to the disk.
    pub source: &'a dyn Source,
}

impl std::fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader")
            .field("places", self.places)
            .field("limits", self.limits)
            .finish_non_exhaustive()
    }
}

impl Loader<'_> {
    /// Loads all files that hold from the start of a session.
    pub fn load(&self) -> Loaded {
        let mut taking = Taking::new(*self, self.project(), Loaded::default());
        for path in &self.places.managed {
            taking.take(Found::own(path, Scope::Managed));
        }
        taking.take(Found::own(&self.places.home.join("AGENTS.md"), Scope::User));
        if let Some(home) = &self.places.claude_home {
            taking.take(Found::own(&home.join("CLAUDE.md"), Scope::User));
            let base = self.project();
            for path in self.rule_files(&home.join("rules")) {
                taking.take(Found::own(&path, Scope::User).rule(&base));
            }
        }
        let chain = self.chain();
        for directory in &chain {
            self.project_files(&mut taking, directory);
        }
        // All local files behind all shared ones: the user's word has priority in every directory.
        for directory in &chain {
            local_files(&mut taking, directory);
        }
        let mut loaded = taking.finish();
        if let Some(index) = &self.places.memory_index {
            add_index(&mut loaded, index);
        }
        loaded
    }

    /// Files that hold in addition now that a file is read: the instruction files of the
    /// directories between the working directory and the file, and the rules that match it. Each is
    /// given once.
    pub fn load_for_file(&self, loaded: &mut Loaded, path: &Path) -> Vec<File> {
        let path = normal(&self.places.working_dir.join(path));
        // The file may not exist yet; then its directory decides.
        let real = self.source.real_path(&path).unwrap_or_else(|| {
            let parent = path
                .parent()
                .and_then(|parent| self.source.real_path(parent));
            match (parent, path.file_name()) {
                (Some(parent), Some(name)) => parent.join(name),
                _ => path.clone(),
            }
        });
        let before = loaded.always.len();
        let mut taking = Taking::new(*self, self.project(), std::mem::take(loaded));
        let directories = between(&self.real(&self.places.working_dir), &real);
        let new: Vec<_> = directories
            .into_iter()
            .filter(|directory| taking.loaded.visited.insert(directory.clone()))
            .collect();
        for directory in &new {
            self.project_files(&mut taking, directory);
        }
        for directory in &new {
            local_files(&mut taking, directory);
        }
        *loaded = taking.finish();
        // Files told later are no part of the beginning of a prompt, which is never changed.
        let mut more = loaded.always.split_off(before);
        // A rule may be written for the path with links or for the one without.
        for path in [&real, &path] {
            let rules: Vec<File> = loaded.rules_for(path).into_iter().cloned().collect();
            more.extend(
                rules
                    .into_iter()
                    .filter(|file| loaded.seen.insert(file.real.clone())),
            );
        }
        more
    }

    fn project_files(&self, taking: &mut Taking<'_>, directory: &Path) {
        for name in PROJECT_FILES {
            let path = directory.join(name);
            taking.take(Found::inside(&path, directory, Scope::Project));
        }
        for path in self.rule_files(&directory.join(".claude/rules")) {
            taking.take(Found::inside(&path, directory, Scope::Project).rule(directory));
        }
    }

    /// Markdown files below a directory, ordered by name.
    fn rule_files(&self, directory: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        // By real path: two links to one folder would load its rules twice.
        let mut visited = BTreeSet::new();
        self.walk(directory, RULE_LEVELS, &mut visited, &mut files);
        files
    }

    fn walk(
        &self,
        directory: &Path,
        levels: usize,
        visited: &mut BTreeSet<PathBuf>,
        files: &mut Vec<PathBuf>,
    ) {
        let Some(real) = self.source.real_path(directory) else {
            return;
        };
        // Links may form a cycle.
        if levels == 0 || !visited.insert(real) {
            return;
        }
        let mut entries = self.source.list(directory);
        // File systems list in any order; the prompt must be the same each time.
        entries.sort();
        for entry in entries {
            if entry.name.starts_with('.') {
                continue;
            }
            let path = directory.join(&entry.name);
            if entry.is_directory {
                self.walk(&path, levels - 1, visited, files);
            } else if is_markdown(&path) {
                files.push(path);
            }
        }
    }

    /// Directory outside of which files need approval.
    fn project(&self) -> PathBuf {
        let root = self.places.project_root.as_ref();
        self.real(root.unwrap_or(&self.places.working_dir))
    }

    /// Directories whose files are loaded, from the root down to the working directory.
    fn chain(&self) -> Vec<PathBuf> {
        let working = self.real(&self.places.working_dir);
        let root = self
            .places
            .project_root
            .as_ref()
            .map(|root| self.real(root));
        let mut chain: Vec<PathBuf> = working
            .ancestors()
            .filter(|directory| match &root {
                // A root that does not contain the working directory limits nothing.
                Some(root) if working.starts_with(root) => directory.starts_with(root),
                _ => true,
            })
            .map(Path::to_owned)
            .collect();
        chain.reverse();
        chain
    }

    fn real(&self, path: &Path) -> PathBuf {
        self.source.real_path(path).unwrap_or_else(|| normal(path))
    }
}

fn local_files(taking: &mut Taking<'_>, directory: &Path) {
    for name in LOCAL_FILES {
        let path = directory.join(name);
        taking.take(Found::inside(&path, directory, Scope::Local));
    }
}

fn add_index(loaded: &mut Loaded, index: &MemoryIndex) {
    // A heading without text would only cost tokens.
    if index.text.trim().is_empty() {
        return;
    }
    loaded.report.push(ReportLine {
        path: index.path.clone(),
        scope: Scope::Memory,
        included_by: None,
        bytes: index.text.len() as u64,
        tokens: tokens(&index.text),
        outcome: FileOutcome::Loaded,
    });
    loaded.always.push(File {
        path: index.path.clone(),
        real: index.path.clone(),
        scope: Scope::Memory,
        included_by: None,
        text: index.text.clone(),
        hash: Hash::of(index.text.as_bytes()),
    });
}

/// Directories below `top` down to the one the file is in.
fn between(top: &Path, file: &Path) -> Vec<PathBuf> {
    let Some(parent) = file.parent().filter(|parent| parent.starts_with(top)) else {
        return Vec::new();
    };
    let mut directories: Vec<PathBuf> = parent
        .ancestors()
        .take_while(|directory| *directory != top)
        .map(Path::to_owned)
        .collect();
    directories.reverse();
    directories
}

pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

/// Path without `.` and `..`, by its text alone: nothing needs to be there.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            _ => out.push(component),
        }
    }
    out
}
