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
/// Most requests that the expectation looks ahead for: beyond, a saving is too uncertain to count.
const MOST_AHEAD: f64 = 400.0;
/// Part of the session's cost so far that a compaction may put at risk. If the session ends right
/// behind it, the session was dearer by no more than this part, whatever the estimates said. At
/// 0.12 the first compaction of a long session comes a few requests later than at the best size, and
/// fewer than one session in twenty ends more than five per cent dearer for it.
const RISK: f64 = 0.12;
/// Number of newest requests that the kept tail should cover. Of what sessions use three or more
/// requests later, two thirds come within ten requests.
const TAIL_REQUESTS: f64 = 10.0;
/// Shortest kept tail in tokens: one or two rounds, enough to go on in the middle of a step.
const SHORTEST_TAIL: f64 = 4_000.0;
/// Part of the room between prefix and target that the tail may take. In a window of 8,000 tokens
/// the shortest tail would fill it again at once: compactions would follow each other until one fails to
/// get below the target, and the session would end there.
const TAIL_SHARE: f64 = 0.25;
/// Part of a request's mean cost that the kept tail may add. What the tail holds can be fetched
/// again for less than carrying more of it costs: at a fifth two recorded sessions had 3 to 5 points
/// more of what they used later in the prompt, two others 2 to 19 points less, and all cost more.
const TAIL_PRICE: f64 = 0.1;

/// Figures of the session that are measured or set, not estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Cost of the session so far, in tokens of uncached input.
    pub spent: f64,
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
    /// Most that a compaction may cost: a part of what the session has cost so far.
    pub at_risk: f64,
    /// Part of the last compaction's cost that has not been saved yet.
    pub owed: f64,
}

impl Outlook {
    /// Computes everything; a few dozen operations.
    pub fn new(known: &Estimators, rates: &Rates, figures: &Figures) -> Self {
        let order = Order::new(figures.means, known, rates, figures.static_prefix);
        let age = known.age();
        let best = order.best_within(known.survival.hazard(age));
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
            remaining: known.survival.expected(age, MOST_AHEAD),
            at_risk: RISK * figures.spent,
            owed: known.owed(rates, room),
        }
    }

    /// Expected number of requests until the next compaction or the session's end.
    pub fn requests_ahead(&self, used: Tokens) -> f64 {
        self.expected(figure(self.target.saturating_sub(used)) / self.order.growth)
    }

    /// Expected number of requests among the next `within`.
    pub(crate) fn expected(&self, within: f64) -> f64 {
        let within = within.min(MOST_AHEAD);
        self.known.survival.expected(self.known.age(), within)
    }

    /// Number of requests until the window forces a compaction, and the chance to get there.
    pub(crate) fn forced_after(&self, used: Tokens) -> (f64, f64) {
        let room = figure(self.figures.classic.saturating_sub(used));
        let requests = room / self.order.growth;
        let chance = self.known.survival.chance(self.known.age(), requests);
        (requests, chance)
    }

    /// Tokens of the newest rounds that a compaction keeps: so many requests of usual growth, within
    /// a part of what a request costs.
    pub fn tail(&self) -> Tokens {
        let cycle = self.cycle();
        let price = TAIL_PRICE * self.order.per_request(self.best) * cycle;
        let affordable = price / (self.rates.write + self.rates.read * cycle);
        let wanted = TAIL_REQUESTS * self.order.growth;
        let figures = &self.figures;
        let room = figure(figures.classic.saturating_sub(figures.static_prefix));
        let most = TAIL_SHARE * room;
        tokens(wanted.min(affordable).max(SHORTEST_TAIL).min(most))
    }

    /// Expected number of requests from one compaction to the next, or to the end; at least one.
    fn cycle(&self) -> f64 {
        let room = (figure(self.target) - self.order.base).max(0.0);
        self.expected(room / self.order.growth).max(1.0)
    }

    /// Cost of keeping so many tokens at a compaction: written once, read until the next one.
    pub(crate) fn keeping(&self, kept: Tokens) -> f64 {
        figure(kept) * (self.rates.write + self.rates.read * self.cycle())
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
            "C0 = {how} = {}, C(W) = C0 + {:.3}·W; b + sqrt(2·g·(C0 + {:.3}·b)/r) = {} for a session \
             without end; ending with {:.1} % at each request: W* = {}, C(W*) = {}",
            Kilo(order.fixed),
            order.per_token,
            order.per_token,
            Kilo(order.best()),
            100.0 * known.survival.hazard(known.age()),
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
        writeln!(
            f,
            "after {} requests {:.0} more are expected; spent {}, of which {} may be risked",
            known.requests(),
            self.remaining,
            Kilo(self.figures.spent),
            Kilo(self.at_risk),
        )?;
        let tail = self.tail();
        writeln!(
            f,
            "a compaction keeps a tail of up to {}: {TAIL_REQUESTS:.0}·g within {:.0} % of what a \
             request costs; written once and read until the next one it costs {}",
            Kilo(figure(tail)),
            100.0 * TAIL_PRICE,
            Kilo(self.keeping(tail)),
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
