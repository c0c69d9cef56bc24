//! Length limits of the notes, and the sections that exceed them.
//!
//! The file is never cut: a section that has grown too long is named to the next update, which
//! shortens it knowing its content. If the notes as a whole are too long though no section is, the
//! longest sections are named: the room is divided so that short sections keep all they have.
//!
//! Not here: cutting notes that serve as a summary ([`super::summary`]).

use super::document::Notes;
use crate::tokens::estimate;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;

/// Length limits of the notes, from the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most tokens of one section's body (`notes.section_limit`).
    pub section: Tokens,
    /// Most tokens of the whole file (`notes.total_limit`).
    pub total: Tokens,
}

/// A section that exceeds its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Title of the section.
    pub title: String,
    /// Estimated tokens of its body.
    pub tokens: Tokens,
    /// Tokens it should be shortened to.
    pub limit: Tokens,
}

/// Sections that should become shorter, in file order.
pub fn over_limit(notes: &Notes, limits: Limits, bytes: BytesPerToken) -> Vec<Excess> {
    let sizes: Vec<Tokens> = notes
        .sections()
        .map(|(_, body)| tokens_of(body, bytes))
        .collect();
    // The frame cannot be shortened, so only the rest is shared out.
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

/// Estimated tokens of a text, uncalibrated.
pub(super) fn tokens_of(text: &str, bytes: BytesPerToken) -> Tokens {
    estimate(Block::text(text).weight(), bytes)
}

/// Largest limit under which all sizes, clamped to it, fit into `room` (max-min fair share).
pub(super) fn shared(sizes: &[Tokens], room: Tokens) -> Tokens {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut left = room;
    for (index, &size) in sizes.iter().enumerate() {
        let share = left.get() / (sizes.len() - index) as u64;
        // Sizes ascend: from the first that exceeds its share on, all are held to it.
        if size.get() > share {
            return Tokens(share);
        }
        left = left - size;
    }
    Tokens(u64::MAX)
}
