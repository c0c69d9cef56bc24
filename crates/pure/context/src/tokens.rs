//! Token accounting.
//!
//! The canonical count of a conversation is the provider's measurement of its last response plus an
//! estimate of everything appended since. Estimates are computed from block weights, the model's
//! bytes per token, and a calibration factor learnt by comparing earlier estimates with
//! measurements. All figures are running sums, so accounting a turn costs what is new.
//!
//! Not here: categories ([`crate::breakdown`]) and thresholds ([`crate::window`]).

use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{Calibration, FoldedState, LastUsage};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use serde::Serialize;

/// Reliability of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Provider's count, plus an estimate of what was appended since.
    Measured,
    /// Estimate until the next response, because of a rewrite or because nothing was measured yet.
    Estimated,
}

/// Size of a conversation in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Prompt of the last response, its answer, and everything appended since.
    pub tokens: Tokens,
    /// Origin of the figure, measured or estimated; shown beside it.
    pub basis: Basis,
}

/// Uncalibrated estimate. Wide characters (CJK) count one token each.
pub fn estimate(weight: &Weight, bytes: BytesPerToken) -> Tokens {
    bytes.text.tokens_of(weight.text_bytes)
        + bytes.json.tokens_of(weight.json_bytes)
        + Tokens(weight.wide_chars)
        + Tokens(weight.media_tokens)
}

/// Estimate for a prompt that was never measured: × 4/3, rounded up. An estimate that is too low
/// would let the first request exceed the window; one that is too high only compacts early.
pub fn cautious(estimate: Tokens) -> Tokens {
    Tokens(estimate.get().saturating_mul(4).div_ceil(3))
}

/// Canonical count. `all` is the weight of the whole prompt, used only before a measurement.
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
        // Added first, because token subtraction saturates at zero.
        tokens: last.usage.total() + since + last.added - last.removed,
        basis: if rewritten {
            Basis::Estimated
        } else {
            Basis::Measured
        },
    }
}

/// Calibration of a model's estimates; neutral if nothing was learnt.
pub fn calibration(state: &FoldedState, model: &str) -> Calibration {
    state.calibration.get(model).copied().unwrap_or_default()
}

/// Learns from a new measurement. Between two prompts the growth consists of the last answer and
/// everything appended since, so measured and estimated growth are comparable.
pub(crate) fn calibrate(state: &mut FoldedState, new: &LastUsage, bytes: BytesPerToken) {
    /// Smallest growth to learn from: below 100 tokens the rounding of the estimate dominates.
    const LEAST: Tokens = Tokens(100);
    let Some(last) = &state.last_usage else {
        return;
    };
    let rewritten = last.removed != Tokens::ZERO || last.added != Tokens::ZERO;
    let measured = new.usage.prompt() - last.usage.prompt();
    let estimated = estimate(&(last.answer + last.since), bytes);
    // A rewrite mixes estimates into the difference, and another model has another tokenizer.
    if rewritten || last.model != new.model || measured < LEAST || estimated < LEAST {
        return;
    }
    let known = state.calibration.entry(new.model.clone()).or_default();
    known.measured += measured;
    known.estimated += estimated;
}

/// Records the estimated effect of a rewrite on the count, until the next measurement.
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
        // Content appended since the measurement is in both weights and cancels out.
        last.removed += calibration.correct(estimate(before, bytes));
        last.added += calibration.correct(estimate(after, bytes));
    }
}
