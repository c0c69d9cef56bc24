//! A prompt that was sent, and what its answer teaches.

use crate::layers::Layers;
use crate::lines::Slot;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_rewrite::{Answered, Composed, Due, Record};
use std::sync::Arc;

/// A prompt that was sent, until its answer is measured.
#[derive(Debug)]
pub struct Expected {
    pub(crate) layers: Arc<Layers>,
    pub(crate) slot: Arc<Slot>,
    pub(crate) composed: Composed,
    pub(crate) due: Vec<Due>,
    pub(crate) again: u32,
    pub(crate) beside: Option<TokenUsage>,
}

impl Expected {
    /// Usage that the client's own prompt would have had: everything up to its last request read from
    /// the cache, the rest written. `None` if it was sent as it came.
    pub fn untouched(&self, usage: &TokenUsage) -> Option<TokenUsage> {
        if self.composed.acts.is_empty() {
            return None;
        }
        let before = self.slot.line().untouched().unwrap_or_default();
        let now = corrected(
            self.composed.untouched,
            self.composed.estimate,
            usage.prompt(),
        );
        Some(TokenUsage {
            cache_read: before.min(now),
            cache_write_5m: now - before.min(now),
            output: usage.output,
            ..TokenUsage::default()
        })
    }

    /// Learns from a whole answer. The record need not be durable.
    pub fn answered(self, usage: &TokenUsage, at: Millis) {
        let prompt = usage.prompt();
        let beside = self.beside.unwrap_or_default();
        let record = Record::Answered(Answered {
            at,
            prompt,
            estimate: self.composed.estimate,
            untouched: corrected(self.composed.untouched, self.composed.estimate, prompt),
            cost: self.composed.rates.cost(usage) + self.composed.rates.cost(&beside),
            due: self.due,
            marked: self.composed.marked,
            again: self.again,
        });
        self.slot.line().apply(record.clone());
        let noted = self.layers.lines.note(self.slot.conversation, &record);
        if noted.is_err() {
            self.layers.count_unsaved();
        }
    }
}

/// An estimate in proportion to one that was measured.
fn corrected(estimate: Tokens, of: Tokens, measured: Tokens) -> Tokens {
    let product = u128::from(estimate.0) * u128::from(measured.0);
    let share = product / u128::from(of.0.max(1));
    Tokens(u64::try_from(share).unwrap_or(u64::MAX))
}
