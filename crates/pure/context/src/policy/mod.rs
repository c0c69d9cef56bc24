//! Policies: when to forget, and how.
//!
//! # Model
//! A session gets a [`Policy`] when it is opened. Each method takes facts and returns a verdict
//! with its reason, also for doing nothing. The planners call it and add the rules that hold under
//! every policy (switches, breaker, bound thinking). [`Classic`] has fixed thresholds, [`Economic`]
//! weighs the cost of carrying the context against the cost of forgetting.
//!
//! # Responsibilities
//! The trait, its facts and verdicts, and the two policies that the settings can name.
//!
//! # Not here
//! The planners ([`crate::layers`], [`crate::offload`], [`crate::clear`]), the settings table, and
//! policies that exist for comparison only (`dormouse-replay`).

mod classic;
mod economic;
mod facts;
mod rule;

#[cfg(test)]
mod tests;

pub use classic::Classic;
pub use economic::Economic;
pub use facts::Facts;
pub use rule::{Carry, CompactRule, Keep, NewestRounds, Stays, Unsent};

use crate::clear::ClearVerdict;
use crate::compaction::CompactSettings;
use crate::economy::Outlook;
use crate::notes;
use crate::offload::{OffloadPlan, Round};
use dormouse_core::record::Trigger;
use dormouse_core::settings;
use dormouse_core::units::Tokens;
use std::fmt;
use std::sync::Arc;

/// When to forget, and how. A method without an implementation leaves the conversation as it is.
pub trait Policy: fmt::Debug + Send + Sync {
    /// Name in settings, records and reports.
    fn name(&self) -> &'static str;

    /// Offload decision for each tool result of a round, in order.
    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        round.whole()
    }

    /// Old tool results to clear now.
    fn clear(&self, _facts: &Facts<'_>) -> ClearVerdict {
        ClearVerdict::Leave {
            reason: "the policy does not clear".to_owned(),
        }
    }

    /// Verdict on a compaction at this moment.
    fn compact(&self, _facts: &Facts<'_>) -> CompactVerdict {
        CompactVerdict::Leave {
            reason: "the policy does not compact".to_owned(),
        }
    }

    /// Verdict on an update of the session notes at this moment.
    fn notes(&self, _facts: &Facts<'_>) -> notes::NotesVerdict {
        notes::NotesVerdict::No {
            reason: "the policy keeps no notes".to_owned(),
        }
    }

    /// Shape of a compaction, whether it is due, asked for by the user or forced by the provider.
    /// `keep` is the budget of [`CompactVerdict::Due`], if there was one.
    fn compaction(&self, settings: &CompactSettings, keep: Option<Tokens>) -> CompactRule;

    /// True if a prompt that the provider refuses as too long is compacted and sent again. A policy
    /// that returns false loses the session at that point.
    fn recovers(&self) -> bool {
        true
    }

    /// Requests expected before the next compaction or the end, for policies that distil answered
    /// results; `None` keeps them whole.
    fn requests_ahead(&self, _facts: &Facts<'_>) -> Option<f64> {
        None
    }

    /// True if the results of a round that does not fit the window are cut before it is sent. A
    /// policy that returns false loses the session at that point.
    fn fits_rounds(&self) -> bool {
        false
    }

    /// Arithmetic behind the verdicts, for policies with a cost model. The planner passes its size
    /// in use back with the next facts.
    fn outlook(&self, _facts: &Facts<'_>) -> Option<Outlook> {
        None
    }
}

/// Answer to whether a compaction is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactVerdict {
    /// Due now, unless a rule outside the policy forbids it.
    Due {
        /// Cause to record in the boundary.
        trigger: Trigger,
        /// Budget of kept tail and restored files in tokens; `None` leaves it to the settings.
        keep: Option<Tokens>,
        /// Figures that made it due, for the log and for explanations.
        reason: String,
    },
    /// No compaction is due.
    Leave {
        /// Figures that it was compared with.
        reason: String,
    },
}

/// Policy that a setting names.
pub fn of(choice: settings::Policy) -> Arc<dyn Policy> {
    match choice {
        settings::Policy::Classic => Arc::new(Classic),
        settings::Policy::Economic => Arc::new(Economic),
    }
}
