//! The arithmetic of the policy `economic`: when to forget, and what it costs.
//!
//! Model: compacting is an ordering problem. Context is stock that is held at a price per request
//! (every request reads all of it from the cache), and an order (a compaction) costs a sum of its
//! own. Ordering too often wastes the sums, ordering too rarely wastes the holding; in between lies
//! one best size. All costs are in tokens of uncached input.
//!
//! - [`Prices`], [`Rates`]: what reading, writing and answering cost relative to uncached input.
//! - [`Estimators`], [`Prior`]: growth, base, summary and re-reading, learnt while working.
//! - [`Order`]: the formula itself.
//! - [`Outlook`]: the formula for this session now, with the size in use and its bounds.
//! - [`decide`], [`notes_worth`], [`clearing_worth`], [`keep_alive_worth`]: the questions. Each
//!   answers with a [`Decision`]: figures, whose arithmetic is written out only when asked for.
//!
//! Responsibilities: figures in, decisions out, in constant time and without allocating.
//!
//! Not here: views, records, the clock, who keeps the estimators between sessions, and how a
//! compaction is made.

mod clearing;
mod decision;
mod estimate;
mod keep_alive;
mod moments;
mod notes;
mod order;
mod outlook;
mod prices;

#[cfg(test)]
mod decision_tests;
#[cfg(test)]
mod policy_tests;
#[cfg(test)]
mod simulator;

pub use clearing::{Clearing, clearing_worth};
pub use decision::{
    ClearingFigures, ColdFigures, Decision, KeepAliveFigures, NotesFigures, Reason, WarmFigures,
};
pub use estimate::{Compacted, Estimate, Estimators, Prior};
pub use keep_alive::{KeepAlive, keep_alive_worth};
pub use moments::{Moment, Situation, decide};
pub use notes::{NotesState, notes_worth};
pub use order::{Means, Order};
pub use outlook::{Figures, Outlook};
pub use prices::{Prices, Rates};

use dormouse_core::units::Tokens;
use std::fmt;

/// A number of tokens to calculate with.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^53"
)]
fn figure(tokens: Tokens) -> f64 {
    tokens.get() as f64
}

/// A calculated figure as a number of tokens: below zero none, beyond all bounds the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to integer cast stops at the bounds, which is what is wanted"
)]
fn tokens(figure: f64) -> Tokens {
    Tokens(figure.round() as u64)
}

/// A figure as people read it: `75.3k`; one beyond all prompts is `∞`.
struct Kilo(f64);

impl fmt::Display for Kilo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 1e15 {
            return f.write_str("∞");
        }
        write!(f, "{:.1}k", self.0 / 1_000.0)
    }
}
