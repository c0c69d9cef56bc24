//! The formula for one session as it stands now.
//!
//! Model: the best size W* moves with every observation; the size **in use** follows it only when
//! it is off by more than a share of the room above the base. Around it lie the thresholds of the
//! warm moments: somewhat below at a turn's end, somewhat above between two rounds. All of them are
//! kept between the floor (what the current task needs) and the ceiling (where the classic policy
//! compacts, or where prompts become dearer).
//!
//! The thresholds are shares of the whole size. Where most of that is base, such a share would lie
//! below the base or far beyond what is sensible. So the room above the base is held to the part of
//! it that makes it at most a tolerance dearer: a room of `q` times the best one costs
//! `(q + 1/q)/2` times as much.
//!
//! Not here: which moment it is.

use super::order::notes_update;
use super::{Estimators, Kilo, Means, Order, Rates, figure, tokens};
use dormouse_core::settings::EconomySettings;
use dormouse_core::units::Tokens;
use std::fmt;

/// A step to dearer prompts is heeded only if it leaves this part of the best room.
const LEAST_ROOM: f64 = 0.5;

/// Figures of the session that are not estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Tools, system prompt and instructions.
    pub static_prefix: Tokens,
    /// What the current task needs: the present user turn and its evidence, with all before it
    /// that cannot be left out. No compaction is wanted while the prompt is no longer than this.
    pub floor: Tokens,
    /// Where the classic policy compacts.
    pub classic: Tokens,
    /// The size in use so far: [`Outlook::in_use`] of the outlook before this one.
    pub in_use: Option<Tokens>,
    /// How the next compaction will be made, if nothing special happens.
    pub means: Means,
}

/// What forgetting costs and gains in this session, as far as known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// The ordering problem.
    pub order: Order,
    /// Its best size, W*.
    pub best: f64,
    /// The size in use: W* as of when it last moved by enough.
    pub in_use: Tokens,
    /// Where a compaction is aimed at: the size in use within floor and ceiling.
    pub target: Tokens,
    /// From here on a compaction is taken when a turn has ended.
    pub turn_end: Tokens,
    /// From here on a compaction is taken between two rounds.
    pub between_rounds: Tokens,
    /// The session's figures.
    pub figures: Figures,
    /// The rates.
    pub rates: Rates,
    /// The estimates.
    pub known: Estimators,
    /// Requests the session is expected to go on for.
    pub remaining: f64,
    /// Requests within which a compaction has to pay for itself: only a part of those expected,
    /// because a session ends unannounced, and what it did not last for is lost.
    pub horizon: f64,
    pub(super) settings: EconomySettings,
}

impl Outlook {
    /// Calculates everything; a few dozen operations.
    pub fn new(
        known: &Estimators,
        rates: &Rates,
        figures: &Figures,
        settings: &EconomySettings,
    ) -> Self {
        let order = Order::new(figures.means, known, rates, figures.static_prefix);
        let best = order.best();
        let in_use = held(best, order.base, figures.in_use, settings.hysteresis);
        let size = figure(in_use);
        let room = (size - order.base).max(0.0);
        let (least, most) = tolerated(settings.tolerance);
        // A compaction may leave more than usual; the next one still has to be worth it.
        let start = order.base.max(figure(known.left));
        let turn_end = (settings.turn_end * size).max(start + least * room);
        let between = (settings.between_rounds * size)
            .min(order.base + most * room - known.overshoot.value())
            .max(turn_end);
        let ceiling = rates
            .dearer_over
            .filter(|step| figure(*step) > order.base + LEAST_ROOM * room)
            .map_or(figures.classic, |step| step.min(figures.classic));
        let remaining = known.expected_remaining();
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
            horizon: settings.payback * remaining,
            settings: *settings,
        }
    }

    /// Requests until the next compaction is due, or the end of the session if that is nearer.
    pub fn requests_ahead(&self, used: Tokens) -> f64 {
        let room = figure(self.target.saturating_sub(used));
        (room / self.order.growth).min(self.remaining)
    }

    /// What the kept tail and the restored files may take together after a compaction: a share of
    /// the target, less what the summary takes.
    pub fn keep_budget(&self) -> Tokens {
        let share = tokens(self.settings.keep * figure(self.target));
        share.saturating_sub(self.known.summary.tokens())
    }

    /// What one update of the notes costs at this prompt.
    pub fn notes_update(&self, used: Tokens) -> f64 {
        self.rates.read * figure(used) + notes_update(&self.known, &self.rates)
    }

    /// All figures, for people.
    pub fn arithmetic(&self) -> String {
        self.to_string()
    }
}

/// The size in use: the one before, unless it is off by too much of the room.
fn held(best: f64, base: f64, before: Option<Tokens>, hysteresis: f64) -> Tokens {
    before
        .filter(|size| (figure(*size) - best).abs() <= hysteresis * (best - base))
        .unwrap_or_else(|| tokens(best))
}

/// The smallest and largest part of the best room that is at most this much dearer.
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
