//! Mail between processes, with killed ones among them, and through sockets.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "helpers of tests fail by panicking, as the tests themselves do, and look at the real disk"
)]

mod damage;
mod kit;
mod processes;
mod sockets;
