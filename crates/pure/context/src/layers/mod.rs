//! The planner of the layers: the next rewrite of the prompt, if one is due.
//!
//! # Model
//! The planner runs before every request and at the end of every turn. It asks the layers in order
//! (clearing, compaction, notes), returns the first action, and gives every layer's reason for
//! acting or not. The session carries the action out and plans again until there is none. A plan
//! names the head it was made for.
//!
//! # Responsibilities
//! The order of the layers, their switches, the breaker: the rules that hold under every policy.
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
use crate::clearable::ResultIndex;
use crate::conversation::Conversation;
use crate::distil::{self, DistilPlan, Surroundings};
use crate::economy::Rates;
use crate::notes;
use crate::offload::{OffloadPlan, Round, Showing};
use crate::policy::{CompactVerdict, Facts, Policy};
use crate::tokens;
use crate::window::{FloorCheck, Relief, Thresholds};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// Reason of the layers that stand back after an undo: rewriting at once what the user has just
/// restored would make undo useless.
const UNDONE: &str = "a rewrite was undone: nothing is rewritten before it has to be";

/// Moment at which the planner runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before a request: every call has its result.
    BeforeRequest,
    /// After the model has finished its turn.
    TurnEnd,
}

/// State of the planner between two runs. The index is rebuilt from the view; the size in use is
/// not in the view and has to be recorded.
#[derive(Clone, Debug, Default)]
pub struct LayerState {
    index: ResultIndex,
    /// Size that the economic policy aims at. It moves only if the best size differs by more than
    /// the hysteresis.
    in_use: Option<Tokens>,
}

impl LayerState {
    /// State of a resumed session, from the last recorded [`LayersPlan::in_use`]. Without it
    /// hysteresis starts over and the session decides differently from an unbroken one.
    pub fn resumed(in_use: Option<Tokens>) -> Self {
        Self {
            in_use,
            ..Self::default()
        }
    }

    /// Results in view at the planner's last run.
    pub fn results(&self) -> &ResultIndex {
        &self.index
    }
}

/// State of the notes that is not in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NotesStatus {
    /// True if an update is in progress.
    pub running: bool,
    /// Cost of the updates since the last compaction, in tokens of uncached input.
    pub spent: f64,
    /// Number of updates since the last compaction.
    pub updates: u32,
}

/// Inputs of the planner ([`plan`]).
#[derive(Clone, Copy, Debug)]
pub struct LayerInputs<'a> {
    /// Session with its view, state and estimators.
    pub conversation: &'a Conversation,
    /// Weight of the rendered prefix.
    pub prefix: &'a Weight,
    /// Policy of the session.
    pub policy: &'a dyn Policy,
    /// Settings and switches of the layers.
    pub settings: &'a LayerSettings,
    /// Thresholds of the window.
    pub thresholds: &'a Thresholds,
    /// Prices relative to uncached input.
    pub rates: &'a Rates,
    /// State of the notes that is not in the log.
    pub notes: NotesStatus,
    /// Moment at which the planner runs.
    pub moment: Moment,
    /// True if the cache has expired.
    pub cold: bool,
    /// True if the provider offers compaction on its side.
    pub provider_compacts: bool,
}

/// Asks all layers and returns the first action with every layer's reason.
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
                // Only the first action is carried out; later layers still give their reasons.
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
    let stuck = question.allowed() == Allowed::Nothing;
    state.in_use = outlook.map(|outlook| outlook.in_use).or(state.in_use);
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

/// Asks the policy and the arithmetic which waiting results are to be distilled once they are
/// answered. `reads_files` tells tools whose results are files.
pub fn distil(
    state: &LayerState,
    inputs: &LayerInputs<'_>,
    around: &Surroundings<'_>,
    reads_files: impl Fn(&str) -> bool,
) -> DistilPlan {
    let facts = inputs.facts(state);
    match inputs.policy.requests_ahead(&facts) {
        Some(ahead) => distil::plan(&facts, around, ahead, reads_files),
        None => DistilPlan::default(),
    }
}

/// Decides about the results of a round on their way in, with the price of showing them under
/// policies that look at it.
pub fn offload(state: &LayerState, inputs: &LayerInputs<'_>, round: &Round<'_>) -> OffloadPlan {
    let facts = inputs.facts(state);
    let showing = inputs.policy.requests_ahead(&facts).map(|ahead| Showing {
        rates: facts.rates,
        ahead,
        prompt: facts.used,
        measure: facts.measure,
    });
    inputs.policy.offload(&Round { showing, ..*round })
}

impl<'a> LayerInputs<'a> {
    /// Conversion from weights to calibrated tokens in this session.
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
            // An estimate even after measurements: the provider reports no figure for the prefix
            // alone.
            static_prefix: measure.tokens(self.prefix),
        }
    }
}

/// One run of the planner: inputs, facts and breaker.
struct Question<'a> {
    inputs: &'a LayerInputs<'a>,
    facts: Facts<'a>,
    breaker: Breaker,
}

/// An action with its reason, or the reason for none.
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

    /// Means that a compaction may use now.
    fn allowed(&self) -> Allowed {
        let LayerInputs {
            thresholds,
            settings,
            ..
        } = self.inputs;
        let (used, limit) = (self.facts.used, thresholds.blocking_limit);
        self.breaker
            .allows_at(used, limit, settings.compact.breaker)
    }

    fn compact(&self) -> Found {
        let inputs = self.inputs;
        let thresholds = inputs.thresholds;
        let (used, floor) = (self.facts.used, self.facts.static_prefix);
        if !thresholds.auto_compact {
            return Err("automatic compaction is switched off".to_owned());
        }
        // After an undo only a full window compacts again: it would refuse the next request.
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
        // Checked before any hook runs, so that an attempt that can only wait is not announced.
        let waits = match local_rewrite(inputs.conversation.view(), 0) {
            RewriteVerdict::Wait { reason } => Some(reason),
            RewriteVerdict::Allowed { .. } => None,
        };
        // Within a turn the provider compacts only at the target; below it the turn's end is
        // cheaper and keeps the thinking.
        let by_provider = inputs.provider_compacts && used >= thresholds.autocompact_target;
        if let Some(reason) = waits.filter(|_| !by_provider) {
            return Err(format!("it is due ({why}), but {reason}"));
        }
        let allowed = self.allowed();
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
        // The provider's block replaces unsent messages too, so their size is not checked here.
        if waits.is_some() {
            return Ok((Action::CompactByProvider { trigger }, why));
        }
        // Unsent content cannot be removed: compacting now would leave the prompt above the target.
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
            notes::NotesVerdict::Yes { reason } => Ok((Action::UpdateNotes, reason)),
            notes::NotesVerdict::No { reason } => Err(reason),
        }
    }
}

impl LayersPlan {
    /// Arithmetic of a policy with a cost model, as text for an explanation.
    pub fn explain(state: &LayerState, inputs: &LayerInputs<'_>) -> Option<String> {
        let outlook = inputs.policy.outlook(&inputs.facts(state))?;
        Some(outlook.arithmetic())
    }
}
