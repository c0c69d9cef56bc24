//! The journal and the contents beside it, as files.
//!
//! # Model
//! `journal.jsonl` grows by a line per change. A line counts once its newline is there; what a crash
//! left of one is closed by the next writer and skipped by readers. `blobs/` holds what files held,
//! by hash: written before anything refers to it, removed only by purging.
//!
//! # Not here
//! What an entry means (`dormouse_memory::journal`); the order of a change ([`crate::pending`]).

use crate::disk::{BLOBS, Disk, JOURNAL, MOST_JOURNAL, MOST_READ};
use crate::error::MemdirError;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_guard::paths::SafePath;
use dormouse_memory::journal::{Entry, FORMAT};
use serde::Deserialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// How far back the last newline is looked for at once.
const STEP: u64 = 4096;

type Result<T> = std::result::Result<T, MemdirError>;

/// What the journal says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The changes, oldest first.
    pub entries: Vec<Entry>,
    /// Lines that are no entries: what crashes left, or somebody's edits.
    pub damaged: usize,
    /// The first line that a newer version wrote, and its format.
    pub newer: Option<(usize, u32)>,
}

/// What came to the journal since some moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Since {
    pub(crate) entries: Vec<Entry>,
    /// The change that was asked about was over before.
    pub(crate) over: bool,
}

/// Only what all formats have in common.
#[derive(Deserialize)]
struct Probe {
    format: u32,
}

impl History {
    fn read(text: &[u8]) -> Self {
        let mut history = Self::default();
        let mut seen = HashSet::new();
        for (at, line) in complete_lines(text).enumerate() {
            let probe: Option<Probe> = serde_json::from_slice(line).ok();
            match (probe, serde_json::from_slice::<Entry>(line)) {
                (Some(probe), _) if probe.format > FORMAT => {
                    history.newer.get_or_insert((at + 1, probe.format));
                }
                // An entry is written again if a crash left its newline in doubt.
                (_, Ok(entry)) => {
                    if seen.insert(entry.id.clone()) {
                        history.entries.push(entry);
                    }
                }
                (_, Err(_)) if line.is_empty() => {}
                (_, Err(_)) => history.damaged += 1,
            }
        }
        history
    }
}

/// The lines that end with a newline.
fn complete_lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let end = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    text[..end].split(|byte| *byte == b'\n')
}

impl Disk {
    /// Everything the journal says.
    pub(crate) fn history(&self) -> Result<History> {
        Ok(History::read(&self.journal()?))
    }

    fn journal(&self) -> Result<Bytes> {
        Ok(self
            .read(Path::new(JOURNAL), MOST_JOURNAL)?
            .unwrap_or_default())
    }

    /// Where the next line of the journal begins, or would if a crash had not left a part of one.
    pub(crate) fn head(&self) -> Result<u64> {
        let Some(journal) = self.open(Path::new(JOURNAL))? else {
            return Ok(0);
        };
        let mut end = self.said_by_file(journal.len())?;
        while end > 0 {
            let from = end.saturating_sub(STEP);
            let part = self.said_by_file(journal.read_range(from, end - from))?;
            if let Some(newline) = part.iter().rposition(|byte| *byte == b'\n') {
                return Ok(from + u64::try_from(newline).unwrap_or(0) + 1);
            }
            end = from;
        }
        Ok(0)
    }

    /// The entries that were added since the journal had this head; `None` if not all of them can
    /// be understood. Of a change that may be under way, the journal is asked in the same moment
    /// whether it is older than that.
    pub(crate) fn entries_since(
        &self,
        head: u64,
        under_way: Option<&str>,
    ) -> Result<Option<Since>> {
        let Some(journal) = self.open(Path::new(JOURNAL))? else {
            return Ok((head == 0).then(Since::default));
        };
        let length = self.said_by_file(journal.len())?;
        if length < head {
            return Ok(None);
        }
        let from = if under_way.is_some() { 0 } else { head };
        let text = self.said_by_file(journal.read_range(from, length - from))?;
        let split = usize::try_from(head - from)
            .unwrap_or(usize::MAX)
            .min(text.len());
        let (before, after) = text.split_at(split);
        let history = History::read(after);
        let since = Since {
            entries: history.entries,
            over: under_way.is_some_and(|id| knows(before, id)),
        };
        Ok(history.newer.is_none().then_some(since))
    }

    /// Adds an entry, for good.
    pub(crate) fn append_entry(&self, entry: &Entry) -> Result<()> {
        let path = Path::new(JOURNAL);
        let encode = |source| MemdirError::Encode {
            path: self.root.join(path),
            source,
        };
        let mut line = Vec::new();
        let mut file = self.append(path)?;
        let length = self.said_by_file(file.len())?;
        if self.head()? != length {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, entry).map_err(encode)?;
        line.push(b'\n');
        self.said_by_file(file.append(&line))?;
        self.said_by_file(file.sync_data())
    }

    /// Whether the journal knows of a change: that it was made, or that it was taken back.
    pub(crate) fn knows(&self, id: &str) -> Result<bool> {
        Ok(knows(&self.journal()?, id))
    }

    /// What files held after the last change that the journal knows; `None` for one that was deleted,
    /// or that it never saw.
    pub(crate) fn last_known(&self, paths: &[&SafePath]) -> Result<Vec<Option<Hash>>> {
        let text = self.journal()?;
        let last = |path: &&SafePath| {
            mentioning(&text, path.as_str()).find_map(|entry| {
                let change = entry
                    .changes
                    .into_iter()
                    .find(|change| change.path == **path);
                change.map(|change| change.after)
            })
        };
        Ok(paths.iter().map(|path| last(path).flatten()).collect())
    }

    fn blob_path(hash: Hash) -> PathBuf {
        Path::new(BLOBS).join(hash.to_string())
    }

    /// Keeps a content, for good.
    pub(crate) fn keep(&self, content: &[u8]) -> Result<Hash> {
        let hash = Hash::of(content);
        if self.kept(hash)?.is_none() {
            self.create_own_dir(Path::new(BLOBS))?;
            self.replace_own(&Self::blob_path(hash), content)?;
        }
        Ok(hash)
    }

    /// A content that was kept, if it is there and whole.
    pub(crate) fn kept(&self, hash: Hash) -> Result<Option<Bytes>> {
        let content = self.read(&Self::blob_path(hash), MOST_READ)?;
        Ok(content.filter(|content| Hash::of(content) == hash))
    }

    /// Drops a content.
    pub(crate) fn drop_kept(&self, hash: Hash) -> Result<()> {
        self.remove_durably(&Self::blob_path(hash))
    }
}

fn knows(journal: &[u8], id: &str) -> bool {
    mentioning(journal, id).any(|entry| entry.id == id || entry.undoes.as_deref() == Some(id))
}

/// The entries with a string in them, newest first. Lines without it are not parsed.
fn mentioning<'a>(text: &'a [u8], needle: &str) -> impl Iterator<Item = Entry> + 'a {
    let needle = serde_json::to_string(needle)
        .unwrap_or_default()
        .into_bytes();
    complete_lines(text)
        .rev()
        .filter(move |line| contains(line, &needle))
        .filter_map(|line| serde_json::from_slice(line).ok())
}

fn contains(line: &[u8], needle: &[u8]) -> bool {
    // Lines are JSON, so they are text; if one is not, it is no entry either.
    match (std::str::from_utf8(line), std::str::from_utf8(needle)) {
        (Ok(line), Ok(needle)) => line.contains(needle),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::Kit;
    use dormouse_core::units::Millis;
    use dormouse_memory::journal::Change;
    use dormouse_memory::transaction::Author;
    use pretty_assertions::assert_eq;

    fn entry(id: &str, after: Option<Hash>) -> Entry {
        Entry {
            format: FORMAT,
            id: id.to_owned(),
            time: Millis(1),
            author: Author::User,
            reason: "a \"b.md\" c".to_owned(),
            source: None,
            undoes: None,
            changes: vec![Change {
                path: SafePath::parse("a.md").unwrap(),
                before: None,
                after,
            }],
        }
    }

    fn ids(history: &History) -> Vec<&str> {
        history.entries.iter().map(|entry| &*entry.id).collect()
    }

    #[test]
    fn a_torn_line_is_closed_and_skipped() {
        let kit = Kit::new();
        let disk = kit.disk();
        disk.append_entry(&entry("1", None)).unwrap();
        let head = disk.head().unwrap();
        let whole = kit.content(JOURNAL).unwrap();
        let mut torn = whole.to_vec();
        torn.extend_from_slice(&whole[..whole.len() / 2]);
        kit.put(JOURNAL, &torn);
        assert_eq!(disk.head().unwrap(), head);
        assert_eq!(ids(&disk.history().unwrap()), ["1"]);
        disk.append_entry(&entry("2", None)).unwrap();
        let history = disk.history().unwrap();
        assert_eq!((ids(&history), history.damaged), (vec!["1", "2"], 1));
        let since = disk.entries_since(head, Some("1")).unwrap().unwrap();
        assert_eq!((since.entries, since.over), (vec![entry("2", None)], true));
        let since = disk.entries_since(head, Some("2")).unwrap().unwrap();
        assert_eq!((since.entries, since.over), (vec![entry("2", None)], false));
    }

    #[test]
    fn the_last_newline_is_found_however_long_the_line() {
        let kit = Kit::new();
        let disk = kit.disk();
        for length in [0_usize, 1, 4095, 4096, 4097, 10_000] {
            kit.put(JOURNAL, format!("{{}}\n{}", "x".repeat(length)).as_bytes());
            assert_eq!(disk.head().unwrap(), 3, "{length}");
            kit.put(JOURNAL, "x".repeat(length).as_bytes());
            assert_eq!(disk.head().unwrap(), 0, "{length}");
        }
    }

    #[test]
    fn an_entry_that_was_written_twice_counts_once() {
        let kit = Kit::new();
        let disk = kit.disk();
        for _ in 0..2 {
            disk.append_entry(&entry("1", None)).unwrap();
        }
        assert_eq!(ids(&disk.history().unwrap()), ["1"]);
    }

    #[test]
    fn what_is_known_last_of_a_file_is_found_by_its_name_alone() {
        let kit = Kit::new();
        let disk = kit.disk();
        let [one, two] = [b"1", b"2"].map(|text| Some(Hash::of(text)));
        disk.append_entry(&entry("1", one)).unwrap();
        disk.append_entry(&entry("2", two)).unwrap();
        let paths = ["a.md", "b.md"].map(|path| SafePath::parse(path).unwrap());
        let known = disk.last_known(&[&paths[0], &paths[1]]).unwrap();
        assert_eq!(known, [two, None]);
        assert!(disk.knows("2").unwrap() && !disk.knows("3").unwrap());
    }

    #[test]
    fn newer_lines_are_noticed() {
        let kit = Kit::new();
        let disk = kit.disk();
        disk.append_entry(&entry("1", None)).unwrap();
        let mut text = kit.content(JOURNAL).unwrap().to_vec();
        text.extend_from_slice(b"{\"format\":9,\"what\":\"ever\"}\n");
        kit.put(JOURNAL, &text);
        let history = disk.history().unwrap();
        assert_eq!((history.newer, history.damaged), (Some((2, 9)), 0));
        assert_eq!(disk.entries_since(0, None).unwrap(), None);
    }

    #[test]
    fn a_content_that_was_tampered_with_is_missing() {
        let kit = Kit::new();
        let disk = kit.disk();
        let hash = disk.keep(b"text").unwrap();
        assert_eq!(disk.kept(hash).unwrap().unwrap(), "text");
        kit.put(&format!("{BLOBS}/{hash}"), b"tex!");
        assert_eq!(disk.kept(hash).unwrap(), None);
    }
}
