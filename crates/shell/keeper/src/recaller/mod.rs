//! Memories brought into a conversation.
//!
//! # Model
//! A [`Recaller`] is the companion of a session. With the user's prompt it ranks all memories and
//! puts in what it is sure of; rules that the work at hand triggers come first. What it is not sure
//! of, a small model may choose from, beside the conversation: its choice goes in with the next tool
//! results, or not at all. What goes in is checked against the working tree and shown as data.
//!
//! It never holds the conversation up: without a model, with a slow one, with a broken directory or
//! a slow disk, the request leaves without what is missing.
//!
//! # Not here
//! Ranking, and which memories go in with which reasons: `dormouse-recall`.

mod select;
mod shelf;

use crate::keeper::Keeper;
use dormouse_core::settings::{Settings, keys};
use dormouse_engine::{Companion, HookFuture, Injection, Seen, ToolCall};
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_recall::usage::{Aftermath, Event, detect, encode_event};
use dormouse_recall::{
    Budgets, CANDIDATES, CONFIDENT, Hit, Request, Surfacing, Work, plan, plan_selected, plan_work,
};
use dormouse_system::Access;
use select::Selection;
use serde_json::Value;
use shelf::Shelf;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The conversation waits no longer than this for what the disk has.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A conversation without memories.
static NOTHING_SEEN: dormouse_recall::Seen = dormouse_recall::Seen {
    surfaced: BTreeSet::new(),
    bytes: 0,
    read: BTreeSet::new(),
};

/// What happened to memories, in the private directory's own folder.
const USAGE: &str = ".cache/usage.jsonl";

/// The companion of a session that brings memories in.
#[derive(Clone, Debug)]
pub struct Recaller {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    keeper: Arc<Keeper>,
    /// The directories that are recalled from: the team's only where its folder is trusted.
    shelves: Vec<Shelf>,
    turn: Mutex<Turn>,
}

/// What is known within a turn.
#[derive(Debug, Default)]
struct Turn {
    /// Which turn it is; what belongs to an earlier one comes too late.
    number: u64,
    prompt: String,
    work: Work,
    /// The small model's choices, one a directory, as far as they are.
    selections: Vec<Selection>,
    /// What was decided in this turn, for people.
    last: Option<Surfacing>,
    /// Memories of this turn with their text, to see whether they were of use.
    shown: Vec<(SafePath, String)>,
    calls: Vec<String>,
}

/// A memory that goes in, with its text.
struct Shown {
    injection: Injection,
    path: SafePath,
    text: String,
    /// It lies in the directory whose usage is counted.
    counted: bool,
}

/// What was found for a prompt.
struct Found {
    shelf: Shelf,
    hits: Vec<Hit>,
    cards: Vec<Card>,
}

impl Recaller {
    /// The companion of one session.
    pub fn new(keeper: Arc<Keeper>) -> Self {
        let team = keeper.team.as_ref().filter(|team| team.trusted);
        let team = team.map(|team| Shelf::new(team.dir.clone()));
        let own = Shelf::new(keeper.memory.clone());
        let shelves = std::iter::once(own).chain(team).collect();
        let turn = Mutex::default();
        Self {
            inner: Arc::new(Inner {
                keeper,
                shelves,
                turn,
            }),
        }
    }

    /// What was decided in this turn, with the reasons.
    pub fn last(&self) -> Option<Surfacing> {
        self.inner.turn().last.clone()
    }

    /// The answer is there: notes which of the memories shown were of use. Ranking and forgetting
    /// are fed by it.
    pub fn answered(&self, answer: &str) {
        let (shown, prompt, calls) = {
            let mut turn = self.inner.turn();
            // Taken: an answer counts once.
            let shown = std::mem::take(&mut turn.shown);
            (shown, turn.prompt.clone(), turn.calls.clone())
        };
        let now = self.inner.keeper.now();
        let after = Aftermath {
            query: &prompt,
            before: "",
            answer,
            calls: &calls,
        };
        let mut lines = String::new();
        for (path, text) in &shown {
            lines.push_str(&encode_event(path, Event::Surfaced, now));
            if let Some(event) = detect(path, text, &after) {
                lines.push_str(&encode_event(path, event, now));
            }
        }
        if !lines.is_empty() {
            self.inner.note_usage(&lines);
        }
    }
}

impl Companion for Recaller {
    fn on_prompt(&self, prompt: &str, seen: Seen) -> HookFuture<Vec<Injection>> {
        let inner = Arc::clone(&self.inner);
        let number = {
            let mut turn = inner.turn();
            turn.number += 1;
            prompt.clone_into(&mut turn.prompt);
            turn.selections.clear();
            turn.last = None;
            turn.shown.clear();
            turn.calls.clear();
            turn.number
        };
        beside(inner, number, move |inner| inner.prompted(number, &seen))
    }

    fn on_results(&self, calls: &[ToolCall], seen: Seen) -> HookFuture<Vec<Injection>> {
        let inner = Arc::clone(&self.inner);
        let (number, moved) = {
            let mut turn = inner.turn();
            let before = turn.work.clone();
            for call in calls {
                let input = input_of(call);
                turn.calls.push(format!("{} {input}", call.tool));
                turn.work.add_call(&call.tool, &input);
            }
            (turn.number, turn.work != before)
        };
        beside(inner, number, move |inner| inner.worked(&seen, moved))
    }

    fn on_end(&self) {
        // What the small model has not said by now comes too late: it was not shown and does not
        // count as shown.
        let mut turn = self.inner.turn();
        turn.number += 1;
        turn.selections.clear();
        let inner = Arc::clone(&self.inner);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || inner.shelves.iter().for_each(Shelf::refresh));
        }
    }
}

/// Looks at disks where it holds nobody up. What takes too long does not go in and does not count as
/// shown; a panic is no memory.
fn beside(
    inner: Arc<Inner>,
    number: u64,
    look: impl FnOnce(&Inner) -> Vec<Shown> + Send + 'static,
) -> HookFuture<Vec<Injection>> {
    Box::pin(async move {
        let looking = Arc::clone(&inner);
        let looked = tokio::task::spawn_blocking(move || look(&looking));
        let Ok(Ok(shown)) = tokio::time::timeout(LONGEST_WAIT, looked).await else {
            return Vec::new();
        };
        let mut turn = inner.turn();
        if turn.number != number {
            return Vec::new();
        }
        let mut injections = Vec::with_capacity(shown.len());
        for memory in shown {
            if memory.counted {
                turn.shown.push((memory.path, memory.text));
            }
            injections.push(memory.injection);
        }
        injections
    })
}

/// The input of a call; null if it is none.
fn input_of(call: &ToolCall) -> Value {
    let block: Value = serde_json::from_slice(call.block.bytes()).unwrap_or_default();
    block.get("input").cloned().unwrap_or_default()
}

impl Inner {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What goes in with the prompt; the small model is asked about the rest.
    fn prompted(&self, number: u64, seen: &Seen) -> Vec<Shown> {
        let settings = self.keeper.settings();
        if !settings.switch(keys::RECALL).is_on() {
            return Vec::new();
        }
        let (prompt, work) = {
            let turn = self.turn();
            (turn.prompt.clone(), turn.work.clone())
        };
        let mut shown = Vec::new();
        for found in self.find(&prompt) {
            let before = found.shelf.seen(seen, &shown);
            let request = Request {
                prompt: &prompt,
                hits: &found.hits,
                cards: &found.cards,
                work: &work,
                seen: &before,
                budgets: budgets(&settings, shown.len()),
                today: self.keeper.today(),
            };
            let surfacing = plan(&request);
            shown.extend(self.show(&found.shelf, &surfacing, &settings));
            let room = budgets(&settings, shown.len()).files;
            if let Some(selection) = self.ask_selector(found, surfacing, &prompt, room) {
                let mut turn = self.turn();
                if turn.number == number {
                    turn.selections.push(selection);
                }
            }
        }
        shown
    }

    /// What goes in with tool results: rules for the work, and the small model's choice.
    fn worked(&self, seen: &Seen, moved: bool) -> Vec<Shown> {
        let settings = self.keeper.settings();
        if !settings.switch(keys::RECALL).is_on() {
            return Vec::new();
        }
        let (prompt, work, ready) = {
            let mut turn = self.turn();
            let ready: Vec<Selection> = turn
                .selections
                .extract_if(.., Selection::is_ready)
                .collect();
            (turn.prompt.clone(), turn.work.clone(), ready)
        };
        let mut shown = Vec::new();
        let request = |shown: &[Shown]| Request {
            prompt: &prompt,
            hits: &[],
            cards: &[],
            work: &work,
            seen: &NOTHING_SEEN,
            budgets: budgets(&settings, shown.len()),
            today: self.keeper.today(),
        };
        for selection in ready {
            let (shelf, cards, selected) = selection.into_parts();
            let request = Request {
                cards: &cards,
                seen: &shelf.seen(seen, &shown),
                ..request(&shown)
            };
            let surfacing = plan_selected(&request, &selected);
            shown.extend(self.show(&shelf, &surfacing, &settings));
        }
        let shelves = if moved {
            self.shelves.clone()
        } else {
            Vec::new()
        };
        for shelf in shelves {
            let Ok(cards) = shelf.with_triggers() else {
                continue;
            };
            let request = Request {
                cards: &cards,
                seen: &shelf.seen(seen, &shown),
                ..request(&shown)
            };
            let surfacing = plan_work(&request);
            shown.extend(self.show(&shelf, &surfacing, &settings));
        }
        shown
    }

    fn find(&self, prompt: &str) -> Vec<Found> {
        let now = self.keeper.now();
        let found = self.shelves.clone().into_iter().filter_map(|shelf| {
            // A directory that cannot be read has nothing to say; the commands tell why.
            let (hits, cards) = shelf.find(prompt, CANDIDATES, now).ok()?;
            Some(Found { shelf, hits, cards })
        });
        found.collect()
    }

    /// Checks and renders what was picked, and notes the decision.
    fn show(&self, shelf: &Shelf, surfacing: &Surfacing, settings: &Settings) -> Vec<Shown> {
        let shown = shelf.show(&self.keeper, surfacing, settings);
        let mut turn = self.turn();
        let last = turn.last.get_or_insert_default();
        last.skipped = surfacing.skipped;
        last.now.extend(surfacing.now.iter().cloned());
        last.candidates.clone_from(&surfacing.candidates);
        last.left_out.extend(surfacing.left_out.iter().cloned());
        shown
    }

    fn ask_selector(
        &self,
        found: Found,
        surfacing: Surfacing,
        prompt: &str,
        most: usize,
    ) -> Option<Selection> {
        if surfacing.candidates.is_empty() {
            return None;
        }
        select::ask(&self.keeper, found, surfacing.candidates, prompt, most)
    }

    fn note_usage(&self, lines: &str) {
        // Figures that cannot be written are lost; memories are not.
        let root = self.keeper.memory.root();
        let files = &self.keeper.system.files;
        let append = || -> dormouse_system::FileResult<()> {
            files.create_dir_all(&root.join(".cache"), Access::Private)?;
            let handle = files.beneath(root)?;
            handle
                .append(Path::new(USAGE), Access::Private)?
                .append(lines.as_bytes())
        };
        let _noted = append();
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The limits, where some memories go in already at this moment.
fn budgets(settings: &Settings, taken: usize) -> Budgets {
    Budgets {
        files: size(settings.get(keys::RECALL_FILES)).saturating_sub(taken),
        candidates: CANDIDATES,
        file_lines: size(settings.get(keys::RECALL_FILE_LINES)),
        file_bytes: size(settings.get(keys::RECALL_FILE_BYTES)),
        session_bytes: settings.get(keys::RECALL_SESSION_BYTES),
        confidence: CONFIDENT,
    }
}
