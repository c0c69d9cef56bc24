//! What was loaded.

use super::report::ReportLine;
use super::rules::Rule;
use dormouse_core::hash::Hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Whose instructions they are; the order is that of priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The administrator's, for the machine.
    Managed,
    /// The user's, for all projects.
    User,
    /// The project's, for everybody who works on it.
    Project,
    /// The user's, for this project.
    Local,
    /// The index of the memory.
    Memory,
}

/// One file that goes into the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it was found.
    pub path: PathBuf,
    /// The same without links.
    pub real: PathBuf,
    /// Whose it is.
    pub scope: Scope,
    /// The file that includes it.
    pub included_by: Option<PathBuf>,
    /// What is taken of it: without block comments, within the limit, with a marker if it was cut.
    pub text: String,
    /// The hash of that text.
    pub hash: Hash,
}

/// An include that is not read before it is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The real path that has to be approved.
    pub real: PathBuf,
    /// As it was found.
    pub path: PathBuf,
    /// The file that includes it; `None` for an instruction file that is itself a link to outside.
    pub included_by: Option<PathBuf>,
}

/// All that is known of the instruction files of a session.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// What always holds, lowest priority first.
    pub always: Vec<File>,
    /// What holds for some files only.
    pub rules: Vec<Rule>,
    /// What waits for approval.
    pub waiting: Vec<Waiting>,
    /// Every file that was met, in the order of meeting.
    pub report: Vec<ReportLine>,
    /// Real paths of what is in the prompt.
    pub(super) seen: BTreeSet<PathBuf>,
    /// Directories below the working directory that were looked into later.
    pub(super) visited: BTreeSet<PathBuf>,
}

impl Loaded {
    /// The files of the rules that hold for a file, given by absolute path; each file once.
    pub fn rules_for(&self, path: &Path) -> Vec<&File> {
        let mut seen = BTreeSet::new();
        self.rules
            .iter()
            .filter(|rule| rule.matches(path))
            .flat_map(|rule| &rule.files)
            .filter(|file| seen.insert(&file.real))
            .collect()
    }
}
