//! Shelf: one directory that is recalled from.
//!
//! # Model
//! It keeps the last scan of its directory, so that the next prompt pays only for files that
//! changed. Finding ranks with earlier use as a small bonus; showing reads, checks and renders the
//! picked files.
//!
//! # Not here
//! The cache on disk (`dormouse-memdir`); the choice of memories (`dormouse-recall`).

use super::library::Shown;
use crate::tree::TreeFacts;
use dormouse_core::record::FragmentKind;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Millis;
use dormouse_engine::{Injection, Seen as SeenByModel};
use dormouse_guard::paths::SafePath;
use dormouse_memdir::{Glance, MemdirError, MemoryDir, Scan, Skipped};
use dormouse_memory::card::Card;
use dormouse_memory::snapshot::StoredFile;
use dormouse_memory::topic::Topic;
use dormouse_recall::render::{Caps, render};
use dormouse_recall::usage::{Book, Counts};
use dormouse_recall::verify::{Claim, Showing, claims, mark};
use dormouse_recall::{
    Asked, Ground, Hit, Query, RERANKED, Scratch, Searcher, Seen, Surfacing, history, shifted,
};
use dormouse_system::{OptionalFile as _, System};
use jiff::civil::Date;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Share by which earlier use can change a score. Small, so that it only decides between memories
/// that fit about equally well.
const USE_BONUS: f32 = 0.05;
/// Overtaken memories that are looked for behind those that hold: a screen of them.
const HISTORY: usize = 10;
/// Most bytes of usage records that are read; twice what a full book has.
const MOST_USAGE: u64 = 4 * 1024 * 1024;

/// Happenings to memories, in the private directory's own folder.
pub(super) const USAGE: &str = ".cache/usage.jsonl";

/// Length of a reader's stay: a session, or a single question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// A session: it comes again, so that an index is worth writing.
    Lasting,
    /// A question: it leaves every file as it is.
    Once,
    /// A process that is waited for and gone at once: it takes the index as it is.
    Brief,
}

/// Owner of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One person: use of its memories is counted.
    Person,
    /// The people of a project: use by one of them says nothing about it.
    Team,
}

/// Memory directory with its last scan. Clones share the scan.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    dir: MemoryDir,
    pub(super) owner: Owner,
    visit: Visit,
    kept: Arc<Mutex<Option<Kept>>>,
}

/// Last scan: the next one reads only files that changed since.
#[derive(Debug)]
struct Kept {
    scan: Scan,
    /// Memories that some work triggers.
    triggered: Vec<Card>,
    /// Rules and pinned memories; for a brief visit only.
    standing: Vec<Card>,
    /// True if the index has to be brought up to date.
    stale: bool,
    /// Memories that hold, and history, once a prompt has asked for them.
    apart: Option<Apart>,
}

/// Memories that hold on a day, and those that are history.
#[derive(Debug)]
struct Apart {
    day: Date,
    /// Searchers over one and the other; `None` if there is no history.
    searchers: Option<(Searcher, Searcher)>,
}

impl Apart {
    fn new(scan: &Scan, day: Date) -> Self {
        let (numbers, cards): (Vec<usize>, Vec<Card>) = scan.doubtful().into_iter().unzip();
        let paths = history(&cards, day);
        let past = numbers.into_iter().zip(&cards);
        let past = past.filter(|(_, card)| paths.contains(&card.path));
        let past: BTreeSet<usize> = past.map(|(number, _)| number).collect();
        let searchers = (!past.is_empty()).then(|| {
            let all = scan.searcher();
            let holding = all.payloads().map(|(number, _)| number);
            let holding = holding.filter(|number| !past.contains(number));
            (all.without(past.iter().copied()), all.without(holding))
        });
        Self { day, searchers }
    }
}

/// Facts of the last look that hold as long as no file changed.
struct Before {
    triggered: Vec<Card>,
    apart: Option<Apart>,
    unchanged: bool,
}

impl From<Glance> for Kept {
    fn from(glance: Glance) -> Self {
        Self {
            scan: glance.scan,
            triggered: glance.triggered,
            standing: glance.standing,
            stale: glance.stale,
            apart: None,
        }
    }
}

impl Kept {
    /// Takes the triggered cards over if nothing changed, since decoding thousands of cards costs
    /// time.
    fn new(scan: Scan, before: Option<Before>) -> Self {
        let unchanged = scan.read == 0 && scan.outdated == 0;
        let (triggered, apart) = match before {
            Some(before) if before.unchanged && unchanged => (before.triggered, before.apart),
            _ => {
                let cards = scan.cards();
                let triggered = cards.filter(|card| !card.triggers.is_empty());
                (triggered.collect(), None)
            }
        };
        Self {
            scan,
            triggered,
            standing: Vec::new(),
            stale: false,
            apart,
        }
    }

    /// Memories that hold on a day, and history, told apart once a day.
    fn apart(&mut self, day: Date) -> &Apart {
        let known = self.apart.take().filter(|apart| apart.day == day);
        let known = known.unwrap_or_else(|| Apart::new(&self.scan, day));
        self.apart.insert(known)
    }

    fn find(
        &mut self,
        prompt: &str,
        top: usize,
        now: Millis,
        usage: &Book,
    ) -> (Vec<Hit>, Vec<Card>) {
        let day = crate::keeper::day(now);
        self.apart(day);
        let apart = self.apart.as_ref();
        let apart = apart.and_then(|apart| apart.searchers.as_ref());
        let (holding, past) = apart.map_or((self.scan.searcher(), None), |(holding, past)| {
            (holding, Some(past))
        });
        let (mut hits, mut cards) = self.found(holding, prompt, top, now, usage);
        if let Some(past) = past {
            // Behind all that hold, for people who look at what was left out.
            let (older, theirs) = self.found(past, prompt, HISTORY, now, usage);
            hits.extend(older);
            cards.extend(theirs);
        }
        for card in &self.triggered {
            if cards.iter().all(|known| known.path != card.path) {
                cards.push(card.clone());
            }
        }
        (hits, cards)
    }

    fn found(
        &self,
        searcher: &Searcher,
        prompt: &str,
        top: usize,
        now: Millis,
        usage: &Book,
    ) -> (Vec<Hit>, Vec<Card>) {
        let query = Query {
            text: prompt,
            top,
            now: now.0,
        };
        let found = searcher.search(&query, &mut Scratch::default());
        let asked = Asked::of(prompt);
        let mut cards: Vec<Card> = Vec::new();
        let mut hits: Vec<Hit> = Vec::new();
        for ranked in found {
            let Some(card) = self.scan.card(ranked.document) else {
                continue;
            };
            #[expect(clippy::cast_possible_truncation, reason = "a share between 0 and 1")]
            let useful = usage.counts(&card.path).prior() as f32 - 0.5;
            let useful = useful + judged(&card);
            hits.push(Hit {
                path: card.path.clone(),
                score: ranked.score * (1.0 + USE_BONUS * useful),
                confidence: shifted(ranked.confidence, searcher.smallness() * asked.shift(&card)),
            });
            cards.push(card);
        }
        // The bonus may have changed the order. Of equals by path: a process with an index and one
        // without know the files by other numbers.
        hits.sort_by(|a, b| {
            let better = b.score.total_cmp(&a.score);
            better.then_with(|| a.path.cmp(&b.path))
        });
        if searcher.smallness() >= 1.0 {
            let first = hits.len().min(RERANKED);
            hits[..first].sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        }
        (hits, cards)
    }

    /// Words of a prompt with their evidence in a memory.
    fn grounds(&mut self, prompt: &str, path: &SafePath, now: Millis) -> Vec<Ground> {
        let Some(document) = self.scan.document(path) else {
            return Vec::new();
        };
        self.apart(crate::keeper::day(now));
        let apart = self.apart.as_ref();
        let holding = apart.and_then(|apart| apart.searchers.as_ref());
        let holding = holding.map(|(holding, _)| holding);
        // History is compared with everything: there is nothing else to compare it with.
        let holding = holding.filter(|holding| holding.has(document));
        let searcher = holding.unwrap_or_else(|| self.scan.searcher());
        searcher.grounds(prompt, document)
    }
}

/// Favour by the user's own word, from 0 to 0.5: a second one says little more than the first.
fn judged(card: &Card) -> f32 {
    match card.useful.saturating_sub(card.wrong) {
        0 => 0.0,
        1 => 0.35,
        _ => 0.5,
    }
}

impl Shelf {
    pub(super) fn new(dir: MemoryDir, owner: Owner, visit: Visit) -> Self {
        Self {
            dir,
            owner,
            visit,
            kept: Arc::default(),
        }
    }

    fn scan(&self) -> Result<Scan, MemdirError> {
        match self.visit {
            Visit::Once => self.dir.peek(),
            Visit::Lasting | Visit::Brief => self.dir.scan(),
        }
    }

    /// Looks at all memories as they are now.
    fn look<T>(&self, look: impl FnOnce(&mut Kept) -> T) -> Result<T, MemdirError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken, so that a failed scan is not kept and the next look starts anew.
        let now = match kept.take() {
            Some(kept) if self.visit == Visit::Brief => kept,
            None if self.visit == Visit::Brief => self.dir.glance()?.into(),
            Some(Kept {
                scan,
                triggered,
                apart,
                ..
            }) => {
                let before = Before {
                    triggered,
                    apart,
                    unchanged: scan.read == 0 && scan.outdated == 0,
                };
                Kept::new(self.dir.rescan(scan)?, Some(before))
            }
            None => Kept::new(self.scan()?, None),
        };
        Ok(look(kept.insert(now)))
    }

    /// Writes the index anew if so much changed that it is worth it. Reads everything: to be called
    /// when no request waits.
    pub(super) fn refresh(&self) {
        let worth =
            |kept: &Option<Kept>| kept.as_ref().is_some_and(|kept| kept.scan.wants_rewrite());
        // Released before the long scan: the next prompt needs the lock.
        if !worth(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let refreshed = self.dir.scan().is_ok_and(|scan| self.dir.refresh(&scan));
        if refreshed {
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    fn name(&self, path: &SafePath) -> String {
        self.dir.root().join(path.as_path()).display().to_string()
    }

    /// File of this directory, by the absolute path it has in the conversation.
    fn own(&self, name: &str) -> Option<SafePath> {
        let inside = Path::new(name).strip_prefix(self.dir.root()).ok()?;
        SafePath::parse(inside.to_str()?).ok()
    }

    /// Memory of this directory that the conversation has, with the memories that go in at this
    /// moment.
    pub(super) fn seen(&self, seen: &SeenByModel, now: &[Shown]) -> Seen {
        let now = now.iter().flat_map(|shown| &shown.injection.memories);
        let before = seen.memories.iter().map(|(name, bytes)| (name, *bytes));
        let all = || {
            before
                .clone()
                .chain(now.clone().map(|(name, bytes)| (name, *bytes)))
        };
        Seen {
            surfaced: all().filter_map(|(name, _)| self.own(name)).collect(),
            bytes: all().map(|(_, bytes)| bytes).sum(),
            read: seen
                .files
                .iter()
                .filter_map(|name| self.own(name))
                .collect(),
        }
    }

    /// Best memories for a prompt, with the cards of these and of those with triggers.
    pub(super) fn find(
        &self,
        prompt: &str,
        top: usize,
        now: Millis,
    ) -> Result<(Vec<Hit>, Vec<Card>), MemdirError> {
        let usage = self.usage();
        self.look(|kept| {
            let found = kept.find(prompt, top, now, &usage);
            if kept.scan.is_damaged() {
                // Nothing instead of something wrong; the refresh writes the index anew.
                kept.stale = true;
                return (Vec::new(), kept.triggered.clone());
            }
            found
        })
    }

    /// Words of a prompt with their evidence in a memory; none if it is gone.
    pub(super) fn grounds(
        &self,
        prompt: &str,
        path: &SafePath,
        now: Millis,
    ) -> Result<Vec<Ground>, MemdirError> {
        self.look(|kept| {
            let grounds = kept.grounds(prompt, path, now);
            if kept.scan.is_damaged() {
                return Vec::new();
            }
            grounds
        })
    }

    /// Use of a memory so far.
    pub(super) fn counts(&self, path: &SafePath) -> Counts {
        self.usage().counts(path)
    }

    /// Memories that some work triggers.
    pub(super) fn with_triggers(&self) -> Result<Vec<Card>, MemdirError> {
        self.look(|kept| kept.triggered.clone())
    }

    /// Rules and pinned memories, by path.
    pub(super) fn standing(&self) -> Result<Vec<Card>, MemdirError> {
        self.look(|kept| kept.standing.clone())
    }

    /// True if the index has to be brought up to date, and no other process was asked to.
    pub(super) fn wants_refresher(&self) -> bool {
        let stale = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.as_ref().is_some_and(|kept| kept.stale)
        };
        stale && self.dir.wants_refresher()
    }

    /// Files that are no part of the last scan.
    pub(super) fn skipped(&self) -> Vec<Skipped> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.as_ref();
        kept.map(|kept| kept.scan.skipped.clone())
            .unwrap_or_default()
    }

    fn usage(&self) -> Book {
        book(&self.dir)
    }

    /// The memories that were picked, as they are shown, and the paths of those that are held back
    /// because all their claims fail. One that is gone meanwhile is in neither.
    pub(super) fn show(
        &self,
        system: &System,
        tree: &Path,
        surfacing: &Surfacing,
        settings: &Settings,
    ) -> (Vec<Shown>, Vec<SafePath>) {
        let read = surfacing
            .now
            .iter()
            .filter_map(|pick| Some((pick.path.clone(), self.dir.read(&pick.path).ok()??)));
        let read: Vec<(SafePath, StoredFile)> = read.collect();
        // One walk over the tree for all of them.
        let all: Vec<_> = read
            .iter()
            .flat_map(|(_, file)| claims_of(&file.text()))
            .collect();
        let facts = TreeFacts::look(&system.files, tree, &all);
        let caps = Caps {
            lines: super::size(settings.get(keys::RECALL_FILE_LINES)),
            bytes: super::size(settings.get(keys::RECALL_FILE_BYTES)),
        };
        let (mut shown, mut held_back) = (Vec::new(), Vec::new());
        for (path, file) in read {
            let text = file.text().into_owned();
            let mark = mark(&claims_of(&text), &facts);
            if mark.showing(Topic::read(&text).kind) == Showing::HeldBack {
                held_back.push(path);
                continue;
            }
            let name = self.name(&path);
            let fragment = render(&name, &file, &mark, system.clock.now(), caps);
            shown.push(Shown {
                injection: Injection {
                    kind: FragmentKind::Memory,
                    text: fragment.text,
                    memories: vec![(name, fragment.bytes as u64)],
                },
                path,
                text,
                mark,
                owner: self.owner,
            });
        }
        (shown, held_back)
    }

    /// One memory's file as it is now.
    pub(super) fn text_of(&self, path: &SafePath) -> Result<Option<String>, MemdirError> {
        let file = self.dir.read(path)?;
        Ok(file.map(|file| file.text().into_owned()))
    }
}

/// Claims of a memory's body: the keys and values of its front matter are no statements about the
/// working tree.
pub(crate) fn claims_of(text: &str) -> Vec<Claim> {
    let body = Topic::read(text).body;
    claims(text.get(body..).unwrap_or_default())
}

/// Book of a directory; an empty one if it cannot be read.
pub(crate) fn book(dir: &MemoryDir) -> Book {
    let bytes = dir.handle().read(Path::new(USAGE), MOST_USAGE).optional();
    let bytes = bytes.ok().flatten().unwrap_or_default();
    Book::decode(&String::from_utf8_lossy(&bytes))
}

/// Counts of every memory of a directory that was ever shown.
pub fn uses(dir: &MemoryDir) -> Vec<Counts> {
    book(dir).iter().map(|(_, counts)| *counts).collect()
}
