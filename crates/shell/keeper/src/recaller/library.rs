//! The memories that a prompt brings in: one function for a session and for a question about one.
//!
//! # Model
//! A [`Library`] is the directories that are recalled from, and the working tree their claims are
//! checked against. [`Library::recall`] ranks, plans, checks and renders; a session puts the
//! outcome into its conversation, a door shows it to a person. Both get the same picks, because
//! there is no second way to make them.
//!
//! A library for a session writes an index where there is none. One for a question writes nothing.
//! One for a hook takes the index as it is, because the client waits for the process.
//!
//! # Not here
//! The small model's choice, the turn, and counting use ([`super::Recaller`]).

use super::budgets;
use super::shelf::{Owner, Shelf, Visit, claims_of};
use crate::keeper::Keeper;
use crate::tree::TreeFacts;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Millis;
use dormouse_engine::{Injection, Seen};
use dormouse_guard::paths::SafePath;
use dormouse_memdir::{MemdirError, MemoryDir, Skipped};
use dormouse_memory::card::Card;
use dormouse_recall::usage::Counts;
use dormouse_recall::verify::{Claim, Mark, mark};
use dormouse_recall::{
    Budgets, CANDIDATES, Ground, Hit, Request, Surfacing, Work, plan, plan_work,
};
use dormouse_system::System;
use std::path::PathBuf;

/// The directories that are recalled from.
#[derive(Clone, Debug)]
pub struct Library {
    pub(super) system: System,
    /// Root of the working tree.
    pub(super) tree: PathBuf,
    pub(super) shelves: Vec<Shelf>,
}

/// A prompt and everything that decides with it.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The user's words, as they were typed.
    pub prompt: &'a str,
    /// Files and commands that the agent worked on before.
    pub work: &'a Work,
    /// Memories that the conversation has already.
    pub seen: &'a Seen,
    /// Memories at most; `None` for the setting `recall.files`, which holds in a session.
    pub most: Option<usize>,
    /// The settings in force.
    pub settings: &'a Settings,
}

/// A memory that goes in, with its text.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The fragment as the conversation gets it.
    pub injection: Injection,
    /// Its file, relative to its directory.
    pub path: SafePath,
    /// The whole text of the file.
    pub text: String,
    /// Outcome of checking its claims.
    pub mark: Mark,
    /// Owner of its directory.
    pub owner: Owner,
}

/// The outcome for one directory.
#[derive(Debug)]
pub struct Brought {
    pub(super) shelf: Shelf,
    /// The ranker's hits, best first.
    pub hits: Vec<Hit>,
    /// Cards of the hits, and of memories with triggers.
    pub cards: Vec<Card>,
    /// The plan, with its reasons.
    pub surfacing: Surfacing,
    /// Memories that go in.
    pub shown: Vec<Shown>,
    /// Picks that are not shown because nothing they name exists any more.
    pub held_back: Vec<SafePath>,
    /// Room for further memories at this moment, in memories.
    pub room: usize,
}

impl Brought {
    /// Owner of the directory.
    pub const fn owner(&self) -> Owner {
        self.shelf.owner
    }

    /// Words of a prompt with their evidence in a memory of this directory.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn grounds(
        &self,
        prompt: &str,
        path: &SafePath,
        now: Millis,
    ) -> Result<Vec<Ground>, MemdirError> {
        self.shelf.grounds(prompt, path, now)
    }

    /// Use of a memory of this directory so far.
    pub fn counts(&self, path: &SafePath) -> Counts {
        self.shelf.counts(path)
    }

    /// Files of the directory that could not be looked at.
    pub fn skipped(&self) -> Vec<Skipped> {
        self.shelf.skipped()
    }

    /// Text of a memory of this directory; `None` if it is gone meanwhile.
    pub fn text_of(&self, path: &SafePath) -> Result<Option<String>, MemdirError> {
        self.shelf.text_of(path)
    }
}

/// The memories that a prompt brings in.
#[derive(Debug, Default)]
pub struct Recollection {
    /// Set where recall is switched off; then nothing was looked at.
    pub switched_off: bool,
    /// One for each directory, in the order in which they are asked.
    pub brought: Vec<Brought>,
    /// Directories that could not be read. A conversation goes on without them.
    pub failed: Vec<MemdirError>,
}

impl Library {
    /// The library of a session: the team's directory only where its folder is trusted.
    pub fn of_session(keeper: &Keeper) -> Self {
        let team = keeper.team.as_ref().filter(|team| team.trusted);
        let team = team.map(|team| (team.dir.clone(), Owner::Team));
        let own = (keeper.memory.clone(), Owner::Person);
        let root = keeper.places.project_root.clone();
        let directories = std::iter::once(own).chain(team);
        Self::new(&keeper.system, root, directories, Visit::Lasting)
    }

    /// A library for a question. Nothing is written, whatever is asked.
    pub fn for_question(
        system: &System,
        tree: PathBuf,
        directories: impl IntoIterator<Item = (MemoryDir, Owner)>,
    ) -> Self {
        Self::new(system, tree, directories, Visit::Once)
    }

    /// A library for a process that is waited for: it asks about folders instead of files, and says
    /// when the index is to be brought up to date.
    pub fn for_hook(
        system: &System,
        tree: PathBuf,
        directories: impl IntoIterator<Item = (MemoryDir, Owner)>,
    ) -> Self {
        Self::new(system, tree, directories, Visit::Brief)
    }

    fn new(
        system: &System,
        tree: PathBuf,
        directories: impl IntoIterator<Item = (MemoryDir, Owner)>,
        visit: Visit,
    ) -> Self {
        let shelf = |(dir, owner)| Shelf::new(dir, owner, visit);
        Self {
            system: system.clone(),
            tree,
            shelves: directories.into_iter().map(shelf).collect(),
        }
    }

    /// The claims of memories, by their texts, checked against the working tree: one walk over it
    /// answers all of them, so that a caller asks once, for the memories it shows.
    pub fn verified(&self, texts: &[&str]) -> Vec<Mark> {
        let claims: Vec<Vec<Claim>> = texts.iter().map(|text| claims_of(text)).collect();
        let all: Vec<Claim> = claims.iter().flatten().cloned().collect();
        let facts = TreeFacts::look(&self.system.files, &self.tree, &all);
        claims.iter().map(|claims| mark(claims, &facts)).collect()
    }

    /// The memories that go in with a prompt, and what became of the others.
    pub fn recall(&self, question: &Question<'_>) -> Recollection {
        let settings = question.settings;
        let mut outcome = Recollection::default();
        if !settings.switch(keys::RECALL).is_on() {
            outcome.switched_off = true;
            return outcome;
        }
        let limits = |taken: usize| {
            let budgets = budgets(settings, taken);
            let files = question.most.map(|most| most.saturating_sub(taken));
            Budgets {
                files: files.unwrap_or(budgets.files),
                ..budgets
            }
        };
        let candidates = CANDIDATES.max(question.most.unwrap_or_default());
        let now = self.system.clock.now();
        let mut shown: Vec<Shown> = Vec::new();
        for shelf in &self.shelves {
            let (hits, cards) = match shelf.find(question.prompt, candidates, now) {
                Ok(found) => found,
                Err(error) => {
                    outcome.failed.push(error);
                    continue;
                }
            };
            let surfacing = plan(&Request {
                prompt: question.prompt,
                hits: &hits,
                cards: &cards,
                work: question.work,
                seen: &shelf.seen(question.seen, &shown),
                budgets: limits(shown.len()),
                today: crate::keeper::day(now),
            });
            let (new, held_back) = shelf.show(&self.system, &self.tree, &surfacing, settings);
            shown.extend(new.iter().cloned());
            outcome.brought.push(Brought {
                shelf: shelf.clone(),
                hits,
                cards,
                surfacing,
                shown: new,
                held_back,
                room: limits(shown.len()).files,
            });
        }
        outcome
    }

    /// Rules that the work at hand calls for go to `shown`, behind those that are there already.
    /// Returns the decisions, one a directory; one that cannot be read has none.
    pub fn called_for(&self, question: &Question<'_>, shown: &mut Vec<Shown>) -> Vec<Surfacing> {
        let mut decided = Vec::new();
        for shelf in &self.shelves {
            let Ok(cards) = shelf.with_triggers() else {
                continue;
            };
            let surfacing = plan_work(&Request {
                prompt: question.prompt,
                hits: &[],
                cards: &cards,
                work: question.work,
                seen: &shelf.seen(question.seen, shown),
                budgets: budgets(question.settings, shown.len()),
                today: crate::keeper::day(self.system.clock.now()),
            });
            let (new, _) = shelf.show(&self.system, &self.tree, &surfacing, question.settings);
            shown.extend(new);
            decided.push(surfacing);
        }
        decided
    }

    /// Rules and pinned memories that hold today, by owner and path. Only a library for a hook knows
    /// them without reading every card.
    pub fn standing(&self) -> Vec<(Card, Owner)> {
        let today = crate::keeper::day(self.system.clock.now());
        let mut standing = Vec::new();
        for shelf in &self.shelves {
            // A directory that cannot be read has nothing to say.
            let cards = shelf.standing().unwrap_or_default().into_iter();
            let cards = cards.filter(|card| card.is_trusted() && !card.is_over(today));
            standing.extend(cards.map(|card| (card, shelf.owner)));
        }
        standing
    }

    /// True if an index has to be brought up to date and this caller is the one to see to it.
    pub fn wants_refresher(&self) -> bool {
        // Each directory is asked: a refresher brings all of them up to date.
        let wanted = self.shelves.iter().filter(|shelf| shelf.wants_refresher());
        wanted.count() > 0
    }
}
