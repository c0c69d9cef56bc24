//! Whether clearing old tool results pays.
//!
//! Clearing shortens every request to come, but everything behind the first cleared result must be
//! written to the cache again, at `w` instead of being read at `r`. On a cold cache it is written
//! anyway, and what was cleared need not be.
//!
//! Not here: which results may be cleared.

use super::{ClearingFigures, Decision, Rates, Reason, figure, tokens};
use dormouse_core::units::Tokens;

/// A clearing that could be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clearing {
    /// Tokens it takes out of the prompt, net of what it puts in their place.
    pub freed: Tokens,
    /// Tokens that remain behind the first cleared result.
    pub behind: Tokens,
    /// Requests that will be shorter for it: see [`Outlook::requests_ahead`].
    ///
    /// [`Outlook::requests_ahead`]: super::Outlook::requests_ahead
    pub remaining: f64,
    /// The cache is cold.
    pub cold: bool,
}

/// Whether to clear. The threshold is how much it must free.
pub fn clearing_worth(clearing: &Clearing, rates: &Rates) -> Decision {
    let Clearing {
        freed,
        behind,
        remaining,
        cold,
    } = *clearing;
    let remaining = remaining.max(0.0);
    let per_token = rates.read * remaining;
    let (worth, rewritten) = if cold {
        (per_token + rates.write, 0.0)
    } else {
        (
            per_token,
            (rates.write - rates.read).max(0.0) * figure(behind),
        )
    };
    let saved = worth * figure(freed);
    // The least whole number of tokens that saves more than it costs.
    let least = if worth > 0.0 {
        tokens((rewritten / worth).floor()) + Tokens(1)
    } else {
        Tokens(u64::MAX)
    };
    Decision {
        act: saved > rewritten,
        threshold: least,
        reason: Reason::Clearing(ClearingFigures {
            saved,
            rewritten,
            remaining,
            cold,
        }),
    }
}
