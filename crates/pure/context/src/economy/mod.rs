//! The arithmetic of the policy `economic`: when to forget, and what it costs.
//!
//! Model: compaction is an inventory problem (economic order quantity). Context is stock held at a
//! price per request, because every request reads all of it from the cache; an order (a compaction)
//! costs a fixed sum. Ordering too often wastes the fixed sums, too rarely the holding cost; the
//! cheapest size lies in between. All costs are in tokens of uncached input.
//!
//! - [`Prices`], [`Rates`]: cost of reading, writing and output relative to uncached input.
//! - [`Estimators`], [`Prior`]: growth, base, summary and re-reading, learnt online.
//! - [`Lessons`]: figures of a project's sessions, merged as they go on.
//! - [`Survival`]: how many requests a session of this age still has.
//! - [`Order`]: the formula itself.
//! - [`Outlook`]: the formula for this session now, with the size in use and its bounds.
//! - [`decide`], `notes_worth`, [`clearing_worth`], [`keep_alive_worth`]: the questions. Each
//!   returns a [`Decision`]: figures, formatted as text only on demand.
//!
//! Responsibilities: figures in, decisions out, in constant time and without allocation.
//!
//! Not here: views, records, the clock, storage of estimators between sessions, and how a
//! compaction is made.

mod clearing;
mod decision;
mod estimate;
mod keep_alive;
mod lessons;
mod moments;
mod notes;
mod order;
mod outlook;
mod prices;
mod survival;

#[cfg(test)]
mod decision_tests;
#[cfg(test)]
mod policy_tests;
#[cfg(test)]
mod simulator;

pub use clearing::{Clearing, clearing_worth, cold_least};
pub use decision::{
    ClearingFigures, ColdFigures, Decision, KeepAliveFigures, NotesFigures, Reason, Stake,
    WarmFigures,
};
pub use estimate::{Compacted, Estimate, Estimators, Prior};
pub use keep_alive::{KeepAlive, keep_alive_worth};
pub use lessons::{Lessons, merge_lessons};
pub use moments::{Moment, Situation, decide};
pub use notes::NotesState;
pub(crate) use notes::notes_worth;
pub use order::{Means, Order};
pub use outlook::{Figures, Outlook};
pub use prices::{Prices, Rates};
pub use survival::Survival;

use dormouse_core::units::Tokens;
use std::fmt;

/// Tokens as a float for arithmetic.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
pub(crate) fn figure(tokens: Tokens) -> f64 {
    tokens.get() as f64
}

/// A computed figure as tokens, rounded; clamped at zero and at the largest integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to integer cast stops at the bounds, which is what is wanted"
)]
fn tokens(figure: f64) -> Tokens {
    Tokens(figure.round() as u64)
}

/// A figure in thousands for display: `75.3k`; `∞` for one larger than any prompt.
struct Kilo(f64);

impl fmt::Display for Kilo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 1e15 tokens: only "never" (`u64::MAX`) and results of dividing by almost nothing lie
        // above.
        if self.0 > 1e15 {
            return f.write_str("∞");
        }
        write!(f, "{:.1}k", self.0 / 1_000.0)
    }
}
