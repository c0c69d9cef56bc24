//! The host as programs use it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as the tests themselves do"
)]

mod asking;
mod convert;
mod kit;
mod recall;
mod session;
mod sessions;
mod spending;
mod windows;
