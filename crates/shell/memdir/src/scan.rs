//! All memories, ready to be searched, without reading those that have not changed.
//!
//! # Model
//! `.cache/recall.index` is an index with a [`Card`] for each memory. A scan walks the directory
//! and compares stamps: only new and changed files are read and laid over the cached index. Files
//! that a change under way touches come from the journal, as for every reader.
//!
//! The cache is a convenience: one that is missing, damaged, of another version or out of date is
//! replaced, and nothing is lost with it. It is rewritten when the difference has grown
//! ([`Scan::wants_rewrite`]), which reads everything, so the caller says when
//! ([`MemoryDir::refresh`]). A failure to write it is ignored. A process that lives on does not
//! even read the cache again ([`MemoryDir::rescan`]).
//!
//! # Not here
//! Ranking (`dormouse-recall`). The index without asking about each file (`glance`).

mod glance;

pub use glance::Glance;

use crate::dir::{MemoryDir, Skipped, Unread};
use crate::disk::CACHE;
use crate::error::MemdirError;
use crate::payload::{self, is_of, path_in};
use crate::pending::Overlay;
use bytes::Bytes;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_memory::snapshot::{INDEX, LOGS, StoredFile, is_topic};
use dormouse_memory::topic::Topic;
use dormouse_recall::{Document, Searcher, Segment, TooLarge, language_of};
use dormouse_system::{Stamp, Walked};
use glance::Walk;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

/// Most attempts of a scan before it gives up; as for snapshots.
const MOST_SCANS: usize = 16;
/// Most bytes of a cache that is read: far above an index of a full directory.
const MOST_CACHE: u64 = 2 * 1024 * 1024 * 1024;
/// Changed files above which a new cache is worth its price …
const MANY: usize = 64;
/// … or a tenth of all: below that, reading the changed ones is cheaper than rewriting all.
const SHARE: usize = 10;
/// Age in milliseconds below which a stamp is not believed: a file may change twice within one tick
/// of the file system's clock, which is at most about ten milliseconds.
const RACY_MILLIS: i64 = 20;

type Result<T> = std::result::Result<T, MemdirError>;

/// Permission of a scan to write the cache where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewCache {
    Write,
    Leave,
}

/// All memories, ready to be searched.
#[derive(Debug)]
pub struct Scan {
    /// Made at the first search if nothing changed since the cache was written: a scan that only
    /// asks if anything changed needs no figures for ranking.
    searcher: OnceLock<Searcher>,
    base: Segment,
    /// Documents that may be doubtful, if the digest of the index tells; otherwise all may be.
    /// A base whose digest tells is ordered by path.
    suspects: Option<Vec<usize>>,
    /// Number of memories in the directory.
    memories: usize,
    /// Number of files that were read; all others came from the cache.
    pub read: usize,
    /// Number of memories in the cache that are gone or have changed.
    pub outdated: usize,
    /// True if there was a cache.
    pub cached: bool,
    /// Files that are left out.
    pub skipped: Vec<Skipped>,
}

/// Memory that was read.
struct Fresh {
    card: Card,
    payload: Vec<u8>,
    text: String,
    body: usize,
}

impl Scan {
    /// Searcher over all memories. Documents are known by their [`Scan::card`].
    pub fn searcher(&self) -> &Searcher {
        self.searcher
            .get_or_init(|| Searcher::new(self.base.clone()))
    }

    /// Memory that a document of the searcher is.
    pub fn card(&self, document: usize) -> Option<Card> {
        payload::decode(&self.searcher().payload(document))
    }

    /// Cards of all memories.
    pub fn cards(&self) -> impl Iterator<Item = Card> + '_ {
        let payloads = self.searcher().payloads();
        payloads.filter_map(|(_, payload)| payload::decode(&payload))
    }

    /// Number of a memory among the documents of the searcher.
    pub fn document(&self, path: &SafePath) -> Option<usize> {
        self.numbered(path.as_str())
    }

    /// True if a part of the index could not be read. Answers made from it are to be thrown away; the
    /// next refresh writes it anew.
    pub fn is_damaged(&self) -> bool {
        self.base.is_damaged()
    }

    fn numbered(&self, path: &str) -> Option<usize> {
        let name = Some(path.as_bytes());
        let searcher = self.searcher();
        if self.suspects.is_none() {
            let mut payloads = searcher.payloads();
            return payloads.find_map(|(at, payload)| (path_in(&payload) == name).then_some(at));
        }
        // Documents laid over the base follow it, and are few.
        let mut new = self.base.len()..self.base.len() + self.read;
        let new = new.find(|at| path_in(&searcher.payload(*at)) == name);
        let known = || find_ordered(&self.base, path).filter(|at| searcher.has(*at));
        new.or_else(known)
    }

    /// Documents whose cards name a successor, a last day, a contradiction or a judgement of the
    /// user, and those that these contradict. The others are not decoded: they hold.
    pub fn doubtful(&self) -> Vec<(usize, Card)> {
        let searcher = self.searcher();
        let decoded = |number: usize| {
            let payload = searcher.payload(number);
            is_doubtful(&payload).then(|| payload::decode(&payload))?
        };
        let with_card = |number: usize| Some((number, decoded(number)?));
        let mut found: Vec<(usize, Card)> = if let Some(suspects) = &self.suspects {
            suspects.iter().copied().filter_map(with_card).collect()
        } else {
            let all = searcher.payloads().map(|(number, _)| number);
            all.filter_map(with_card).collect()
        };
        let named = found
            .iter()
            .flat_map(|(_, card)| card.contradicts.iter().cloned());
        let named: BTreeSet<String> = named.collect();
        for number in named.iter().filter_map(|path| self.numbered(path)) {
            if found.iter().all(|(known, _)| *known != number)
                && let Some(card) = self.card(number)
            {
                found.push((number, card));
            }
        }
        found
    }

    /// True if so much differs from the cache that a new one is worth its price.
    pub fn wants_rewrite(&self) -> bool {
        let changed = self.read.max(self.outdated);
        !self.cached || changed > MANY || changed * SHARE > self.memories
    }
}

impl MemoryDir {
    /// All memories, ready to be searched. Files that have not changed since the cache was written
    /// are not read. Without a cache all are, and one is written.
    pub fn scan(&self) -> Result<Scan> {
        self.scan_with(NewCache::Write)
    }

    /// The same without writing anything, for a caller that only asks. Gives the same answers as
    /// [`MemoryDir::scan`], with a cache or without.
    pub fn peek(&self) -> Result<Scan> {
        self.scan_with(NewCache::Leave)
    }

    fn scan_with(&self, new_cache: NewCache) -> Result<Scan> {
        // The index is opened while the directory is walked: neither needs the other, and each takes
        // about as long.
        let (base, walk) = thread::scope(|scope| {
            let opening = scope.spawn(|| self.cache());
            let walk = self.walk_topics();
            (opening.join().ok().flatten(), walk)
        });
        self.scan_from(base, None, Some(walk?), new_cache)
    }

    /// Scans again, for a process that has scanned before: if nothing changed, it costs no more
    /// than asking about each file.
    pub fn rescan(&self, before: Scan) -> Result<Scan> {
        // Changes that were laid over the base are in no segment that could be reused.
        let searcher = before.searcher.into_inner();
        let unchanged = searcher.filter(|searcher| searcher.changed() == 0);
        // There is a base, so that none is built.
        self.scan_from(Some(before.base), unchanged, None, NewCache::Leave)
    }

    /// Writes the cache anew if that is worth it. Returns true if it was tried; a failure loses
    /// nothing.
    pub fn refresh(&self, scan: &Scan) -> bool {
        // Without a cache, scanning writes one.
        scan.wants_rewrite()
            && self
                .scan_from(None, None, None, NewCache::Write)
                .is_ok_and(|_| true)
    }

    fn cache(&self) -> Option<Segment> {
        let bytes = self.disk.read(Path::new(CACHE), MOST_CACHE).ok()??;
        let segment = Segment::open(bytes).ok()?;
        let whole = (0..segment.len()).all(|number| path_in(&segment.payload(number)).is_some());
        // Cards of a version before lack their path; one sample tells, since an index is written whole.
        let current = segment.is_empty() || payload::decode(&segment.payload(0)).is_some();
        (whole && current).then_some(segment)
    }

    /// Files that may be memories, and the journal's end before they were asked about.
    fn walk_topics(&self) -> Result<Walk> {
        let begun = self.system.clock.now();
        let head = self.disk.head()?;
        // Listings name the folders that are too deep; a search has no use for them.
        let (mut walked, _deep) = self.disk.walk(&is_logs)?;
        walked.retain(|walked| may_be_topic(&walked.path));
        Ok(Walk {
            head,
            begun,
            walked,
        })
    }

    /// `unchanged` searches the base as it is; `walk` was made just now.
    fn scan_from(
        &self,
        base: Option<Segment>,
        unchanged: Option<Searcher>,
        mut walk: Option<Walk>,
        new_cache: NewCache,
    ) -> Result<Scan> {
        for _ in 0..MOST_SCANS {
            let walk = match walk.take() {
                Some(walk) => walk,
                None => self.walk_topics()?,
            };
            let (mut gone, changed) = difference(base.as_ref(), &walk.walked);
            let mut skipped = Vec::new();
            let mut fresh = self.read_changed(&changed, &mut skipped)?;
            let Some(overlay) = self.disk.overlay_since(walk.head)? else {
                continue;
            };
            lay_over(base.as_ref(), find_any, &mut gone, &mut fresh, overlay);
            let read = fresh.len();
            let outdated = gone.len();
            let cached = base.is_some();
            let same = read == 0 && outdated == 0;
            let (base, searcher) = match (base, unchanged) {
                (Some(base), Some(searcher)) if same => (base, OnceLock::from(searcher)),
                (Some(base), None) if same => (base, OnceLock::new()),
                (base, _) => {
                    let made = self.searcher(base, &gone, &fresh, (new_cache, &walk));
                    let (base, searcher) = made.map_err(|TooLarge| self.too_large())?;
                    (base, OnceLock::from(searcher))
                }
            };
            let memories = searcher.get().map_or(base.len(), Searcher::len);
            return Ok(Scan {
                searcher,
                base,
                suspects: None,
                memories,
                read,
                outdated,
                cached,
                skipped,
            });
        }
        Err(self.restless())
    }

    fn too_large(&self) -> MemdirError {
        MemdirError::TooMuchText {
            root: self.disk.root.clone(),
        }
    }

    fn read_changed(&self, changed: &[&Walked], skipped: &mut Vec<Skipped>) -> Result<Vec<Fresh>> {
        let mut fresh = Vec::with_capacity(changed.len());
        for walked in changed {
            // A file that had come to rest when it was read cannot change behind its stamp later.
            let now = self.system.clock.now();
            match self.read_one(walked) {
                Ok(Some((path, file))) if is_topic(&path) => {
                    fresh.push(Fresh::new(path, &file, trusted(walked.stamp, now)));
                }
                Ok(_) => {}
                Err(Unread::Skip(why)) => skipped.push(Skipped {
                    path: walked.path.clone(),
                    why,
                }),
                Err(Unread::Fail(error)) => return Err(self.disk.blame(error)),
            }
        }
        Ok(fresh)
    }

    fn searcher(
        &self,
        base: Option<Segment>,
        gone: &[usize],
        fresh: &[Fresh],
        (new_cache, walk): (NewCache, &Walk),
    ) -> std::result::Result<(Segment, Searcher), TooLarge> {
        let documents = fresh.iter().map(Fresh::document);
        if let Some(base) = base {
            let searcher = Searcher::with_changes(base.clone(), gone, documents)?;
            return Ok((base, searcher));
        }
        let language = language_of(fresh.iter().map(|fresh| &*fresh.text));
        let bytes = Bytes::from(Segment::build(language, documents)?);
        let segment = Segment::open(bytes.clone()).map_err(|_| TooLarge)?;
        if new_cache == NewCache::Write {
            self.write_cache(&bytes, &segment, walk);
        }
        Ok((segment.clone(), Searcher::new(segment)))
    }
}

impl Fresh {
    fn new(path: SafePath, file: &StoredFile, stamp: Stamp) -> Self {
        let text = file.text().into_owned();
        let topic = Topic::read(&text);
        let body = topic.body;
        let card = Card::of(path, topic, &text, file.modified);
        let payload = payload::encode(&card, stamp);
        Self {
            card,
            payload,
            text,
            body,
        }
    }

    fn document(&self) -> Document<'_> {
        let card = &self.card;
        Document {
            name: if card.name.is_empty() {
                card.path.as_str()
            } else {
                &card.name
            },
            description: &card.description,
            body: self.text.get(self.body..).unwrap_or_default(),
            payload: &self.payload,
            time: card.modified.0,
            prior: card.prior(),
            ..Document::default()
        }
    }
}

/// True if a file can be a memory, as far as it can be told without checking its whole path.
fn may_be_topic(path: &Path) -> bool {
    let markdown = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("md"));
    markdown && path.file_name().is_none_or(|name| name != INDEX)
}

fn is_logs(path: &Path) -> bool {
    path == Path::new(LOGS)
}

/// Stamp, unless the file may have been changed once more in the same tick of the clock.
pub(crate) fn trusted(stamp: Stamp, now: Millis) -> Stamp {
    let changed = i64::try_from(stamp.changed_ns / 1_000_000).unwrap_or(i64::MAX);
    if changed > now.0.saturating_sub(RACY_MILLIS) {
        // An empty stamp matches no file, so this one is read again next time.
        return Stamp::default();
    }
    stamp
}

/// Documents of the cache that are gone or have changed, and files that are new or have. Both sides
/// are ordered by path; if they are not, more is read than need be.
fn difference<'a>(base: Option<&Segment>, walked: &'a [Walked]) -> (Vec<usize>, Vec<&'a Walked>) {
    let Some(base) = base else {
        return (Vec::new(), walked.iter().collect());
    };
    let (mut gone, mut changed) = (Vec::new(), Vec::new());
    let mut documents = 0..base.len();
    let mut document = documents.next();
    for file in walked {
        let mut known = false;
        while let Some(number) = document {
            let payload = base.payload(number);
            match order(path_in(&payload).unwrap_or_default(), &file.path) {
                Ordering::Equal if is_of(&payload, file.stamp) => known = true,
                Ordering::Less | Ordering::Equal => gone.push(number),
                Ordering::Greater => break,
            }
            document = documents.next();
            if known {
                break;
            }
        }
        if !known {
            changed.push(file);
        }
    }
    // Documents behind the last file have none.
    gone.extend(document.into_iter().chain(documents));
    (gone, changed)
}

/// True if a card names a successor, a last day, a contradiction or a judgement of the user.
fn is_doubtful(payload: &[u8]) -> bool {
    // Keys of a card as JSON has them; quotes in a text are escaped.
    const KEYS: [&[u8]; 4] = [
        b"\"superseded_by\":",
        b"\"valid_until\":",
        b"\"contradicts\":",
        b"\"wrong\":",
    ];
    static FINDERS: OnceLock<[memchr::memmem::Finder<'static>; 4]> = OnceLock::new();
    let finders = FINDERS.get_or_init(|| KEYS.map(memchr::memmem::Finder::new));
    finders.iter().any(|key| key.find(payload).is_some())
}

/// Number of a memory in an index that is ordered by path.
fn find_ordered(base: &Segment, path: &str) -> Option<usize> {
    let path = Path::new(path);
    let (mut low, mut high) = (0, base.len());
    while low < high {
        let middle = low.midpoint(high);
        match order(path_in(&base.payload(middle)).unwrap_or_default(), path) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Some(middle),
            Ordering::Greater => high = middle,
        }
    }
    None
}

fn order(cached: &[u8], path: &Path) -> Ordering {
    let bytes = path.as_os_str().as_encoded_bytes();
    if cached == bytes {
        return Ordering::Equal;
    }
    // A name that is no text was never cached.
    std::str::from_utf8(cached).map_or(Ordering::Less, |cached| Path::new(cached).cmp(path))
}

/// Number of a memory in an index, whatever its order.
fn find_any(base: &Segment, path: &str) -> Option<usize> {
    let name = Some(path.as_bytes());
    (0..base.len()).find(|number| path_in(&base.payload(*number)) == name)
}

/// Brings the files that changed during the scan to their state after the change. `find` tells the
/// number of a memory in the base.
fn lay_over(
    base: Option<&Segment>,
    find: fn(&Segment, &str) -> Option<usize>,
    gone: &mut Vec<usize>,
    fresh: &mut Vec<Fresh>,
    overlay: Overlay,
) {
    for (path, file) in overlay {
        if !is_topic(&path) {
            continue;
        }
        // Read before or during the change; the journal's content is the right one.
        fresh.retain(|fresh| fresh.card.path != path);
        if let Some(base) = base {
            let number = find(base, path.as_str());
            if let Some(number) = number.filter(|number| !gone.contains(number)) {
                gone.push(number);
            }
        }
        if let Some(file) = file {
            // No stamp: the file on disk may still be the old one.
            fresh.push(Fresh::new(path, &file, Stamp::default()));
        }
    }
    // In the order of the walk, which the next comparison relies on.
    fresh.sort_by(|a, b| a.card.path.as_path().cmp(b.card.path.as_path()));
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
