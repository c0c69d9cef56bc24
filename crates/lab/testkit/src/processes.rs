//! Processes that a test has started, by their numbers.
//!
//! A kill is an order, not an event: the kernel carries it out a little later, more so on a busy
//! machine. A test therefore waits for an end and does not look once.

#![expect(
    clippy::disallowed_methods,
    reason = "processes are files of the kernel, and tests wait for them in real time"
)]

use std::time::{Duration, Instant};

/// Time after which a process is taken to run for ever: long for a machine under load.
const SOON: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(5);

/// True while a process runs. A zombie has ended: it waits for its number to be collected.
pub fn runs(pid: &str) -> bool {
    let pid: u32 = pid.trim().parse().expect("the number of a process");
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|text| !text.contains(") Z "))
}

/// Waits for the end of a process; blocks the thread.
pub fn await_end(pid: &str) {
    until(|| !runs(pid), "a process still runs");
}

/// Waits until something holds; blocks the thread.
pub fn until(mut holds: impl FnMut() -> bool, otherwise: &str) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < SOON, "{otherwise}");
        std::thread::sleep(LOOK);
    }
}
