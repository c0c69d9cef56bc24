//! Recall of memories into a conversation.
//!
//! # Model
//! A [`Recaller`] is the companion of a session. With the user's prompt it ranks all memories and
//! shows those above the bar; rules that the work at hand triggers come first. From the others a
//! small model may choose, beside the conversation: its choice goes in with the next tool results,
//! or not at all. Shown memories are checked against the working tree and shown as data.
//!
//! It never holds the conversation up: without a model, with a slow one, with a broken directory or
//! a slow disk, the request leaves without the missing memories.
//!
//! # Not here
//! Ranking, and the plan with its reasons: `dormouse-recall`.

mod library;
mod select;
mod shelf;

pub use library::{Brought, Library, Question, Recollection, Shown};
pub use shelf::{Owner, uses};
pub(crate) use shelf::{book, claims_of};

use crate::figures::{self, Figure};
use crate::keeper::Keeper;
use dormouse_core::record::{FoldedState, StateChange};
use dormouse_core::settings::{Settings, keys};
use dormouse_engine::{Companion, HookFuture, Injection, Recorder, Seen, ToolCall};
use dormouse_guard::paths::SafePath;
use dormouse_recall::usage::{Aftermath, Event, detect, encode_event};
use dormouse_recall::{
    Budgets, CANDIDATES, CONFIDENT, Request, Skip, Surfacing, Work, plan_selected,
};
use dormouse_system::Access;
use select::Selection;
use serde_json::Value;
use shelf::{Shelf, USAGE};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Name of the fact that the user wants memory to be ignored.
const IGNORED_FACT: &str = "memory.ignored";
/// Timeout of a look at the disk. A scan takes milliseconds; a user notices a second.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Conversation that has no memories yet.
static NOTHING_SEEN: dormouse_recall::Seen = dormouse_recall::Seen {
    surfaced: BTreeSet::new(),
    bytes: 0,
    read: BTreeSet::new(),
};

/// Companion of a session that shows memories.
#[derive(Clone, Debug)]
pub struct Recaller {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    keeper: Arc<Keeper>,
    library: Library,
    turn: Mutex<Turn>,
    /// Set once the user has said not to use memory: it holds for the rest of the session.
    ignored: AtomicBool,
    /// Log of the session, in which the wish to ignore memory is kept.
    recorder: OnceLock<Recorder>,
}

/// State of a turn.
#[derive(Debug, Default)]
struct Turn {
    /// Number of the turn; results of an earlier one come too late.
    number: u64,
    prompt: String,
    work: Work,
    /// Choices of the small model, one a directory, as far as they are asked for.
    selections: Vec<Selection>,
    /// Decisions of this turn, for people.
    last: Option<Surfacing>,
    /// Memories of this turn with their text, to detect their use.
    shown: Vec<(SafePath, String)>,
    calls: Vec<String>,
}

impl Recaller {
    /// Companion of one session.
    pub fn new(keeper: Arc<Keeper>) -> Self {
        let library = Library::of_session(&keeper);
        let turn = Mutex::default();
        Self {
            inner: Arc::new(Inner {
                keeper,
                library,
                turn,
                ignored: AtomicBool::new(false),
                recorder: OnceLock::new(),
            }),
        }
    }

    /// Goes on with the state of a session, and keeps in its log what has to outlive the process.
    pub fn attach(&self, recorder: Recorder, state: &FoldedState) {
        let ignored = state.facts.get(IGNORED_FACT) == Some(&Value::Bool(true));
        self.inner.ignored.store(ignored, Ordering::Relaxed);
        let _before = self.inner.recorder.set(recorder);
    }

    /// Decisions of this turn, with the reasons.
    pub fn last(&self) -> Option<Surfacing> {
        self.inner.turn().last.clone()
    }

    /// Records which of the shown memories were of use, once the answer is there. Ranking and
    /// forgetting are fed by it.
    pub fn answered(&self, answer: &str) {
        self.aftermath(answer.to_owned())();
    }

    /// The same in two steps, for a caller that must not wait for the disk: the memories of the turn
    /// are taken at once, because the next prompt forgets them; the function returned looks for
    /// their use and writes.
    pub fn aftermath(&self, answer: String) -> impl FnOnce() + Send + 'static {
        let inner = Arc::clone(&self.inner);
        let (shown, prompt, calls) = {
            let mut turn = inner.turn();
            // Taken, because an answer counts once.
            let shown = std::mem::take(&mut turn.shown);
            (shown, turn.prompt.clone(), turn.calls.clone())
        };
        move || {
            let now = inner.keeper.now();
            let after = Aftermath {
                query: &prompt,
                before: "",
                answer: &answer,
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
                inner.note_usage(&lines);
            }
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
        // A choice that the small model has not made by now comes too late: it was not shown and
        // does not count as shown.
        let mut turn = self.inner.turn();
        turn.number += 1;
        turn.selections.clear();
        let inner = Arc::clone(&self.inner);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || inner.library.shelves.iter().for_each(Shelf::refresh));
        }
    }
}

/// Looks at disks on the blocking pool. On timeout or panic nothing is injected and nothing is
/// recorded as shown.
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
        // The turn ended meanwhile: the result belongs to a prompt that was answered already.
        if turn.number != number {
            return Vec::new();
        }
        let mut injections = Vec::with_capacity(shown.len());
        for memory in shown {
            if memory.owner == Owner::Person {
                turn.shown.push((memory.path, memory.text));
            }
            injections.push(memory.injection);
        }
        injections
    })
}

/// Input of a call; null if it has none.
fn input_of(call: &ToolCall) -> Value {
    let block: Value = serde_json::from_slice(call.block.bytes()).unwrap_or_default();
    block.get("input").cloned().unwrap_or_default()
}

impl Inner {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memories to show with the prompt; the small model is asked about the others.
    fn prompted(&self, number: u64, seen: &Seen) -> Vec<Shown> {
        if self.ignored.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let settings = self.keeper.settings();
        let (prompt, work) = {
            let turn = self.turn();
            (turn.prompt.clone(), turn.work.clone())
        };
        // A directory that cannot be read has nothing to say; the commands tell why.
        let recalled = self.library.recall(&Question {
            prompt: &prompt,
            work: &work,
            seen,
            most: None,
            settings: &settings,
        });
        let mut shown = Vec::new();
        let mut candidates = 0;
        for mut found in recalled.brought {
            self.note(&found.surfacing);
            if found.surfacing.skipped == Some(Skip::ToldToIgnore) {
                self.ignore();
            }
            candidates += found.surfacing.now.len() + found.surfacing.candidates.len();
            shown.append(&mut found.shown);
            if let Some(selection) = self.ask_selector(found, &prompt) {
                let mut turn = self.turn();
                // Asked for a prompt that is no longer the present one.
                if turn.number == number {
                    turn.selections.push(selection);
                }
            }
        }
        if candidates > 0 {
            let figure = Figure {
                at: self.keeper.now(),
                candidates: count(candidates),
                chosen: count(shown.len()),
                ..Figure::default()
            };
            figures::note(&self.keeper.memory, &figure);
        }
        shown
    }

    /// Leaves memory alone from now on, also after a restart.
    fn ignore(&self) {
        let before = self.ignored.swap(true, Ordering::Relaxed);
        if let Some(recorder) = self.recorder.get().filter(|_| !before) {
            recorder.send(StateChange::Fact {
                name: IGNORED_FACT.to_owned(),
                value: Value::Bool(true),
            });
        }
    }

    /// Memories to show with tool results: rules for the work, and the small model's choice.
    fn worked(&self, seen: &Seen, moved: bool) -> Vec<Shown> {
        let settings = self.keeper.settings();
        if !settings.switch(keys::RECALL).is_on() || self.ignored.load(Ordering::Relaxed) {
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
        // Rules were matched against the same work before; matching again would find the same.
        if moved {
            let question = Question {
                prompt: &prompt,
                work: &work,
                seen,
                most: None,
                settings: &settings,
            };
            for surfacing in self.library.called_for(&question, &mut shown) {
                self.note(&surfacing);
            }
        }
        shown
    }

    /// Checks and renders the picked memories, and records the decision.
    fn show(&self, shelf: &Shelf, surfacing: &Surfacing, settings: &Settings) -> Vec<Shown> {
        let Library { system, tree, .. } = &self.library;
        let (shown, _) = shelf.show(system, tree, surfacing, settings);
        self.note(surfacing);
        shown
    }

    fn note(&self, surfacing: &Surfacing) {
        let mut turn = self.turn();
        let last = turn.last.get_or_insert_default();
        last.skipped = surfacing.skipped;
        last.now.extend(surfacing.now.iter().cloned());
        last.candidates.clone_from(&surfacing.candidates);
        last.left_out.extend(surfacing.left_out.iter().cloned());
    }

    fn ask_selector(&self, found: Brought, prompt: &str) -> Option<Selection> {
        if found.surfacing.candidates.is_empty() {
            return None;
        }
        select::ask(&self.keeper, found, prompt)
    }

    fn note_usage(&self, lines: &str) {
        let memory = &self.keeper.memory;
        // Figures that cannot be written are lost; memories are not.
        if memory.make_cache_folder().is_ok() {
            let file = memory.handle().append(Path::new(USAGE), Access::Private);
            let _noted = file.and_then(|mut file| file.append(lines.as_bytes()));
        }
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Limits, with some memories going in already at this moment.
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
