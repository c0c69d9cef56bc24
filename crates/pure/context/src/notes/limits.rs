//! How long the notes may be, and which sections are too long.
//!
//! Nothing is cut from the file: a section that has grown too long is named to the next update,
//! which shortens it knowing what matters. If the notes as a whole are too long though no section
//! is, the longest sections are named: room is shared so that short sections keep all they have.

use super::document::Notes;
use crate::tokens::estimate;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::settings::NotesSettings;
use dormouse_core::units::Tokens;

/// How long notes may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One section's body.
    pub section: Tokens,
    /// The whole file.
    pub total: Tokens,
}

impl From<&NotesSettings> for Limits {
    fn from(settings: &NotesSettings) -> Self {
        Self {
            section: settings.section_limit,
            total: settings.total_limit,
        }
    }
}

/// A section that is too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The section.
    pub title: String,
    /// How long its body is.
    pub tokens: Tokens,
    /// How long it should be.
    pub limit: Tokens,
}

/// The sections that should become shorter, in the order of the file.
pub fn over_limit(notes: &Notes, limits: Limits, bytes: BytesPerToken) -> Vec<Excess> {
    let sizes: Vec<Tokens> = notes
        .sections()
        .map(|(_, body)| tokens_of(body, bytes))
        .collect();
    let frame = tokens_of(&notes.template().render(), bytes);
    let limit = shared(&sizes, limits.total - frame).min(limits.section);
    let titles = notes.sections().map(|(title, _)| title);
    titles
        .zip(sizes)
        .filter(|(_, tokens)| *tokens > limit)
        .map(|(title, tokens)| Excess {
            title: title.to_owned(),
            tokens,
            limit,
        })
        .collect()
}

/// The estimated tokens of a text.
pub(super) fn tokens_of(text: &str, bytes: BytesPerToken) -> Tokens {
    estimate(Block::text(text).weight(), bytes)
}

/// The greatest size such that all sizes, cut to it, have room together. What short ones leave goes
/// to the longer ones.
pub(super) fn shared(sizes: &[Tokens], room: Tokens) -> Tokens {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut left = room;
    for (index, &size) in sizes.iter().enumerate() {
        let share = left.get() / (sizes.len() - index) as u64;
        if size.get() > share {
            return Tokens(share);
        }
        left = left - size;
    }
    Tokens(u64::MAX)
}
