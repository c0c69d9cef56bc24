//! Extraction without a model: statements made in so many words.
//!
//! # Model
//! Each sentence that the user asserts is compared with a table of cues ([`Cue`]): wishes to be
//! remembered, standing rules, facts about the speaker, corrections, confirmations, dates,
//! decisions with their reason, places of things. A sentence that fits becomes a memory in the
//! user's own words.
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
mod shape;
mod triggers;

pub use cues::Cue;
pub(super) use triggers::triggers_for;

use super::never;
use super::sentence::{Sense, Sentence, sentences};
use super::span::Span;
use crate::snapshot::Snapshot;
use crate::write::{NewMemory, Placement, place};
use cues::Hit;

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
        let sentences = sentences(&span.text);
        let mut in_task = false;
        let mut rest = sentences.iter().peekable();
        let mut lead = None;
        while let Some(sentence) = rest.next() {
            let led = std::mem::replace(&mut lead, cues::lead(sentence));
            if sentence.sense != Sense::Asserted {
                continue;
            }
            let found_here = cues::find(sentence, in_task, led);
            // Sentences behind a task may be parts of it.
            in_task |= cues::gives_a_task(sentence);
            let Some(hit) = found_here else {
                continue;
            };
            // A reason belongs to its rule; alone it would be a memory without a subject.
            let reason = rest.next_if(|next| gives_a_reason(next));
            let memory = shape::memory(&hit, reason.map(|next| next.text.as_str()), span);
            // People repeat a rule within a conversation; it is proposed once.
            let fresh = |other: &Proposal| other.memory.description != memory.description;
            let wanted = is_wanted(&hit, &memory, known);
            if wanted && found.iter().all(fresh) && is_new(snapshot, &memory) {
                found.push(Proposal {
                    memory,
                    cue: hit.cue,
                    words: sentence.text.clone(),
                });
            }
        }
    }
    found
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
