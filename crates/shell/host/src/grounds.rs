//! Grounds of an answer of recall: what speaks for a memory, and what against it.
//!
//! # Not here
//! The weights themselves (`dormouse-recall`).

use dormouse_core::units::Millis;
use dormouse_keeper::recaller::Brought;
use dormouse_memdir::MemdirError;
use dormouse_memory::card::Card;
use dormouse_recall::triggers::matching;
use dormouse_recall::{Asked, Ground, Work};
use serde::Serialize;

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Everything that decided about one memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grounds {
    /// Words of the question that tell something, with their weight and the word found for each.
    pub words: Vec<Ground>,
    /// Sorts of things that are asked for, and whether the memory tells them.
    pub asked: Vec<AskedFor>,
    /// Work that calls for the memory, if the session did some.
    pub trigger: Option<String>,
    /// Use of the memory in earlier sessions.
    pub usage: UseSoFar,
    /// Days since it was said.
    pub age_days: i64,
    /// Time of the last check that was written down.
    pub verified: Option<String>,
    /// Least confidence with which a memory goes in.
    pub threshold: f32,
}

/// Sort of thing that a question asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskedFor {
    /// Sort of thing, in words for people.
    pub what: &'static str,
    /// True if the memory tells such a thing.
    pub told: bool,
}

/// Use of a memory so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UseSoFar {
    /// Times it was shown.
    pub shown: u32,
    /// Times its words turned up in an answer, or it was named there.
    pub used: u32,
    /// Times the user called it useful.
    pub useful: u32,
    /// Times the user called it wrong.
    pub wrong: u32,
}

/// Grounds for or against a memory of a directory.
pub(crate) fn grounds(
    found: &Brought,
    card: &Card,
    (prompt, work): (&str, &Work),
    now: Millis,
) -> Result<Grounds, MemdirError> {
    let counts = found.counts(&card.path);
    let triggered = matching(work, std::slice::from_ref(card));
    let asked = Asked::of(prompt).told(card).into_iter();
    Ok(Grounds {
        words: found.grounds(prompt, &card.path, now)?,
        asked: asked.map(|(what, told)| AskedFor { what, told }).collect(),
        trigger: triggered.first().map(|found| found.by.to_string()),
        usage: UseSoFar {
            shown: counts.surfaced,
            used: counts.used.saturating_add(counts.cited),
            useful: card.useful,
            wrong: card.wrong,
        },
        age_days: (now.0.saturating_sub(card.said.0) / DAY).max(0),
        verified: card.verified.map(|at| at.to_string()),
        threshold: dormouse_recall::CONFIDENT,
    })
}
