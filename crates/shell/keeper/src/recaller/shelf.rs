//! One directory that is recalled from.

use super::Shown;
use crate::keeper::Keeper;
use crate::tree::TreeFacts;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Millis;
use dormouse_engine::Seen as SeenByModel;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::{Card, MemdirError, MemoryDir, Scan};
use dormouse_memory::surface::render::{self, Caps, Fragment};
use dormouse_memory::surface::usage::Book;
use dormouse_memory::surface::verify::{Showing, claims, mark};
use dormouse_memory::surface::{Entry, Hit, Seen, Surfacing};
use dormouse_memory::topic::{Kind, Topic};
use dormouse_recall::{Query, Scratch};
use dormouse_system::OptionalFile as _;
use jiff::civil::Date;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How much having been of use counts among memories that fit about equally well.
const USE_BONUS: f32 = 0.05;
/// More of what happened to memories is not read.
const MOST_USAGE: u64 = 4 * 1024 * 1024;

/// A directory. Clones share what was found out about it.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    dir: MemoryDir,
    kept: Arc<Mutex<Option<Kept>>>,
}

/// The last scan: the next one reads only what changed since.
#[derive(Debug)]
struct Kept {
    scan: Scan,
    /// The memories that some work triggers.
    triggered: Vec<Card>,
}

impl Kept {
    fn new(scan: Scan, before: Option<(Vec<Card>, bool)>) -> Self {
        let unchanged = scan.read == 0 && scan.outdated == 0;
        let triggered = match before {
            Some((triggered, true)) if unchanged => triggered,
            _ => {
                let cards = scan.cards();
                cards
                    .filter(|card| !card.facts.triggers.is_empty())
                    .collect()
            }
        };
        Self { scan, triggered }
    }

    fn find(
        &self,
        prompt: &str,
        top: usize,
        (now, today): (Millis, Date),
        usage: &Book,
    ) -> (Vec<Hit>, Vec<Entry>) {
        let query = Query {
            text: prompt,
            top,
            now: now.0,
        };
        let found = self.scan.searcher().search(&query, &mut Scratch::default());
        let mut entries: Vec<Entry> = Vec::new();
        let mut hits: Vec<Hit> = Vec::new();
        for hit in found {
            let Some(card) = self.scan.card(hit.document) else {
                continue;
            };
            #[expect(clippy::cast_possible_truncation, reason = "a share between 0 and 1")]
            let useful = usage.counts(&card.path).prior() as f32 - 0.5;
            hits.push(Hit {
                path: card.path.clone(),
                score: hit.score * (1.0 + USE_BONUS * useful),
                confidence: hit.confidence,
            });
            entries.push(card.entry(today));
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        for entry in self.triggered.iter().map(|card| card.entry(today)) {
            if entries.iter().all(|known| known.path != entry.path) {
                entries.push(entry);
            }
        }
        (hits, entries)
    }
}

/// A memory that goes in.
pub(super) struct Memory {
    pub(super) path: SafePath,
    /// Its name in the session's state.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) fragment: Fragment,
}

/// How much a memory is favoured whatever is asked: rules and facts about the user a little.
fn prior(card: &Card) -> f32 {
    match card.facts.kind {
        Some(Kind::Feedback | Kind::User) => 0.6,
        Some(Kind::Project | Kind::Reference) | None => 0.5,
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
        let now = match kept.take() {
            Some(Kept { scan, triggered }) => {
                let unchanged = scan.read == 0 && scan.outdated == 0;
                Kept::new(self.dir.rescan(scan)?, Some((triggered, unchanged)))
            }
            None => Kept::new(self.dir.scan(prior)?, None),
        };
        Ok(look(kept.insert(now)))
    }

    /// Writes the index anew if so much changed that it is worth it. Reads everything: to be called
    /// where nobody waits.
    pub(super) fn refresh(&self) {
        let worth =
            |kept: &Option<Kept>| kept.as_ref().is_some_and(|kept| kept.scan.wants_rewrite());
        if !worth(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let refreshed = self
            .dir
            .scan(prior)
            .is_ok_and(|scan| self.dir.refresh(&scan));
        if refreshed {
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Whether it is this directory.
    pub(super) fn is(&self, dir: &MemoryDir) -> bool {
        self.dir.root() == dir.root()
    }

    fn name(&self, path: &SafePath) -> String {
        self.dir.root().join(path.as_path()).display().to_string()
    }

    /// A file of this directory, by the name it has elsewhere.
    fn own(&self, name: &str) -> Option<SafePath> {
        let inside = Path::new(name).strip_prefix(self.dir.root()).ok()?;
        SafePath::parse(inside.to_str()?).ok()
    }

    /// What the conversation has of this directory, with what goes in at this moment.
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

    /// The best memories for a prompt, and what is known of them and of those with triggers.
    pub(super) fn find(
        &self,
        prompt: &str,
        top: usize,
        now: Millis,
        today: Date,
    ) -> Result<(Vec<Hit>, Vec<Entry>), MemdirError> {
        let usage = self.usage();
        self.look(|kept| kept.find(prompt, top, (now, today), &usage))
    }

    /// The memories that some work triggers.
    pub(super) fn with_triggers(&self, today: Date) -> Result<Vec<Entry>, MemdirError> {
        self.look(|kept| {
            let cards = kept.triggered.iter();
            cards.map(|card| card.entry(today)).collect()
        })
    }

    fn usage(&self) -> Book {
        let handle = self.dir.handle();
        let bytes = handle.read(Path::new(super::USAGE), MOST_USAGE).optional();
        let bytes = bytes.ok().flatten().unwrap_or_default();
        Book::decode(&String::from_utf8_lossy(&bytes))
    }

    /// The memories that were picked, as they are shown. What is gone meanwhile is not, and what
    /// nothing holds of any more is held back.
    pub(super) fn show(
        &self,
        keeper: &Keeper,
        surfacing: &Surfacing,
        settings: &Settings,
    ) -> Vec<Memory> {
        let read = surfacing.now.iter().filter_map(|pick| {
            let file = self.dir.read(&pick.path).ok()??;
            Some((pick.path.clone(), file.modified, file.text().into_owned()))
        });
        let read: Vec<(SafePath, Millis, String)> = read.collect();
        let all: Vec<_> = read.iter().flat_map(|(_, _, text)| claims(text)).collect();
        let facts = TreeFacts::look(&keeper.system.files, &keeper.places.project_root, &all);
        let caps = Caps {
            lines: super::size(settings.get(keys::RECALL_FILE_LINES)),
            bytes: super::size(settings.get(keys::RECALL_FILE_BYTES)),
        };
        let shown = read.into_iter().filter_map(|(path, modified, text)| {
            let mark = mark(&claims(&text), &facts);
            if mark.showing(Topic::read(&text).kind) == Showing::HeldBack {
                return None;
            }
            let name = self.name(&path);
            let memory = render::Shown {
                path: &name,
                text: &text,
                modified,
                mark: &mark,
            };
            let fragment = render::render(&memory, keeper.now(), caps);
            Some(Memory {
                path,
                name: name.clone(),
                text,
                fragment,
            })
        });
        shown.collect()
    }
}
