//! Sessions of Codex and pi on the command line.

use crate::program::Machine;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A session of Codex, as its client writes it.
const CODEX: &str = include_str!("../../../../shell/store/tests/data/codex.jsonl");
/// A session of pi, as its client writes it.
const PI: &str = include_str!("../../../../shell/store/tests/data/pi.jsonl");

fn machine() -> Machine {
    Machine::new(&[("project/codex.jsonl", CODEX), ("project/pi.jsonl", PI)])
}

/// The words that rules would remember.
fn proposed(machine: &Machine, file: &str) -> Vec<Value> {
    let report = machine.json(&format!("extract {file} --dry-run --json"));
    let proposals = report["proposals"].as_array().unwrap();
    proposals.iter().map(|it| it["words"].clone()).collect()
}

#[test]
fn what_the_user_said_is_proposed_and_nothing_that_was_put_there() {
    let machine = machine();
    let of_codex = [
        json!("Please always use tabs for indentation in this project."),
        json!("Never rename the hive."),
    ];
    assert_eq!(proposed(&machine, "codex.jsonl"), of_codex);
    let of_pi = [
        json!("Always keep the commit messages short."),
        json!("Never count the queen."),
    ];
    assert_eq!(proposed(&machine, "pi.jsonl"), of_pi);
}

#[test]
fn a_converted_session_is_the_same_session() {
    let machine = machine();
    for (file, lines) in [("codex.jsonl", 23), ("pi.jsonl", 17)] {
        let made = machine.json(&format!("convert {file} --to log-{file} --json"));
        assert_eq!(
            (&made["lines"], &made["left_out"]),
            (&json!(lines), &json!(0))
        );
        let view = |file: &str| machine.json(&format!("view {file} --json"))["segments"].clone();
        let blocks = |segments: Value| -> Vec<Value> {
            let segments = segments.as_array().unwrap();
            segments
                .iter()
                .map(|segment| segment["block"].clone())
                .collect()
        };
        let before = blocks(view(file));
        assert!(before.iter().all(Value::is_object) && before.len() > 3);
        assert_eq!(blocks(view(&format!("log-{file}"))), before);
        assert_eq!(
            proposed(&machine, &format!("log-{file}")),
            proposed(&machine, file)
        );
    }
}

#[test]
fn usage_and_sessions_read_what_context_reads() {
    let machine = machine();
    for file in ["codex.jsonl", "pi.jsonl"] {
        let usage = machine.json(&format!("usage {file} --json"));
        assert!(usage["requests"].as_u64() > Some(0), "{file}: {usage}");
        assert!(usage["output_tokens"].as_u64() > Some(0), "{file}: {usage}");
    }
    let list = machine.json("sessions . --json");
    let rows = list["sessions"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let context = machine.json(&format!("context {} --json", row["file"].as_str().unwrap()));
        assert_eq!(row["tokens"], context["used_tokens"], "{row}");
        assert!(
            row["messages"].as_u64() > Some(2) && row["title"].is_string(),
            "{row}"
        );
    }
}

#[test]
fn the_log_lists_what_was_made_of_the_lines() {
    let report = machine().json("log codex.jsonl --kinds --json");
    let kinds = &report["kinds"];
    let counts = ["boundary", "usage", "user", "assistant"].map(|kind| kinds[kind].clone());
    assert_eq!(counts, [1, 2, 10, 6].map(|count| json!(count)));
    assert_eq!(report["issue_count"], json!(0));
}
