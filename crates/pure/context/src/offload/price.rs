//! A long result, whole or cut to its beginning: which is cheaper.
//!
//! # Model
//! A result of s tokens is written once and read with every request until the next compaction: whole
//! it costs (w + r·K)·s. Cut to its first h tokens it costs (w + r·K)·h, and with probability p a
//! call that brings all of the rest: (w + r·K)·(s − h) + r·W + o·c. The limits of the settings stay
//! upper bounds: this rule cuts below them, and cuts pages of files, which have none.
//!
//! # Not here
//! Results that are shown whole once and shortened after their answer ([`crate::distil`]).

use super::ToolOutput;
use crate::clear::Measure;
use crate::economy::Rates;
use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;

/// Bytes of a cut result that are shown: seven hundred lines of code, more than most files have. With
/// 25,000 generated sessions cost 1.5 % less, but two long recorded ones 3 % more, and these had 1 to
/// 4 points less of what they used later in the prompt; with 40,000 one session in twenty was 9 %
/// dearer than with the cheapest other policy.
pub(super) const SHOWN: u64 = 30_000;

/// Probability that the rest is asked for. Of 37 recorded results longer than 25,000 bytes, the next ten
/// answers named something that only the rest has in eight cases; rounded up, because a model that
/// lacks the rest may ask for it without using it. Behind 16,000 bytes it was two in five.
const WANTED: f64 = 0.25;

/// Tokens of the call that brings the rest: a tool, a path and a range.
const CALL: f64 = 100.0;

/// Figures of a session that tell what showing costs.
#[derive(Clone, Copy, Debug)]
pub struct Showing<'a> {
    /// Prices relative to uncached input.
    pub rates: &'a Rates,
    /// Requests expected before the next compaction or the end, K.
    pub ahead: f64,
    /// Tokens of the prompt, W.
    pub prompt: Tokens,
    /// Conversion from weights to calibrated tokens.
    pub measure: Measure,
}

impl Showing<'_> {
    /// Gain of cutting a text of so many bytes, in tokens of uncached input; negative if the whole is
    /// cheaper.
    pub(super) fn gain(&self, bytes: u64) -> f64 {
        let rest = Weight {
            text_bytes: bytes.saturating_sub(SHOWN),
            ..Weight::default()
        };
        let rest = figure(self.measure.tokens(&rest));
        let carried = self.rates.write + self.rates.read * self.ahead.max(0.0);
        let call = self.rates.read * figure(self.prompt) + self.rates.output * CALL;
        carried * rest * (1.0 - WANTED) - WANTED * call
    }
}

/// True if a result's call asked for a part, named a file of results, or asks again what an earlier
/// call asked: such a result is shown whole, or the model would ask in circles.
pub fn asked_part(view: &View, output: &ToolOutput, folder: &str) -> bool {
    // Shorter results are never cut by their price; looking for their calls would be in vain.
    if output.text.len() as u64 <= SHOWN {
        return false;
    }
    let mut calls = view.tail().response().iter().map(|segment| &segment.block);
    let Some(call) = calls
        .find(|block| block.kind() == BlockKind::ToolUse && block.call() == Some(&output.call))
    else {
        return false;
    };
    let input = input_of(call);
    let asks_again = |segment: &Segment| {
        let block = &segment.block;
        block.kind() == BlockKind::ToolUse
            && block.tool() == call.tool()
            && input_of(block) == input
    };
    ["offset", "limit", "pages"]
        .iter()
        .any(|part| input.get(part).is_some())
        || memmem::find(call.bytes(), folder.as_bytes()).is_some()
        || view.frozen().iter().rev().any(asks_again)
}

/// Arguments of a call; null if there are none.
fn input_of(call: &Block) -> Value {
    #[derive(Deserialize)]
    struct Call {
        #[serde(default)]
        input: Value,
    }
    let parsed: Option<Call> = serde_json::from_slice(call.bytes()).ok();
    parsed.map(|call| call.input).unwrap_or_default()
}

/// A count as a number; counts beyond 32 bits do not occur in prompts.
fn figure(tokens: Tokens) -> f64 {
    f64::from(u32::try_from(tokens.get()).unwrap_or(u32::MAX))
}
