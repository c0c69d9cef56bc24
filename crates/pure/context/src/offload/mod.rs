//! Layer 1: offload of tool results that are too long for the prompt.
//!
//! # Model
//! The results of a round arrive together. Each has its own limit, and all that wait for the same
//! request share another. A result over its limit is saved to a file and replaced by a preview; if
//! the round is still too long, the largest follow. Below the limits a policy may cut a result to
//! its beginning where that is cheaper ([`Showing`]). The plan fixes the exact bytes of every
//! preview: the decision is made once, recorded, and never repeated.
//!
//! # Responsibilities
//! Which results are offloaded, the text of the previews, the names of the files.
//!
//! # Not here
//! Writing files and records. Results that a request has already contained must not be passed to
//! [`plan`]: replacing them would change the frozen part.

mod fit;
mod preview;
mod price;

#[cfg(test)]
mod tests;

pub use fit::{CutResult, fit};
pub use preview::{EMPTY_RESULT, file_name, preview, result_block, truncated};
pub(crate) use preview::{saved_at, stored};
pub use price::{Showing, asked_part};

use dormouse_core::block::Block;
use dormouse_core::id::CallId;

/// One result as the tool returned it.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// Id of the call it answers.
    pub call: CallId,
    /// Text of the result, complete.
    pub text: String,
    /// Images and documents. They are kept beside the text and never cut.
    pub media: Vec<Block>,
    /// True if the tool reported a failure.
    pub is_error: bool,
    /// Result as a block, if it arrived as one: its bytes are used unchanged if it stays whole.
    pub block: Option<Block>,
}

impl ToolOutput {
    /// A successful result of text only.
    pub fn text(call: CallId, text: impl Into<String>) -> Self {
        Self {
            call,
            text: text.into(),
            media: Vec::new(),
            is_error: false,
            block: None,
        }
    }

    /// A result that arrived as a block.
    pub fn of_block(call: CallId, block: Block) -> Self {
        Self {
            text: block.readable_text().unwrap_or_default(),
            media: preview::media_of(&block),
            is_error: block.is_error(),
            block: Some(block),
            call,
        }
    }

    /// Result as a block, unchanged; an empty one becomes a marker, because empty results confuse
    /// models.
    pub fn whole(&self) -> Block {
        if self.text.trim().is_empty() && self.media.is_empty() {
            return Block::tool_result(&self.call, EMPTY_RESULT, self.is_error);
        }
        if let Some(block) = &self.block {
            return block.clone();
        }
        result_block(&self.call, &self.text, &self.media, self.is_error)
    }
}

/// A result with the limits that apply to it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Result to decide about.
    pub output: &'a ToolOutput,
    /// Largest length in characters that stays whole.
    pub limit: u64,
    /// True if the tool reads files and is exempt. Its result is in a file already; offloading it
    /// would make the model read the saved copy, whose result is offloaded again.
    pub exempt: bool,
    /// True if its call asked for a part, or for what was cut before: it is shown as asked, or the
    /// model would ask in circles. Also for results that are shortened once they are answered.
    pub asked_part: bool,
}

/// Limits of a whole round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundLimits {
    /// Most characters of all results in one request (`offload.turn_limit`).
    pub round: u64,
    /// Length of a preview in bytes (`offload.preview`).
    pub preview: u64,
}

/// Results that arrive together, with the limits from the settings.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// Results in order of their calls.
    pub results: &'a [Candidate<'a>],
    /// Characters of other results that wait for the same request.
    pub already: u64,
    /// Limits of the round; `None` if the layer is switched off.
    pub limits: Option<RoundLimits>,
    /// Figures for the price of showing; `None` under policies that do not look at it.
    pub showing: Option<Showing<'a>>,
}

impl Round<'_> {
    /// True if a result is long enough to be cut by its price. Most are not, and looking at what the
    /// session costs for each of thousands of results would take the square of their number.
    pub fn has_long(&self) -> bool {
        let is_long = |result: &Candidate<'_>| result.output.text.len() as u64 > price::SHOWN;
        self.results
            .iter()
            .any(|result| is_long(result) && !result.asked_part)
    }

    /// Plan that keeps all results whole.
    pub fn whole(&self) -> OffloadPlan {
        let unlimited = self.results.iter().map(|result| Candidate {
            limit: u64::MAX,
            ..*result
        });
        OffloadPlan {
            fates: unlimited.map(|result| own_fate(&result, 0)).collect(),
        }
    }

    /// Plan by the limits of the settings.
    pub(crate) fn by_settings(&self) -> OffloadPlan {
        match self.limits {
            None => self.whole(),
            Some(limits) => OffloadPlan {
                fates: plan(self.results, self.already, limits),
            },
        }
    }

    /// Plan by the limits of the settings, and below them by what showing costs.
    pub(crate) fn by_price(&self) -> OffloadPlan {
        let mut plan = self.by_settings();
        let Some(showing) = self.showing.as_ref().filter(|_| self.limits.is_some()) else {
            return plan;
        };
        for (candidate, fate) in self.results.iter().zip(&mut plan.fates) {
            let text = &candidate.output.text;
            let gain = showing.gain(text.len() as u64);
            if !fate.offload && !candidate.asked_part && gain > 0.0 {
                fate.offload = true;
                fate.shown = price::SHOWN;
                fate.reason = Reason::Price;
            }
        }
        plan
    }
}

/// Decisions about the results of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadPlan {
    /// One decision per result, in order.
    pub fates: Vec<Fate>,
}

/// Reason of a decision, for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Shorter than every limit that applies.
    Fits,
    /// No text and no media.
    Empty,
    /// Longer than its own limit.
    OwnLimit {
        /// Limit of the tool in characters.
        limit: u64,
    },
    /// Largest result left in a round that was too long.
    RoundLimit {
        /// Limit of the round in characters.
        limit: u64,
    },
    /// Too long, but from a tool that reads files.
    Exempt,
    /// Within its limits, but its beginning is expected to be enough.
    Price,
}

/// Decision about one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Length of its text in characters.
    pub chars: u64,
    /// True if it is saved to a file and replaced by a preview.
    pub offload: bool,
    /// Length in bytes of that preview.
    pub shown: u64,
    /// Reason of the decision.
    pub reason: Reason,
}

/// Decides about the results of a round, in order. `already` is the length in characters of other
/// results that wait for the same request.
pub fn plan(results: &[Candidate<'_>], already: u64, limits: RoundLimits) -> Vec<Fate> {
    let preview = limits.preview;
    let own = |result| own_fate(result, preview);
    let mut fates: Vec<Fate> = results.iter().map(own).collect();
    let cost = |fate: &Fate| {
        if fate.offload {
            preview.min(fate.chars)
        } else {
            fate.chars
        }
    };
    // The limit holds per request, so results that already wait for it count.
    let mut total = already + fates.iter().map(cost).sum::<u64>();
    while total > limits.round {
        let largest = fates
            .iter()
            .enumerate()
            // A result under two previews long is not worth a file: its preview would hold half of
            // it.
            .filter(|(at, fate)| {
                !fate.offload && !results[*at].exempt && fate.chars > preview.saturating_mul(2)
            })
            // Of equal sizes the earlier one, so that the plan is deterministic.
            .max_by_key(|(at, fate)| (fate.chars, std::cmp::Reverse(*at)))
            .map(|(at, _)| at);
        let Some(at) = largest else {
            break;
        };
        total -= fates[at].chars - preview;
        fates[at].offload = true;
        fates[at].reason = Reason::RoundLimit {
            limit: limits.round,
        };
    }
    fates
}

/// Decision by the result's own limit alone.
fn own_fate(candidate: &Candidate<'_>, preview: u64) -> Fate {
    let text = &candidate.output.text;
    // Characters, not bytes: the limit must not depend on the script.
    let chars = text.chars().count() as u64;
    let over = chars > candidate.limit;
    let reason = if text.trim().is_empty() && candidate.output.media.is_empty() {
        Reason::Empty
    } else if over && candidate.exempt {
        Reason::Exempt
    } else if over {
        Reason::OwnLimit {
            limit: candidate.limit,
        }
    } else {
        Reason::Fits
    };
    Fate {
        chars,
        offload: matches!(reason, Reason::OwnLimit { .. }),
        shown: preview,
        reason,
    }
}
