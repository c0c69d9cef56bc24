//! Servers of tools, as processes and over HTTP, well and ill.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at the processes of the machine"
)]

mod calculator;
mod http;
mod kit;
mod process;
