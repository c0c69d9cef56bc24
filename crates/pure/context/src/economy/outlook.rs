//! The formula for one session as it stands now.
//!
//! Model: the best size W* moves with every observation. The size **in use** follows with
//! hysteresis: only when it is off by more than a share of the room above the base. The thresholds
//! of warm moments lie around it: a little below at a turn's end, a little above between two
//! rounds. All are clamped between the floor (what the current task needs) and the ceiling (the
//! classic target, or the step to a higher price).
//!
//! The thresholds are shares of the whole size. If most of that is base, such a share would lie
//! below the base or far beyond the sensible range. The room above the base is therefore limited to
//! the range that costs at most a tolerance more: a room of `q` times the best one costs `(q +
//! 1/q)/2` times as much.
//!
//! Not here: which moment it is ([`super::moments`]).

use super::order::notes_update;
use super::{Estimators, Kilo, Means, Order, Rates, figure, tokens};
use dormouse_core::units::Tokens;
use std::fmt;

/// Least part of the best room that a price step must leave to be respected. Compacting at half the
/// best room makes the room 25 % dearer; beyond that the higher price per token is accepted
/// instead.
const LEAST_ROOM: f64 = 0.5;

/// Share of the size in use from which a compaction is taken at a turn's end. Nothing is under way
/// then, so being early costs no work; a room that is a tenth smaller is only 0.6 % dearer.
const TURN_END: f64 = 0.9;
/// Share of the size in use from which a compaction interrupts a turn. A room that is a quarter
/// larger is 2.5 % dearer, and most turns end before they have grown that far.
const BETWEEN_ROUNDS: f64 = 1.25;
/// Share of the room by which the best size must differ before the size in use follows, and share
/// of a compaction's price that it must gain on a cold cache. Within a tenth the costs differ by
/// less than the estimates do.
pub(super) const HYSTERESIS: f64 = 0.1;
/// Part by which the thresholds around the best size may make the room dearer: it then lies between
/// 0.7 and 1.4 times the best one.
const TOLERANCE: f64 = 0.06;
/// Part of the expected requests within which a compaction has to pay for itself. Half the sessions
/// end before their expected length; at 0.4 short sessions are no dearer than under `classic`.
const PAYBACK: f64 = 0.4;
/// Share of the target that the kept tail and restored files may take. More would bring the next
/// compaction closer than what they save in reading again.
const KEEP: f64 = 0.2;

/// Figures of the session that are measured or set, not estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Tokens of tools, system prompt and instructions.
    pub static_prefix: Tokens,
    /// Tokens that the current task needs: the present user turn and its evidence, and everything
    /// before it that cannot be removed. A prompt no longer than this is never compacted.
    pub floor: Tokens,
    /// Target of the policy `classic`; the upper bound of every threshold.
    pub classic: Tokens,
    /// Size in use so far: [`Outlook::in_use`] of the previous outlook.
    pub in_use: Option<Tokens>,
    /// Means of the next compaction, if nothing special happens.
    pub means: Means,
}

/// Costs and thresholds of forgetting in this session, as far as known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Instance of the order-quantity problem.
    pub order: Order,
    /// Best size, W*, in tokens.
    pub best: f64,
    /// Size in use: W* as of its last move beyond the hysteresis.
    pub in_use: Tokens,
    /// Size that compaction aims at: the size in use, clamped to floor and ceiling.
    pub target: Tokens,
    /// Threshold of a compaction at a turn's end.
    pub turn_end: Tokens,
    /// Threshold of a compaction between two rounds.
    pub between_rounds: Tokens,
    /// Measured figures of the session.
    pub figures: Figures,
    /// Prices that the outlook was computed with.
    pub rates: Rates,
    /// Estimates that the outlook was computed with.
    pub known: Estimators,
    /// Number of requests that the session is expected to continue for.
    pub remaining: f64,
    /// Number of requests within which a compaction has to pay back: a part of `remaining`, because
    /// a session ends without notice and an unfinished pay-back is lost.
    pub horizon: f64,
}

impl Outlook {
    /// Computes everything; a few dozen operations.
    pub fn new(known: &Estimators, rates: &Rates, figures: &Figures) -> Self {
        let order = Order::new(figures.means, known, rates, figures.static_prefix);
        let best = order.best();
        let in_use = held(best, order.base, figures.in_use);
        let size = figure(in_use);
        let room = (size - order.base).max(0.0);
        let (least, most) = tolerated(TOLERANCE);
        // A compaction may leave more than usual; without this the next one would follow at once.
        let start = order.base.max(figure(known.left));
        let turn_end = (TURN_END * size).max(start + least * room);
        let between = (BETWEEN_ROUNDS * size)
            // A prompt that grows in lumps overshoots; aim lower, so that it ends up at the
            // threshold.
            .min(order.base + most * room - known.overshoot.value())
            .max(turn_end);
        let ceiling = rates
            .dearer_over
            .filter(|step| figure(*step) > order.base + LEAST_ROOM * room)
            .map_or(figures.classic, |step| step.min(figures.classic));
        let remaining = known.expected_remaining();
        // The floor may exceed the ceiling; the classic target wins over both.
        let bounded = |at: Tokens| at.min(ceiling).max(figures.floor).min(figures.classic);
        Self {
            order,
            best,
            in_use,
            target: bounded(in_use),
            turn_end: bounded(tokens(turn_end)),
            between_rounds: bounded(tokens(between)),
            figures: *figures,
            rates: *rates,
            known: *known,
            remaining,
            horizon: PAYBACK * remaining,
        }
    }

    /// Number of requests until the next compaction, or until the expected end if that comes first.
    pub(crate) fn requests_ahead(&self, used: Tokens) -> f64 {
        let room = figure(self.target.saturating_sub(used));
        (room / self.order.growth).min(self.remaining)
    }

    /// Budget of kept tail and restored files together: a share of the target, minus the summary.
    pub(crate) fn keep_budget(&self) -> Tokens {
        let share = tokens(KEEP * figure(self.target));
        share.saturating_sub(self.known.summary.tokens())
    }

    /// Cost of one update of the notes at this prompt size.
    pub(crate) fn notes_update(&self, used: Tokens) -> f64 {
        self.rates.read * figure(used) + notes_update(&self.known, &self.rates)
    }

    /// All figures as text for an explanation.
    pub fn arithmetic(&self) -> String {
        self.to_string()
    }
}

/// Hysteresis: the previous size, unless it is off by too large a share of the room.
fn held(best: f64, base: f64, before: Option<Tokens>) -> Tokens {
    before
        .filter(|size| (figure(*size) - best).abs() <= HYSTERESIS * (best - base))
        .unwrap_or_else(|| tokens(best))
}

/// Smallest and largest multiple of the best room that costs at most `tolerance` more; the
/// solutions of `(q + 1/q)/2 = 1 + tolerance`.
fn tolerated(tolerance: f64) -> (f64, f64) {
    let mean = 1.0 + tolerance;
    let spread = (mean * mean - 1.0).sqrt();
    (mean - spread, mean + spread)
}

impl fmt::Display for Outlook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { order, known, .. } = self;
        let classic = figure(self.figures.classic);
        writeln!(
            f,
            "growth g = {} a request, base b = {} ({} static + {} kept), summary s = {}, \
             re-reading {} a compaction; prices r = {:.3}, w = {:.3}, o = {:.3}",
            Kilo(order.growth),
            Kilo(order.base),
            Kilo(figure(self.figures.static_prefix)),
            Kilo(known.kept.value()),
            Kilo(known.summary.value()),
            Kilo(known.reread.value()),
            self.rates.read,
            self.rates.write,
            self.rates.output,
        )?;
        let how = match self.figures.means {
            Means::Full => "o·s + w·(kept + re-reading)",
            Means::FullCold => "o·s + w·(kept + re-reading), cold",
            Means::Notes => "one update of the notes + w·(kept + re-reading)",
        };
        writeln!(
            f,
            "C0 = {how} = {}, C(W) = C0 + {:.3}·W; W* = b + sqrt(2·g·(C0 + {:.3}·b)/r) = {}, C(W*) = {}",
            Kilo(order.fixed),
            order.per_token,
            order.per_token,
            Kilo(self.best),
            Kilo(order.compaction(self.best)),
        )?;
        writeln!(
            f,
            "a request costs {} at W*, {} at the classic target of {}",
            Kilo(order.per_request(self.best)),
            Kilo(order.per_request(classic)),
            Kilo(classic),
        )?;
        write!(
            f,
            "in use {}, floor {}, target {}; compaction from {} at a turn's end, from {} between \
             rounds",
            Kilo(figure(self.in_use)),
            Kilo(figure(self.figures.floor)),
            Kilo(figure(self.target)),
            Kilo(figure(self.turn_end)),
            Kilo(figure(self.between_rounds)),
        )
    }
}
