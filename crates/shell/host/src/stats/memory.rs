//! Figures of memory directories: journals, inboxes, recall.

use super::rate;
use crate::error::HostError;
use crate::host::{Host, day};
use crate::place::Which;
use dormouse_core::units::Millis;
use dormouse_core::usage::Usd;
use dormouse_keeper::figures::{self, Figure};
use dormouse_memdir::{Item, MemoryDir};
use dormouse_memory::journal::JournalEntry;
use dormouse_memory::snapshot::INDEX;
use dormouse_memory::topic::Topic;
use dormouse_memory::transaction::Author;
use dormouse_recall::usage::Counts;
use dormouse_system::{Access, FileKind, OptionalFile as _};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folder of memories in a project's folder of the home.
const MEMORY: &str = "memory";
/// Journal entries by which the user let a waiting memory in begin with this word.
const APPROVED: &str = "approved";
/// Figures count millionths of a dollar, prices millionths of them.
const PICO_PER_MICRO: i128 = 1_000_000;

/// Memories written, merged, taken back, waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryStats {
    /// Directories that were looked at.
    pub directories: u64,
    /// Memories that are there now.
    pub living: u64,
    /// Files written: new ones and new contents, by whomever.
    pub written: u64,
    /// Those among them that the extraction wrote.
    pub written_by_extraction: u64,
    /// Those among them that a dream wrote.
    pub written_by_dreams: u64,
    /// Memories that a dream removed, because another one has their content.
    pub merged: u64,
    /// Files that an undo took back.
    pub undone: u64,
    /// Memories that had to wait for approval.
    pub quarantined: u64,
    /// Those among them that wait still.
    pub waiting: u64,
    /// Those among them that were rejected.
    pub rejected: u64,
    /// Memories whose time is over.
    pub stale: u64,
    /// Memories that another one has overtaken.
    pub contradicted: u64,
}

/// Memories that recall considered and showed, and those that were of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecallStats {
    /// Memories that were considered for a prompt.
    pub candidates: u64,
    /// Memories among them that were shown with it.
    pub chosen: u64,
    /// Memories that the logs say were shown, with prompts and with results.
    pub shown: u64,
    /// Showings after which the answer used or named the memory, over all time.
    pub used: u64,
}

/// Text that went into sessions of other agents through their hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HookStats {
    /// Answers that brought something in; nothing is the usual answer and is not counted.
    pub answers: u64,
    /// Memories among them; the others are beginnings of sessions.
    pub memories: u64,
    /// Tokens of the answers, estimated.
    pub tokens: u64,
    /// Tokens of them that later requests read again.
    pub read_again: u64,
    /// Dollars for writing and reading them, at the prices of a cache.
    pub cost_usd: f64,
}

/// Share of the living memory that should not be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pollution {
    /// Memories undone, rejected, stale or contradicted.
    pub bad: u64,
    /// Those for each hundred written.
    pub per_100_written: Option<f64>,
    /// Those for each hundred shown.
    pub per_100_shown: Option<f64>,
}

impl Pollution {
    pub(super) fn of(memory: &MemoryStats, recall: &RecallStats) -> Self {
        let bad = memory.undone + memory.rejected + memory.stale + memory.contradicted;
        let percent = |whole| rate(bad, whole).map(|share| share * 100.0);
        Self {
            bad,
            // A rejected memory was never written: it counts among the attempts.
            per_100_written: percent(memory.written + memory.rejected),
            per_100_shown: percent(recall.shown),
        }
    }
}

/// Memory directories with their contents.
pub(super) struct Shelves {
    shelves: Vec<Shelf>,
}

struct Shelf {
    entries: Vec<JournalEntry>,
    waiting: Vec<Item>,
    figures: Vec<Figure>,
    uses: Vec<Counts>,
    living: u64,
    stale: u64,
    contradicted: u64,
}

impl Shelves {
    /// Reads the directory of this project, or those of all projects.
    pub(super) fn read(host: &Host, here: bool) -> Result<Self, HostError> {
        let mut roots = BTreeSet::new();
        match host.find(&Which::Private) {
            Ok(found) => {
                roots.insert(found.root.clone());
            }
            Err(error) if error.is_off() => {}
            Err(error) => return Err(error),
        }
        if !here {
            roots.extend(all(host)?);
        }
        let mut shelves = Vec::new();
        for root in roots {
            if let Some(dir) = MemoryDir::find(host.system(), &root, Access::Private)? {
                shelves.push(Shelf::read(host, &dir)?);
            }
        }
        Ok(Self { shelves })
    }

    pub(super) fn figures(
        &self,
        inside: &dyn Fn(Option<Millis>) -> bool,
        shown: u64,
    ) -> (MemoryStats, RecallStats, HookStats) {
        let mut hooks = HookStats::default();
        let mut micros = 0;
        let mut memory = MemoryStats::default();
        let mut recall = RecallStats {
            shown,
            ..RecallStats::default()
        };
        for shelf in &self.shelves {
            memory.directories += 1;
            memory.living += shelf.living;
            memory.stale += shelf.stale;
            memory.contradicted += shelf.contradicted;
            for entry in &shelf.entries {
                if inside(Some(entry.time)) {
                    count(entry, &mut memory);
                }
            }
            let waiting = shelf.waiting.iter().filter(|item| inside(Some(item.time)));
            memory.waiting += number(waiting.count());
            for figure in &shelf.figures {
                if inside(Some(figure.at)) {
                    recall.candidates += figure.candidates;
                    recall.chosen += figure.chosen;
                    memory.rejected += figure.rejected;
                    hooks.answers += figure.answers;
                    hooks.memories += figure.given;
                    hooks.tokens += figure.given_tokens;
                    hooks.read_again += figure.carried_tokens;
                    micros += figure.carried_micros;
                }
            }
            for uses in &shelf.uses {
                // One showing may be followed by several uses.
                let of_use = uses.used.saturating_add(uses.cited).min(uses.surfaced);
                recall.used += u64::from(of_use);
            }
        }
        memory.quarantined += memory.waiting + memory.rejected;
        hooks.cost_usd = Usd::from_pico(i128::from(micros) * PICO_PER_MICRO).as_f64();
        (memory, recall, hooks)
    }
}

/// Adds an entry of the journal.
fn count(entry: &JournalEntry, memory: &mut MemoryStats) {
    let memories = entry.changes.iter();
    let memories: Vec<_> = memories
        .filter(|change| change.path.as_str() != INDEX)
        .collect();
    if entry.undoes.is_some() {
        memory.undone += number(memories.len());
        return;
    }
    let (written, removed): (Vec<_>, Vec<_>) = memories
        .into_iter()
        .partition(|change| change.after.is_some());
    memory.written += number(written.len());
    match entry.author {
        Author::Extractor => memory.written_by_extraction += number(written.len()),
        Author::Dream => {
            memory.written_by_dreams += number(written.len());
            memory.merged += number(removed.len());
        }
        Author::User if entry.reason.starts_with(APPROVED) => {
            memory.quarantined += number(written.len());
        }
        _ => {}
    }
}

impl Shelf {
    fn read(host: &Host, dir: &MemoryDir) -> Result<Self, HostError> {
        let snapshot = dir.snapshot()?;
        let today = day(host.now());
        let mut shelf = Self {
            entries: dir.history()?.entries,
            waiting: dir.inbox()?.items,
            figures: figures::read(dir),
            uses: dormouse_keeper::recaller::uses(dir),
            living: 0,
            stale: 0,
            contradicted: 0,
        };
        for (_, file) in snapshot.topics() {
            let topic = Topic::read(&file.text());
            shelf.living += 1;
            if topic.superseded_by.is_some() {
                shelf.contradicted += 1;
            } else if topic.is_over(today) {
                shelf.stale += 1;
            }
        }
        Ok(shelf)
    }
}

/// Memory directories of all projects in the home.
fn all(host: &Host) -> Result<Vec<PathBuf>, HostError> {
    let files = &host.system().files;
    let folder = host.sessions_folder();
    // Without the folder nothing was ever stored.
    let listed = files.list(&folder).optional()?.unwrap_or_default();
    let folders = listed
        .into_iter()
        .filter(|entry| entry.metadata.kind == FileKind::Directory);
    let memories = folders.map(|entry| folder.join(entry.name).join(MEMORY));
    let there = |path: &PathBuf| is_directory(host, path);
    Ok(memories.filter(there).collect())
}

fn is_directory(host: &Host, path: &Path) -> bool {
    let facts = host.system().files.metadata(path);
    facts.is_ok_and(|facts| facts.kind == FileKind::Directory)
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
