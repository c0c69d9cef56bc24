//! The arithmetic of one result: what distilling it saves, in tokens of uncached input.

use crate::economy::Rates;
use dormouse_core::units::Tokens;
use std::fmt;

/// Figures of one result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stakes {
    /// Tokens of the result, s.
    pub size: Tokens,
    /// Tokens of its distillate, d.
    pub short: Tokens,
    /// Requests expected before the next compaction or the end, K.
    pub ahead: f64,
    /// Probability that it is fetched again, p.
    pub again: f64,
    /// Tokens of the prompt, W.
    pub prompt: Tokens,
    /// Tokens of the call that fetches it again, c.
    pub call: Tokens,
    /// True if unmarked tokens are cached too, because the provider caches on its own.
    pub automatic: bool,
}

/// Gain of a distillation with its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// Gain in tokens of uncached input; negative if keeping is cheaper.
    pub gain: f64,
    /// Saved by sending the result unmarked: (w − u)·s.
    unmarked: f64,
    /// Saved reading: r·K·(s − d).
    reading: f64,
    /// Cost of writing the distillate: (w − r)·d.
    writing: f64,
    /// Expected cost of fetching it again: p·(w·s + r·s·K + r·W + o·c).
    fetching: f64,
    stakes: Stakes,
}

impl Worth {
    /// Weighs one result: its price over the rest of the session with and without distilling.
    pub fn new(stakes: &Stakes, rates: &Rates) -> Self {
        let (size, short) = (figure(stakes.size), figure(stakes.short));
        let ahead = stakes.ahead.max(0.0);
        let unmarked = (rates.write - unmarked(stakes.automatic, rates)) * size;
        let reading = rates.read * ahead * (size - short);
        let writing = (rates.write - rates.read) * short;
        let fetching = stakes.again
            * (rates.write * size
                + rates.read * size * ahead
                + rates.read * figure(stakes.prompt)
                + rates.output * figure(stakes.call));
        Self {
            gain: unmarked + reading - writing - fetching,
            unmarked,
            reading,
            writing,
            fetching,
            stakes: *stakes,
        }
    }
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "s = {}, d = {}, K = {:.1}, p = {:.2}: unmarked {:+.0}, reading {:+.0}, writing {:+.0}, \
             fetching again {:+.0}, gain {:+.0}",
            self.stakes.size,
            self.stakes.short,
            self.stakes.ahead,
            self.stakes.again,
            self.unmarked,
            self.reading,
            -self.writing,
            -self.fetching,
            self.gain
        )
    }
}

/// Cost of sending what follows the results of a turn unmarked: (u − r)·m.
pub(super) fn behind(tokens: Tokens, automatic: bool, rates: &Rates) -> f64 {
    (unmarked(automatic, rates) - rates.read) * figure(tokens)
}

/// Price of an unmarked token, u.
fn unmarked(automatic: bool, rates: &Rates) -> f64 {
    if automatic { rates.write } else { 1.0 }
}

/// A count as a number; counts beyond 32 bits do not occur in prompts.
fn figure(tokens: Tokens) -> f64 {
    f64::from(u32::try_from(tokens.get()).unwrap_or(u32::MAX))
}
