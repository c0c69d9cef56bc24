//! The clients against servers that play back bytes, and against the simulator.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail by panicking, as the tests do"
)]

mod anthropic;
mod attempts;
mod blocking;
mod cancel;
mod chaos;
mod cuts;
mod failures;
mod material;
mod mutations;
mod openai;
mod server;
mod simulator;
mod timeouts;
mod traces;
