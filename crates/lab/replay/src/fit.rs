//! Tokens per byte of the recorded provider, fitted on the first part of a session.
//!
//! # Not here
//! The score on the rest: [`crate::Comparison`].

use crate::recording::Turn;
use dormouse_context::tokens;
use dormouse_core::models::ModelTable;
use dormouse_core::units::Tokens;

/// One over this part of a session is used for fitting: a fifth has enough requests, and leaves
/// four fifths to be judged on.
const FITTED_PART: usize = 5;

/// Least growth in tokens between two prompts: below it, a few unlogged words outweigh the factor.
const LEAST_GROWTH: Tokens = Tokens(4_000);

/// Factor and prefix fitted to one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Thousandths by which estimates are multiplied.
    pub permille: u32,
    /// Turns it was fitted on; the rest is scored.
    pub turns: usize,
    /// Tokens that every prompt of the session begins with and no transcript holds (system, tools,
    /// instructions): the part of the first prompt beyond its logged messages.
    pub prefix: Tokens,
}

impl Fit {
    /// Fits on the first fifth: the largest factor with which the logged messages never grow faster
    /// than the prompts did. The rest of a prompt was sent and not logged.
    pub fn new(turns: &[Turn], models: &ModelTable) -> Self {
        let count = turns.len().div_ceil(FITTED_PART);
        let first = &turns[..count];
        let mut permille = None;
        // Each turn is compared with all behind it, so its estimate is made once.
        let estimates: Vec<Tokens> = first.iter().map(|turn| logged(turn, models)).collect();
        for (at, before) in first.iter().enumerate() {
            // A new beginning or another model says nothing about growth.
            let same = (at + 1..count)
                .take_while(|at| !first[*at].compacted && first[*at].model == before.model);
            for behind in same {
                let grown = first[behind].usage.prompt() - before.usage.prompt();
                let estimate = estimates[behind] - estimates[at];
                if estimate >= LEAST_GROWTH {
                    let ratio = grown.get() * 1_000 / estimate.get();
                    permille = Some(permille.map_or(ratio, |least: u64| least.min(ratio)));
                }
            }
        }
        // A factor outside of this range comes from a damaged recording; no tokenizer is that far
        // off.
        let permille = permille.unwrap_or(1_000).clamp(500, 3_000);
        let prefix = turns.first().map_or(Tokens::ZERO, |turn| {
            let said = logged(turn, models).get() * permille / 1_000;
            turn.usage.prompt() - Tokens(said)
        });
        Self {
            permille: u32::try_from(permille).unwrap_or(1_000),
            turns: count,
            prefix,
        }
    }
}

/// The uncorrected estimate of the logged part of a prompt.
fn logged(turn: &Turn, models: &ModelTable) -> Tokens {
    let bytes = models.lookup(&turn.model).info.bytes_per_token;
    tokens::estimate(&turn.segments.weight(turn.segments.len()), bytes)
}
