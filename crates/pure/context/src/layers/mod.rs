//! All layers at once: what is to be done to the prompt now.
//!
//! # Model
//! Before every request and at the end of every turn the planner is asked. It looks at the layers
//! in their order (clearing, compaction, notes), returns the first thing to do, and says of every
//! layer what it considered and why it did or did not act. The session carries the plan out and asks
//! again until nothing is left to do. A plan names the head it was made for.
//!
//! # Responsibilities
//! The order of the layers, their switches, the breaker's say: everything that holds under every
//! policy.
//!
//! # Not here
//! The decision of each layer ([`crate::policy`]), tool results on their way in
//! ([`crate::offload`]), the request itself ([`crate::plan`]), and carrying anything out.

mod action;
mod settings;

#[cfg(test)]
mod tests;

pub use action::{Action, Consideration, LayersPlan};
pub use settings::{LayerSettings, NotesSettings};

use crate::bound::{RewriteVerdict, local_rewrite};
use crate::breaker::{Allowed, Breaker};
use crate::clear::{ClearVerdict, Measure};
use crate::conversation::Conversation;
use crate::economy::Rates;
use crate::notes;
use crate::policy::{CompactVerdict, Facts, Policy};
use crate::results::ResultIndex;
use crate::tokens;
use crate::window::{FloorCheck, Relief, Thresholds};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// Why nothing is rewritten that need not be.
const UNDONE: &str = "a rewrite was undone: nothing is rewritten before it has to be";

/// When the planner is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A request is about to leave: every call has its result.
    BeforeRequest,
    /// The model has finished its turn.
    TurnEnd,
}

/// The planner's memory between two questions. The index is made anew from the view; the size in
/// use is not in the view and has to be recorded.
#[derive(Clone, Debug, Default)]
pub struct LayerState {
    index: ResultIndex,
    /// The size the economic policy aims at: it moves only when the best one has moved enough.
    in_use: Option<Tokens>,
}

impl LayerState {
    /// State of a resumed session, from the last [`LayersPlan::in_use`] that was recorded. Without
    /// it, hysteresis starts over and the session decides otherwise than an unbroken one.
    pub fn resumed(in_use: Option<Tokens>) -> Self {
        Self {
            in_use,
            ..Self::default()
        }
    }

    /// The results in view when the planner was last asked.
    pub fn results(&self) -> &ResultIndex {
        &self.index
    }
}

/// What is known of the notes beside the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NotesStatus {
    /// An update is under way.
    pub running: bool,
    /// What updates since the last compaction have cost, in tokens of uncached input.
    pub spent: f64,
    /// How many there were.
    pub updates: u32,
}

/// What the planner looks at.
#[derive(Clone, Copy, Debug)]
pub struct LayerInputs<'a> {
    /// The session.
    pub conversation: &'a Conversation,
    /// What the prefix weighs.
    pub prefix: &'a Weight,
    /// When to forget, and how.
    pub policy: &'a dyn Policy,
    /// Figures and switches.
    pub settings: &'a LayerSettings,
    /// The window's figures.
    pub thresholds: &'a Thresholds,
    /// What the tokens cost.
    pub rates: &'a Rates,
    /// The notes.
    pub notes: NotesStatus,
    /// When it is asked.
    pub moment: Moment,
    /// The cache has lapsed.
    pub cold: bool,
    /// The provider can compact.
    pub provider_compacts: bool,
}

/// Asks all layers.
pub fn plan(state: &mut LayerState, inputs: &LayerInputs<'_>) -> LayersPlan {
    state.index.update(
        inputs.conversation.view(),
        &inputs.settings.clear.tools,
        inputs.conversation.bytes_per_token(),
    );
    let facts = inputs.facts(state);
    let target = inputs.thresholds.autocompact_target;
    let breaker = Breaker::of(inputs.conversation.state()).with_floor(facts.static_prefix, target);
    let outlook = inputs.policy.outlook(&facts);
    let question = Question {
        inputs,
        facts,
        breaker,
    };
    let mut considered = Vec::with_capacity(3);
    let mut action = None;
    let mut note = |layer: &'static str, found: Found| {
        let (acts, why) = match found {
            Ok((wanted, why)) => {
                let first = action.is_none();
                action.get_or_insert(wanted);
                (first, why)
            }
            Err(why) => (false, why),
        };
        considered.push(Consideration { layer, acts, why });
    };
    note("clear", question.clear());
    note("compact", question.compact());
    note("notes", question.notes());
    state.in_use = outlook.map(|outlook| outlook.in_use).or(state.in_use);
    let stuck = breaker.allows(inputs.settings.compact.breaker) == Allowed::Nothing;
    LayersPlan {
        head: inputs.conversation.head().cloned(),
        action,
        considered,
        relief: if stuck {
            Relief::Exhausted
        } else {
            Relief::Available
        },
        next_tidy_up: outlook.map(|outlook| outlook.target),
        in_use: state.in_use,
    }
}

impl<'a> LayerInputs<'a> {
    /// How weights become tokens in this session.
    pub fn measure(&self) -> Measure {
        let conversation = self.conversation;
        let model = &conversation.view().target().model;
        Measure {
            bytes: conversation.bytes_per_token(),
            calibration: tokens::calibration(conversation.state(), model),
        }
    }

    fn facts<'b>(&self, state: &'b LayerState) -> Facts<'b>
    where
        'a: 'b,
    {
        let measure = self.measure();
        Facts {
            conversation: self.conversation,
            results: &state.index,
            settings: self.settings,
            thresholds: self.thresholds,
            rates: self.rates,
            notes: self.notes,
            moment: self.moment,
            cold: self.cold,
            in_use: state.in_use,
            measure,
            used: self.conversation.count(self.prefix).tokens,
            static_prefix: measure.tokens(self.prefix),
        }
    }
}

struct Question<'a> {
    inputs: &'a LayerInputs<'a>,
    facts: Facts<'a>,
    breaker: Breaker,
}

type Found = Result<(Action, String), String>;

impl Question<'_> {
    fn clear(&self) -> Found {
        if self.inputs.conversation.state().undone {
            return Err(UNDONE.to_owned());
        }
        match self.inputs.policy.clear(&self.facts) {
            ClearVerdict::Clear(selection) => {
                let why = format!(
                    "{} results, {} tokens: {}",
                    selection.positions.len(),
                    selection.freed,
                    selection.reason
                );
                Ok((Action::Clear(selection), why))
            }
            ClearVerdict::Leave { reason } => Err(reason),
        }
    }

    fn compact(&self) -> Found {
        let inputs = self.inputs;
        let thresholds = inputs.thresholds;
        let (used, floor) = (self.facts.used, self.facts.static_prefix);
        if !thresholds.auto_compact {
            return Err("automatic compaction is switched off".to_owned());
        }
        let undone = inputs.conversation.state().undone;
        if undone && used < thresholds.blocking_limit {
            return Err(UNDONE.to_owned());
        }
        let (trigger, keep, why) = match inputs.policy.compact(&self.facts) {
            CompactVerdict::Due {
                trigger,
                keep,
                reason,
            } => (trigger, keep, reason),
            CompactVerdict::Leave { reason } => return Err(reason),
        };
        // Checked before any hook runs: an attempt that could only wait is not announced.
        let waits = match local_rewrite(inputs.conversation.view(), 0) {
            RewriteVerdict::Wait { reason } => Some(reason),
            RewriteVerdict::Allowed { .. } => None,
        };
        // The end of a turn is the better moment, as long as there is room until then.
        let by_provider = inputs.provider_compacts && used >= thresholds.autocompact_target;
        if let Some(reason) = waits.filter(|_| !by_provider) {
            return Err(format!("it is due ({why}), but {reason}"));
        }
        let allowed = self.breaker.allows(inputs.settings.compact.breaker);
        if allowed == Allowed::Nothing {
            return Err(format!(
                "the breaker is open: {} tokens could not be brought below {}",
                self.breaker.stuck_at.unwrap_or_default(),
                self.breaker.target
            ));
        }
        if let FloorCheck::Irreducible { excess } = thresholds.check_floor(floor) {
            let breaker = self
                .breaker
                .irreducible(floor, thresholds.autocompact_target);
            let why = format!("what must stay is {excess} tokens above the target");
            return Ok((Action::OpenBreaker(breaker), why));
        }
        if waits.is_some() {
            return Ok((Action::CompactByProvider { trigger }, why));
        }
        let unsent = self.facts.unsent();
        if let FloorCheck::Irreducible { .. } = thresholds.check_floor(floor + unsent) {
            return Err(format!(
                "what came in alone has {unsent} tokens: it has to be sent first"
            ));
        }
        let action = Action::Compact {
            trigger,
            allowed,
            keep,
        };
        Ok((action, why))
    }

    fn notes(&self) -> Found {
        let inputs = self.inputs;
        if let Some(because) = inputs.settings.notes.off {
            return Err(format!("notes are off: `{because}`"));
        }
        if inputs.notes.running {
            return Err("an update is under way".to_owned());
        }
        match inputs.policy.notes(&self.facts) {
            notes::Verdict::Yes { reason } => Ok((Action::UpdateNotes, reason)),
            notes::Verdict::No { reason } => Err(reason),
        }
    }
}

impl LayersPlan {
    /// Arithmetic of a policy that calculates, for an explanation.
    pub fn explain(state: &LayerState, inputs: &LayerInputs<'_>) -> Option<String> {
        let outlook = inputs.policy.outlook(&inputs.facts(state))?;
        Some(outlook.arithmetic())
    }
}
