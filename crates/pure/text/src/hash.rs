//! Hash functions that give the same values in every run.
//!
//! Sketches of duplicates are compared across runs, while the hasher of a standard map is seeded at
//! random. Not for keys that an attacker may choose: a collision here costs precision only, since
//! all reported figures are verified.

use std::hash::{BuildHasherDefault, Hasher};

/// Multiplier with evenly distributed bits: the golden ratio as a fraction of 2^64.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Map whose keys are hashes already; hashing them again would only cost time.
pub(crate) type HashedMap<V> = std::collections::HashMap<u64, V, BuildHasherDefault<Passthrough>>;

/// Finaliser of `SplitMix64`: spreads every bit of the input over the output.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(MULTIPLIER);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// Hash of a string.
pub(crate) fn text(text: &str) -> u64 {
    // Eight bytes at a time; starting with the length tells `a` from `a\0`.
    let chunks = text.as_bytes().chunks(8);
    let state = chunks.fold(text.len() as u64, |state, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (state.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER)
    });
    mix(state)
}

/// Hash of the letters and digits of a text, case-insensitive, punctuation and blanks ignored.
pub(crate) fn letters(text: &str) -> u64 {
    let letters = text.chars().filter(|found| found.is_alphanumeric());
    letters
        .flat_map(char::to_lowercase)
        .fold(0, |state: u64, letter| {
            (state.rotate_left(5) ^ u64::from(letter)).wrapping_mul(MULTIPLIER)
        })
}

/// Hash of a sequence of hashes; the order matters.
pub(crate) fn sequence(parts: &[u64]) -> u64 {
    parts
        .iter()
        .fold(parts.len() as u64, |state, part| mix(state ^ *part))
}

/// Hasher that returns a `u64` key unchanged.
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
