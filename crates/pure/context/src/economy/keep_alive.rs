//! Decision to send a keep-alive: a request of one token just before the cache expires.
//!
//! It reads the whole prompt and so renews the entry. If the session continues before the renewed
//! entry expires, the prompt is read once more instead of being written again; if not, the request
//! is wasted.
//!
//! Not here: whether keep-alive is switched on, and the timer.

use super::{Decision, KeepAliveFigures, Rates, Reason, figure, tokens};
use dormouse_core::units::Tokens;

/// A cache entry about to expire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeepAlive {
    /// Tokens of the prompt it holds.
    pub prompt: Tokens,
    /// Tokens of that with a longer lifetime of their own, which need no renewal.
    pub lasting: Tokens,
    /// Probability that the session continues within one more lifetime, from 0 to 1: the share of
    /// this session's pauses of at least one lifetime that ended within two.
    pub chance: f64,
}

/// Decision to send it. The threshold is the number of tokens at risk from which it pays.
pub fn keep_alive_worth(cache: &KeepAlive, rates: &Rates) -> Decision {
    let prompt = figure(cache.prompt);
    let at_risk = figure(cache.prompt.saturating_sub(cache.lasting));
    let chance = cache.chance.clamp(0.0, 1.0);
    let cost = rates.read * prompt + rates.output;
    let at_stake = (rates.write - rates.read).max(0.0) * at_risk;
    let break_even = if at_stake > 0.0 { cost / at_stake } else { 1.0 };
    let lasting = figure(cache.lasting.min(cache.prompt));
    // Net gain per token at risk; if it is not positive, no length pays.
    let net = chance * (rates.write - rates.read) - rates.read;
    let least = if net > 0.0 {
        tokens((rates.output + rates.read * lasting) / net)
    } else {
        Tokens(u64::MAX)
    };
    Decision {
        act: chance * at_stake > cost,
        threshold: least,
        reason: Reason::KeepAlive(KeepAliveFigures {
            cost,
            at_stake,
            chance,
            break_even: break_even.min(1.0),
        }),
    }
}
