//! The simulator against the provider's documented behaviour.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "helpers take JSON literals, which read better without a reference"
)]

mod caching;
mod compaction;
mod editing;
mod errors;
mod faults;
mod garbage;
mod invalidation;
mod openai;
mod persona;
mod reference;
#[cfg(feature = "server")]
mod socket;
mod streaming;
mod support;
mod thinking;
