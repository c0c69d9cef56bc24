//! Whether, and when, to send a request again.
//!
//! # Model
//! A [`RetryPolicy`] is settings; [`Retries`] is the state of one request: attempts so far and a
//! source of jitter. It is told of each failure and of the time spent, and says what to do. It
//! neither waits nor sends.
//!
//! Order of authority: content that was handed out forbids a retry; then the server's
//! `x-should-retry`; then the kind of error. The server's pause beats our own; one that is longer
//! than the policy's longest wait ends the attempts, because the caller may have something better
//! to do.

use crate::failure::Failure;
use std::time::Duration;

/// Settings of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first.
    pub retries: u32,
    /// Pause before the first retry; doubles with each.
    pub base: Duration,
    /// Longest pause of our own.
    pub cap: Duration,
    /// Longest pause that the server may ask for.
    pub longest_hint: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            // Retries, pauses and the longest hint are those of the provider's own SDKs.
            retries: 2,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(8),
            longest_hint: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// A policy that never tries again.
    pub const NEVER: Self = Self {
        retries: 0,
        base: Duration::ZERO,
        cap: Duration::ZERO,
        longest_hint: Duration::ZERO,
    };
}

/// The step after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send again.
    Retry {
        /// After this pause.
        after: Duration,
        /// Number of the attempt to come; the first retry is 2.
        attempt: u32,
    },
    /// Tell the caller.
    GiveUp(GiveUp),
}

/// Why there will be no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// Content was handed out: a second answer would be a different one.
    ContentShown,
    /// It would fail again.
    Permanent,
    /// The server said so.
    ServerSaidNo,
    /// All attempts are used up.
    Exhausted,
    /// The server wants a longer pause than the policy allows.
    HintTooLong,
    /// The pause would end after the deadline.
    Deadline,
}

/// The attempts of one request.
#[derive(Clone, Debug)]
pub struct Retries {
    policy: RetryPolicy,
    deadline: Option<Duration>,
    failed: u32,
    jitter: Jitter,
}

impl Retries {
    /// A request that has not failed yet. `deadline` counts from its start.
    pub const fn new(policy: RetryPolicy, deadline: Option<Duration>, seed: u64) -> Self {
        Self {
            policy,
            deadline,
            failed: 0,
            jitter: Jitter(seed),
        }
    }

    /// Takes note of a failure `elapsed` after the start of the request.
    pub fn next(&mut self, failure: &Failure, elapsed: Duration) -> Decision {
        self.failed += 1;
        if failure.partial.is_some() {
            return Decision::GiveUp(GiveUp::ContentShown);
        }
        match failure.should_retry {
            Some(false) => return Decision::GiveUp(GiveUp::ServerSaidNo),
            Some(true) => {}
            None if failure.transient => {}
            None => return Decision::GiveUp(GiveUp::Permanent),
        }
        if self.failed > self.policy.retries {
            return Decision::GiveUp(GiveUp::Exhausted);
        }
        let after = match failure.retry_after {
            Some(hint) if hint > self.policy.longest_hint => {
                return Decision::GiveUp(GiveUp::HintTooLong);
            }
            Some(hint) => hint,
            None => self.backoff(),
        };
        let deadline = self.deadline;
        if deadline.is_some_and(|deadline| elapsed.saturating_add(after) >= deadline) {
            return Decision::GiveUp(GiveUp::Deadline);
        }
        Decision::Retry {
            after,
            attempt: self.failed + 1,
        }
    }

    /// Doubling, capped, less up to a quarter so that many clients do not come back at once.
    fn backoff(&mut self) -> Duration {
        // More doublings than the cap ever needs, and few enough not to overflow.
        let doublings = (self.failed - 1).min(20);
        let full = self.policy.base.saturating_mul(1 << doublings);
        let full = full.min(self.policy.cap);
        full.mul_f64(1.0 - 0.25 * self.jitter.fraction())
    }
}

/// Numbers that look random and come out the same for the same seed (`SplitMix64`).
#[derive(Clone, Debug)]
struct Jitter(u64);

impl Jitter {
    /// At least 0, less than 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits are what the mantissa holds"
    )]
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
