//! Token counts of a response, by price kind.

use crate::units::Tokens;
use serde::{Deserialize, Serialize};

/// What one response used, split the way providers bill it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Prompt tokens neither read from nor written to the cache.
    pub input: Tokens,
    /// Prompt tokens read from the cache.
    pub cache_read: Tokens,
    /// Prompt tokens written to the five-minute tier.
    pub cache_write_5m: Tokens,
    /// Prompt tokens written to the one-hour tier.
    pub cache_write_1h: Tokens,
    /// Tokens of the answer.
    pub output: Tokens,
}

impl TokenUsage {
    /// All tokens of the prompt.
    pub fn prompt(&self) -> Tokens {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }
}
