//! Recall for a person: the memories that a session would be given.
//!
//! # Model
//! The question goes through the library that a session's companion uses
//! ([`dormouse_keeper::recaller::Library`]), so that the picks are the same by construction. Asking
//! writes no file: no index, no counter, no directory.
//!
//! # Not here
//! Searching for words, where nothing is too uncertain to be shown ([`crate::lookup`]).

use crate::error::HostError;
use crate::grounds::grounds;
use crate::host::Host;
use crate::lookup::{Judge, MemoryFound, verified};
use crate::place::Which;
use dormouse_engine::Seen;
use dormouse_guard::paths::SafePath;
use dormouse_keeper::recaller::{Brought, Library, Owner, Question, Recollection};
use dormouse_recall::verify::Mark;
use dormouse_recall::{LeftOut, Reason, Skip, Work};
use serde::Serialize;

/// Reason for a pick that is not shown: a memory about code that is gone would mislead.
const HELD_BACK: &str = "nothing that it names exists any more";

/// Confidence from which a memory without a word of the question counts as near: a fifth of what an
/// answer needs. One that says it in other words alone rarely has more.
const NEARLY: f32 = 0.1;

/// A question about recall.
#[derive(Clone, Debug)]
pub struct RecallQuestion {
    /// The prompt, as the user would write it.
    pub prompt: String,
    /// The directory that is asked; the project's own includes the team's where that is trusted.
    pub which: Which,
    /// Files and commands that the session has worked on before.
    pub work: Work,
    /// Memories at most; `None` for the setting `recall.files`.
    pub most: Option<usize>,
    /// Treatment of the memories that do not go in.
    pub near: Near,
    /// Set if the grounds of each decision are told.
    pub explain: bool,
}

/// Treatment of memories that do not go in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// Others are left out.
    Hide,
    /// The nearest are added, with the reasons against them.
    Show,
}

/// The answer of recall.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recalled {
    /// The prompt that was asked about.
    pub query: String,
    /// Set if no memory goes in.
    pub abstained: bool,
    /// Reason for looking at nothing at all, where there is one.
    pub skipped: Option<String>,
    /// Memories that go in, in this order.
    pub memories: Vec<MemoryFound>,
    /// The nearest of the others, best first.
    pub uncertain: Vec<MemoryFound>,
}

impl Host {
    /// The memories that a session here would be given with a prompt. Nothing is written.
    ///
    /// # Errors
    /// When memory is off, or a directory cannot be read.
    pub fn recall(&self, question: &RecallQuestion) -> Result<Recalled, HostError> {
        let settings = self.settings();
        let library = self.library(&question.which)?;
        let Recollection {
            switched_off,
            brought,
            failed,
        } = library.recall(&Question {
            prompt: &question.prompt,
            work: &question.work,
            // A person asks anew each time; a session would not repeat what it has shown.
            seen: &Seen::default(),
            most: question.most,
            settings: &settings,
        });
        // One unreadable directory fails the whole question: an answer from the other alone would
        // look complete.
        if let Some(error) = failed.into_iter().next() {
            return Err(error.into());
        }
        let judge = Judge::new(self, &question.prompt);
        let mut answer = Recalled {
            query: question.prompt.clone(),
            abstained: true,
            skipped: switched_off.then(|| "recall is switched off (setting `recall`)".to_owned()),
            memories: Vec::new(),
            uncertain: Vec::new(),
        };
        let mut uncertain = Vec::new();
        for found in &brought {
            self.remark_skipped(found.skipped());
            let skip = found.surfacing.skipped.as_ref().map(Skip::to_string);
            answer.skipped = answer.skipped.or(skip);
            let mut certain: Vec<MemoryFound> = picks(found, &judge).collect();
            let mut near = Vec::new();
            if question.near == Near::Show {
                near = others(found, &judge)?;
            }
            if question.explain {
                let all = near.iter_mut().map(|(memory, _)| memory);
                for memory in certain.iter_mut().chain(all) {
                    self.explain(found, question, memory)?;
                }
            }
            answer.memories.extend(certain);
            uncertain.extend(near);
        }
        answer.abstained = answer.memories.is_empty();
        // A memory that neither shares a telling word with the question nor means it by others is
        // not even near.
        let is_nearly = |sure: f32| sure >= NEARLY;
        uncertain.retain(|(memory, _)| {
            !memory.words.is_empty() || memory.confidence.is_some_and(is_nearly)
        });
        if brought.len() > 1 {
            // Scores of two directories cannot be compared.
            uncertain.sort_by(|(a, _), (b, _)| {
                b.confidence
                    .unwrap_or(0.0)
                    .total_cmp(&a.confidence.unwrap_or(0.0))
            });
        }
        // Stable sort: within both groups the order by confidence stays.
        uncertain.sort_by_key(|(memory, _)| memory.over);
        let most = question.most.unwrap_or_else(|| {
            let files = settings.get(dormouse_core::settings::keys::RECALL_FILES);
            usize::try_from(files).unwrap_or(usize::MAX)
        });
        uncertain.truncate(most);
        answer.uncertain = verified(&library, uncertain);
        Ok(answer)
    }

    /// Adds the grounds of a decision.
    fn explain(
        &self,
        found: &Brought,
        question: &RecallQuestion,
        memory: &mut MemoryFound,
    ) -> Result<(), HostError> {
        let card = found
            .cards
            .iter()
            .find(|card| card.path.as_str() == memory.path);
        if let Some(card) = card {
            let asked = (question.prompt.as_str(), &question.work);
            memory.grounds = Some(Box::new(grounds(found, card, asked, self.now())?));
        }
        Ok(())
    }

    /// The directories that a question looks at, those that exist.
    fn library(&self, which: &Which) -> Result<Library, HostError> {
        let found = self.find(which)?;
        let owner = if *which == Which::Team {
            Owner::Team
        } else {
            Owner::Person
        };
        let own = found.existing()?.map(|dir| (dir, owner));
        let team = self.trusted_team(&found).map(|dir| (dir, Owner::Team));
        let root = self.places().project.root.clone();
        let directories = own.into_iter().chain(team);
        Ok(Library::for_question(self.system(), root, directories))
    }
}

fn picks<'a>(found: &'a Brought, judge: &'a Judge<'_>) -> impl Iterator<Item = MemoryFound> + 'a {
    found.shown.iter().filter_map(|shown| {
        let card = found.cards.iter().find(|card| card.path == shown.path)?;
        let pick = found.surfacing.now.iter();
        let why = pick
            .filter(|pick| pick.path == shown.path)
            .map(|pick| &pick.why);
        let mut memory = judge.judge(card, &shown.text, shown.mark.clone(), found.owner());
        memory.ranked(found.hits.iter().find(|hit| hit.path == shown.path));
        memory.why = why.map(ToString::to_string).next();
        Some(memory)
    })
}

/// Memories that were looked at and do not go in, best first, with their texts. Their claims are not
/// checked yet.
fn others(found: &Brought, judge: &Judge<'_>) -> Result<Vec<(MemoryFound, String)>, HostError> {
    let is_shown = |path: &SafePath| found.shown.iter().any(|shown| shown.path == *path);
    let mut others = Vec::new();
    for hit in found.hits.iter().filter(|hit| !is_shown(&hit.path)) {
        let card = found.cards.iter().find(|card| card.path == hit.path);
        let (Some(card), Some(text)) = (card, found.text_of(&hit.path)?) else {
            continue;
        };
        let mut memory = judge.judge(card, &text, Mark::Unverifiable, found.owner());
        memory.ranked(Some(hit));
        memory.why = Some(against(found, &hit.path, hit.confidence));
        others.push((memory, text));
    }
    Ok(others)
}

/// The reason why a memory does not go in.
fn against(found: &Brought, path: &SafePath, confidence: f32) -> String {
    if found.held_back.contains(path) {
        return HELD_BACK.to_owned();
    }
    let mut left_out = found.surfacing.left_out.iter();
    match left_out.find(|left| left.path == *path) {
        Some(LeftOut { reason, .. }) => reason.to_string(),
        // Not named among those left out: its confidence was below the bar.
        None => Reason::Unsure { confidence }.to_string(),
    }
}
