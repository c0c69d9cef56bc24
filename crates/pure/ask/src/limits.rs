//! Rate limits of the account, as reported in the headers of a response.

use dormouse_core::units::Millis;

/// One rate limit; fields that the provider did not send are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests or tokens allowed per minute.
    pub limit: Option<u64>,
    /// Remaining requests or tokens.
    pub remaining: Option<u64>,
    /// Time at which the limit is fully available again.
    pub reset: Option<Millis>,
}

/// Rate limits that the response reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Limit on requests per minute.
    pub requests: Option<RateLimit>,
    /// Limit on tokens per minute.
    pub tokens: Option<RateLimit>,
    /// Limit on prompt tokens per minute; on most models cache reads do not count.
    pub input_tokens: Option<RateLimit>,
    /// Limit on answer tokens per minute.
    pub output_tokens: Option<RateLimit>,
    /// State of a subscription's allowance, in the provider's words.
    pub unified_status: Option<String>,
}
