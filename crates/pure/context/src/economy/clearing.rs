//! Decision to clear old tool results.
//!
//! Clearing shortens every later request, but everything behind the first cleared result is written
//! to the cache again at `w` instead of being read at `r`. On a cold cache it is written in any
//! case, and cleared results are not: there each result is weighed by itself, what it costs to
//! keep against what it costs to fetch it again.
//!
//! Not here: which results may be cleared ([`crate::clear`]).

use super::{ClearingFigures, Decision, Outlook, Rates, Reason, figure, tokens};
use dormouse_core::units::Tokens;

/// Probability that a result older than the newest few is needed again. Of what sessions use later,
/// 16 in 100 uses come ten or more requests after the value was last seen.
const NEEDED_AGAIN: f64 = 0.25;
/// Tokens that a search or a partial read brings back.
const FETCHED: f64 = 2_000.0;
/// Tokens of the call that fetches it, with the words around it.
const CALL: f64 = 150.0;

/// Size from which an old result costs more to write into a cold cache, and to read from then on,
/// than to fetch again in the cases in which it is needed.
pub fn cold_least(outlook: &Outlook, used: Tokens) -> Tokens {
    let rates = &outlook.rates;
    let fetch = rates.write * FETCHED + rates.read * figure(used) + rates.output * CALL;
    let keep = rates.write + rates.read * outlook.requests_ahead(used);
    tokens(NEEDED_AGAIN * fetch / keep)
}

/// A clearing that a policy considers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clearing {
    /// Tokens removed from the prompt, net of the markers.
    pub freed: Tokens,
    /// Tokens that remain behind the first cleared result.
    pub behind: Tokens,
    /// Number of requests that become shorter: see `Outlook::requests_ahead`.
    pub remaining: f64,
    /// True if the cache is cold.
    pub cold: bool,
}

/// Decision to clear. The threshold is the number of tokens it must free.
pub fn clearing_worth(clearing: &Clearing, rates: &Rates) -> Decision {
    let Clearing {
        freed,
        behind,
        remaining,
        cold,
    } = *clearing;
    let remaining = remaining.max(0.0);
    let per_token = rates.read * remaining;
    // Per token freed: the reads saved, and on a cold cache the write saved too.
    let (worth, rewritten) = if cold {
        (per_token + rates.write, 0.0)
    } else {
        (
            per_token,
            (rates.write - rates.read).max(0.0) * figure(behind),
        )
    };
    let saved = worth * figure(freed);
    // Smallest whole number of tokens that saves more than it costs.
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
