//! Usage figures of a response, as providers and transcripts write them.

use crate::json::Number;
use crate::units::Tokens;
use crate::usage::TokenUsage;
use serde::Deserialize;

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireUsage {
    input_tokens: Number,
    cache_read_input_tokens: Number,
    cache_creation_input_tokens: Number,
    cache_creation: Option<WireWrites>,
    output_tokens: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireWrites {
    ephemeral_5m_input_tokens: Number,
    ephemeral_1h_input_tokens: Number,
}

impl TokenUsage {
    /// Parses the `usage` object of a response.
    ///
    /// The total of cache writes is authoritative; the one-hour share comes from the split where
    /// there is one, and the rest counts as five-minute writes.
    pub fn from_wire(json: &str) -> Option<Self> {
        let wire: WireUsage = serde_json::from_str(json).ok()?;
        let of = |number: Number| Tokens(number.0.unwrap_or(0));
        let split = wire.cache_creation.unwrap_or_default();
        let parts = of(split.ephemeral_5m_input_tokens) + of(split.ephemeral_1h_input_tokens);
        let written = wire.cache_creation_input_tokens.0.map_or(parts, Tokens);
        // Bounded by the total: an inconsistent split must not count tokens twice.
        let one_hour = of(split.ephemeral_1h_input_tokens).min(written);
        Some(Self {
            input: of(wire.input_tokens),
            cache_read: of(wire.cache_read_input_tokens),
            cache_write_5m: written - one_hour,
            cache_write_1h: one_hour,
            output: of(wire.output_tokens),
        })
    }
}
