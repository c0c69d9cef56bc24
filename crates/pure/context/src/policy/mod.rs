//! Policies: when to forget, and how.
//!
//! # Model
//! A [`Policy`] is given to a session when it is opened. Each method takes facts and returns a
//! verdict with its reason, also for doing nothing; the planners ask it and add what holds under
//! every policy (switches, breaker, bound thinking). [`Classic`] has fixed thresholds, [`Economic`]
//! weighs the cost of carrying the context against the cost of forgetting.
//!
//! # Responsibilities
//! The trait, its facts and verdicts, and the two policies that the settings can name.
//!
//! # Not here
//! The planners ([`crate::layers`], [`crate::offload`], [`crate::clear`]), the figures a user may
//! set (the settings table), and policies that exist for comparison only (`dormouse-replay`).

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

/// When to forget, and how. A method that a policy does not implement leaves the conversation as it
/// is.
pub trait Policy: fmt::Debug + Send + Sync {
    /// Name in settings and reports.
    fn name(&self) -> &'static str;

    /// Fates of a round's tool results, in their order.
    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        round.whole()
    }

    /// Old tool results to clear now.
    fn clear(&self, _facts: &Facts<'_>) -> ClearVerdict {
        ClearVerdict::Leave {
            reason: "the policy does not clear".to_owned(),
        }
    }

    /// Whether a compaction is due now.
    fn compact(&self, _facts: &Facts<'_>) -> CompactVerdict {
        CompactVerdict::Leave {
            reason: "the policy does not compact".to_owned(),
        }
    }

    /// Whether the session notes are to be written now.
    fn notes(&self, _facts: &Facts<'_>) -> notes::Verdict {
        notes::Verdict::No {
            reason: "the policy keeps no notes".to_owned(),
        }
    }

    /// Shape of a compaction, whether it is due, asked for by the user or forced by the provider.
    /// `keep` is the budget of [`CompactVerdict::Due`], if there was one.
    fn compaction(&self, settings: &CompactSettings, keep: Option<Tokens>) -> CompactRule;

    /// A prompt that the provider refuses as too long is compacted and sent again. A policy that
    /// says no loses the session there.
    fn recovers(&self) -> bool {
        true
    }

    /// Arithmetic behind the verdicts, of a policy that calculates. The planner passes its size in
    /// use back with the next facts.
    fn outlook(&self, _facts: &Facts<'_>) -> Option<Outlook> {
        None
    }
}

/// Answer to whether a compaction is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactVerdict {
    /// It is.
    Due {
        /// Cause that the boundary records.
        trigger: Trigger,
        /// Tokens that kept tail and restored files may take, of a policy that calculates them.
        keep: Option<Tokens>,
        /// Figures that made it due.
        reason: String,
    },
    /// It is not.
    Leave {
        /// Figures that did not.
        reason: String,
    },
}

/// The policy that the settings name.
pub fn of(choice: settings::Policy) -> Arc<dyn Policy> {
    match choice {
        settings::Policy::Classic => Arc::new(Classic),
        settings::Policy::Economic => Arc::new(Economic),
    }
}
