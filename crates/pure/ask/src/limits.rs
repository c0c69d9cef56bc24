//! The account's limits, as a provider tells them in the head of its reply.

use dormouse_core::units::Millis;

/// One limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests or tokens allowed per minute.
    pub limit: Option<u64>,
    /// The part of it that is left.
    pub remaining: Option<u64>,
    /// The moment it is full again.
    pub reset: Option<Millis>,
}

/// The limits that were told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests per minute.
    pub requests: Option<RateLimit>,
    /// Tokens per minute.
    pub tokens: Option<RateLimit>,
    /// Prompt tokens per minute; on most models cache reads do not count.
    pub input_tokens: Option<RateLimit>,
    /// Answer tokens per minute.
    pub output_tokens: Option<RateLimit>,
    /// State of a subscription's allowance.
    pub unified_status: Option<String>,
}
