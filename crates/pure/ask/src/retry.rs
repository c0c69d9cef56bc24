//! Decision whether and when a failed request is sent again.
//!
//! # Model
//! A [`RetryPolicy`] is settings; [`Retries`] is the state of one request: attempts so far and a
//! source of jitter. It receives each failure with the time spent, and returns a decision. It
//! neither waits nor sends.
//!
//! Order of precedence: content that was shown forbids a retry; then the server's `x-should-retry`;
//! then the kind of the failure. A pause requested by the server overrides the back-off; one longer
//! than [`RetryPolicy::longest_hint`] ends the attempts, because the caller may have an
//! alternative, such as another model.

use crate::failure::Failure;
use std::time::Duration;

/// Settings of retries, for all requests of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Number of attempts after the first.
    pub retries: u32,
    /// Pause before the first retry; doubles with each further one.
    pub base: Duration,
    /// Upper bound on the back-off.
    pub cap: Duration,
    /// Longest pause accepted from the server.
    pub longest_hint: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            // The figures of the provider's own SDKs, so that the load on the provider is what it
            // expects.
            retries: 2,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(8),
            longest_hint: Duration::from_mins(1),
        }
    }
}

impl RetryPolicy {
    /// Policy without any retries.
    pub const NEVER: Self = Self {
        retries: 0,
        base: Duration::ZERO,
        cap: Duration::ZERO,
        longest_hint: Duration::ZERO,
    };
}

/// Decision after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Another attempt, after a pause.
    Retry {
        /// Pause before that attempt.
        after: Duration,
        /// Number of the coming attempt; the first retry is 2.
        attempt: u32,
    },
    /// No further attempt; the failure goes to the caller.
    GiveUp(GiveUp),
}

/// Reason against a further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// Content was shown: a second answer would be a different one.
    ContentShown,
    /// The same request would fail again.
    Permanent,
    /// The server advised against it.
    ServerSaidNo,
    /// All attempts of the policy are used up.
    Exhausted,
    /// The server requests a longer pause than the policy accepts.
    HintTooLong,
    /// The pause would end after the deadline.
    Deadline,
}

/// State of the attempts at one request.
#[derive(Clone, Debug)]
pub struct Retries {
    policy: RetryPolicy,
    deadline: Option<Duration>,
    failed: u32,
    jitter: Jitter,
}

impl Retries {
    /// Request without a failure so far. `deadline` counts from its start.
    pub const fn new(policy: RetryPolicy, deadline: Option<Duration>, seed: u64) -> Self {
        Self {
            policy,
            deadline,
            failed: 0,
            jitter: Jitter(seed),
        }
    }

    /// Decides after a failure that occurred `elapsed` after the start of the request.
    pub fn next(&mut self, failure: &Failure, elapsed: Duration) -> Decision {
        self.failed += 1;
        // Checked first: not even the server's advice permits a second answer.
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

    /// Exponential back-off with a cap, less up to a quarter as jitter, so that clients that failed
    /// together do not return together.
    fn backoff(&mut self) -> Duration {
        // 2^20 times any base exceeds any sensible cap, and the shift cannot overflow.
        let doublings = (self.failed - 1).min(20);
        let full = self.policy.base.saturating_mul(1 << doublings);
        let full = full.min(self.policy.cap);
        full.mul_f64(1.0 - 0.25 * self.jitter.fraction())
    }
}

/// Pseudo-random numbers from a seed (`SplitMix64`): tests and replays get the same pauses.
#[derive(Clone, Debug)]
struct Jitter(u64);

impl Jitter {
    /// Next fraction, at least 0 and less than 1.
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
