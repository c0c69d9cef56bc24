//! Token accounting.
//!
//! The canonical count of a conversation is what the provider measured for its last response plus
//! an estimate of what was appended since. Estimates come from the weight of the blocks, the
//! model's bytes per token, and a correction learnt by comparing what was estimated with what was
//! measured. Everything is kept as running sums, so counting a turn costs what is new.
//!
//! Not here: which category the tokens belong to ([`crate::breakdown`]) and what the figures mean
//! for the window ([`crate::window`]).

use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{Calibration, FoldedState, LastUsage};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use serde::Serialize;

/// What a figure rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The provider's count, plus an estimate of what was appended since.
    Measured,
    /// A rewrite or a missing measurement makes it an estimate until the next response.
    Estimated,
}

/// The size of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Tokens.
    pub tokens: Tokens,
    /// What the figure rests on.
    pub basis: Basis,
}

/// The uncorrected estimate.
pub fn estimate(weight: &Weight, bytes: BytesPerToken) -> Tokens {
    bytes.text.tokens_of(weight.text_bytes)
        + bytes.json.tokens_of(weight.json_bytes)
        + Tokens(weight.wide_chars)
        + Tokens(weight.media_tokens)
}

/// The estimate of a prompt no part of which was ever measured: a third more, rounded up.
pub fn cautious(estimate: Tokens) -> Tokens {
    Tokens(estimate.get().saturating_mul(4).div_ceil(3))
}

/// The canonical count. `all` is the weight of the whole prompt as far as it is known.
pub fn count(state: &FoldedState, all: &Weight, bytes: BytesPerToken) -> Count {
    let Some(last) = &state.last_usage else {
        return Count {
            tokens: cautious(estimate(all, bytes)),
            basis: Basis::Estimated,
        };
    };
    let calibration = calibration(state, &last.model);
    let since = calibration.correct(estimate(&last.since, bytes));
    let rewritten = last.removed != Tokens::ZERO || last.added != Tokens::ZERO;
    Count {
        tokens: last.usage.total() + since + last.added - last.removed,
        basis: if rewritten {
            Basis::Estimated
        } else {
            Basis::Measured
        },
    }
}

/// What is known of a model's estimates.
pub fn calibration(state: &FoldedState, model: &str) -> Calibration {
    state.calibration.get(model).copied().unwrap_or_default()
}

/// Learns from a new measurement: the prompt has grown by the last answer and what followed it.
pub(crate) fn calibrate(state: &mut FoldedState, new: &LastUsage, bytes: BytesPerToken) {
    /// Below this the rounding of estimates says more than the text.
    const LEAST: Tokens = Tokens(100);
    let Some(last) = &state.last_usage else {
        return;
    };
    let rewritten = last.removed != Tokens::ZERO || last.added != Tokens::ZERO;
    let measured = new.usage.prompt() - last.usage.prompt();
    let estimated = estimate(&(last.answer + last.since), bytes);
    if rewritten || last.model != new.model || measured < LEAST || estimated < LEAST {
        return;
    }
    let known = state.calibration.entry(new.model.clone()).or_default();
    known.measured += measured;
    known.estimated += estimated;
}

/// Notes that a rewrite changed the weight of the prompt.
pub(crate) fn rewritten(
    state: &mut FoldedState,
    before: &Weight,
    after: &Weight,
    bytes: BytesPerToken,
) {
    let Some(model) = state.last_usage.as_ref().map(|last| last.model.clone()) else {
        return;
    };
    let calibration = calibration(state, &model);
    if let Some(last) = &mut state.last_usage {
        // The part appended since the measurement is in both; it leaves the sum unchanged.
        last.removed += calibration.correct(estimate(before, bytes));
        last.added += calibration.correct(estimate(after, bytes));
    }
}
