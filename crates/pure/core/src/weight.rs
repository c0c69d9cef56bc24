//! Weight of a block: its content by category, before any model is known.
//!
//! A token estimate needs the number of text and JSON bytes, the number of characters in wide
//! scripts (which take far more tokens per byte than Latin text) and items with a fixed token
//! price, such as images. These figures are counted once, when a block is made; converting them
//! into tokens is arithmetic.
//!
//! Not here: bytes per token and calibration, which depend on the model (`dormouse-context`).

use crate::block::{BlockKind, Head};
use base64::Engine as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::ops::{Add, AddAssign, Sub};

/// Tokens assumed for an image or document whose size is unknown. Above the 1,568 of the largest
/// image, so that the estimate errs on the high side and compaction comes early rather than too
/// late.
pub const UNKNOWN_MEDIA_TOKENS: u64 = 2_000;

/// Base64 characters decoded to find an image's dimensions: 48 KiB of the file. The dimensions
/// follow the metadata at the front; decoding a whole image costs milliseconds per block.
const IMAGE_HEADER_CHARS: usize = 64 * 1024;

/// Countable content of one block or of many; addition is component-wise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Weight {
    /// Bytes of prose and code, wide characters not included.
    pub text_bytes: u64,
    /// Bytes of JSON structure and arguments.
    pub json_bytes: u64,
    /// Characters of Chinese, Japanese, Korean and similar scripts, about a token each.
    pub wide_chars: u64,
    /// Tokens of images and documents, which are billed by size and not by bytes.
    pub media_tokens: u64,
}

impl Weight {
    /// Weighs a JSON string, quotes included. Runs over every byte of every block, so it counts
    /// bytes with vectorised searches instead of decoding characters.
    pub(crate) fn of_json_text(quoted: &str) -> Self {
        let inner = quoted.as_bytes();
        let inner = inner
            .get(1..inner.len().saturating_sub(1))
            .unwrap_or_default();
        // Lead bytes of U+3000 to U+D7FF: kana, han, hangul and their punctuation.
        let is_wide = |byte: &&u8| (0xE3..=0xED).contains(*byte);
        let wide = if inner.is_ascii() {
            0
        } else {
            inner.iter().filter(is_wide).count() as u64
        };
        // Escapes are longer than the characters they stand for: `\n` is two bytes but one
        // character.
        let (escaped, escaped_wide) = escapes(inner);
        let bytes = inner.len() as u64;
        Self {
            text_bytes: bytes.saturating_sub(escaped).saturating_sub(wide * 3),
            wide_chars: wide + escaped_wide,
            ..Self::default()
        }
    }

    pub(crate) fn of_block(kind: BlockKind, head: &Head<'_>, len: usize) -> Self {
        match kind {
            BlockKind::Text => text(head.text),
            BlockKind::Thinking => text(head.thinking),
            BlockKind::ToolUse => Self {
                json_bytes: head.input.map_or(0, |input| input.get().len() as u64),
                ..Self::default()
            },
            BlockKind::ToolResult => head.content.map_or_else(Self::default, content),
            BlockKind::Image => image(head.source),
            BlockKind::Document => document(head.source),
            // The fields of these kinds are unknown or encrypted; the length of the block is the
            // only figure.
            BlockKind::RedactedThinking | BlockKind::Compaction | BlockKind::Other => Self {
                json_bytes: len as u64,
                ..Self::default()
            },
        }
    }
}

fn text(raw: Option<&RawValue>) -> Weight {
    raw.map_or_else(Weight::default, |raw| Weight::of_json_text(raw.get()))
}

/// Bytes that escapes take beyond the characters they stand for, and the wide characters among
/// them.
///
/// Every backslash counts as one extra byte. An escaped backslash is thereby counted twice, an
/// error of a quarter of a token on a rare sequence.
fn escapes(text: &[u8]) -> (u64, u64) {
    let mut extra = memchr::memchr_iter(b'\\', text).count() as u64;
    let mut wide = 0;
    if extra > 0 {
        for at in memchr::memmem::find_iter(text, b"\\u") {
            // `\u3xxx` to `\udxxx`, about the range of the lead bytes above.
            if matches!(
                text.get(at + 2),
                Some(b'3'..=b'9' | b'a'..=b'd' | b'A'..=b'D')
            ) {
                wide += 1;
                extra += 5;
            } else {
                extra += 3;
            }
        }
    }
    (extra, wide)
}

/// Weight of a tool result's content: a string, or an array of blocks.
fn content(raw: &RawValue) -> Weight {
    if raw.get().starts_with('"') {
        return Weight::of_json_text(raw.get());
    }
    let whole = Weight {
        json_bytes: raw.get().len() as u64,
        ..Weight::default()
    };
    // Unreadable content is still sent, so it is weighed by its length as JSON.
    let Ok(parts) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
        return whole;
    };
    let mut sum = Weight::default();
    for part in parts {
        let Ok(head) = serde_json::from_str::<Head<'_>>(part.get()) else {
            return whole;
        };
        sum += match head.kind.0.as_deref() {
            Some("text") => text(head.text),
            Some("image") => image(head.source),
            Some("document") => document(head.source),
            _ => Weight {
                json_bytes: part.get().len() as u64,
                ..Weight::default()
            },
        };
    }
    sum
}

#[derive(Deserialize)]
struct Source<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: crate::json::Text<'a>,
    #[serde(borrow, default)]
    data: crate::json::Text<'a>,
}

fn source(raw: Option<&RawValue>) -> Option<Source<'_>> {
    serde_json::from_str(raw?.get()).ok()
}

fn image(raw: Option<&RawValue>) -> Weight {
    let tokens = source(raw)
        .filter(|source| source.kind.0.as_deref() == Some("base64"))
        .and_then(|source| image_tokens(source.data.0.as_deref()?))
        .unwrap_or(UNKNOWN_MEDIA_TOKENS);
    Weight {
        media_tokens: tokens,
        ..Weight::default()
    }
}

/// Tokens of an image by the provider's rule: one per tile of 28 by 28 pixels after scaling down to
/// a long edge of 1,568 pixels, and 1,568 tokens at most.
fn image_tokens(base64_text: &str) -> Option<u64> {
    /// Pixels of the long edge to which the provider scales larger images down.
    const LONG_EDGE: u64 = 1_568;
    /// Upper bound per image, whatever its shape.
    const MOST_TOKENS: u64 = 1_568;
    /// Pixels of a tile's edge.
    const TILE: u64 = 28;
    // A multiple of four characters: base64 cut inside a group does not decode.
    let end = base64_text.len().min(IMAGE_HEADER_CHARS) / 4 * 4;
    let header = base64::engine::general_purpose::STANDARD
        .decode(base64_text.get(..end)?)
        .ok()?;
    let size = imagesize::blob_size(&header).ok()?;
    let (width, height) = (size.width as u64, size.height as u64);
    let long = width.max(height).max(1);
    let scaled = |edge: u64| {
        if long > LONG_EDGE {
            (edge * LONG_EDGE).div_ceil(long)
        } else {
            edge
        }
    };
    Some((scaled(width).div_ceil(TILE) * scaled(height).div_ceil(TILE)).min(MOST_TOKENS))
}

fn document(raw: Option<&RawValue>) -> Weight {
    match source(raw) {
        Some(Source { kind, data }) if kind.0.as_deref() == Some("text") => Weight {
            text_bytes: data.0.map_or(0, |data| data.len() as u64),
            ..Weight::default()
        },
        // Pages of a PDF are not counted here: that would mean decoding the whole file.
        _ => Weight {
            media_tokens: UNKNOWN_MEDIA_TOKENS,
            ..Weight::default()
        },
    }
}

impl Add for Weight {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            text_bytes: self.text_bytes + other.text_bytes,
            json_bytes: self.json_bytes + other.json_bytes,
            wide_chars: self.wide_chars + other.wide_chars,
            media_tokens: self.media_tokens + other.media_tokens,
        }
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Weight {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            text_bytes: self.text_bytes.saturating_sub(other.text_bytes),
            json_bytes: self.json_bytes.saturating_sub(other.json_bytes),
            wide_chars: self.wide_chars.saturating_sub(other.wide_chars),
            media_tokens: self.media_tokens.saturating_sub(other.media_tokens),
        }
    }
}
