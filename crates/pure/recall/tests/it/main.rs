//! The index, the ranker and the plan from outside.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changes;
mod damage;
mod figures;
mod fit;
mod material;
mod parts;
mod standing;
mod surfacing;
mod texts;
