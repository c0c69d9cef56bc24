//! Usage figures of the Messages wire.
//!
//! # Not here
//! Prices: the model table in `dormouse-core`.

use dormouse_core::json::Number;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use serde::Deserialize;

/// The `usage` object. Figures in later events are cumulative; one that is missing keeps its value.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default)]
    input_tokens: Number,
    #[serde(default)]
    output_tokens: Number,
    #[serde(default)]
    cache_read_input_tokens: Number,
    #[serde(default)]
    cache_creation_input_tokens: Number,
    #[serde(default)]
    cache_creation: Option<WireCreation>,
    #[serde(default)]
    iterations: Option<Vec<Self>>,
}

#[derive(Debug, Default, Deserialize)]
struct WireCreation {
    #[serde(default)]
    ephemeral_5m_input_tokens: Number,
    #[serde(default)]
    ephemeral_1h_input_tokens: Number,
}

impl WireUsage {
    /// Puts the figures that are there over those known before.
    pub(super) fn update(&self, usage: &mut TokenUsage) {
        set(&mut usage.input, self.input_tokens);
        set(&mut usage.output, self.output_tokens);
        set(&mut usage.cache_read, self.cache_read_input_tokens);
        if let Some(split) = &self.cache_creation {
            set(&mut usage.cache_write_5m, split.ephemeral_5m_input_tokens);
            set(&mut usage.cache_write_1h, split.ephemeral_1h_input_tokens);
        }
        // The sum without a split: tokens not known to live for an hour live five minutes.
        if let Some(written) = self.cache_creation_input_tokens.0 {
            usage.cache_write_5m = Tokens(written) - usage.cache_write_1h;
        }
    }

    /// The bill for all sampling together, where the provider lists it.
    pub(super) fn billed(&self) -> Option<TokenUsage> {
        // Several iterations are billed when the provider compacts or runs its own tools in one
        // answer.
        let iterations = self.iterations.as_ref().filter(|list| !list.is_empty())?;
        let figures = iterations.iter().map(|each| {
            let mut usage = TokenUsage::default();
            each.update(&mut usage);
            usage
        });
        Some(figures.sum())
    }
}

fn set(figure: &mut Tokens, value: Number) {
    // Later events repeat only some figures; a missing one keeps its value.
    if let Some(value) = value.0 {
        *figure = Tokens(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn fold(parts: &[&str]) -> TokenUsage {
        let mut usage = TokenUsage::default();
        for part in parts {
            let wire: WireUsage = serde_json::from_str(part).unwrap();
            wire.update(&mut usage);
        }
        usage
    }

    #[test]
    fn later_figures_replace_earlier_ones_and_the_split_survives_a_plain_sum() {
        let start = r#"{"input_tokens":10,"cache_creation_input_tokens":300,
            "cache_read_input_tokens":5,"output_tokens":1,
            "cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200}}"#;
        let end =
            r#"{"output_tokens":50,"cache_creation_input_tokens":300,"server_tool_use":null}"#;
        let expected = TokenUsage {
            input: Tokens(10),
            cache_read: Tokens(5),
            cache_write_5m: Tokens(100),
            cache_write_1h: Tokens(200),
            output: Tokens(50),
        };
        assert_eq!(fold(&[start, end]), expected);
        assert_eq!(
            fold(&[r#"{"cache_creation_input_tokens":7,"cache_creation":null}"#]).cache_write_5m,
            Tokens(7)
        );
    }

    #[test]
    fn iterations_are_what_is_billed() {
        let wire: WireUsage = serde_json::from_str(
            r#"{"input_tokens":1,"output_tokens":2,"iterations":[
                {"type":"compaction","input_tokens":100,"output_tokens":20},
                {"type":"message","input_tokens":1,"output_tokens":2}]}"#,
        )
        .unwrap();
        let billed = wire.billed().unwrap();
        assert_eq!((billed.input, billed.output), (Tokens(101), Tokens(22)));
        assert!(WireUsage::default().billed().is_none());
    }
}
