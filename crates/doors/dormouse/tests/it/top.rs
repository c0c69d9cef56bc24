//! `dormouse top`: sessions at work, and the status line.

use crate::program::Machine;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Stdio;

/// A transcript of Claude Code in the folder of the machine's project, with a compaction in it.
fn transcript(machine: &Machine) -> String {
    let slug = machine.home().join("project").display().to_string();
    let slug: String = slug
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    let usage = json!({
        "input_tokens": 1_000, "output_tokens": 100,
        "cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 0,
    });
    let lines = [
        json!({ "type": "user", "uuid": "u1", "parentUuid": null, "message": { "role": "user", "content": "hello" } }),
        json!({
            "type": "assistant", "uuid": "a1", "parentUuid": "u1",
            "message": { "role": "assistant", "id": "m1", "model": "claude-sonnet-4-5", "usage": usage,
                "content": [{ "type": "text", "text": "hi" }] },
        }),
        json!({
            "type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": null, "logicalParentUuid": "a1",
            "compactMetadata": { "trigger": "manual", "preTokens": 10_100 },
        }),
        json!({
            "type": "user", "uuid": "u2", "parentUuid": "c1", "isCompactSummary": true,
            "message": { "role": "user", "content": "A summary." },
        }),
        json!({
            "type": "assistant", "uuid": "a2", "parentUuid": "u2",
            "message": { "role": "assistant", "id": "m2", "model": "claude-sonnet-4-5", "usage": usage,
                "content": [{ "type": "text", "text": "go on" }] },
        }),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let text = format!("{}\n", lines.join("\n"));
    let file = format!(".claude/projects/{slug}/one.jsonl");
    machine.write(&file, &text);
    file
}

#[test]
fn a_session_at_work_is_shown_with_its_figures() {
    let machine = Machine::new(&[]);
    transcript(&machine);
    let top = machine.json("--json top");
    let session = &top["sessions"][0];
    assert_eq!(session["agent"], "claude-code");
    assert_eq!(session["session"], "one");
    assert_eq!(session["live"], true);
    assert_eq!(session["requests"], 2);
    assert_eq!(session["cache_hit_rate"], 0.9);
    assert_eq!(session["window"], 200_000);
    assert_eq!(session["last"]["layer"], "compaction");
    assert!(session["cost_usd"].as_f64().unwrap() > 0.0);
    let text = machine.stdout("top");
    assert!(
        text.contains("claude-code") && text.contains("90 %"),
        "{text}"
    );
    assert!(
        machine
            .stdout("top --line")
            .contains("% left · cache 90 % · $")
    );
}

#[test]
fn a_status_line_takes_the_clients_own_figures_first() {
    let machine = Machine::new(&[]);
    let file = transcript(&machine);
    let mut input = json!({
        "session_id": "one", "transcript_path": machine.home().join(&file),
        "model": { "id": "claude-opus-5-5" }, "cost": { "total_cost_usd": 1.239 },
        "context_window": { "context_window_size": 1_000_000, "remaining_percentage": 71.6,
            "current_usage": { "input_tokens": 4, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 6 } },
        "a_field_of_later_versions": [1],
    });
    let line = |input: &Value| {
        let mut command = machine.command("top --line");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.to_string().as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        line(&input),
        "72 % left · cache 90 % · $1.24 · compaction\n"
    );
    // Before the first answer there is no transcript, and after it may be unreadable.
    input["transcript_path"] = json!("/nowhere.jsonl");
    assert_eq!(line(&input), "72 % left · cache 30 % · $1.24\n");
    assert_eq!(line(&json!({ "session_id": "x" })), "\n");
}

#[test]
fn a_status_line_without_a_session_is_empty() {
    let machine = Machine::new(&[]);
    assert_eq!(machine.stdout("top --line"), "");
    let run = machine.run("top");
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("no session was found"),
        "{}",
        run.stderr
    );
}
