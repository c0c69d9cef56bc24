//! Text of boundaries by reference: lines that are written once and named from then on.
//!
//! # Model
//! Two boundaries of a session share most of their text: the user's messages, the evidence, the
//! files that were restored. So a boundary holds only the lines that no live boundary before it
//! has ([`super::Boundary::text`]), and each of its blocks is a list of runs of such lines
//! ([`super::Boundary::spliced`]). A run names the record that wrote its lines first, never one
//! that refers to them itself: a block needs the records it names and no others, however many
//! boundaries there are.
//!
//! # Not here
//! Which lines are referred to, and putting blocks together: `dormouse-context` (`splice.rs`).

use crate::id::Seq;
use serde::{Deserialize, Serialize};

/// Successive lines of one boundary's text; on disk an array of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRun(
    /// Boundary that wrote the lines first.
    pub Seq,
    /// Number of the first line in its text, from 0.
    pub u32,
    /// Number of lines, at least 1.
    pub u32,
);

impl LineRun {
    /// Lines of the run among those of its record; `None` if the record has not so many.
    pub fn of<'a>(&self, text: &'a [String]) -> Option<&'a [String]> {
        let first = usize::try_from(self.1).ok()?;
        let count = usize::try_from(self.2).ok()?;
        text.get(first..first.checked_add(count)?)
    }
}
