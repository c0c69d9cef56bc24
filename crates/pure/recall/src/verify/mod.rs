//! Whether what a memory says still holds.
//!
//! # Model
//! A memory makes concrete claims: that a file, a symbol, a commit, a flag, a host exists.
//! [`claims()`] finds them in its text; [`mark`] asks the working tree about each through the port
//! [`Facts`]. One claim that is gone makes a memory stale; it is shown as such, or held back if
//! nothing of it holds and it is no rule. Only a check that succeeded refreshes a memory
//! ([`refreshed`]); reading it does not.
//!
//! # Not here
//! Looking at the working tree: the shell implements [`Facts`].

mod claims;

pub use claims::{Claim, ClaimKind, claims};

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::topic::{self, Field, Kind};
use serde::Serialize;

/// What the working tree says to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is there.
    Holds,
    /// It is not there.
    Gone,
    /// It cannot be told from here.
    Unknown,
}

/// What can be asked about the working tree. Whoever cannot tell says so.
pub trait Facts {
    /// Whether a file or folder exists. A bare name may lie anywhere in the tree.
    fn path(&self, path: &str) -> Answer;
    /// Whether a symbol occurs.
    fn symbol(&self, symbol: &str) -> Answer;
    /// Whether a commit exists.
    fn commit(&self, hash: &str) -> Answer;
    /// Whether a flag occurs.
    fn flag(&self, _flag: &str) -> Answer {
        Answer::Unknown
    }
    /// Whether the project names a host.
    fn host(&self, _host: &str) -> Answer {
        Answer::Unknown
    }
}

/// What became of a memory's claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Some claims hold, and none is gone.
    Fresh,
    /// Some are gone.
    Stale {
        /// Those, as the memory names them.
        gone: Vec<String>,
        /// How many hold.
        held: usize,
    },
    /// Nothing in it could be checked.
    Unverifiable,
}

/// How a memory is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Showing {
    /// As it is.
    Plain,
    /// With a line that says what is gone.
    Marked,
    /// Not at all.
    HeldBack,
}

/// Checks claims.
pub fn mark(claims: &[Claim], facts: &dyn Facts) -> Mark {
    let mut gone = Vec::new();
    let mut held = 0;
    for claim in claims {
        let answer = match claim.kind {
            ClaimKind::Path => facts.path(&claim.text),
            ClaimKind::Symbol => facts.symbol(&claim.text),
            ClaimKind::Commit => facts.commit(&claim.text),
            ClaimKind::Flag => facts.flag(&claim.text),
            ClaimKind::UrlHost => facts.host(&claim.text),
        };
        match answer {
            Answer::Holds => held += 1,
            Answer::Gone => gone.push(claim.text.clone()),
            Answer::Unknown => {}
        }
    }
    match (gone.is_empty(), held) {
        (false, _) => Mark::Stale { gone, held },
        (true, 0) => Mark::Unverifiable,
        (true, _) => Mark::Fresh,
    }
}

impl Mark {
    /// How a memory of a kind is shown. A rule holds whatever became of the file it mentions.
    pub fn showing(&self, kind: Option<Kind>) -> Showing {
        let rule = matches!(kind, Some(Kind::Feedback | Kind::User));
        match self {
            Self::Fresh | Self::Unverifiable => Showing::Plain,
            Self::Stale { held: 0, .. } if !rule => Showing::HeldBack,
            Self::Stale { .. } => Showing::Marked,
        }
    }

    /// Whether a dream should look at the memory.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }
}

/// The memories that the next dream should look at, in order and each once.
pub fn for_dream<'a>(marks: impl IntoIterator<Item = (&'a SafePath, &'a Mark)>) -> Vec<SafePath> {
    let mut stale: Vec<SafePath> = marks
        .into_iter()
        .filter(|(_, mark)| mark.is_stale())
        .map(|(path, _)| path.clone())
        .collect();
    stale.sort();
    stale.dedup();
    stale
}

/// The file with the time of its check, if the check says that it holds.
pub fn refreshed(text: &str, mark: &Mark, now: Millis) -> Option<String> {
    (*mark == Mark::Fresh).then(|| topic::edit(text, &[Field::Verified(now)]))
}

#[cfg(test)]
mod tests;
