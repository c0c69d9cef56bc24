//! The commands over real transcripts, read by path; skipped where they are absent.

use crate::program::Machine;
use dormouse_system::{Files as _, RealFiles};
use dormouse_testkit::material::{material, sample, transcripts};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Counts the plain way: every line as a value, once per message id, the last line wins.
fn naive_usage(file: &Path) -> [u64; 3] {
    let text = RealFiles.read(file, u64::MAX).unwrap();
    let mut by_id: HashMap<String, Value> = HashMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        let message = &line["message"];
        if let (Some(id), true) = (message["id"].as_str(), message["usage"].is_object()) {
            by_id.insert(id.to_owned(), message["usage"].clone());
        }
    }
    let names = [
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ];
    names.map(|name| {
        by_id
            .values()
            .map(|usage| usage[name].as_u64().unwrap_or(0))
            .sum()
    })
}

#[test]
fn usage_agrees_with_a_naive_count_and_nothing_is_fatal() {
    let machine = Machine::new(&[]);
    for file in &transcripts() {
        let report = machine.run(&format!("usage {} --json", file.display()));
        // Sessions of tools whose formats are not read are refused, and say so.
        if report.code == 4 {
            let said = ["is not a transcript", "is empty"];
            let is_said = said.iter().any(|said| report.stderr.contains(said));
            assert!(is_said, "{}: {}", file.display(), report.stderr);
            continue;
        }
        assert_eq!(report.code, 0, "{}: {}", file.display(), report.stderr);
        let report: Value = serde_json::from_str(&report.stdout).unwrap();
        let names = [
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ];
        let told = names.map(|name| report[name].as_u64().unwrap());
        // Codex and pi report their figures in other shapes.
        let naive = naive_usage(file);
        if naive != [0; 3] {
            assert_eq!(told, naive, "{}", file.display());
        }
        for command in ["context", "view", "log"] {
            let run = machine.run(&format!("{command} {} --json", file.display()));
            assert_eq!(run.code, 0, "{command} {}: {}", file.display(), run.stderr);
        }
    }
}

#[test]
fn the_long_sessions_are_listed_with_their_compactions() {
    let Some(root) = material("transcripts") else {
        return;
    };
    let machine = Machine::new(&[]);
    let listed = machine.json(&format!(
        "sessions {} --json",
        root.join("spotter-mit").display()
    ));
    let rows = listed["sessions"].as_array().unwrap();
    let compactions: Vec<(&str, u64)> = rows
        .iter()
        .flat_map(|row| row["compactions"].as_array().unwrap())
        .map(|c| {
            (
                c["trigger"].as_str().unwrap(),
                c["pre_tokens"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(compactions, [("manual", 142_431), ("auto", 167_094)]);
    assert!(
        rows.iter().all(|row| row["agents"] == 2),
        "their sub-agents are theirs"
    );
}

#[test]
fn the_sample_is_listed_with_its_compaction_and_its_agent() {
    let machine = Machine::new(&[]);
    let folder = sample("transcripts/nest-box");
    let listed = machine.json(&format!("sessions {} --json", folder.display()));
    let rows = listed["sessions"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["compactions"][0]["trigger"], "auto");
    assert_eq!(rows[0]["compactions"][0]["pre_tokens"], 25_041);
    assert_eq!(rows[0]["agents"], 1);
    let file = folder.join("0b7d1c52-4f0e-4c7e-9a39-6d2f0c5e8a11.jsonl");
    let after = machine.json(&format!("context {} --json", file.display()));
    assert!(after["used_tokens"].as_u64().unwrap() < 12_000, "{after}");
}

#[test]
fn the_window_just_before_a_compaction_is_what_the_tool_said() {
    let Some(root) = material("transcripts") else {
        return;
    };
    let machine = Machine::new(&[]);
    let file = root.join("spotter-mit/258c7280-ae70-4798-800f-63464d01a85d.jsonl");
    let report = machine.json(&format!("context {} --at 1255 --json", file.display()));
    let used = report["used_tokens"].as_u64().unwrap();
    assert!((165_000..169_000).contains(&used), "{used}");
    let after = machine.json(&format!("context {} --json", file.display()));
    assert!(after["used_tokens"].as_u64().unwrap() < 80_000);
}
