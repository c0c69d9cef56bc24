//! The layers at work: whole sessions against a provider in memory.
//!
//! Every request body that any of these tests sends is also read by the provider simulator, and a
//! body that it refuses as invalid fails the test.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, as the tests themselves do"
)]
#![expect(
    clippy::large_futures,
    reason = "the future of a test is polled by a runtime of its own and never moved"
)]

mod answer;
mod doubles;
mod kit;
mod provider;

mod breaker;
mod broken_summaries;
mod by_provider;
mod clearing;
mod crash;
mod distil;
mod floor;
mod kill_process;
mod lessons;
mod manual;
mod next_requests;
mod notes;
mod notes_as_summary;
mod offload;
mod pages;
mod random;
mod reactive;
mod repairs;
mod switches;
mod undo;
