//! Integration tests of the store.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod bad_input;
mod convert;
mod crash;
mod damage;
mod foreign;
mod kit;
mod lost_text;
mod material;
mod model;
mod old_logs;
mod resume;
mod resume_random;
mod resumed;
mod transcripts;
mod usage;
