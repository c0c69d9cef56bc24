//! Extraction without a model: statements made in so many words.
//!
//! # Model
//! Each sentence that the user asserts is compared with a table of cues ([`Cue`]): wishes to be
//! remembered, standing rules, facts about the speaker, corrections, confirmations, dates,
//! decisions with their reason, places of things. Most such statements have no cue, and a cue may
//! mean nothing; so the sentence is weighed as well ([`learnt`]). One that a cue marks and the
//! weights do not turn down, or that the weights alone are sure of, becomes a memory in the user's
//! own words.
//!
//! Conservative by order of checks: sorts that are never saved, references to something at hand
//! ("that file", "it"), parts of a task that the same message gives, and sentences too short to
//! mean anything later are left out.
//!
//! # Not here
//! The verdict on a proposal ([`super::judge`]). Understanding: two sentences that need each other
//! are not put together, except a reason that follows its rule.

mod cues;
mod facts;
pub mod learnt;
mod shape;
mod triggers;
mod wishes;

pub use cues::Cue;
pub(super) use triggers::triggers_for;

use super::never;
use super::phrases::Phrases;
use super::sentence::{Sense, Sentence, sentences};
use super::span::Span;
use crate::snapshot::Snapshot;
use crate::topic::Kind;
use crate::write::{NewMemory, Placement, place};
use cues::Hit;
use std::ops::RangeInclusive;

/// Memory that the rules propose.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Memory with origin and trust.
    pub memory: NewMemory,
    /// Cue that the sentence fits.
    pub cue: Cue,
    /// Sentence it was taken from, as it was typed.
    pub words: String,
}

/// Proposals from the user's messages. `known` are the texts of instruction files. Memories that
/// the directory has already are not proposed again.
pub fn extract(spans: &[Span], snapshot: &Snapshot, known: &[&str]) -> Vec<Proposal> {
    let mut found: Vec<Proposal> = Vec::new();
    for span in spans.iter().filter(|span| span.is_users()) {
        for Found { hit, words, reason } in hits(&span.text) {
            let with_reason = shape::memory(&hit, reason.as_deref(), span);
            // The sentence behind may be one that is never kept; the statement before it still is.
            let memory = if is_wanted(&hit, &with_reason, known) {
                with_reason
            } else {
                shape::memory(&hit, None, span)
            };
            // People repeat a rule within a conversation; it is proposed once.
            let fresh = |other: &Proposal| other.memory.description != memory.description;
            let wanted = is_wanted(&hit, &memory, known);
            if wanted && found.iter().all(fresh) && is_new(snapshot, &memory) {
                found.push(Proposal {
                    memory,
                    cue: hit.cue,
                    words,
                });
            }
        }
    }
    found
}

/// Worth below which a cue is taken for chance.
const DOUBTED: f32 = 0.02;
/// Worth from which a sentence without a cue is kept.
const SURE: f32 = 0.5;
/// The same for sentences of which none is kept alone.
const SURE_TOGETHER: f32 = 0.6;
/// The same for what the user asks to remember.
const SURE_IF_ASKED: f32 = 0.25;
/// The same for a sentence that seems to be for the moment only, or a part of a task.
const SURE_THOUGH_FOR_NOW: f32 = 0.8;
/// Worth from which a sentence goes with the one before it that is kept.
const CARRIED: f32 = 0.35;
/// Fewest and most words of a statement that is kept without a cue: fewer say nothing later, more
/// are told, not stated.
const WORDS: RangeInclusive<usize> = 4..=60;

/// Statement of a message.
struct Found {
    hit: Hit,
    /// Sentence as it was typed.
    words: String,
    /// Sentence behind it that gives its reason.
    reason: Option<String>,
}

/// Statements of a message.
fn hits(text: &str) -> Vec<Found> {
    let sentences = sentences(text);
    let mut found = Vec::new();
    let mut in_task = false;
    let mut lead = None;
    let mut rest = sentences.iter().peekable();
    while let Some(sentence) = rest.next() {
        let led = std::mem::replace(&mut lead, cues::lead(sentence));
        let judged = learnt::judge(&sentence.text);
        let hit = match sentence.sense {
            Sense::Asserted => cues::find(sentence, in_task, led)
                .filter(|hit| hit.cue == Cue::Remember || !is_doubted(hit, judged))
                .or_else(|| weighed(&sentence.text, judged, least(sentence, in_task)))
                .or_else(|| wished(&sentence.text)),
            Sense::ForNow => weighed(&sentence.text, judged, SURE_THOUGH_FOR_NOW),
            _ => continue,
        };
        // Sentences behind a task may be parts of it.
        in_task |= cues::gives_a_task(sentence);
        if let Some(hit) = hit {
            // A reason belongs to its rule; alone it would be a memory without a subject.
            let reason = rest.next_if(|next| gives_a_reason(next) || goes_with_it(next));
            found.push(Found {
                hit,
                words: sentence.text.clone(),
                reason: reason.map(|next| next.text.clone()),
            });
        }
    }
    // Two halves that say little alone may say something together.
    let all_asserted = || {
        let mut senses = sentences.iter().map(|sentence| sentence.sense);
        senses.all(|sense| sense == Sense::Asserted)
    };
    if found.is_empty()
        && sentences.len() > 1
        && all_asserted()
        && let Some(hit) = weighed(text.trim(), learnt::judge(text), SURE_TOGETHER)
    {
        found.push(Found {
            words: hit.statement.clone(),
            hit,
            reason: None,
        });
    }
    found
}

/// Worth that a sentence without a cue needs.
fn least(sentence: &Sentence, in_task: bool) -> f32 {
    if in_task || cues::gives_a_task(sentence) {
        SURE_THOUGH_FOR_NOW
    } else {
        SURE
    }
}

/// True if neither the sentence nor the statement in it is worth anything.
fn is_doubted(hit: &Hit, judged: learnt::Judgement) -> bool {
    judged.worth < DOUBTED && learnt::judge(&hit.statement).worth < DOUBTED
}

/// A statement that the weights are sure of.
fn weighed(text: &str, judged: learnt::Judgement, least: f32) -> Option<Hit> {
    let wide = text.chars().filter(|letter| !letter.is_ascii()).count() / 2;
    let fits = WORDS.contains(&Phrases::of(text).count().max(wide));
    let cue = match judged.kind {
        Kind::Feedback => Cue::Rule,
        Kind::User => Cue::Person,
        Kind::Project => Cue::Decision,
        Kind::Reference => Cue::Reference,
    };
    (judged.worth >= least && fits).then(|| Hit {
        cue,
        kind: judged.kind,
        statement: text.to_owned(),
    })
}

/// Content of a wish to be remembered, if it is worth that.
fn wished(text: &str) -> Option<Hit> {
    let about = wishes::about(text)?;
    let hit = weighed(about, learnt::judge(about), SURE_IF_ASKED)?;
    Some(Hit {
        cue: Cue::Remember,
        ..hit
    })
}

fn goes_with_it(sentence: &Sentence) -> bool {
    sentence.sense == Sense::Asserted && learnt::judge(&sentence.text).worth >= CARRIED
}

/// True for a sentence that gives the reason of the one before it.
fn gives_a_reason(sentence: &Sentence) -> bool {
    sentence.sense == Sense::Asserted
        && sentence.words.starts(
            "because|reason|the reason|otherwise|we got|we had|last time|last quarter|last year|\
            that's because|it breaks|it broke|they break|weil|sonst|grund|letztes mal|the last",
        )
}

fn is_wanted(hit: &Hit, memory: &NewMemory, known: &[&str]) -> bool {
    let safe = |text: &str| never::found(text, Some(hit.kind), known).is_none();
    safe(&hit.statement) && safe(&memory.body) && super::injection::found(&memory.body).is_none()
}

fn is_new(snapshot: &Snapshot, memory: &NewMemory) -> bool {
    !matches!(place(snapshot, memory), Placement::Known(_))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
