//! Result of loading instruction files.

use super::report::ReportLine;
use super::rules::Rule;
use dormouse_core::hash::Hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Owner of instructions, in the order of priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Administrator, for the whole machine.
    Managed,
    /// User, for all projects.
    User,
    /// Project, for everyone who works on it.
    Project,
    /// User, for this project only.
    Local,
    /// Index of the memory directory.
    Memory,
}

/// File that goes into the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path at which it was found, links included.
    pub path: PathBuf,
    /// Path without links; a file counts once by it.
    pub real: PathBuf,
    /// Owner, shown in the heading of its section.
    pub scope: Scope,
    /// File that includes it.
    pub included_by: Option<PathBuf>,
    /// Text for the prompt: without block comments, within the limit, with a marker if it was cut.
    pub text: String,
    /// Hash of that text, by which `diff` finds changes.
    pub hash: Hash,
}

/// Include that is not read before it is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Real path that has to be approved.
    pub real: PathBuf,
    /// Path as the include spells it, made absolute.
    pub path: PathBuf,
    /// The file that includes it; `None` for an instruction file that is itself a link to outside.
    pub included_by: Option<PathBuf>,
}

/// Instruction files of a session, loaded or not.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Files that always hold, lowest priority first.
    pub always: Vec<File>,
    /// Rules that hold for some files only.
    pub rules: Vec<Rule>,
    /// Includes and links that wait for approval.
    pub waiting: Vec<Waiting>,
    /// Lines for the load report, in the order in which the files were met.
    pub report: Vec<ReportLine>,
    /// Real paths of the files in the prompt.
    pub(super) seen: BTreeSet<PathBuf>,
    /// Directories below the working directory that were looked into later, each once.
    pub(super) visited: BTreeSet<PathBuf>,
}

impl Loaded {
    /// Files of the rules that hold for a file, given by absolute path; each file once.
    pub fn rules_for(&self, path: &Path) -> Vec<&File> {
        // Two rules may include the same file and match at once.
        let mut seen = BTreeSet::new();
        self.rules
            .iter()
            .filter(|rule| rule.matches(path))
            .flat_map(|rule| &rule.files)
            .filter(|file| seen.insert(&file.real))
            .collect()
    }
}
