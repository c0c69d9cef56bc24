//! Check of a memory's claims against the working tree.
//!
//! # Model
//! A memory makes concrete claims: that a file, a symbol, a commit, a flag, a host exists.
//! [`claims()`] finds them in its text; [`mark`] asks the working tree about each through the port
//! [`Facts`]. One claim that is gone makes a memory stale; it is shown as such, or held back if
//! nothing of it holds and it is no rule. Only a check that succeeded refreshes a memory
//! ([`refreshed`]); reading it does not.
//!
//! # Not here
//! Looking at the working tree: the shell implements [`Facts`]. Telling files from other words
//! (`files`).

mod claims;

pub use claims::{Claim, ClaimKind, claims};

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::topic::{self, Field, Kind};
use serde::Serialize;

/// Answer of the working tree to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeAnswer {
    /// Found in the working tree.
    Holds,
    /// Looked for and not found.
    Gone,
    /// Not decidable here, such as a commit outside a repository.
    Unknown,
}

/// Questions about the working tree. An implementation that cannot tell answers
/// [`TreeAnswer::Unknown`].
pub trait Facts {
    /// Existence of a file or folder. A bare name may lie anywhere in the tree.
    fn path(&self, path: &str) -> TreeAnswer;
    /// Occurrence of a symbol in the sources.
    fn symbol(&self, symbol: &str) -> TreeAnswer;
    /// Existence of a commit, by its full or short hash.
    fn commit(&self, hash: &str) -> TreeAnswer;
    /// Occurrence of a flag in the sources.
    fn flag(&self, _flag: &str) -> TreeAnswer {
        TreeAnswer::Unknown
    }
    /// Occurrence of a host in the project.
    fn host(&self, _host: &str) -> TreeAnswer {
        TreeAnswer::Unknown
    }
}

/// Result of checking a memory's claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Some claims hold, and none is gone.
    Fresh,
    /// Some claims are gone.
    Stale {
        /// Names of the missing things, as the memory has them.
        gone: Vec<String>,
        /// Number of claims that hold.
        held: usize,
    },
    /// No claim could be checked.
    Unverifiable,
}

/// Way in which a memory is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Showing {
    /// Shown as it is.
    Plain,
    /// Shown with a line that names the missing things.
    Marked,
    /// Held back: nothing of it holds any more.
    HeldBack,
}

/// Checks claims, one lookup each.
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
            TreeAnswer::Holds => held += 1,
            TreeAnswer::Gone => gone.push(claim.text.clone()),
            // Neither for nor against: a tree without history must not make every memory stale.
            TreeAnswer::Unknown => {}
        }
    }
    match (gone.is_empty(), held) {
        // One missing thing is enough: a memory that is half wrong misleads most.
        (false, _) => Mark::Stale { gone, held },
        (true, 0) => Mark::Unverifiable,
        (true, _) => Mark::Fresh,
    }
}

impl Mark {
    /// Way in which a memory of a kind is shown. A rule holds, whatever became of the file it
    /// mentions.
    pub fn showing(&self, kind: Option<Kind>) -> Showing {
        let rule = matches!(kind, Some(Kind::Feedback | Kind::User));
        match self {
            Self::Fresh | Self::Unverifiable => Showing::Plain,
            Self::Stale { held: 0, .. } if !rule => Showing::HeldBack,
            Self::Stale { .. } => Showing::Marked,
        }
    }

    /// True if a dream should look at the memory.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }
}

/// Memories that the next dream should look at, in order and each once.
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

/// File with the time of its check, if the check says that it holds. Otherwise unchanged: a memory
/// that could not be checked is not made younger.
pub fn refreshed(text: &str, mark: &Mark, now: Millis) -> Option<String> {
    (*mark == Mark::Fresh).then(|| topic::edit(text, &[Field::Verified(now)]))
}

#[cfg(test)]
mod tests;
