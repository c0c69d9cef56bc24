//! Shelf: one directory that is recalled from.
//!
//! # Model
//! It keeps the last scan of its directory, so that the next prompt pays only for files that
//! changed. Finding ranks with earlier use as a small bonus; showing reads, checks and renders the
//! picked files.
//!
//! # Not here
//! The cache on disk (`dormouse-memdir`); the choice of memories (`dormouse-recall`).

use super::Shown;
use crate::keeper::Keeper;
use crate::tree::TreeFacts;
use dormouse_core::record::FragmentKind;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Millis;
use dormouse_engine::{Injection, Seen as SeenByModel};
use dormouse_guard::paths::SafePath;
use dormouse_memdir::{MemdirError, MemoryDir, Scan};
use dormouse_memory::card::Card;
use dormouse_memory::snapshot::StoredFile;
use dormouse_memory::topic::Topic;
use dormouse_recall::render::{Caps, render};
use dormouse_recall::usage::Book;
use dormouse_recall::verify::{Showing, claims, mark};
use dormouse_recall::{Hit, Query, Scratch, Seen, Surfacing};
use dormouse_system::OptionalFile as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Share by which earlier use can change a score. Small, so that it only decides between memories
/// that fit about equally well.
const USE_BONUS: f32 = 0.05;
/// Most bytes of usage records that are read; twice what a full book has.
const MOST_USAGE: u64 = 4 * 1024 * 1024;

/// Memory directory with its last scan. Clones share the scan.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    dir: MemoryDir,
    kept: Arc<Mutex<Option<Kept>>>,
}

/// Last scan: the next one reads only files that changed since.
#[derive(Debug)]
struct Kept {
    scan: Scan,
    /// Memories that some work triggers.
    triggered: Vec<Card>,
}

impl Kept {
    /// Takes the triggered cards over if nothing changed, since decoding thousands of cards costs
    /// time.
    fn new(scan: Scan, before: Option<(Vec<Card>, bool)>) -> Self {
        let unchanged = scan.read == 0 && scan.outdated == 0;
        let triggered = match before {
            Some((triggered, true)) if unchanged => triggered,
            _ => {
                let cards = scan.cards();
                cards.filter(|card| !card.triggers.is_empty()).collect()
            }
        };
        Self { scan, triggered }
    }

    fn find(&self, prompt: &str, top: usize, now: Millis, usage: &Book) -> (Vec<Hit>, Vec<Card>) {
        let query = Query {
            text: prompt,
            top,
            now: now.0,
        };
        let found = self.scan.searcher().search(&query, &mut Scratch::default());
        let mut cards: Vec<Card> = Vec::new();
        let mut hits: Vec<Hit> = Vec::new();
        for ranked in found {
            let Some(card) = self.scan.card(ranked.document) else {
                continue;
            };
            #[expect(clippy::cast_possible_truncation, reason = "a share between 0 and 1")]
            let useful = usage.counts(&card.path).prior() as f32 - 0.5;
            hits.push(Hit {
                path: card.path.clone(),
                score: ranked.score * (1.0 + USE_BONUS * useful),
                confidence: ranked.confidence,
            });
            cards.push(card);
        }
        // The bonus may have changed the order; the plan takes the best first.
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        for card in &self.triggered {
            if cards.iter().all(|known| known.path != card.path) {
                cards.push(card.clone());
            }
        }
        (hits, cards)
    }
}

impl Shelf {
    pub(super) fn new(dir: MemoryDir) -> Self {
        Self {
            dir,
            kept: Arc::default(),
        }
    }

    /// Looks at all memories as they are now.
    fn look<T>(&self, look: impl FnOnce(&Kept) -> T) -> Result<T, MemdirError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken, so that a failed scan is not kept and the next look starts anew.
        let now = match kept.take() {
            Some(Kept { scan, triggered }) => {
                let unchanged = scan.read == 0 && scan.outdated == 0;
                Kept::new(self.dir.rescan(scan)?, Some((triggered, unchanged)))
            }
            None => Kept::new(self.dir.scan()?, None),
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

    /// True if it is this directory.
    pub(super) fn is(&self, dir: &MemoryDir) -> bool {
        self.dir.root() == dir.root()
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
        self.look(|kept| kept.find(prompt, top, now, &usage))
    }

    /// Memories that some work triggers.
    pub(super) fn with_triggers(&self) -> Result<Vec<Card>, MemdirError> {
        self.look(|kept| kept.triggered.clone())
    }

    fn usage(&self) -> Book {
        let handle = self.dir.handle();
        let bytes = handle.read(Path::new(super::USAGE), MOST_USAGE).optional();
        let bytes = bytes.ok().flatten().unwrap_or_default();
        Book::decode(&String::from_utf8_lossy(&bytes))
    }

    /// Picked memories, as they are shown. One that is gone meanwhile is left out, and one whose
    /// claims all fail is held back.
    pub(super) fn show(
        &self,
        keeper: &Keeper,
        surfacing: &Surfacing,
        settings: &Settings,
    ) -> Vec<Shown> {
        let read = surfacing
            .now
            .iter()
            .filter_map(|pick| Some((pick.path.clone(), self.dir.read(&pick.path).ok()??)));
        let read: Vec<(SafePath, StoredFile)> = read.collect();
        // One walk over the tree for all of them.
        let all: Vec<_> = read
            .iter()
            .flat_map(|(_, file)| claims(&file.text()))
            .collect();
        let facts = TreeFacts::look(&keeper.system.files, &keeper.places.project_root, &all);
        let caps = Caps {
            lines: super::size(settings.get(keys::RECALL_FILE_LINES)),
            bytes: super::size(settings.get(keys::RECALL_FILE_BYTES)),
        };
        let shown = read.into_iter().filter_map(|(path, file)| {
            let text = file.text().into_owned();
            let mark = mark(&claims(&text), &facts);
            if mark.showing(Topic::read(&text).kind) == Showing::HeldBack {
                return None;
            }
            let name = self.name(&path);
            let fragment = render(&name, &file, &mark, keeper.now(), caps);
            Some(Shown {
                injection: Injection {
                    kind: FragmentKind::Memory,
                    text: fragment.text,
                    memories: vec![(name, fragment.bytes as u64)],
                },
                path,
                text,
                // Use by one person says nothing about a directory that many share.
                counted: self.is(&keeper.memory),
            })
        });
        shown.collect()
    }
}
