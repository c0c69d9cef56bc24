//! The circuit breaker of automatic compaction.
//!
//! # Model
//! Two conditions open it. *Failures*: after a number of consecutive model calls without a usable
//! summary, automatic compaction no longer asks the model; the offline engine still runs. *No
//! progress*: the first prompt measured after a compaction is still above the target, or what can
//! never be removed already is; then nothing is tried until the floor falls, or until the window is
//! full: the offline engine may bring it back to where it was. A successful manual compaction closes
//! both.
//!
//! # Not here
//! The gauge, and telling the user: this is only the state, stored as a fact of the session.

use dormouse_core::record::{FoldedState, StateChange};
use dormouse_core::units::Tokens;
use serde::{Deserialize, Serialize};

/// Name of the fact in the session's state.
const FACT: &str = "breaker";

/// State of the breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Breaker {
    /// Consecutive model calls without a usable summary; reset by one that works.
    pub failures: u64,
    /// Set by a compaction until the next measured prompt shows its effect.
    pub unproven: bool,
    /// Size of the prompt that compaction could not bring below the target. `Some` means open.
    pub stuck_at: Option<Tokens>,
    /// True if the floor alone opened it: prefix and content that no compaction may remove.
    pub floor: bool,
    /// Target that `stuck_at` was compared with, for the message.
    pub target: Tokens,
}

/// Means that an automatic compaction may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// A model call, with the offline engine as fallback.
    Model,
    /// The offline engine only.
    Offline,
    /// None: compaction cannot help.
    Nothing,
}

/// Part that a model had in a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelPart {
    /// The model's summary was used.
    Summarised,
    /// The model was asked and its summary could not be used.
    Failed,
    /// No model was asked (notes, or the breaker forbade it).
    NotAsked,
}

impl Breaker {
    /// Breaker of a session; closed if nothing was recorded.
    pub fn of(state: &FoldedState) -> Self {
        state
            .facts
            .get(FACT)
            .and_then(|value| serde_json::from_value(value.clone()).ok())
            .unwrap_or_default()
    }

    /// State change that records it.
    pub fn record(self) -> StateChange {
        StateChange::Fact {
            name: FACT.to_owned(),
            value: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// Means that an automatic compaction may use; `most_failures` is the setting
    /// `compact.breaker`.
    pub fn allows(self, most_failures: u64) -> Allowed {
        if self.stuck_at.is_some() {
            Allowed::Nothing
        } else if self.failures >= most_failures {
            Allowed::Offline
        } else {
            Allowed::Model
        }
    }

    /// Means at this size of the prompt. A prompt that stayed above the target, and fills the window
    /// only since, can be brought back to where it was: below the limit requests go on. Without
    /// this a session in a small window, whose target and limit lie close together, would end.
    pub fn allows_at(self, used: Tokens, limit: Tokens, most_failures: u64) -> Allowed {
        let was_below = self.stuck_at.is_some_and(|stuck| stuck < limit) && !self.floor;
        match self.allows(most_failures) {
            Allowed::Nothing if was_below && used >= limit => Allowed::Offline,
            allowed => allowed,
        }
    }

    /// Updates after a boundary was written. A compaction without a model call leaves the failures
    /// as they are.
    #[must_use]
    pub fn compacted(self, manual: bool, model: ModelPart) -> Self {
        Self {
            failures: self.failures_after(model),
            unproven: true,
            // A manual success closes the breaker, and so does any if only the floor had opened it.
            // After another automatic one the next measured prompt decides.
            stuck_at: self.stuck_at.filter(|_| !manual && !self.floor),
            floor: false,
            ..self
        }
    }

    /// Updates after an attempt that made nothing smaller. At the target this opens the breaker;
    /// below it (the economic policy tries earlier) it counts only as a failure of the model, if
    /// asked.
    #[must_use]
    pub fn no_progress(self, used: Tokens, target: Tokens, model: ModelPart) -> Self {
        Self {
            failures: self.failures_after(model),
            stuck_at: (used >= target).then_some(used).or(self.stuck_at),
            floor: self.floor && used < target,
            target,
            ..self
        }
    }

    fn failures_after(self, model: ModelPart) -> u64 {
        match model {
            ModelPart::Summarised => 0,
            ModelPart::Failed => self.failures + 1,
            ModelPart::NotAsked => self.failures,
        }
    }

    /// Updates after a measured prompt. Returns the new state if it differs.
    pub fn measured(self, prompt: Tokens, target: Tokens) -> Option<Self> {
        let closed = Self {
            unproven: false,
            ..self.closed()
        };
        match (self.unproven, self.stuck_at) {
            // A compaction was made and did not help: another one would not either.
            (true, _) if prompt >= target => Some(Self {
                unproven: false,
                stuck_at: Some(prompt),
                floor: false,
                target,
                ..self
            }),
            (true, _) => Some(closed),
            // The floor has fallen, or the target has risen.
            (false, Some(_)) if prompt < target => Some(closed),
            (false, _) => None,
        }
    }

    /// Opens the breaker because the floor alone exceeds the target.
    #[must_use]
    pub(crate) fn irreducible(self, floor: Tokens, target: Tokens) -> Self {
        Self {
            stuck_at: Some(floor),
            floor: true,
            target,
            ..self
        }
    }

    /// Closes a breaker that only the floor had opened, once the floor fits below the target.
    #[must_use]
    pub(crate) fn with_floor(self, floor: Tokens, target: Tokens) -> Self {
        if self.floor && floor <= target {
            self.closed()
        } else {
            self
        }
    }

    fn closed(self) -> Self {
        Self {
            stuck_at: None,
            floor: false,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classic target of a 200,000-token window.
    const TARGET: Tokens = Tokens(167_000);

    #[test]
    fn a_prompt_that_stays_full_opens_it_at_once() {
        let after = Breaker::default().compacted(false, ModelPart::Summarised);
        let stuck = after.measured(Tokens(199_000), TARGET).unwrap();
        assert_eq!(stuck.allows(3), Allowed::Nothing);
        assert_eq!(stuck.measured(Tokens(199_500), TARGET), None);
        let fallen = stuck.measured(Tokens(20_000), TARGET).unwrap();
        assert_eq!(fallen.allows(3), Allowed::Model);
    }

    #[test]
    fn a_window_that_has_filled_since_may_be_emptied_without_a_model() {
        let limit = Tokens(177_000);
        let after = Breaker::default().compacted(false, ModelPart::Summarised);
        let stuck = after.measured(Tokens(170_000), TARGET).unwrap();
        assert_eq!(stuck.allows_at(Tokens(176_999), limit, 3), Allowed::Nothing);
        assert_eq!(stuck.allows_at(limit, limit, 3), Allowed::Offline);
        // Where it could not be brought below the limit either, nothing is left to try.
        let full = stuck.no_progress(limit, TARGET, ModelPart::NotAsked);
        assert_eq!(full.allows_at(limit, limit, 3), Allowed::Nothing);
        let floor = Breaker::default().irreducible(Tokens(170_000), TARGET);
        assert_eq!(floor.allows_at(limit, limit, 3), Allowed::Nothing);
    }

    #[test]
    fn three_failures_leave_only_the_engine_without_a_model() {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            breaker = breaker.compacted(false, ModelPart::Failed);
            breaker = breaker.measured(Tokens(10_000), TARGET).unwrap();
        }
        assert_eq!(breaker.allows(3), Allowed::Offline);
        // A compaction without the model leaves its failures as they are.
        let breaker = breaker.compacted(false, ModelPart::NotAsked);
        assert_eq!(breaker.allows(3), Allowed::Offline);
        let closed = breaker.compacted(true, ModelPart::Summarised);
        assert_eq!(closed.allows(3), Allowed::Model);
    }

    #[test]
    fn a_try_without_progress_is_the_last_one_at_the_target_only() {
        let breaker = Breaker::default();
        let full = breaker.no_progress(Tokens(199_000), TARGET, ModelPart::Failed);
        assert_eq!(full.allows(3), Allowed::Nothing);
        let early = breaker.no_progress(Tokens(60_000), TARGET, ModelPart::Failed);
        assert_eq!((early.allows(3), early.failures), (Allowed::Model, 1));
    }

    #[test]
    fn what_the_floor_opened_closes_when_the_floor_falls() {
        let open = Breaker::default().irreducible(Tokens(180_000), TARGET);
        assert_eq!(open.with_floor(Tokens(167_001), TARGET), open);
        let fallen = open.with_floor(TARGET, TARGET);
        assert_eq!(fallen.allows(3), Allowed::Model);
        // A prompt that stayed full does not depend on the floor.
        let full = Breaker::default().compacted(false, ModelPart::Summarised);
        let full = full.measured(Tokens(199_000), TARGET).unwrap();
        assert_eq!(full.with_floor(Tokens(1_000), TARGET), full);
    }

    #[test]
    fn it_survives_in_the_state() {
        let mut state = FoldedState::default();
        let breaker = Breaker::default().irreducible(Tokens(180_000), TARGET);
        let StateChange::Fact { name, value } = breaker.record() else {
            unreachable!()
        };
        state.facts.insert(name, value);
        assert_eq!(Breaker::of(&state), breaker);
    }
}
