//! Numbers and words that follow from a digest: the same on every machine.
//!
//! # Not here
//! The digests: [`crate::digest`].

use crate::digest::Digest;

/// Words of the persona's prose: common ones, so that its length in tokens is that of English.
const WORDS: [&str; 24] = [
    "the", "test", "passes", "after", "this", "change", "because", "parser", "reads", "one",
    "line", "more", "and", "writes", "result", "into", "table", "which", "keeps", "order", "of",
    "every", "entry", "stable",
];

/// Numbers that follow from a digest.
pub(crate) struct Dice(Digest);

impl Dice {
    /// Dice of a prompt; `tag` keeps those apart that are thrown for different things.
    pub(crate) fn new(seed: u64, prompt: Digest, tag: u8) -> Self {
        Self(prompt.then(tag, Digest(u128::from(seed))))
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.then(b'd', self.0);
        // No sides at all would divide by zero; an empty list then gives nothing.
        let sides = sides.max(1) as u128;
        usize::try_from(self.0.0 % sides).unwrap_or(0)
    }

    pub(crate) fn word(&mut self) -> &'static str {
        WORDS[self.roll(WORDS.len())]
    }

    /// Words without meaning, of about so many characters.
    pub(crate) fn prose(&mut self, chars: usize) -> String {
        let mut text = String::with_capacity(chars + 16);
        while text.len() < chars {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(self.word());
        }
        text.push('.');
        text
    }
}
