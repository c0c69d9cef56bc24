//! All memories by the index alone, for a process that has to answer within milliseconds.
//!
//! # Model
//! A scan asks about each file, which takes longer than a hook may take in a large directory. A
//! glance asks about the folders: the digest beside the index has their times, the head of the
//! journal, and the numbers of the memories that every session or some work calls for. Changes
//! made through the journal since are laid over the index; edits made by others show in the times
//! of their folders, or not at all if a file was overwritten in place. Either way the glance says
//! that a refresh is due ([`Glance::stale`]), and the text of a memory is always read anew.
//!
//! Of the index only the parts are read that the question needs. One that is damaged there answers
//! nothing ([`Scan::is_damaged`]), and the refresh writes it anew.
//!
//! A small directory is scanned: that costs no more.
//!
//! # Not here
//! Starting the refresh: a process that lives on, or one that nothing waits for.

use super::{
    Fresh, MemoryDir, NewCache, RACY_MILLIS, Result, Scan, find_ordered, is_doubtful, lay_over,
    order,
};
use crate::disk::CACHE;
use crate::payload::{self, path_in};
use bytes::Bytes;
use dormouse_core::units::Millis;
use dormouse_memory::card::Card;
use dormouse_memory::snapshot::is_pinned;
use dormouse_memory::topic::Kind;
use dormouse_recall::{Searcher, Segment, Source, TooLarge, language_of};
use dormouse_system::{Access, RandomRead, Stamp, Walked};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// File of the digest.
const DIGEST: &str = ".cache/recall.digest";
/// Version of the digest; another one is written anew.
const FORMAT: u32 = 2;
/// Most bytes of a digest: its lists are bounded, its folders are few.
const MOST_DIGEST: u64 = 4 * 1024 * 1024;
/// Memories up to which a scan takes only a few milliseconds.
const SMALL: usize = 512;
/// Most standing memories that are listed. A text for the beginning of a session holds fewer.
const MOST_STANDING: usize = 256;
/// Wait for another process that writes the same index. Longer is not worth it: its index is as new.
const WRITE_WAIT: Duration = Duration::from_millis(200);
/// File whose time tells when a refresh was last asked for.
const ASKED: &str = ".cache/refresh-asked";
/// Pause between two refreshes. One of 10,000 memories takes a second of processor time, and changes
/// through the journal show without it.
const REFRESH_PAUSE: i64 = 60_000;

/// Memories as the index has them.
#[derive(Debug)]
pub struct Glance {
    /// All memories, ready to be searched.
    pub scan: Scan,
    /// Cards of the memories that some work calls for.
    pub triggered: Vec<Card>,
    /// Cards of rules and pinned memories, by path.
    pub standing: Vec<Card>,
    /// True if files may have changed that the index does not know.
    pub stale: bool,
}

/// Facts about an index that make it of use without a walk.
#[derive(Debug, Serialize, Deserialize)]
struct Digest {
    format: u32,
    /// State of the file of the index.
    index: (u64, u64, i64),
    /// Head of the journal before the files were walked.
    head: u64,
    /// Folders with the times of their last change; zero for one that was changing.
    folders: BTreeMap<PathBuf, i64>,
    triggered: Vec<usize>,
    standing: Vec<usize>,
    /// Memories that may not hold; see [`Scan::doubtful`].
    doubtful: Vec<usize>,
    /// True if the index is in the order of paths, so that one is found without reading all.
    ordered: bool,
}

/// File of an index that is read by parts.
#[derive(Debug)]
struct IndexFile(Arc<dyn RandomRead>);

impl Source for IndexFile {
    fn read(&self, at: u64, length: usize) -> Option<Bytes> {
        let mut buffer = vec![0; length];
        let read = self.0.read_at(at, &mut buffer).ok()?;
        buffer.truncate(read);
        Some(buffer.into())
    }
}

impl MemoryDir {
    /// All memories, at the price of asking about folders. Where there is no index yet and making
    /// one would take long, none, and the glance is stale.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn glance(&self) -> Result<Glance> {
        let Some((base, digest)) = self.digested() else {
            let base = self.cache();
            let walk = self.walk_topics()?;
            if walk.walked.len() > SMALL && base.is_none() {
                return self.nothing_yet();
            }
            let scan = self.scan_from(base, None, Some(walk), NewCache::Write)?;
            return Ok(Glance::of_scan(scan, true));
        };
        if base.len() <= SMALL {
            // Read as a whole, because the files are compared with all of it.
            let base = self.cache();
            let scan = self.scan_from(base, None, None, NewCache::Write)?;
            let stale = scan.wants_rewrite();
            return Ok(Glance::of_scan(scan, stale));
        }
        let (mut gone, mut fresh) = (Vec::new(), Vec::new());
        let mut stale = self.folders_changed(&digest.folders);
        match self.disk.overlay_since(digest.head)? {
            Some(overlay) => lay_over(Some(&base), find_ordered, &mut gone, &mut fresh, overlay),
            None => stale = true,
        }
        let numbered = |numbers: &[usize], wanted: fn(&Card) -> bool| {
            let known = numbers.iter().filter(|number| !gone.contains(*number));
            let known = known.filter(|number| **number < base.len());
            let known = known.filter_map(|number| payload::decode(&base.payload(*number)));
            let new = fresh.iter().map(|fresh| &fresh.card);
            let new = new.filter(|card| wanted(card)).cloned();
            let mut cards: Vec<Card> = known.chain(new).collect();
            cards.sort_by(|a, b| a.path.cmp(&b.path));
            cards
        };
        let triggered = numbered(&digest.triggered, is_triggered);
        let standing = numbered(&digest.standing, is_standing);
        if base.is_damaged() {
            return self.nothing_yet();
        }
        let (read, outdated) = (fresh.len(), gone.len());
        let suspects = digest
            .doubtful
            .iter()
            .filter(|number| !gone.contains(*number));
        let suspects = suspects.copied().chain(base.len()..base.len() + read);
        let suspects = Some(suspects.collect());
        let documents = fresh.iter().map(Fresh::document);
        let searcher = match read + outdated {
            0 => OnceLock::new(),
            _ => Searcher::with_changes(base.clone(), &gone, documents)
                .map(OnceLock::from)
                .map_err(|_| self.too_large())?,
        };
        let memories = searcher.get().map_or(base.len(), Searcher::len);
        let scan = Scan {
            searcher,
            base,
            suspects,
            memories,
            read,
            outdated,
            cached: true,
            skipped: Vec::new(),
        };
        Ok(Glance {
            scan,
            triggered,
            standing,
            stale,
        })
    }

    /// Glance at a directory whose index is still to be made.
    fn nothing_yet(&self) -> Result<Glance> {
        let (base, searcher) = empty().map_err(|_| self.too_large())?;
        let scan = Scan {
            searcher: OnceLock::from(searcher),
            base,
            suspects: None,
            memories: 0,
            read: 0,
            outdated: 0,
            cached: false,
            skipped: Vec::new(),
        };
        Ok(Glance::of_scan(scan, true))
    }

    /// True for the first caller in a while: the one that starts a refresh.
    pub fn wants_refresher(&self) -> bool {
        let path = Path::new(ASKED);
        let now = self.system.clock.now();
        let asked = self.handle().metadata(path).map(|facts| facts.modified.0);
        // A time in the future is that of another clock.
        if asked.is_ok_and(|asked| (0..REFRESH_PAUSE).contains(&(now.0 - asked))) {
            return false;
        }
        self.make_cache_folder().is_ok()
            && self
                .handle()
                .replace_dated(path, b"", Access::Private, now)
                .is_ok()
    }

    /// Brings the index to the present state of all files, for a process that nothing waits for.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn renew(&self) -> Result<()> {
        let walk = self.walk_topics()?;
        let before = self.cache();
        let (gone, changed) = super::difference(before.as_ref(), &walk.walked);
        let same = before.is_some() && gone.is_empty() && changed.is_empty();
        match before.filter(|_| same) {
            // The index holds; only the times of the folders have to be noted.
            Some(base) => {
                let numbers = Numbers::of(&base);
                self.locked_cache(|| self.write_digest(&walk, numbers));
            }
            None => {
                let _scan = self.scan_from(None, None, Some(walk), NewCache::Write)?;
            }
        }
        Ok(())
    }

    /// Index and digest, if they belong together.
    fn digested(&self) -> Option<(Segment, Digest)> {
        let bytes = self.disk.read(Path::new(DIGEST), MOST_DIGEST).ok()??;
        let digest: Digest = serde_json::from_slice(&bytes).ok()?;
        let is_its = || self.index_stamp() == Some(digest.index) && digest.format == FORMAT;
        if !is_its() || !digest.ordered {
            return None;
        }
        let file = self.disk.open(Path::new(CACHE)).ok()??;
        // Asked again: another process may have replaced the index before it was opened. One that is
        // replaced later stays as it is for this reader.
        if !is_its() {
            return None;
        }
        let base = Segment::open_parts(Arc::new(IndexFile(file))).ok()?;
        Some((base, digest))
    }

    fn index_stamp(&self) -> Option<(u64, u64, i64)> {
        let Stamp {
            inode,
            len,
            modified_ns,
            ..
        } = self.handle().metadata(Path::new(CACHE)).ok()?.stamp;
        Some((inode, len, i64::try_from(modified_ns).ok()?))
    }

    fn folder_time(&self, folder: &Path) -> Option<i64> {
        let facts = self.handle().metadata(folder).ok()?;
        Some(facts.modified.0)
    }

    fn folders_changed(&self, folders: &BTreeMap<PathBuf, i64>) -> bool {
        let same = |(folder, time): (&PathBuf, &i64)| self.folder_time(folder) == Some(*time);
        !folders.iter().all(same)
    }

    /// Writes the index and its digest as one; a failure is ignored, no reader depends on them.
    pub(super) fn write_cache(&self, bytes: &[u8], base: &Segment, walk: &Walk) {
        let numbers = Numbers::of(base);
        self.locked_cache(|| {
            if self.disk.replace_own(Path::new(CACHE), bytes).is_ok() {
                self.write_digest(walk, numbers);
            }
        });
    }

    fn locked_cache(&self, write: impl FnOnce()) {
        if self.make_cache_folder().is_err() {
            return;
        }
        // Held by another writer for long: its index is as good.
        if let Ok(Some(_lock)) = self.handle().lock_waiting(Path::new(CACHE), WRITE_WAIT) {
            write();
        }
    }

    fn write_digest(&self, walk: &Walk, numbers: Numbers) {
        let Some(index) = self.index_stamp() else {
            return;
        };
        let parents = walk.walked.iter().filter_map(|walked| walked.path.parent());
        let folders: BTreeSet<&Path> = parents.chain([Path::new("")]).collect();
        let time = |folder: &Path| {
            let time = self.folder_time(folder).unwrap_or_default();
            // Changed during the walk, or in the tick before it: the walk may have missed a file.
            if time > walk.begun.0 - RACY_MILLIS {
                0
            } else {
                time
            }
        };
        let digest = Digest {
            format: FORMAT,
            index,
            head: walk.head,
            folders: folders
                .into_iter()
                .map(|folder| (folder.to_owned(), time(folder)))
                .collect(),
            triggered: numbers.triggered,
            standing: numbers.standing,
            doubtful: numbers.doubtful,
            ordered: numbers.ordered,
        };
        if let Ok(bytes) = serde_json::to_vec(&digest) {
            drop(self.disk.replace_own(Path::new(DIGEST), &bytes));
        }
    }
}

/// Files that may be memories, as a walk found them.
pub(super) struct Walk {
    /// The journal's end before they were asked about.
    pub(super) head: u64,
    /// Time at which the walk began.
    pub(super) begun: Millis,
    pub(super) walked: Vec<Walked>,
}

/// Numbers of the documents that are asked for without words.
struct Numbers {
    triggered: Vec<usize>,
    standing: Vec<usize>,
    doubtful: Vec<usize>,
    ordered: bool,
}

impl Numbers {
    fn of(base: &Segment) -> Self {
        let (mut triggered, mut doubtful) = (Vec::new(), Vec::new());
        // Pinned ones are few and go first: they must not fall behind the bound.
        let (mut pinned, mut rules) = (Vec::new(), Vec::new());
        let mut ordered = true;
        let mut before: Option<Vec<u8>> = None;
        for number in 0..base.len() {
            let payload = base.payload(number);
            let path = path_in(&payload).unwrap_or_default();
            let text = std::str::from_utf8(path).unwrap_or_default();
            let behind = |before: Vec<u8>| order(&before, Path::new(text)) == Ordering::Less;
            ordered &= before.is_none_or(behind);
            before = Some(path.to_vec());
            if is_doubtful(&payload) {
                doubtful.push(number);
            }
            let Some(card) = payload::decode(&payload) else {
                continue;
            };
            if is_triggered(&card) {
                triggered.push(number);
            }
            if is_pinned(&card.path) {
                pinned.push(number);
            } else if is_standing(&card) {
                rules.push(number);
            }
        }
        let standing = pinned.into_iter().chain(rules).take(MOST_STANDING);
        Self {
            triggered,
            standing: standing.collect(),
            doubtful,
            ordered,
        }
    }
}

fn empty() -> std::result::Result<(Segment, Searcher), TooLarge> {
    let bytes = Segment::build(language_of([]), [])?;
    let base = Segment::open(Bytes::from(bytes)).map_err(|_| TooLarge)?;
    Ok((base.clone(), Searcher::new(base)))
}

fn is_triggered(card: &Card) -> bool {
    !card.triggers.is_empty()
}

fn is_standing(card: &Card) -> bool {
    is_pinned(&card.path) || card.kind == Some(Kind::Feedback)
}

impl Glance {
    fn of_scan(scan: Scan, stale: bool) -> Self {
        let (mut triggered, mut standing) = (Vec::new(), Vec::new());
        for card in scan.cards() {
            if is_triggered(&card) {
                triggered.push(card.clone());
            }
            if is_standing(&card) {
                standing.push(card);
            }
        }
        standing.sort_by(|a, b| a.path.cmp(&b.path));
        Self {
            scan,
            triggered,
            standing,
            stale,
        }
    }
}

#[cfg(test)]
#[path = "glance_tests.rs"]
mod tests;
