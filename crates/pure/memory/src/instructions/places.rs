//! Where instructions are looked for, and how much of them is taken.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// Files an administrator sets for the whole machine, on Linux.
pub const MANAGED: [&str; 2] = ["/etc/dormouse/AGENTS.md", "/etc/claude-code/CLAUDE.md"];

/// Where to look. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Files set for the whole machine, lowest priority first; usually [`MANAGED`].
    pub managed: Vec<PathBuf>,
    /// Dormouse's home, which may hold `AGENTS.md`.
    pub home: PathBuf,
    /// What `~` means in an include.
    pub user_home: Option<PathBuf>,
    /// The home of Claude Code, which may hold `CLAUDE.md` and `rules/`.
    pub claude_home: Option<PathBuf>,
    /// The root of the repository, if there is one.
    pub project_root: Option<PathBuf>,
    /// Where the session works.
    pub working_dir: PathBuf,
    /// The memory index, already cut to its own limits.
    pub memory_index: Option<MemoryIndex>,
}

/// The index of the memory directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryIndex {
    /// Where it is.
    pub path: PathBuf,
    /// What is loaded of it.
    pub text: String,
}

/// How much is taken. The figures are settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep a file may include others; 0 is not at all.
    pub include_depth: u64,
    /// Most characters of one file.
    pub file_chars: u64,
}

/// Files outside the project that may be included, by real path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals(pub BTreeSet<PathBuf>);
