//! Layer 1: tool results that are too long for the prompt.
//!
//! # Model
//! The results of a round come in together. Each has a limit of its own, and all that come in
//! before the next request share one. A result over its limit is put into a file and a preview
//! takes its place; if the round is still too long, the largest go first. The plan holds the exact
//! bytes of every preview: the decision is made once, written down, and never made again.
//!
//! # Responsibilities
//! Which results go, what stands there instead, what the files are called.
//!
//! # Not here
//! Writing the files and the records. What the model has seen whole is not looked at: only results
//! that no request contained yet may be given to [`plan`].

mod preview;

#[cfg(test)]
mod tests;

pub use preview::{CONTAINER, EMPTY_RESULT, file_name, preview, result_block, saved_at, truncated};

use dormouse_core::block::Block;
use dormouse_core::id::CallId;

/// One result as the tool gave it.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// The call it answers.
    pub call: CallId,
    /// Its text.
    pub text: String,
    /// Images and documents: kept apart and never cut.
    pub media: Vec<Block>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The result as a block, where it came as one: its bytes are kept if it stays whole.
    pub block: Option<Block>,
}

impl ToolOutput {
    /// A result of text alone.
    pub fn text(call: CallId, text: impl Into<String>) -> Self {
        Self {
            call,
            text: text.into(),
            media: Vec::new(),
            is_error: false,
            block: None,
        }
    }

    /// A result that came as a block.
    pub fn of_block(call: CallId, block: Block) -> Self {
        Self {
            text: block.readable_text().unwrap_or_default(),
            media: preview::media_of(&block),
            is_error: block.is_error(),
            block: Some(block),
            call,
        }
    }

    /// The result as it is, or the marker for an empty one: an empty result confuses models.
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

/// What the planner must know of one result.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The result.
    pub output: &'a ToolOutput,
    /// The longest that stays whole, in characters.
    pub limit: u64,
    /// A tool that reads files is exempt: its result is a file already, and reading the file that
    /// holds it would go round in circles.
    pub exempt: bool,
}

/// Limits of the whole round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundLimits {
    /// Characters of all results that one request brings.
    pub round: u64,
    /// Bytes of a preview.
    pub preview: u64,
}

/// Results that come in together, with the limits that the settings have for them.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// The results, in their order.
    pub results: &'a [Candidate<'a>],
    /// Characters of other results that wait for the same request.
    pub already: u64,
    /// Limits of the round; without them the layer is switched off.
    pub limits: Option<RoundLimits>,
}

impl Round<'_> {
    /// All results stay whole.
    pub fn whole(&self) -> OffloadPlan {
        let unlimited = self.results.iter().map(|result| Candidate {
            limit: u64::MAX,
            ..*result
        });
        OffloadPlan {
            fates: unlimited.map(|result| own_fate(&result)).collect(),
            preview: 0,
        }
    }

    /// The limits of the settings decide.
    pub fn by_settings(&self) -> OffloadPlan {
        match self.limits {
            None => self.whole(),
            Some(limits) => OffloadPlan {
                fates: plan(self.results, self.already, limits),
                preview: limits.preview,
            },
        }
    }
}

/// Decision about the results of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadPlan {
    /// One for each result, in their order.
    pub fates: Vec<Fate>,
    /// Bytes of the preview of a result that goes into a file.
    pub preview: u64,
}

/// Why a result was treated as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Within every limit.
    Fits,
    /// There was nothing in it.
    Empty,
    /// It was longer than its own limit.
    OwnLimit {
        /// The limit.
        limit: u64,
    },
    /// The round was too long, and this was the largest left.
    RoundLimit {
        /// The limit.
        limit: u64,
    },
    /// It is too long, but a tool that reads files is exempt.
    Exempt,
}

/// What becomes of one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Characters of its text.
    pub chars: u64,
    /// Whether it goes into a file.
    pub offload: bool,
    /// Why.
    pub reason: Reason,
}

/// Decides about the results of a round, in their order. `already` is how many characters of other
/// results wait for the same request.
pub fn plan(results: &[Candidate<'_>], already: u64, limits: RoundLimits) -> Vec<Fate> {
    let mut fates: Vec<Fate> = results.iter().map(own_fate).collect();
    let preview = limits.preview;
    let cost = |fate: &Fate| {
        if fate.offload {
            preview.min(fate.chars)
        } else {
            fate.chars
        }
    };
    let mut total = already + fates.iter().map(cost).sum::<u64>();
    while total > limits.round {
        let largest = fates
            .iter()
            .enumerate()
            .filter(|(at, fate)| {
                !fate.offload && !results[*at].exempt && fate.chars > preview.saturating_mul(2)
            })
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

fn own_fate(candidate: &Candidate<'_>) -> Fate {
    let text = &candidate.output.text;
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
        reason,
    }
}
