//! Journal and kept contents, as files.
//!
//! # Model
//! `journal.jsonl` grows by a line per change. A line counts once its newline is there; a part of
//! one that a crash left is closed by the next writer and skipped by readers. `blobs/` holds
//! contents of files by hash: written before anything refers to them, removed only by purging.
//!
//! # Not here
//! The meaning of an entry (`dormouse_memory::journal`); the order of a change
//! ([`crate::pending`]).

use crate::disk::{BLOBS, Disk, JOURNAL, MOST_JOURNAL, MOST_READ};
use crate::error::MemdirError;
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_guard::paths::SafePath;
use dormouse_memory::journal::{Change, FORMAT, JournalEntry};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Bytes read at once while the last newline is looked for: a page, longer than most lines.
const STEP: u64 = 4096;
/// Files above which the journal is parsed once for all of them: looking for each name costs a pass
/// over its bytes, parsing it about as much as a dozen of those.
const MANY: usize = 16;

type Result<T> = std::result::Result<T, MemdirError>;

/// Content of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Entries, oldest first, each id once.
    pub entries: Vec<JournalEntry>,
    /// Number of lines that are no entries: left by crashes, or edited by hand.
    pub damaged: usize,
    /// First line that a newer version wrote, and its format.
    pub newer: Option<(usize, u32)>,
}

/// Additions to the journal since some moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Since {
    pub(crate) entries: Vec<JournalEntry>,
    /// True if the change that was asked about was over before.
    pub(crate) over: bool,
}

/// Part of an entry that all formats have in common.
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
            match (probe, serde_json::from_slice::<JournalEntry>(line)) {
                (Some(probe), _) if probe.format > FORMAT => {
                    history.newer.get_or_insert((at + 1, probe.format));
                }
                // An entry is written again if a crash left its newline in doubt.
                (_, Ok(entry)) => {
                    if seen.insert(entry.id.clone()) {
                        history.entries.push(entry);
                    }
                }
                // Blank lines are no damage: an editor may leave one.
                (_, Err(_)) if line.is_empty() => {}
                (_, Err(_)) => history.damaged += 1,
            }
        }
        history
    }
}

/// Lines that end with a newline.
fn complete_lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let end = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    text[..end].split(|byte| *byte == b'\n')
}

impl Disk {
    /// Whole journal, parsed line by line.
    pub(crate) fn history(&self) -> Result<History> {
        Ok(History::read(&self.journal()?))
    }

    fn journal(&self) -> Result<Bytes> {
        Ok(self
            .read(Path::new(JOURNAL), MOST_JOURNAL)?
            .unwrap_or_default())
    }

    /// Offset of the journal's next line, or where it would be if a crash had not left a part of
    /// one.
    pub(crate) fn head(&self) -> Result<u64> {
        let Some(journal) = self.open(Path::new(JOURNAL))? else {
            return Ok(0);
        };
        let mut end = self.said_by_file(journal.len())?;
        // Backwards in steps, because a reader asks for it at every snapshot and journals grow
        // long.
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

    /// Entries added since the journal had this head; `None` if not all of them can be understood.
    /// For a change that may be under way, the same read tells if the journal had it before.
    pub(crate) fn entries_since(
        &self,
        head: u64,
        under_way: Option<&str>,
    ) -> Result<Option<Since>> {
        let Some(journal) = self.open(Path::new(JOURNAL))? else {
            return Ok((head == 0).then(Since::default));
        };
        let length = self.said_by_file(journal.len())?;
        // Shorter than before: the user replaced it, and nothing is known about the time between.
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

    /// Appends an entry and syncs it.
    pub(crate) fn append_entry(&self, entry: &JournalEntry) -> Result<()> {
        let path = Path::new(JOURNAL);
        let encode = |source| MemdirError::Encode {
            path: self.root.join(path),
            source,
        };
        let mut line = Vec::new();
        let mut file = self.append(path)?;
        let length = self.said_by_file(file.len())?;
        // Close the rest of a torn line, or the new entry would become part of it.
        if self.head()? != length {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, entry).map_err(encode)?;
        line.push(b'\n');
        self.said_by_file(file.append(&line))?;
        self.said_by_file(file.sync_data())
    }

    /// True if the journal has a change, made or taken back.
    pub(crate) fn knows(&self, id: &str) -> Result<bool> {
        Ok(knows(&self.journal()?, id))
    }

    /// Contents of files after the last change in the journal; `None` for one that was deleted, or
    /// that it never saw.
    pub(crate) fn last_known(&self, paths: &[&SafePath]) -> Result<Vec<Option<Hash>>> {
        let text = self.journal()?;
        if paths.len() > MANY {
            return Ok(all_last_known(&text, paths));
        }
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

    /// Keeps a content, synced.
    pub(crate) fn keep(&self, content: &[u8]) -> Result<Hash> {
        let hash = Hash::of(content);
        if self.kept(hash)?.is_none() {
            self.create_own_dir(Path::new(BLOBS))?;
            self.replace_own(&Self::blob_path(hash), content)?;
        }
        Ok(hash)
    }

    /// Keeps contents, synced together.
    pub(crate) fn keep_all<'c>(&self, contents: impl Iterator<Item = &'c Bytes>) -> Result<()> {
        let mut new: BTreeMap<PathBuf, &[u8]> = BTreeMap::new();
        for content in contents {
            let hash = Hash::of(content);
            let path = Self::blob_path(hash);
            if !new.contains_key(&path) && self.kept(hash)?.is_none() {
                new.insert(path, content);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        self.create_own_dir(Path::new(BLOBS))?;
        let new: Vec<(&Path, &[u8])> = new.iter().map(|(path, text)| (&**path, *text)).collect();
        self.replace_many_own(&new)
    }

    /// Kept content, if it is there and whole.
    pub(crate) fn kept(&self, hash: Hash) -> Result<Option<Bytes>> {
        let content = self.read(&Self::blob_path(hash), MOST_READ)?;
        // A damaged blob is as good as none: it must never be written back into a memory.
        Ok(content.filter(|content| Hash::of(content) == hash))
    }

    /// Removes a kept content, durably.
    pub(crate) fn drop_kept(&self, hash: Hash) -> Result<()> {
        self.remove_durably(&Self::blob_path(hash))
    }
}

/// Contents after the last change of each file, in one pass.
fn all_last_known(journal: &[u8], paths: &[&SafePath]) -> Vec<Option<Hash>> {
    let mut last: HashMap<SafePath, Option<Hash>> = HashMap::new();
    for entry in History::read(journal).entries {
        let after = |change: Change| (change.path, change.after);
        last.extend(entry.changes.into_iter().map(after));
    }
    let known = |path: &&SafePath| last.get(*path).copied().flatten();
    paths.iter().map(known).collect()
}

fn knows(journal: &[u8], id: &str) -> bool {
    mentioning(journal, id).any(|entry| entry.id == id || entry.undoes.as_deref() == Some(id))
}

/// Entries with a string in them, newest first. Lines without it are not parsed: that makes long
/// journals fast.
fn mentioning<'a>(text: &'a [u8], needle: &str) -> impl Iterator<Item = JournalEntry> + 'a {
    // As JSON, so that quotes and escapes match the line.
    let needle = serde_json::to_string(needle)
        .unwrap_or_default()
        .into_bytes();
    complete_lines(text)
        .rev()
        .filter(move |line| contains(line, &needle))
        .filter_map(|line| serde_json::from_slice(line).ok())
}

fn contains(line: &[u8], needle: &[u8]) -> bool {
    // Lines are JSON, so they are text; one that is not is no entry either.
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
    use dormouse_memory::transaction::Author;
    use pretty_assertions::assert_eq;

    fn entry(id: &str, after: Option<Hash>) -> JournalEntry {
        JournalEntry {
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
        // Many are looked up in another way, with the same result.
        let many: Vec<&SafePath> = paths.iter().cycle().take(2 * MANY).collect();
        assert_eq!(disk.last_known(&many).unwrap(), known.repeat(MANY));
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
