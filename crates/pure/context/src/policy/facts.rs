//! Facts that a policy decides by.

use super::CompactVerdict;
use crate::clear::{ClearInputs, Measure};
use crate::conversation::Conversation;
use crate::economy::Rates;
use crate::layers::{LayerSettings, Moment, NotesStatus};
use crate::notes;
use crate::results::ResultIndex;
use crate::tail::Tail;
use crate::window::Thresholds;
use dormouse_core::block::BlockKind;
use dormouse_core::record::Trigger;
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// A session at one moment, measured.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The session.
    pub conversation: &'a Conversation,
    /// Tool results in view that may be cleared.
    pub results: &'a ResultIndex,
    /// Figures and switches of the layers.
    pub settings: &'a LayerSettings,
    /// Figures of the window.
    pub thresholds: &'a Thresholds,
    /// Prices relative to uncached input.
    pub rates: &'a Rates,
    /// Notes beside the log.
    pub notes: NotesStatus,
    /// Moment at which the planner is asked.
    pub moment: Moment,
    /// The cache has lapsed: the prefix is written again in any case.
    pub cold: bool,
    /// Size that the policy's last outlook aimed at.
    pub in_use: Option<Tokens>,
    /// Weights to tokens.
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

    /// Tokens not sent yet, with the calls they answer.
    pub fn unsent(&self) -> Tokens {
        let unsent = self.conversation.view().unsent();
        let weight = unsent.fold(Weight::default(), |sum, segment| {
            sum + *segment.block.weight()
        });
        self.measure.tokens(&weight)
    }

    /// Facts for clearing.
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

    /// Facts for the notes.
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

/// Whether the response that is being answered made calls.
fn makes_calls(tail: &Tail) -> bool {
    tail.response
        .iter()
        .any(|segment| segment.block.kind() == BlockKind::ToolUse)
}
