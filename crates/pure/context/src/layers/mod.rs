//! All layers at once: what is to be done to the prompt now.
//!
//! # Model
//! Before every request and at the end of every turn the planner is asked. It looks at the layers
//! in their order (clearing, compaction, notes), returns the first thing to do, and says of every
//! layer what it considered and why it did or did not act. Whoever carries the plan out asks
//! again until nothing is left to do. A plan names the head it was made for.
//!
//! # Responsibilities
//! The order of the layers, their switches, the breaker's say, the economic policy's outlook.
//!
//! # Not here
//! Tool results on their way in ([`crate::offload`]), the request itself ([`crate::plan`]), and
//! carrying anything out.

mod action;
mod settings;

#[cfg(test)]
mod tests;

pub use action::{Action, Consideration, LayersPlan};
pub use settings::{LayerSettings, NotesSettings};

use crate::bound::{RewriteVerdict, local_rewrite};
use crate::breaker::{Allowed, Breaker};
use crate::clear::{self, ClearInputs, ClearVerdict, Measure};
use crate::compaction::cut;
use crate::conversation::Conversation;
use crate::economy::{self, Estimators, Figures, Means, Outlook, Rates};
use crate::notes;
use crate::policy::{CompactTrigger, NotesRule, Policy};
use crate::results::ResultIndex;
use crate::tail::Tail;
use crate::tokens;
use crate::window::{FloorCheck, Relief, Thresholds};
use dormouse_core::block::BlockKind;
use dormouse_core::record::Trigger;
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
    pub policy: &'a Policy,
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
    let breaker = Breaker::of(inputs.conversation.state());
    let used = inputs.conversation.count(inputs.prefix).tokens;
    let mut question = Question {
        inputs,
        breaker,
        used,
        measure: inputs.measure(),
    };
    let target = inputs.thresholds.autocompact_target;
    question.breaker = breaker.with_floor(question.measure.tokens(inputs.prefix), target);
    let outlook = question.outlook(state.in_use);
    if let Some(outlook) = &outlook {
        state.in_use = Some(outlook.in_use);
    }
    let mut considered = Vec::with_capacity(3);
    let mut action = None;
    let mut note = |layer: &'static str, found: Result<(Action, String), String>| {
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
    note("clear", question.clear(&state.index, outlook.as_ref()));
    note("compact", question.compact(outlook.as_ref()));
    note("notes", question.notes(outlook.as_ref()));
    let stuck = question.breaker.allows(inputs.settings.compact.breaker) == Allowed::Nothing;
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

impl LayerInputs<'_> {
    /// How weights become tokens in this session.
    pub fn measure(&self) -> Measure {
        let conversation = self.conversation;
        let model = &conversation.view().target().model;
        Measure {
            bytes: conversation.bytes_per_token(),
            calibration: tokens::calibration(conversation.state(), model),
        }
    }
}

struct Question<'a> {
    inputs: &'a LayerInputs<'a>,
    breaker: Breaker,
    used: Tokens,
    measure: Measure,
}

type Found = Result<(Action, String), String>;

impl Question<'_> {
    fn clear(&self, index: &ResultIndex, outlook: Option<&Outlook>) -> Found {
        let inputs = self.inputs;
        if inputs.conversation.state().undone {
            return Err(UNDONE.to_owned());
        }
        let clearing = ClearInputs {
            view: inputs.conversation.view(),
            index,
            rule: &inputs.policy.clear,
            settings: &inputs.settings.clear,
            measure: self.measure,
            used: self.used,
            warning: inputs.thresholds.warning,
            cold: inputs.cold,
        };
        let worth = |freed: Tokens, behind: Tokens| {
            let ahead = outlook.map_or(0.0, |outlook| {
                outlook.requests_ahead(self.used).min(outlook.horizon)
            });
            let decision = economy::clearing_worth(
                &economy::Clearing {
                    freed,
                    behind,
                    remaining: ahead,
                    cold: inputs.cold,
                },
                inputs.rates,
            );
            if decision.act {
                Ok(decision.explain())
            } else {
                Err(decision.explain())
            }
        };
        match clear::plan(&clearing, worth) {
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

    fn compact(&self, outlook: Option<&Outlook>) -> Found {
        let inputs = self.inputs;
        let thresholds = inputs.thresholds;
        if !thresholds.auto_compact {
            return Err("automatic compaction is switched off".to_owned());
        }
        let undone = inputs.conversation.state().undone;
        if undone && self.used < thresholds.blocking_limit {
            return Err(UNDONE.to_owned());
        }
        let (trigger, why) = self.due(outlook)?;
        // Said here, so that nobody is told about a try that could only wait.
        let waits = match local_rewrite(inputs.conversation.view(), 0) {
            RewriteVerdict::Wait { reason } => Some(reason),
            RewriteVerdict::Allowed { .. } => None,
        };
        // The end of a turn is the better moment, as long as there is room until then.
        let by_provider = inputs.provider_compacts && self.used >= thresholds.autocompact_target;
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
        let floor = self.measure.tokens(inputs.prefix);
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
        if let FloorCheck::Irreducible { .. } = thresholds.check_floor(floor + self.unsent()) {
            return Err(format!(
                "what came in alone has {} tokens: it has to be sent first",
                self.unsent()
            ));
        }
        Ok((
            Action::Compact {
                trigger,
                allowed,
                keep: outlook.map(Outlook::keep_budget),
            },
            why,
        ))
    }

    /// Whether a compaction is due, and by which rule.
    fn due(&self, outlook: Option<&Outlook>) -> Result<(Trigger, String), String> {
        let inputs = self.inputs;
        let window = inputs.thresholds.window.get();
        let share = |thousandths: u64| Tokens(window * thousandths / 1_000);
        let below = |tokens: Tokens| inputs.thresholds.window - tokens;
        let limit = match inputs.policy.compact.trigger {
            CompactTrigger::Never => return Err("the policy does not compact".to_owned()),
            CompactTrigger::Economic => return self.economic(outlook),
            CompactTrigger::Messages(most) => {
                let messages = cut::cuts(&inputs.conversation.view().segments()).len();
                return if messages >= most {
                    Ok((Trigger::Auto, format!("{messages} messages")))
                } else {
                    Err(format!("{messages} of {most} messages"))
                };
            }
            CompactTrigger::Target => inputs.thresholds.autocompact_target,
            CompactTrigger::Share(thousandths) => share(thousandths),
            CompactTrigger::Below(tokens) => below(tokens),
            CompactTrigger::ShareOrBelow(thousandths, tokens) => {
                share(thousandths).min(below(tokens))
            }
        };
        if self.used >= limit {
            let why = format!("{} tokens have reached {limit}", self.used);
            Ok((Trigger::Auto, why))
        } else {
            Err(format!("{} tokens are below {limit}", self.used))
        }
    }

    fn economic(&self, outlook: Option<&Outlook>) -> Result<(Trigger, String), String> {
        let Some(outlook) = outlook else {
            return Err("there is no outlook".to_owned());
        };
        let inputs = self.inputs;
        let moment = self.economic_moment();
        let situation = economy::Situation {
            used: self.used,
            moment,
            notes_ready: self.notes_cover(),
            prefix_cached: !inputs.cold,
            call_cached: !inputs.cold,
            unsent: self.unsent(),
        };
        let decision = economy::decide(outlook, &situation);
        if !decision.act {
            return Err(decision.explain());
        }
        let trigger = if self.used >= inputs.thresholds.autocompact_target {
            Trigger::Auto
        } else {
            Trigger::Economic
        };
        Ok((trigger, decision.explain()))
    }

    fn economic_moment(&self) -> economy::Moment {
        match (self.inputs.moment, self.inputs.cold) {
            (_, true) => economy::Moment::ColdCache,
            (Moment::TurnEnd, false) => economy::Moment::TurnEnd,
            (Moment::BeforeRequest, false) => economy::Moment::BetweenRounds,
        }
    }

    fn notes(&self, outlook: Option<&Outlook>) -> Found {
        let inputs = self.inputs;
        let settings = &inputs.settings.notes;
        if inputs.policy.notes == NotesRule::Never {
            return Err("the policy keeps no notes".to_owned());
        }
        if let Some(because) = settings.off {
            return Err(format!("notes are off: `{because}`"));
        }
        if inputs.notes.running {
            return Err("an update is under way".to_owned());
        }
        let state = inputs.conversation.state().notes.as_ref();
        let progress = notes::Progress {
            tokens_now: self.used - self.measure.tokens(inputs.prefix),
            tokens_at_last: state.map(|notes| notes.conversation),
            calls_since: state.map_or(0, |notes| notes.calls_since),
            last_turn_made_calls: makes_calls(inputs.conversation.view().tail()),
        };
        let verdict = notes::due(&progress, &settings.rule);
        let why = verdict.reason().to_owned();
        if !verdict.is_yes() {
            return Err(why);
        }
        if inputs.policy.notes == NotesRule::Economic {
            let Some(outlook) = outlook else {
                return Err("there is no outlook".to_owned());
            };
            let state = economy::NotesState {
                spent: inputs.notes.spent,
                updates: inputs.notes.updates,
                uncovered: self.used
                    - self.measure.tokens(inputs.prefix)
                    - state.map_or(Tokens::ZERO, |notes| notes.conversation),
                uncovered_limit: inputs.settings.compact.notes_tail.limit,
                tail: inputs.settings.compact.notes_tail.tokens,
            };
            let decision = economy::notes_worth(outlook, self.used, self.economic_moment(), &state);
            if !decision.act {
                return Err(decision.explain());
            }
            return Ok((Action::UpdateNotes, decision.explain()));
        }
        Ok((Action::UpdateNotes, why))
    }

    /// Whether the notes could serve as the summary now, as far as a glance tells.
    fn notes_cover(&self) -> bool {
        let inputs = self.inputs;
        let covered = inputs.conversation.state().notes.as_ref();
        inputs.policy.compact.notes
            && inputs.settings.notes.compact
            && covered.is_some_and(|notes| {
                self.used - self.measure.tokens(inputs.prefix) - notes.conversation
                    <= inputs.settings.compact.notes_tail.limit
            })
    }

    /// What came in and was not sent yet, with the calls it answers.
    fn unsent(&self) -> Tokens {
        let view = self.inputs.conversation.view();
        let unsent = view.unsent().map(|segment| *segment.block.weight());
        let weight = unsent.fold(Weight::default(), |sum, weight| sum + weight);
        self.measure.tokens(&weight)
    }

    fn outlook(&self, in_use: Option<Tokens>) -> Option<Outlook> {
        let inputs = self.inputs;
        if inputs.policy.compact.trigger != CompactTrigger::Economic {
            return None;
        }
        let known: &Estimators = inputs.conversation.economy();
        let static_prefix = self.measure.tokens(inputs.prefix);
        let notes =
            inputs.policy.notes == NotesRule::Economic && inputs.settings.notes.off.is_none();
        let figures = Figures {
            static_prefix,
            floor: static_prefix + known.kept.tokens() + self.unsent(),
            classic: inputs.thresholds.autocompact_target,
            in_use,
            means: if notes && self.notes_cover() {
                Means::Notes
            } else {
                Means::Full
            },
        };
        Some(Outlook::new(
            known,
            inputs.rates,
            &figures,
            &inputs.settings.economy,
        ))
    }
}

/// Whether the response that is being answered made calls.
fn makes_calls(tail: &Tail) -> bool {
    tail.response
        .iter()
        .any(|segment| segment.block.kind() == BlockKind::ToolUse)
}

impl LayersPlan {
    /// The arithmetic of the economic policy is part of an explanation only.
    pub fn explain(state: &LayerState, inputs: &LayerInputs<'_>) -> Option<String> {
        let question = Question {
            inputs,
            breaker: Breaker::of(inputs.conversation.state()),
            used: inputs.conversation.count(inputs.prefix).tokens,
            measure: inputs.measure(),
        };
        let outlook = question.outlook(state.in_use)?;
        Some(outlook.arithmetic())
    }
}
