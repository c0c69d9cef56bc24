//! Finding texts that say the same in almost the same words.
//!
//! # Model
//! A text becomes a [`Sketch`]: the set of its pairs of neighbouring words, hashed.
//! Two texts are as similar as these sets overlap (Jaccard). An [`Index`] finds candidates by
//! `MinHash` in bands (`minhash`) and then computes the overlap itself: what it reports is
//! verified, and what it misses is a matter of known probability.
//!
//! Near duplicates that differ in a number or in a negation are told apart as
//! [`Likeness::Variant`]: "port 8080" and "port 9090" are not the same fact, and whoever merges
//! texts must look at them.
//!
//! # Not here
//! Paraphrases: two texts that say the same in other words share too few of them. What to do about
//! a duplicate is the caller's decision.

mod cluster;
mod index;
mod minhash;
mod sketch;
#[cfg(test)]
mod tests;

pub use cluster::{Cluster, clusters};
pub use index::{Found, Index};
pub use sketch::{Overlap, Sketch};

/// The overlap from which on two texts count as near duplicates, unless the caller says otherwise.
/// Chosen on edited copies of real notes; see `docs/text-methods.md`.
pub const NEAR: f64 = 0.5;

/// How alike two texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Likeness {
    /// Similar, but a number or a negation differs: perhaps a contradiction.
    Variant,
    /// Similar in words.
    Near,
    /// The same words in the same order; case, punctuation and blanks may differ.
    Same,
    /// The same bytes.
    Exact,
}
