//! The stand-in for a tokenizer: bytes divided by a ratio, the same on every machine.
//!
//! Counts are made per block, rounded up, and added; so the count of a prefix never depends on the
//! text behind it, and a block has the same tokens at every position. Text is measured as it stands
//! in the JSON, escapes included: measuring is then a matter of lengths.
//!
//! # Not here
//! The engine's own estimate: it shares the model table, but no code.

use crate::config::TokenizerConfig;
use base64::Engine as _;
use dormouse_core::models::{ModelInfo, Tokenizer};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use serde::{Deserialize, Serialize};

/// Base64 characters decoded to learn an image's size: 48 KiB hold the header of every common
/// format.
const IMAGE_HEADER_CHARS: usize = 64 * 1024;
/// Tokens of an image or document whose size cannot be seen: about an image at full size.
const UNKNOWN_MEDIA_TOKENS: u64 = 2_000;

/// Figures that replace counted ones in a reported usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageOverride {
    /// Prompt tokens neither read nor written.
    pub input: Option<u64>,
    /// Tokens read from the cache.
    pub read: Option<u64>,
    /// Tokens written for five minutes.
    pub write_5m: Option<u64>,
    /// Tokens written for an hour.
    pub write_1h: Option<u64>,
    /// Tokens of the answer.
    pub output: Option<u64>,
}

impl UsageOverride {
    /// Reads `input=1,read=2,write_5m=3,write_1h=4,output=5`; figures not named stay counted.
    pub fn parse(text: &str) -> Option<Self> {
        let mut figures = Self::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (name, value) = part.split_once('=')?;
            let value = Some(value.trim().parse().ok()?);
            match name.trim() {
                "input" => figures.input = value,
                "read" => figures.read = value,
                "write_5m" => figures.write_5m = value,
                "write_1h" => figures.write_1h = value,
                "output" => figures.output = value,
                // A misspelt name must not silently leave the counted figure.
                _ => return None,
            }
        }
        Some(figures)
    }

    pub(crate) fn apply(&self, usage: &mut TokenUsage) {
        for (figure, place) in [
            (self.input, &mut usage.input),
            (self.read, &mut usage.cache_read),
            (self.write_5m, &mut usage.cache_write_5m),
            (self.write_1h, &mut usage.cache_write_1h),
            (self.output, &mut usage.output),
        ] {
            if let Some(figure) = figure {
                *place = Tokens(figure);
            }
        }
    }
}

/// Countable parts of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) text_bytes: u64,
    pub(crate) json_bytes: u64,
    pub(crate) tokens: u64,
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.text_bytes += other.text_bytes;
        self.json_bytes += other.json_bytes;
        self.tokens += other.tokens;
    }
}

impl Weight {
    pub(crate) fn text(bytes: usize) -> Self {
        Self {
            text_bytes: bytes as u64,
            ..Self::default()
        }
    }

    pub(crate) fn json(bytes: usize) -> Self {
        Self {
            json_bytes: bytes as u64,
            ..Self::default()
        }
    }

    pub(crate) fn tokens(tokens: u64) -> Self {
        Self {
            tokens,
            ..Self::default()
        }
    }
}

/// Counts for one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    text: u64,
    json: u64,
    permille: u64,
    block_tokens: u64,
    image_edge: u64,
    image_most: u64,
}

impl Counter {
    /// `permille` replaces the configured factor for one request.
    pub(crate) fn new(model: &ModelInfo, config: &TokenizerConfig, permille: Option<u32>) -> Self {
        let hundredths = |ratio: dormouse_core::models::Ratio| {
            // A ratio only answers the tokens of some bytes. Asked for a million, the answer is
            // fine enough to get its hundredths back.
            let many = 1_000_000_u64;
            (many * 100).div_ceil(ratio.tokens_of(many).get().max(1))
        };
        let ratio = model.bytes_per_token;
        let (image_edge, image_most) = match model.tokenizer {
            Tokenizer::Old => (1_568, 1_568),
            Tokenizer::New => (2_576, 4_784),
        };
        Self {
            text: config
                .text_hundredths
                .map_or_else(|| hundredths(ratio.text), u64::from)
                .max(1),
            json: config
                .json_hundredths
                .map_or_else(|| hundredths(ratio.json), u64::from)
                .max(1),
            permille: u64::from(permille.unwrap_or(config.factor_permille)),
            block_tokens: config.block_tokens,
            image_edge,
            image_most,
        }
    }

    /// Tokens of a block.
    pub(crate) fn block(&self, weight: Weight) -> u64 {
        let tokens = (weight.text_bytes * 100).div_ceil(self.text)
            + (weight.json_bytes * 100).div_ceil(self.json)
            + weight.tokens
            + self.block_tokens;
        self.scaled(tokens)
    }

    /// Tokens of so many bytes of text, before scaling and framing.
    pub(crate) fn plain_text(&self, bytes: usize) -> u64 {
        (bytes as u64 * 100).div_ceil(self.text)
    }

    /// A plain number of tokens, brought to this request's scale.
    pub(crate) fn scaled(&self, tokens: u64) -> u64 {
        if self.permille == 1_000 {
            tokens
        } else {
            (tokens * self.permille).div_ceil(1_000)
        }
    }

    /// Bytes of text that fit into so many tokens.
    pub(crate) fn text_bytes_in(&self, tokens: u64) -> usize {
        let plain = (tokens * 1_000 / self.permille.max(1)).saturating_sub(self.block_tokens);
        usize::try_from(plain * self.text / 100).unwrap_or(usize::MAX)
    }

    /// One token per tile of 28 by 28 pixels, after scaling down.
    pub(crate) fn image(&self, base64_text: &str) -> Weight {
        /// Edge of a tile in pixels, by the provider's rule.
        const TILE: u64 = 28;
        // Base64 decodes in groups of four characters.
        let end = base64_text.len().min(IMAGE_HEADER_CHARS) / 4 * 4;
        let size = base64_text
            .get(..end)
            .and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok())
            .and_then(|header| imagesize::blob_size(&header).ok());
        let Some(size) = size else {
            return unknown_media();
        };
        let (width, height) = (size.width as u64, size.height as u64);
        let long = width.max(height).max(1);
        let scaled = |edge: u64| {
            // Larger images are scaled down before they are counted.
            if long > self.image_edge {
                (edge * self.image_edge).div_ceil(long)
            } else {
                edge
            }
        };
        let tiles = scaled(width).div_ceil(TILE) * scaled(height).div_ceil(TILE);
        Weight::tokens(tiles.min(self.image_most))
    }
}

pub(crate) fn unknown_media() -> Weight {
    Weight::tokens(UNKNOWN_MEDIA_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::models::ModelTable;
    use pretty_assertions::assert_eq;

    fn counter(model: &str, config: TokenizerConfig) -> Counter {
        Counter::new(ModelTable::builtin().lookup(model).info, &config, None)
    }

    #[test]
    fn ratios_come_from_the_model_and_can_be_set() {
        let bare = TokenizerConfig {
            block_tokens: 0,
            ..TokenizerConfig::default()
        };
        let text = Weight::text(3_080);
        assert_eq!(counter("claude-opus-5", bare).block(text), 1_000);
        assert_eq!(counter("claude-haiku-4-5", bare).block(text), 770);
        let set = TokenizerConfig {
            text_hundredths: Some(100),
            factor_permille: 1_500,
            ..bare
        };
        assert_eq!(counter("claude-opus-5", set).block(Weight::text(10)), 15);
        assert_eq!(counter("claude-opus-5", set).text_bytes_in(15), 10);
        assert_eq!(counter("claude-opus-5", bare).block(Weight::json(154)), 100);
    }

    #[test]
    fn images_count_by_tiles_with_the_models_limits() {
        // A PNG header of 1,000 by 1,000 pixels.
        let mut png = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR".to_vec();
        png.extend_from_slice(&1_000_u32.to_be_bytes());
        png.extend_from_slice(&1_000_u32.to_be_bytes());
        png.extend_from_slice(&[8, 6, 0, 0, 0, 0]);
        let text = base64::engine::general_purpose::STANDARD.encode(&png);
        let config = TokenizerConfig::default();
        assert_eq!(
            counter("claude-opus-5", config).image(&text),
            Weight::tokens(36 * 36)
        );
        assert_eq!(
            counter("claude-opus-5", config).image("????"),
            Weight::tokens(UNKNOWN_MEDIA_TOKENS)
        );
    }

    #[test]
    fn a_usage_can_be_given() {
        let figures = UsageOverride::parse("input=1, read=2,output=3").unwrap();
        let mut usage = TokenUsage {
            cache_write_5m: Tokens(9),
            ..TokenUsage::default()
        };
        figures.apply(&mut usage);
        assert_eq!(
            usage,
            TokenUsage {
                input: Tokens(1),
                cache_read: Tokens(2),
                cache_write_5m: Tokens(9),
                cache_write_1h: Tokens(0),
                output: Tokens(3),
            }
        );
        assert_eq!(UsageOverride::parse("cost=1"), None);
    }
}
