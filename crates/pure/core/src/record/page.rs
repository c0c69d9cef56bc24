//! Pages of a chronicle: entries that are written down once and named from then on.
//!
//! # Model
//! A chronicle grows to hundreds of kilobytes, and a manifest is written at every boundary. So the
//! entries are put into page records as the session goes on. A manifest holds the entries that are
//! in no page yet, names the pages that hold the others, and says how many entries of each category
//! are live. Of several versions of an entry the newest counts, and the live entries are the newest
//! ones: eviction takes the oldest. Page records have no layout, so a manifest still needs no other
//! manifest.
//!
//! # Not here
//! When a page is due and how a chronicle is put together again: `dormouse-context`
//! (`evidence/pages.rs`).

use super::chronicle::{CommandFact, Decision, FileFact, Mention, ShelfEntry, Source, UserMessage};
use crate::id::Seq;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Entries of one category, by their identifying text.
pub type Entries<T> = BTreeMap<String, ShelfEntry<T>>;

/// Part of a chronicle: entries with their keys, without the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChroniclePage {
    /// Messages of the user, by their number in the session, from 1.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub user: BTreeMap<u64, UserMessage>,
    /// Files that tools accessed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: Entries<FileFact>,
    /// Shell commands with their outcomes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: Entries<CommandFact>,
    /// Searches with their outcomes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub searches: Entries<CommandFact>,
    /// Lines that report test results.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tests: Entries<Source>,
    /// Error messages from tool output.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: Entries<Source>,
    /// URLs fetched or given by the user.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub urls: Entries<Mention>,
    /// Numbers, names and identifiers given by the user.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: Entries<Mention>,
    /// Sentences that state a decision.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub decisions: Entries<Decision>,
}

impl ChroniclePage {
    /// Number of entries of all categories.
    pub fn len(&self) -> usize {
        self.user.len()
            + self.files.len()
            + self.commands.len()
            + self.searches.len()
            + self.tests.len()
            + self.errors.len()
            + self.urls.len()
            + self.values.len()
            + self.decisions.len()
    }

    /// True if the page has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Remainder of a chronicle whose other entries are in pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PagedChronicle {
    /// Page records that hold live entries, oldest first. Their ranges are the manifest's.
    pub pages: Vec<Seq>,
    /// Entries that are in no page, or differ from the version in theirs.
    pub rest: ChroniclePage,
    /// Number of live entries by category, pages and remainder together.
    pub live: LiveEntries,
}

/// Number of live entries of a chronicle, by category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveEntries {
    /// Messages listed one by one.
    pub user: usize,
    /// Files that tools accessed.
    pub files: usize,
    /// Number of distinct shell commands.
    pub commands: usize,
    /// Number of distinct searches.
    pub searches: usize,
    /// Lines that report test results.
    pub tests: usize,
    /// Number of distinct error messages.
    pub errors: usize,
    /// URLs fetched or given.
    pub urls: usize,
    /// Numbers, names and identifiers.
    pub values: usize,
    /// Sentences that state a decision.
    pub decisions: usize,
}
