//! The circuit breaker of automatic compaction.
//!
//! # Model
//! Two ways to open it. *Failures*: after so many model calls in a row that gave no summary, the
//! model is not asked again by itself; the engine without a model still works. *No progress*: the
//! first prompt measured after a compaction was still above the target, or what can never be
//! removed is above it already; then nothing is tried any more until that floor falls. A
//! compaction by hand that works closes both.
//!
//! # Not here
//! The gauge, and telling the user: this is only the state, kept as a fact of the session.

use dormouse_core::record::{FoldedState, StateChange};
use dormouse_core::units::Tokens;
use serde::{Deserialize, Serialize};

/// The name of the fact.
const FACT: &str = "breaker";

/// The state of the breaker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Breaker {
    /// Model calls in a row that gave no summary.
    pub failures: u64,
    /// A compaction was made and the next measurement will tell what it was worth.
    pub unproven: bool,
    /// The prompt that compaction could not bring below the target, when it was found out.
    pub stuck_at: Option<Tokens>,
    /// What could not be brought down was the floor: what no compaction may remove.
    pub floor: bool,
    /// The target it was compared with.
    pub target: Tokens,
}

/// What may be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Everything.
    Model,
    /// Only the engine without a model.
    Offline,
    /// Nothing.
    Nothing,
}

/// What a model had to do with a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelPart {
    /// Its summary stands there.
    Summarised,
    /// It was asked, and its summary could not be used.
    Failed,
    /// It was not asked.
    NotAsked,
}

impl Breaker {
    /// The breaker of a session.
    pub fn of(state: &FoldedState) -> Self {
        state
            .facts
            .get(FACT)
            .and_then(|value| serde_json::from_value(value.clone()).ok())
            .unwrap_or_default()
    }

    /// The record that keeps it.
    pub fn record(self) -> StateChange {
        StateChange::Fact {
            name: FACT.to_owned(),
            value: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// What an automatic compaction may try.
    pub fn allows(self, most_failures: u64) -> Allowed {
        if self.stuck_at.is_some() {
            Allowed::Nothing
        } else if self.failures >= most_failures {
            Allowed::Offline
        } else {
            Allowed::Model
        }
    }

    /// A compaction was written down. One that did without asking a model says nothing about
    /// the model.
    #[must_use]
    pub fn compacted(self, manual: bool, model: ModelPart) -> Self {
        Self {
            failures: self.failures_after(model),
            unproven: true,
            stuck_at: self.stuck_at.filter(|_| !manual && !self.floor),
            floor: false,
            ..self
        }
    }

    /// A compaction was tried and could not make anything smaller. At the target that means that
    /// compaction cannot help; below it (the economic policy tries earlier) it only counts as a
    /// failure of the model, if that was asked.
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

    /// A prompt was measured. Returns the breaker if that changes it.
    pub fn measured(self, prompt: Tokens, target: Tokens) -> Option<Self> {
        let closed = Self {
            unproven: false,
            ..self.closed()
        };
        match (self.unproven, self.stuck_at) {
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

    /// What can never be removed is above the target already.
    #[must_use]
    pub fn irreducible(self, floor: Tokens, target: Tokens) -> Self {
        Self {
            stuck_at: Some(floor),
            floor: true,
            target,
            ..self
        }
    }

    /// The breaker in view of the floor as it is now: one that only the floor had opened closes
    /// when that has fallen.
    #[must_use]
    pub fn with_floor(self, floor: Tokens, target: Tokens) -> Self {
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
    fn three_failures_leave_only_the_engine_without_a_model() {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            breaker = breaker.compacted(false, ModelPart::Failed);
            breaker = breaker.measured(Tokens(10_000), TARGET).unwrap();
        }
        assert_eq!(breaker.allows(3), Allowed::Offline);
        // What was done without the model says nothing about it.
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
        // A prompt that stayed full is no matter of the floor.
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
