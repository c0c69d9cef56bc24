//! Hashing that is the same in every run.
//!
//! Sketches of duplicates are compared across runs, and a hash map's own hasher is seeded at
//! random. Not for anything an attacker may choose keys of: collisions here cost precision, and
//! the figures that decide are verified.

use std::hash::{BuildHasherDefault, Hasher};

/// A multiplier without pattern in its bits: the golden ratio as a fraction of 2^64.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A map whose keys are hashes already.
pub(crate) type HashedMap<V> = std::collections::HashMap<u64, V, BuildHasherDefault<Passthrough>>;

/// Spreads every bit of the input over the output.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(MULTIPLIER);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The hash of a string.
pub(crate) fn text(text: &str) -> u64 {
    let chunks = text.as_bytes().chunks(8);
    let state = chunks.fold(text.len() as u64, |state, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (state.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER)
    });
    mix(state)
}

/// The hash of the letters and digits of a text, without case and what is between them.
pub(crate) fn letters(text: &str) -> u64 {
    let letters = text.chars().filter(|found| found.is_alphanumeric());
    letters
        .flat_map(char::to_lowercase)
        .fold(0, |state: u64, letter| {
            (state.rotate_left(5) ^ u64::from(letter)).wrapping_mul(MULTIPLIER)
        })
}

/// The hash of a sequence of hashes.
pub(crate) fn sequence(parts: &[u64]) -> u64 {
    parts
        .iter()
        .fold(parts.len() as u64, |state, part| mix(state ^ *part))
}

/// Takes a key that is a hash as it is.
#[derive(Debug, Default)]
pub(crate) struct Passthrough(u64);

impl Hasher for Passthrough {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}
