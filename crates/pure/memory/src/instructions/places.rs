//! Places of instruction files, and limits on their size.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// Files that an administrator sets for the whole machine, on Linux. Claude Code's place is read as
/// well, so that a machine set up for it needs no second file.
pub const MANAGED: [&str; 2] = ["/etc/dormouse/AGENTS.md", "/etc/claude-code/CLAUDE.md"];

/// Places to look in. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Files set for the whole machine, lowest priority first; usually [`MANAGED`].
    pub managed: Vec<PathBuf>,
    /// Dormouse's home, which may hold `AGENTS.md`.
    pub home: PathBuf,
    /// Meaning of `~` in an include; without it such includes are skipped.
    pub user_home: Option<PathBuf>,
    /// Home of Claude Code, which may hold `CLAUDE.md` and `rules/`.
    pub claude_home: Option<PathBuf>,
    /// Root of the repository, if there is one.
    pub project_root: Option<PathBuf>,
    /// Working directory of the session.
    pub working_dir: PathBuf,
    /// True if the user has not trusted the folder: files of the project are reported and not read.
    pub untrusted: bool,
    /// Memory index, already cut to its own limits.
    pub memory_index: Option<MemoryIndex>,
}

/// Index of the memory directory, as the prompt gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryIndex {
    /// Path of the index, for its heading.
    pub path: PathBuf,
    /// Loaded part of its text.
    pub text: String,
}

/// Limits on included text. The figures are settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most levels of includes below a file; 0 follows none.
    pub include_depth: u64,
    /// Most characters of one file.
    pub file_chars: u64,
}

/// Files outside the project that may be included, by real path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals(pub BTreeSet<PathBuf>);
