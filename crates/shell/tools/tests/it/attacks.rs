//! Paths that lie, and a directory that changes while it is read.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "an attacker does not go through the ports"
)]

use crate::kit::Kit;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
fn reading_stays_below_the_readable_directories() {
    let kit = Kit::new();
    let paths = [
        "/etc/passwd",
        "/proc/self/environ",
        "../outside/secret",
        "src/../../outside/secret",
        "/../../../etc/passwd",
        "../project2/a",
        "a\0b",
        &kit.text("outside/secret"),
        &kit.text("memory/../outside/secret"),
        &kit.text(&"n/".repeat(3_000)),
    ];
    for path in paths {
        let text = kit.denies("Read", &json!({ "file_path": path }));
        assert!(!text.contains("precious"));
    }
}

#[test]
fn a_second_name_of_a_file_outside_is_not_read() {
    let kit = Kit::new();
    fs::hard_link(kit.path("outside/secret"), kit.path("project/hard")).unwrap();
    let text = kit.fails("Read", &json!({ "file_path": "hard" }));
    assert!(text.contains("hard link"), "{text}");
}

#[test]
fn a_pipe_does_not_hold_a_tool_up() {
    let kit = Kit::new();
    let made = std::process::Command::new("mkfifo")
        .arg(kit.path("project/pipe"))
        .status();
    if made.is_ok_and(|status| status.success()) {
        let text = kit.fails("Read", &json!({ "file_path": "pipe" }));
        assert!(text.contains("not a regular file"), "{text}");
        let text = kit.says("Grep", &json!({ "pattern": "x" }));
        assert_eq!(text, "[no match]");
    }
}

#[test]
fn a_directory_swapped_for_a_link_shows_nothing_outside() {
    let kit = Kit::new();
    kit.put("project/src/secret", "inside");
    symlink("../outside", kit.path("project/link")).unwrap();
    let (real, link) = (kit.path("project/src"), kit.path("project/link"));
    let parked = kit.path("project/parked");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2_000 {
                for (from, to) in [
                    (&real, &parked),
                    (&link, &real),
                    (&real, &link),
                    (&parked, &real),
                ] {
                    fs::rename(from, to).unwrap();
                }
            }
            over.store(true, Ordering::Release);
        });
        while !over.load(Ordering::Acquire) {
            for (tool, input) in [
                ("Read", json!({ "file_path": "src/secret" })),
                (
                    "Grep",
                    json!({ "pattern": "precious", "path": "src", "output_mode": "content" }),
                ),
                (
                    "Grep",
                    json!({ "pattern": "precious", "output_mode": "content" }),
                ),
            ] {
                let text = kit.call(tool, &input).text;
                assert!(!text.contains("precious"), "{text}");
            }
        }
    });
}

#[test]
fn a_memory_directory_that_is_a_link_is_the_directory_behind_it() {
    let kit = Kit::new();
    fs::remove_dir(kit.path("memory")).unwrap();
    fs::create_dir(kit.path("real-memory")).unwrap();
    symlink("real-memory", kit.path("memory")).unwrap();
    fs::write(kit.path("real-memory/a.md"), "behind").unwrap();
    let text = kit.says("Read", &json!({ "file_path": kit.text("memory/a.md") }));
    assert_eq!(text, "     1\tbehind");
}
