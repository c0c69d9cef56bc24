//! The simulator against the provider's documented behaviour.

mod caching;
mod compaction;
mod editing;
mod errors;
mod faults;
mod invalidation;
mod openai;
mod reference;
#[cfg(feature = "server")]
mod socket;
mod streaming;
mod support;
mod thinking;
