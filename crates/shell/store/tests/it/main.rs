//! Integration tests of the store.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking and say what they skip"
)]

mod bad_input;
mod convert;
mod crash;
mod foreign;
mod kit;
mod material;
mod model;
mod old_logs;
mod resume;
mod resume_random;
mod resumed;
mod transcripts;
mod usage;
