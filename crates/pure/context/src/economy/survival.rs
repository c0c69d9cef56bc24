//! Number of requests that a session still has: a survival curve.
//!
//! Model: the length of a session is divided into octaves, from 1 to 2 requests, from 2 to 4, and
//! so on. For each there is the probability that a session which entered it leaves it alive. Within
//! an octave the curve is a power law, so a session's chance to go on grows with its age: of those
//! that reached n requests, most go on for about as many again. A power law fits the lengths of
//! sessions far better than a constant rate, under which an old session would be as likely to end
//! with the next request as a new one.
//!
//! The curve starts from a prior that ships with the binary and is corrected by the lengths of the
//! project's earlier sessions.
//!
//! Not here: where the lengths are stored ([`super::Lessons`]), and decisions.

use serde::{Deserialize, Serialize};

/// Number of octaves: the last one begins at 1,024 requests and has no end.
const OCTAVES: usize = 11;

/// Probability to leave each octave alive, without knowledge of the project: shares of 26 recorded
/// sessions of 1 to 468 requests, rounded. Many sessions are a question
/// or a small change and end between 8 and 32 requests; those that pass go on for long.
const SHIPPED: [f64; OCTAVES] = [
    0.80, 0.80, 0.75, 0.70, 0.55, 0.50, 0.55, 0.55, 0.50, 0.50, 0.50,
];

/// Weight of the shipped curve in sessions: a project's own lengths outweigh it after six.
const SHIPPED_WEIGHT: f64 = 6.0;

/// Survival curve of sessions, in requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Survival {
    /// Probability to leave each octave alive.
    passes: [f64; OCTAVES],
}

impl Default for Survival {
    fn default() -> Self {
        Self { passes: SHIPPED }
    }
}

impl Survival {
    /// The shipped curve, corrected by the lengths of earlier sessions.
    pub fn of(lengths: impl IntoIterator<Item = u32>) -> Self {
        // Entered and left alive, for each octave.
        let mut counts = [(0.0, 0.0); OCTAVES];
        for length in lengths {
            for (octave, (entered, left)) in counts.iter_mut().enumerate() {
                if length >> octave > 0 {
                    *entered += 1.0;
                }
                if length >> octave > 1 {
                    *left += 1.0;
                }
            }
        }
        let mut passes = SHIPPED;
        for (pass, (entered, left)) in passes.iter_mut().zip(counts) {
            *pass = (SHIPPED_WEIGHT * *pass + left) / (SHIPPED_WEIGHT + entered);
        }
        Self { passes }
    }

    /// Exponent of the power law at this age. A file may be damaged, so it is kept within reason.
    fn exponent(&self, octave: usize) -> f64 {
        let pass = self.passes[octave.min(OCTAVES - 1)];
        // At 0.999 a session would go on for thousands of octaves; at 0.02 it ends at once.
        -pass.clamp(0.02, 0.999).log2()
    }

    /// Probability per request that a session of this age ends with it.
    pub(crate) fn hazard(&self, age: f64) -> f64 {
        let age = age.max(1.0);
        let (octave, _) = octave_of(age);
        (self.exponent(octave) / age).min(1.0)
    }

    /// Probability that a session of this age makes at least so many further requests.
    pub(crate) fn chance(&self, age: f64, further: f64) -> f64 {
        self.walk(age, further).0
    }

    /// Expected number of further requests of a session of this age, none beyond `within` counted.
    pub(crate) fn expected(&self, age: f64, within: f64) -> f64 {
        self.walk(age, within).1
    }

    /// Probability to get so far, and the expected number of requests on the way.
    fn walk(&self, age: f64, further: f64) -> (f64, f64) {
        let mut from = age.max(1.0);
        let end = from + further.max(0.0);
        let (mut alive, mut sum) = (1.0, 0.0);
        let (mut octave, mut top) = octave_of(from);
        loop {
            let last = octave + 1 >= OCTAVES;
            let to = if last { end } else { end.min(top) };
            let exponent = self.exponent(octave);
            let ratio = (to / from).max(1.0);
            // The integral of the power law from `from` to `to`; its limit where the exponent is 1.
            let rest = 1.0 - exponent;
            let length = if rest.abs() < 1e-6 {
                ratio.ln()
            } else {
                (ratio.powf(rest) - 1.0) / rest
            };
            sum += alive * from * length;
            alive *= ratio.powf(-exponent);
            if last || to >= end {
                return (alive, sum);
            }
            (from, octave, top) = (to, octave + 1, 2.0 * top);
        }
    }
}

/// Octave that an age lies in, and the age at which it ends.
fn octave_of(age: f64) -> (usize, f64) {
    let (mut octave, mut top) = (0, 2.0);
    while age >= top && octave + 1 < OCTAVES {
        (octave, top) = (octave + 1, 2.0 * top);
    }
    (octave, top)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn an_octave_is_passed_with_its_probability() {
        let survival = Survival::default();
        near(survival.chance(16.0, 16.0), 0.55);
        near(survival.chance(16.0, 48.0), 0.55 * 0.50);
        near(survival.chance(7.0, 0.0), 1.0);
    }

    #[test]
    fn an_old_session_is_expected_to_go_on_longer_than_a_young_one() {
        let survival = Survival::default();
        let rest = |age| survival.expected(age, 10_000.0);
        assert!(rest(4.0) < rest(40.0) && rest(40.0) < rest(400.0));
        assert!(survival.hazard(4.0) > survival.hazard(40.0));
    }

    #[test]
    fn lengths_of_the_project_correct_the_curve() {
        let before = Survival::default();
        let short = Survival::of([9; 40]);
        let long = Survival::of([300; 40]);
        assert!(short.chance(8.0, 8.0) < 0.2 && long.chance(8.0, 100.0) > 0.8);
        // Ages that no session of the project has reached keep the shipped curve.
        near(short.chance(64.0, 64.0), before.chance(64.0, 64.0));
        near(Survival::of([]).chance(2.0, 30.0), before.chance(2.0, 30.0));
    }

    proptest! {
        #[test]
        fn expectation_is_the_sum_of_the_chances(age in 1.0_f64..600.0, within in 1_u32..300,
                                                 lengths in proptest::collection::vec(0_u32..5_000, 0..20)) {
            let survival = Survival::of(lengths);
            let steps = 64;
            let width = f64::from(within) / f64::from(steps);
            let sum: f64 = (0..steps)
                .map(|step| width * survival.chance(age, (f64::from(step) + 0.5) * width))
                .sum();
            let expected = survival.expected(age, f64::from(within));
            prop_assert!((expected - sum).abs() <= 0.02 * sum, "{expected} {sum}");
            prop_assert!(expected <= f64::from(within) + 1e-6);
        }
    }
}
