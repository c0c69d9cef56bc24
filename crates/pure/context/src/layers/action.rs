//! The plan of the layers: one action, and the considerations behind it.

use crate::breaker::{Allowed, Breaker};
use crate::clear::Selection;
use crate::window::Relief;
use dormouse_core::id::RecordId;
use dormouse_core::record::Trigger;
use dormouse_core::units::Tokens;

/// Next action for the session to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Clear these results in one record.
    Clear(Selection),
    /// Run a compaction job.
    Compact {
        /// Cause to record in the boundary.
        trigger: Trigger,
        /// Means that the breaker allows.
        allowed: Allowed,
        /// Budget of kept tail and restored files, if the policy computes one.
        keep: Option<Tokens>,
    },
    /// Let the provider compact, because a local rewrite would have to wait for the turn's end.
    CompactByProvider {
        /// Cause to record in the boundary.
        trigger: Trigger,
    },
    /// Update the session notes.
    UpdateNotes,
    /// Record that compaction cannot help.
    OpenBreaker(Breaker),
}

/// Result of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consideration {
    /// Name of the layer: `clear`, `compact` or `notes`.
    pub layer: &'static str,
    /// True if its action is the plan's action.
    pub acts: bool,
    /// Reason for acting or not.
    pub why: String,
}

/// Answer of the planner.
#[derive(Clone, Debug, PartialEq)]
pub struct LayersPlan {
    /// Head of the log that the plan was made for.
    pub head: Option<RecordId>,
    /// Next action; `None` if nothing is to be done.
    pub action: Option<Action>,
    /// Results of all layers, in order.
    pub considered: Vec<Consideration>,
    /// Ability of compaction to make room, for the gauge.
    pub relief: Relief,
    /// Size at which the economic policy compacts next; shown on screens.
    pub next_tidy_up: Option<Tokens>,
    /// Size that the economic policy aims at after this plan. The session records it whenever it
    /// differs from the recorded one and passes it to [`LayerState::resumed`] when it resumes.
    ///
    /// [`LayerState::resumed`]: super::LayerState::resumed
    pub in_use: Option<Tokens>,
}
