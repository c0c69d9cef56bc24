//! The facts that a policy decides by.

use super::CompactVerdict;
use crate::clear::{ClearInputs, Measure};
use crate::clearable::ResultIndex;
use crate::conversation::Conversation;
use crate::economy::Rates;
use crate::layers::{LayerSettings, Moment, NotesStatus};
use crate::notes;
use crate::tail::Tail;
use crate::window::Thresholds;
use dormouse_core::block::BlockKind;
use dormouse_core::record::Trigger;
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// A session at one moment, measured in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Session with its view, state and estimators.
    pub conversation: &'a Conversation,
    /// Index of tool results that may be cleared.
    pub results: &'a ResultIndex,
    /// Settings and switches of the layers.
    pub settings: &'a LayerSettings,
    /// Thresholds of the window.
    pub thresholds: &'a Thresholds,
    /// Prices relative to uncached input, for the cache lifetimes in use.
    pub rates: &'a Rates,
    /// State of the notes that is not in the log.
    pub notes: NotesStatus,
    /// Moment at which the planner runs.
    pub moment: Moment,
    /// True if the cache has expired, so that the prefix is written again in any case.
    pub cold: bool,
    /// Size in use of the policy's previous outlook; the input of hysteresis.
    pub in_use: Option<Tokens>,
    /// Conversion from weights to calibrated tokens.
    pub measure: Measure,
    /// Tokens of the prompt that would be sent now.
    pub used: Tokens,
    /// Tokens of tools, system prompt and instructions.
    pub static_prefix: Tokens,
}

impl<'a> Facts<'a> {
    /// Tokens of the conversation, without the static prefix.
    pub fn conversation_tokens(&self) -> Tokens {
        self.used - self.static_prefix
    }

    /// Tokens not sent yet, with the calls they answer; no compaction removes them.
    pub fn unsent(&self) -> Tokens {
        let unsent = self.conversation.view().unsent();
        let weight = unsent.fold(Weight::default(), |sum, segment| {
            sum + *segment.block.weight()
        });
        self.measure.tokens(&weight)
    }

    /// Inputs for choosing a batch to clear.
    pub fn clearing(&self) -> ClearInputs<'a> {
        ClearInputs {
            view: self.conversation.view(),
            index: self.results,
            settings: &self.settings.clear,
            measure: self.measure,
            used: self.used,
            warning: self.thresholds.warning,
            cold: self.cold,
        }
    }

    /// Inputs for deciding whether notes are due.
    pub fn progress(&self) -> notes::Progress {
        let state = self.conversation.state().notes.as_ref();
        notes::Progress {
            tokens_now: self.conversation_tokens(),
            tokens_at_last: state.map(|notes| notes.conversation),
            calls_since: state.map_or(0, |notes| notes.calls_since),
            last_turn_made_calls: makes_calls(self.conversation.view().tail()),
        }
    }

    /// Verdict of a policy that compacts at a fixed size of the prompt.
    pub fn due_at(&self, limit: Tokens) -> CompactVerdict {
        if self.used < limit {
            return CompactVerdict::Leave {
                reason: format!("{} tokens are below {limit}", self.used),
            };
        }
        CompactVerdict::Due {
            trigger: Trigger::Auto,
            keep: None,
            reason: format!("{} tokens have reached {limit}", self.used),
        }
    }
}

/// True if the latest response made calls, that is, whether the model is still working.
fn makes_calls(tail: &Tail) -> bool {
    tail.response
        .iter()
        .any(|segment| segment.block.kind() == BlockKind::ToolUse)
}
