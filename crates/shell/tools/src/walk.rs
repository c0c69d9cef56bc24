//! Walk over the files below a place, for searches.
//!
//! # Model
//! Directories are listed through the handle, one after the other; links are not followed. Hidden
//! entries are left out, and so are names in the `.gitignore` and `.ignore` files on the way. A
//! walk that meets a limit stops and says so: the files found so far are still worth something.
//!
//! # Not here
//! Matching names (`glob`) and contents (`grep`).

use crate::limits::{DEEPEST_SEARCH, LARGEST_IGNORE_FILE, MOST_ENTRIES};
use crate::places::Spot;
use dormouse_system::{FileKind, FileResult, Files, Metadata};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that name entries to ignore; the later ones win.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// End of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walked {
    /// Everything was seen, or the visitor had enough.
    Whole,
    /// Stopped at a limit.
    Cut,
}

impl Walked {
    /// Remark for the model.
    pub(crate) fn note(self) -> Option<String> {
        (self == Self::Cut).then(|| {
            format!(
                "not everything was looked at: a search ends after {MOST_ENTRIES} entries and \
                 {DEEPEST_SEARCH} levels; give a narrower path"
            )
        })
    }
}

/// Shows every file at or below a spot to `visit`, by its path from the spot's root.
pub(crate) fn walk(
    spot: &Spot,
    visit: &mut dyn FnMut(&Path, &Metadata) -> ControlFlow<()>,
) -> FileResult<Walked> {
    let start = spot.files.metadata(&spot.path)?;
    if start.kind != FileKind::Directory {
        // It is the only file, so the visitor's wish to stop makes no difference.
        let _only = visit(&spot.path, &start);
        return Ok(Walked::Whole);
    }
    let mut seen = 0;
    let mut cut = false;
    let mut waiting = vec![Level::top(&*spot.files, &spot.path)];
    while let Some(level) = waiting.pop() {
        let entries = match spot.files.list(&level.path) {
            Ok(entries) => entries,
            Err(error) if level.depth == 0 => return Err(error),
            // Removed meanwhile, not for us, or another file system.
            Err(_) => continue,
        };
        let mut below = Vec::new();
        for entry in entries {
            seen += 1;
            // Counted before anything is skipped: a folder of a million hidden files costs time
            // too.
            if seen > MOST_ENTRIES {
                return Ok(Walked::Cut);
            }
            let path = level.path.join(&entry.name);
            let is_directory = entry.metadata.kind == FileKind::Directory;
            if entry.name.as_encoded_bytes().starts_with(b".") || level.ignores(&path, is_directory)
            {
                continue;
            }
            match entry.metadata.kind {
                FileKind::Directory if level.depth == DEEPEST_SEARCH => cut = true,
                FileKind::Directory => below.push(path),
                FileKind::File => {
                    if visit(&path, &entry.metadata).is_break() {
                        return Ok(Walked::Whole);
                    }
                }
                FileKind::Symlink | FileKind::Other => {}
            }
        }
        let enter = |path: PathBuf| level.enter(&*spot.files, path);
        // Reversed, because a stack hands out the last first: names come in order.
        waiting.extend(below.into_iter().rev().map(enter));
    }
    Ok(if cut { Walked::Cut } else { Walked::Whole })
}

/// Files below a folder, by their paths from it, as a search by name sees them: hidden and ignored
/// ones are left out, links are not followed, and a walk that meets its limit ends there.
///
/// # Errors
/// When the folder cannot be listed.
pub fn files_below(files: &dyn Files, folder: &Path) -> FileResult<Vec<PathBuf>> {
    let spot = Spot {
        files: files.beneath(folder)?,
        root: folder.to_owned(),
        path: PathBuf::new(),
    };
    let mut found = Vec::new();
    walk(&spot, &mut |path, _| {
        found.push(path.to_owned());
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Directory still to be listed.
struct Level {
    path: PathBuf,
    depth: usize,
    rules: Option<Arc<Rules>>,
}

/// Ignore rules of a directory, with those above it.
struct Rules {
    directory: PathBuf,
    own: Gitignore,
    above: Option<Arc<Self>>,
}

impl Level {
    /// Start of a walk, with the rules of all directories above it.
    fn top(files: &dyn Files, path: &Path) -> Self {
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.reverse();
        let rules = above.into_iter().fold(None, |rules, directory| {
            Rules::with(files, directory, rules)
        });
        Self {
            path: path.to_owned(),
            depth: 0,
            rules,
        }
    }

    fn enter(&self, files: &dyn Files, path: PathBuf) -> Self {
        Self {
            rules: Rules::with(files, &path, self.rules.clone()),
            depth: self.depth + 1,
            path,
        }
    }

    /// True if an entry is to be left out; the innermost rule that speaks of it decides.
    fn ignores(&self, path: &Path, is_directory: bool) -> bool {
        let mut rules = self.rules.as_ref();
        while let Some(here) = rules {
            let below = path.strip_prefix(&here.directory).unwrap_or(path);
            match here.own.matched(below, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = here.above.as_ref(),
            }
        }
        false
    }
}

impl Rules {
    fn with(files: &dyn Files, directory: &Path, above: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let mut builder = GitignoreBuilder::new("");
        for name in IGNORE_FILES {
            let Ok(content) = files.read(&directory.join(name), LARGEST_IGNORE_FILE) else {
                continue;
            };
            for line in String::from_utf8_lossy(&content).lines() {
                // A line that is no pattern ignores nothing.
                let _not_a_pattern = builder.add_line(None, line).is_err();
            }
        }
        match builder.build() {
            Ok(own) if !own.is_empty() => Some(Arc::new(Self {
                directory: directory.to_owned(),
                own,
                above,
            })),
            _ => above,
        }
    }
}
