//! Integration tests of the driver with a simulated world: every order of outcomes, every point of
//! a cancel or a kill, and a second interpreter.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, as the tests themselves do"
)]

mod check;
mod model;
mod script;
mod stores;
mod tools;
mod world;

mod cancelled;
mod determinism;
mod failing;
mod hooks;
mod matrix;
mod order;
mod relay;
mod relayed;
