//! Content hashes: of a block, of a blob, and of a chain of segments. BLAKE3 throughout, because
//! every byte of every block is hashed once and BLAKE3 is several times faster than SHA-256.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// BLAKE3 hash, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Start of every chain: all zeros, which no content hashes to in practice.
    pub const START: Self = Self([0; 32]);

    /// Hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Extends the chain `self` by one link. `tag` tells kinds of links apart, such as roles.
    ///
    /// All parts have a fixed length, so two different chains never hash the same input.
    #[must_use]
    pub fn link(self, tag: u8, next: Self) -> Self {
        let mut input = [0_u8; 65];
        input[..32].copy_from_slice(&self.0);
        input[32] = tag;
        input[33..].copy_from_slice(&next.0);
        Self::of(&input)
    }

    /// Bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Parses 64 hexadecimal digits; none for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let hash = blake3::Hash::from_hex(text).ok()?;
        Some(Self(*hash.as_bytes()))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Eight digits identify a hash in test output; all 64 make it unreadable.
        let hex = blake3::Hash::from_bytes(self.0).to_hex();
        write!(f, "Hash({}…)", &hex.as_str()[..8])
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| de::Error::custom(format!("`{text}` is not a 64-digit hash")))
    }
}
