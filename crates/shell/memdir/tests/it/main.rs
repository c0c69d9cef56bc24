//! The memory directory under crashes, with many processes, and beside foreign hands.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail by panicking, as the tests themselves do"
)]

mod contenders;
mod crash;
mod foreign;
mod halting;
mod killed;
mod kit;
mod many;
mod past;
mod undoing;
mod worktrees;
