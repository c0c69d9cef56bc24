//! The examples, run as a reader of the documentation runs them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::process::Command;

fn run(example: &str) -> String {
    // Cargo builds examples before it runs integration tests; they lie beside this test's own folder.
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples").join(example);
    let output = Command::new(&path).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Lines of a source file that are code.
fn lines(source: &str) -> usize {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    source.lines().filter(code).count()
}

#[test]
fn the_agent_answers_forgets_and_stays_in_its_window() {
    let shown = run("agent");
    assert!(shown.contains("Question 12"), "{shown}");
    assert!(shown.contains("  · "), "no layer acted: {shown}");
    assert!(lines(include_str!("../examples/agent.rs")) <= 60);
}

#[test]
fn the_driver_by_hand_appends_asks_and_replies() {
    let shown = run("driver");
    let at = |word: &str| {
        shown
            .find(word)
            .unwrap_or_else(|| panic!("no {word}: {shown}"))
    };
    assert!(at("append") < at("ask"));
    assert!(at("ask") < at("true"));
    assert!(lines(include_str!("../examples/driver.rs")) <= 40);
}
