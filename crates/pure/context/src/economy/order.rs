//! The order-quantity formula.
//!
//! With base `b`, growth `g`, read price `r`, write price `w` and a compaction at size W costing
//! `C(W) = C0 + c·W`, a request costs on average `r·(b + (W−b)/2) + w·g + g·C(W)/(W−b)`. The
//! minimum is at `W* = b + sqrt(2·g·(C0 + c·b)/r)`.
//!
//! Not here: where the figures come from, and bounds on the result.

use super::{Estimators, Rates, figure};
use dormouse_core::units::Tokens;

/// Lower bound of the read price: at zero W* would be infinite. A millionth of the input price is
/// far below any real one.
const LEAST_READ: f64 = 1e-6;

/// Means of a compaction, as far as its cost depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// A model call that reads the conversation from the cache.
    Full,
    /// A model call that finds the cache cold and writes it again.
    FullCold,
    /// Notes as the summary: no call at that moment, but one update of them before.
    Notes,
}

/// An instance of the problem. Sizes are in tokens, costs in tokens of uncached input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// Size right after a compaction, `b`: static prefix and what is kept.
    pub base: f64,
    /// Growth per request, `g`.
    pub growth: f64,
    /// Price of reading from the cache, `r`.
    pub read: f64,
    /// Price of writing to the cache, `w`.
    pub write: f64,
    /// Part of a compaction's cost that does not depend on the size, `C0`.
    pub fixed: f64,
    /// Cost that each token of the prompt adds to a compaction, `c`.
    pub per_token: f64,
}

impl Order {
    /// Instance for a session whose compactions use these means.
    pub fn new(means: Means, known: &Estimators, rates: &Rates, static_prefix: Tokens) -> Self {
        let kept = known.kept.value();
        let rewritten = rates.write * (kept + known.reread.value());
        let call = rates.output * known.summary.value();
        let (fixed, per_token) = match means {
            Means::Full => (rewritten + call, rates.read),
            Means::FullCold => (rewritten + call, rates.write),
            Means::Notes => (rewritten + notes_update(known, rates), rates.read),
        };
        Self {
            base: figure(static_prefix) + kept,
            // A growth of zero would make W* equal to the base and every request a compaction.
            growth: known.growth.value().max(1.0),
            read: rates.read.max(LEAST_READ),
            write: rates.write,
            fixed,
            per_token,
        }
    }

    /// Cost of one compaction at this size, `C(W)`.
    pub fn compaction(&self, size: f64) -> f64 {
        self.fixed + self.per_token * size
    }

    /// Best size, `W*`, in tokens, for a session without end.
    pub fn best(&self) -> f64 {
        let least = self.fixed + self.per_token * self.base;
        self.base + (2.0 * self.growth * least / self.read).sqrt()
    }

    /// Best size for a session that ends with probability `hazard` at each request.
    ///
    /// A compaction may be followed by the end, so it is worth less than without one and waits for
    /// a larger prompt. With `y = λ·(W−b)/g`, the requests of a cycle times the hazard, the
    /// cheapest rule in expectation compacts where `y − 1 + e^−y = λ²·(C0 + c·b)/((1−λ)·r·g)`; for
    /// small λ that is the formula of [`Self::best`].
    pub fn best_within(&self, hazard: f64) -> f64 {
        // Below, the session is as good as endless and the difference is lost in rounding; above,
        // nearly every request is the last and the size is beyond any window in either case.
        if hazard < 1e-4 {
            return self.best();
        }
        let hazard = hazard.min(0.9);
        let least = self.fixed + self.per_token * self.base;
        let share = hazard * hazard * least / ((1.0 - hazard) * self.read * self.growth);
        // Newton on a convex function, from a start that is off by less than a fifth: five steps
        // reach the precision of the figures.
        let mut cycle = (2.0 * share).sqrt() + share / 3.0;
        for _ in 0..5 {
            let end = (-cycle).exp();
            cycle -= (cycle - 1.0 + end - share) / (1.0 - end).max(1e-9);
        }
        self.base + cycle * self.growth / hazard
    }

    /// Mean cost of a request if every compaction happens at this size.
    pub(crate) fn per_request(&self, size: f64) -> f64 {
        // Below one request's growth there is no cycle to average over.
        let room = (size - self.base).max(self.growth);
        self.read * (self.base + room / 2.0)
            + self.write * self.growth
            + self.growth * self.compaction(size) / room
    }

    /// Total future gain of standing at the base instead of at this size.
    ///
    /// Beyond the best size that is a whole compaction. Below it a compaction is worth less than it
    /// costs, by `r·(W*−P)²/2g`: the reading that waiting would have saved. At the base nothing is
    /// left.
    pub fn gain(&self, size: f64, best: f64) -> f64 {
        let early = (best - size).max(0.0);
        let gain = self.compaction(size) - self.read * early * early / (2.0 * self.growth);
        gain.max(0.0)
    }
}

/// Cost of an update of the notes, without reading the prompt.
pub(super) fn notes_update(known: &Estimators, rates: &Rates) -> f64 {
    rates.write * known.notes_sent.value() + rates.output * known.notes_edits.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example: 21k of static prefix, 7k kept behind it, a summary of 2k.
    fn example() -> Order {
        Order {
            base: 28_000.0,
            growth: 5_200.0,
            read: 0.1,
            write: 1.25,
            fixed: 5.0 * 2_000.0 + 1.25 * 7_000.0,
            per_token: 0.1,
        }
    }

    #[test]
    fn the_worked_example_comes_out() {
        let best = example().best();
        assert!((74_000.0..76_500.0).contains(&best), "{best}");
    }

    #[test]
    fn no_other_size_is_cheaper() {
        let order = example();
        let best = order.best();
        let least = order.per_request(best);
        for size in [0.5, 0.8, 0.95, 1.05, 1.3, 2.0].map(|share| share * best) {
            assert!(order.per_request(size) > least, "{size}");
        }
    }

    /// Expected cost of a session that compacts at this size and may end at each request, above
    /// that of its base; by summation instead of the formula.
    fn expected(order: &Order, size: f64, hazard: f64) -> f64 {
        let (mut sum, mut alive, mut prompt) = (0.0, 1.0, order.base);
        for _ in 0..4_000 {
            prompt += order.growth;
            sum += alive * order.read * (prompt - order.base);
            alive *= 1.0 - hazard;
            if prompt >= size {
                sum += alive * order.compaction(prompt);
                prompt = order.base;
            }
        }
        sum
    }

    #[test]
    fn a_session_that_may_end_waits_for_a_larger_prompt() {
        // Small steps, so that the size is met exactly.
        let order = Order {
            growth: 400.0,
            ..example()
        };
        assert!((order.best_within(0.0) - order.best()).abs() < 1.0);
        assert!((order.best_within(1e-3) / order.best() - 1.0).abs() < 0.05);
        for hazard in [0.01, 0.03, 0.1] {
            let best = order.best_within(hazard);
            assert!(best > order.best());
            let least = expected(&order, best, hazard);
            for size in [0.7, 0.85, 1.2, 1.5].map(|share| order.base + share * (best - order.base))
            {
                assert!(expected(&order, size, hazard) > least, "{hazard} {size}");
            }
        }
    }

    #[test]
    fn gain_runs_from_nothing_at_the_base_to_a_compaction_at_the_best_size() {
        let order = example();
        let best = order.best();
        assert!(order.gain(order.base, best) < 1.0);
        assert!((order.gain(best, best) - order.compaction(best)).abs() < 1.0);
        assert!(order.gain(60_000.0, best) < order.compaction(60_000.0));
        assert!(order.gain(60_000.0, best) > order.gain(50_000.0, best));
    }

    #[test]
    fn free_reading_gives_a_number_still() {
        let rates = Rates {
            read: 0.0,
            write: 1.25,
            write_prefix: 2.0,
            output: 5.0,
            dearer_over: None,
        };
        let order = Order::new(Means::Full, &Estimators::default(), &rates, Tokens(9_000));
        assert!(order.best().is_finite() && order.best() > 1_000_000.0);
        assert!(order.gain(10_000.0, order.best()).is_finite());
    }

    #[test]
    fn notes_are_cheaper_than_a_call_only_while_their_update_is() {
        let rates = super::super::Prices::USUAL.rates(
            dormouse_core::settings::CacheTtl::OneHour,
            dormouse_core::settings::CacheTtl::FiveMinutes,
        );
        let mut known = Estimators::default();
        let cost = |known: &Estimators, means| {
            Order::new(means, known, &rates, Tokens(20_000)).compaction(75_000.0)
        };
        known.observe_notes_update(Tokens(1_000), Tokens(100));
        assert!(cost(&known, Means::Notes) < cost(&known, Means::Full));
        for _ in 0..12 {
            known.observe_notes_update(Tokens(12_000), Tokens(6_000));
        }
        assert!(cost(&known, Means::Notes) > cost(&known, Means::Full));
        assert!(cost(&known, Means::Full) < cost(&known, Means::FullCold));
    }
}
