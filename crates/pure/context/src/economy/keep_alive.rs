//! Whether a request of one token just before the cache expires pays.
//!
//! It reads the whole prompt, and so renews it. If the session then goes on before the renewed
//! cache lapses, that prompt is read once more instead of being written again; if not, the request
//! was for nothing.
//!
//! Not here: whether keeping alive is switched on, and the timer.

use super::{Decision, KeepAliveFigures, Rates, Reason, figure, tokens};
use dormouse_core::units::Tokens;

/// A cache about to expire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeepAlive {
    /// The prompt it holds.
    pub prompt: Tokens,
    /// The part of it that outlives the messages by itself and needs no renewal.
    pub lasting: Tokens,
    /// The chance that the session goes on within one more lifetime, from 0 to 1: the share of this
    /// session's pauses of at least one lifetime that ended within two.
    pub chance: f64,
}

/// Whether to send it. The threshold is the length of what is at stake from which it pays.
pub fn keep_alive_worth(cache: &KeepAlive, rates: &Rates) -> Decision {
    let prompt = figure(cache.prompt);
    let at_risk = figure(cache.prompt.saturating_sub(cache.lasting));
    let chance = cache.chance.clamp(0.0, 1.0);
    let cost = rates.read * prompt + rates.output;
    let at_stake = (rates.write - rates.read).max(0.0) * at_risk;
    let break_even = if at_stake > 0.0 { cost / at_stake } else { 1.0 };
    let lasting = figure(cache.lasting.min(cache.prompt));
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
