//! Digests of values: a kind and a hash, or a text that is shorter than a hash.
//!
//! # Not here
//! The form of values that counts: [`crate::canonical`].

use dormouse_core::hash::Hash;

/// Kinds of values, so that values of different types never digest alike.
const NULL: u8 = 1;
const TRUE: u8 = 2;
const FALSE: u8 = 3;
const NUMBER: u8 = 4;
const STRING: u8 = 5;
const LIST: u8 = 9;
const OBJECT: u8 = 10;
/// Added to the kind of a text that stands for itself.
const SHORT: u8 = 128;
/// Bytes of a digest: its kind and a hash, or its kind, a length and a short text.
const WIDTH: usize = 33;

/// Digest of any value. All have one length, so that a row of them can be read in one way only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Digest([u8; WIDTH]);

impl Digest {
    /// Digest of `null`.
    pub(crate) const NULL: Self = Self::plain(NULL);

    const fn plain(kind: u8) -> Self {
        let mut bytes = [0; WIDTH];
        bytes[0] = kind;
        Self(bytes)
    }

    /// Digest of a boolean.
    pub(crate) const fn flag(value: bool) -> Self {
        Self::plain(if value { TRUE } else { FALSE })
    }

    fn hashed(kind: u8, content: &[u8]) -> Self {
        let mut bytes = [kind; WIDTH];
        bytes[1..].copy_from_slice(blake3::hash(content).as_bytes());
        Self(bytes)
    }

    fn text(kind: u8, text: &str) -> Self {
        match u8::try_from(text.len()) {
            Ok(length) if text.len() <= WIDTH - 2 => {
                let mut bytes = [0; WIDTH];
                bytes[0] = kind + SHORT;
                bytes[1] = length;
                bytes[2..2 + text.len()].copy_from_slice(text.as_bytes());
                Self(bytes)
            }
            _ => Self::hashed(kind, text.as_bytes()),
        }
    }

    /// The digest as a hash, for chains.
    pub(crate) fn hash(&self) -> Hash {
        Hash::of(&self.0)
    }
}

pub(crate) fn string(text: &str) -> Digest {
    Digest::text(STRING, text)
}

pub(crate) fn number(text: &str) -> Digest {
    Digest::text(NUMBER, text)
}

/// Members of an object with their names.
#[derive(Default)]
pub(crate) struct Members(Vec<(Digest, Digest)>);

impl Members {
    pub(crate) fn add(&mut self, name: &str, value: Digest) {
        self.0.push((string(name), value));
    }

    pub(crate) fn push(&mut self, name: Digest, value: Digest) {
        self.0.push((name, value));
    }

    pub(crate) fn finish(mut self) -> Digest {
        self.0.sort_unstable();
        let pairs = self.0.iter().flat_map(|(name, value)| [name, value]);
        row(OBJECT, 2 * self.0.len(), pairs)
    }
}

fn row<'a>(kind: u8, length: usize, digests: impl Iterator<Item = &'a Digest>) -> Digest {
    let mut bytes = Vec::with_capacity(length * WIDTH);
    for digest in digests {
        bytes.extend_from_slice(&digest.0);
    }
    Digest::hashed(kind, &bytes)
}

pub(crate) fn list(items: &[Digest]) -> Digest {
    row(LIST, items.len(), items.iter())
}
