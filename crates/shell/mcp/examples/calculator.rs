//! A server of tools for the tests, on the standard streams: it adds, waits and dies. With the argument
//! `old` it knows the older protocol only.

#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own, which leaves signs on the disk for the tests"
)]

#[path = "../tests/it/calculator.rs"]
mod calculator;

use rmcp::ServiceExt as _;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let old = std::env::args().nth(1).as_deref() == Some("old");
    let server = calculator::Calculator { old };
    // A client that goes away at once is no fault of the server.
    if let Ok(served) = server.serve(rmcp::transport::stdio()).await {
        let _ended = served.waiting().await;
    }
}
