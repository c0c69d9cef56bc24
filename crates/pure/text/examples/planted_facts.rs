//! Figures of docs/text-methods.md: number of planted facts that survive a summary, at three
//! lengths and with five plantings each. The measurement itself is in the tests.

#![expect(clippy::unwrap_used, reason = "it fails by panicking, like the test")]

#[path = "../tests/it/material.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod material;
#[path = "../tests/it/summary_of_sessions.rs"]
mod summary_of_sessions;

fn main() {
    for name in summary_of_sessions::SESSIONS {
        let Some(path) = dormouse_testkit::material::material(name) else {
            continue;
        };
        for share in [5, 10, 20] {
            summary_of_sessions::measure(&path, share, 5);
        }
    }
}
