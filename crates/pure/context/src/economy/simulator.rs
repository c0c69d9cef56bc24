//! Cost of a session under a policy, request by request; for tests.
//!
//! It follows the rules of a prompt cache, not the formula: each request reads what was there and
//! writes what is new; a compaction reads the prompt, pays for the summary, and writes what follows
//! the static prefix.

use super::{
    Compacted, Estimators, Figures, Means, Moment, Outlook, Rates, Situation, decide, tokens,
};
use dormouse_core::units::Tokens;
use std::cell::{Cell, RefCell};

/// One request of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Tokens it adds to the prompt.
    pub(super) growth: f64,
    /// True if the turn ends with it.
    pub(super) ends_turn: bool,
}

/// A fixed course of requests: growth does not depend on the policy.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) static_prefix: f64,
    pub(super) kept: f64,
    pub(super) summary: f64,
    pub(super) rates: Rates,
    pub(super) classic: Tokens,
    pub(super) steps: Vec<Step>,
    /// Factors on kept and written tokens of the first, second, … compaction; repeats.
    pub(super) wobble: Vec<f64>,
}

/// Total of a simulated session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bill {
    pub(super) cost: f64,
    pub(super) compactions: u32,
}

impl Session {
    /// Compacts whenever the prompt has reached this size.
    pub(super) fn fixed(&self, size: f64) -> Bill {
        self.run(|_, prompt, _| prompt >= size, |_| {})
    }

    /// Best of many fixed sizes, by search in hindsight, and its bill.
    pub(super) fn best_fixed(&self) -> (f64, Bill) {
        let base = self.static_prefix + self.kept;
        let top = super::figure(self.classic);
        let sizes = (0..120).map(|i| {
            let share = f64::from(i) / 119.0;
            // Evenly spaced in the logarithm of the room, from 2 % of the base upwards.
            let room = 0.02 * base * ((top - base) / (0.02 * base)).powf(share);
            base + room
        });
        sizes
            .map(|size| (size, self.fixed(size)))
            .min_by(|a, b| a.1.cost.total_cmp(&b.1.cost))
            .expect("some size")
    }

    /// Decides online, from what it has observed so far.
    pub(super) fn online(&self) -> Bill {
        let known = RefCell::new(Estimators::default());
        let before = Cell::new(tokens(self.static_prefix));
        let mut in_use = None;
        self.run(
            |step, prompt, spent| {
                let mut known = known.borrow_mut();
                known.observe_request(before.replace(tokens(prompt)), tokens(prompt));
                let figures = Figures {
                    static_prefix: tokens(self.static_prefix),
                    floor: Tokens::ZERO,
                    classic: self.classic,
                    in_use,
                    means: Means::Full,
                    spent,
                };
                let outlook = Outlook::new(&known, &self.rates, &figures);
                in_use = Some(outlook.in_use);
                let moment = if step.ends_turn {
                    Moment::TurnEnd
                } else {
                    Moment::BetweenRounds
                };
                decide(&outlook, &Situation::new(tokens(prompt), moment)).act
            },
            |compacted| {
                known.borrow_mut().observe_compaction(compacted);
                before.set(compacted.after);
            },
        )
    }

    fn run(
        &self,
        mut compact: impl FnMut(&Step, f64, f64) -> bool,
        mut compacted: impl FnMut(&Compacted),
    ) -> Bill {
        let Rates {
            read,
            write,
            write_prefix,
            output,
            ..
        } = self.rates;
        let mut wobbles = self.wobble.iter().cycle();
        // The first request writes the static prefix; everything else is in the loop.
        let mut prompt = self.static_prefix;
        let mut bill = Bill {
            cost: write_prefix * prompt,
            compactions: 0,
        };
        for step in &self.steps {
            bill.cost += read * prompt + write * step.growth;
            prompt += step.growth;
            if compact(step, prompt, bill.cost) {
                let wobble = wobbles.next().copied().unwrap_or(1.0);
                let (kept, summary) = (self.kept * wobble, self.summary * wobble);
                let before = tokens(prompt);
                bill.cost += read * prompt + output * summary + write * kept;
                bill.compactions += 1;
                prompt = self.static_prefix + kept;
                compacted(&Compacted {
                    before,
                    after: tokens(prompt),
                    static_prefix: tokens(self.static_prefix),
                    summary: Some(tokens(summary)),
                });
            }
        }
        bill
    }
}
