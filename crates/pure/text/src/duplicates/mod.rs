//! Detection of texts that say the same in almost the same words.
//!
//! # Model
//! A text becomes a [`Sketch`]: the set of its pairs of neighbouring words, hashed. The similarity
//! of two texts is the overlap of these sets (Jaccard). An [`Index`] finds candidates by `MinHash`
//! in bands (`minhash`) and then computes the overlap itself: reported pairs are verified, and
//! pairs are missed with a known probability. The number of comparisons per text is bounded.
//!
//! Near duplicates that differ in a number or in a negation are reported as [`Likeness::Variant`]:
//! "port 8080" and "port 9090" are not the same fact, and a caller that merges texts must not merge
//! them silently.
//!
//! # Not here
//! Paraphrases: two texts that say the same in other words share too few of them. The handling of a
//! duplicate is the caller's decision.

mod cluster;
mod index;
mod minhash;
mod sketch;
#[cfg(test)]
mod tests;

pub use cluster::{Cluster, Clusters, clusters};
pub use index::{Found, Index, MOST_COMPARED};
pub use sketch::{Overlap, Sketch};

/// Default overlap from which on two texts count as near duplicates. Chosen on edited copies of
/// real notes: finds 99 % with one word in eight changed, without a false pair
/// (`docs/text-methods.md`).
pub const NEAR: f64 = 0.5;

/// Degree of similarity of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Likeness {
    /// Similar, but a number or a negation differs: possibly a contradiction.
    Variant,
    /// Similar in its pairs of words.
    Near,
    /// Same words in the same order; case, punctuation and blanks may differ.
    Same,
    /// Same bytes from start to end.
    Exact,
}
