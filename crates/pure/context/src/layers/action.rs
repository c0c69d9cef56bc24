//! What the planner answers.

use crate::breaker::{Allowed, Breaker};
use crate::clear::Selection;
use crate::window::Relief;
use dormouse_core::id::RecordId;
use dormouse_core::record::Trigger;
use dormouse_core::units::Tokens;

/// The next thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Clear these results.
    Clear(Selection),
    /// Compact.
    Compact {
        /// What it is for.
        trigger: Trigger,
        /// What may be tried.
        allowed: Allowed,
        /// What the policy lets stay of the tail, where it decides that by figures.
        keep: Option<Tokens>,
    },
    /// Have the provider compact: a local rewrite would have to wait.
    CompactByProvider {
        /// What it is for.
        trigger: Trigger,
    },
    /// Update the notes.
    UpdateNotes,
    /// Write down that compaction cannot help.
    OpenBreaker(Breaker),
}

/// What one layer thought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consideration {
    /// The layer.
    pub layer: &'static str,
    /// Whether it wants to act.
    pub acts: bool,
    /// Why, or why not.
    pub why: String,
}

/// The plan.
#[derive(Clone, Debug, PartialEq)]
pub struct LayersPlan {
    /// The head it was made for.
    pub head: Option<RecordId>,
    /// What to do.
    pub action: Option<Action>,
    /// What every layer thought, in order.
    pub considered: Vec<Consideration>,
    /// Whether compaction can still make room.
    pub relief: Relief,
    /// Where the economic policy will tidy up next.
    pub next_tidy_up: Option<Tokens>,
    /// The size the economic policy aims at after this plan. The session records it whenever it
    /// differs from the recorded one and passes it to [`LayerState::resumed`] when it resumes.
    ///
    /// [`LayerState::resumed`]: super::LayerState::resumed
    pub in_use: Option<Tokens>,
}
