//! `dormouse stats`: figures of sessions made by the program itself, and of other tools.

use crate::program::Machine;
use crate::simulator::Running;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const SAMPLE: &str = include_str!("../../../../../docs/sample.jsonl");

/// A machine with a session in which results went into files.
fn worked() -> (Machine, Running) {
    let call = |command: &str| {
        json!({ "content": [{ "tool": "Bash", "input": { "command": command } }] }).to_string()
    };
    let script = [
        call("seq 1 30000"),
        call("seq 1 3000"),
        json!({ "content": [{ "text": "Done." }] }).to_string(),
    ];
    let machine = Machine::new(&[
        ("script.jsonl", &script.join("\n")),
        ("sim.toml", "[answers]\ntool_rounds = 0\n"),
    ]);
    let home = machine.home();
    let options = format!(
        "--config {0}/sim.toml --script {0}/script.jsonl",
        home.display()
    );
    let provider = Running::new(&machine, &options);
    let url = format!("http://{}", provider.address());
    let machine = machine
        .with_variable("ANTHROPIC_BASE_URL", url)
        .with_variable("ANTHROPIC_API_KEY", "any")
        .with_variable("ANTHROPIC_MODEL", "claude-sonnet-4-5")
        .with_variable("PATH", "/usr/local/bin:/usr/bin:/bin");
    let run = machine.run_of(&["--mode", "all", "-p", "Count, port 8443."]);
    assert_eq!(run.code, 0, "{run:?}");
    (machine, provider)
}

#[test]
fn layers_are_counted_and_priced() {
    let (machine, _provider) = worked();
    let stats = machine.json("stats --json");
    let usage = machine.json("usage --json");
    assert_eq!(stats["requests"], usage["requests"]);
    assert_eq!(stats["cost_usd"], usage["cost_usd"]);
    assert_eq!(stats["cache_hit_rate"], usage["cache_hit_rate"]);
    assert_eq!(stats["turns"], 1);
    assert_eq!(stats["acted"]["offloads"], 1, "{stats}");
    assert_eq!(stats["acted"]["distillations"], 1, "{stats}");
    // 168,894 characters of digits, at the table's ratio for text.
    let freed = stats["freed"]["offload"].as_u64().unwrap();
    assert!((30_000..120_000).contains(&freed), "{stats}");
    let without = stats["cost_without_layers_usd"].as_f64();
    assert!(without > stats["cost_usd"].as_f64(), "{stats}");
    assert_eq!(stats["projects"].as_array().unwrap().len(), 1);
    // The same by its folder; nothing on another day.
    let here = machine.json("stats --here --json");
    assert_eq!(here["requests"], stats["requests"]);
    let before = machine.json("stats --until 2020-01-01 --json");
    assert_eq!(before["requests"], 0);
    assert_eq!(before["cost_without_layers_usd"], json!(0.0));
}

#[test]
fn limits_decide_the_exit_code() {
    let (machine, _provider) = worked();
    let run = machine.run("--set stats.min_hit_rate=1 stats");
    assert_eq!(run.code, 0, "{run:?}");
    let run = machine.run("--set stats.min_hit_rate=99.9 stats");
    assert_eq!(run.code, 6, "{run:?}");
    assert!(
        run.stdout.contains("broken stats.min_hit_rate = 99.9"),
        "{run:?}"
    );
    // No memory was written: there is no rate, and no limit is broken.
    let run = machine.run("--set stats.max_pollution=1 stats --json");
    assert_eq!(run.code, 0, "{run:?}");
    let stats: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(stats["limits"][0]["figure"], Value::Null);
}

#[test]
fn memories_undone_and_overtaken_are_pollution() {
    let machine = Machine::new(&[("project/sample.jsonl", SAMPLE)]);
    for text in [
        "Use tabs",
        "Releases are cut on Thursdays",
        "Ask Ann about TLS",
        "x y z",
    ] {
        let run = machine.run_of(&["memory", "add", text]);
        assert_eq!(run.code, 0, "{run:?}");
    }
    let run = machine.run("memory undo");
    assert_eq!(run.code, 0, "{run:?}");
    let stats = machine.json("stats sample.jsonl --json");
    let memory = &stats["memory"];
    assert_eq!(
        (&memory["written"], &memory["undone"]),
        (&json!(4), &json!(1)),
        "{stats}"
    );
    assert_eq!(memory["living"], 3);
    assert_eq!(stats["pollution"]["per_100_written"], json!(25.0));
    let run = machine.run("--set stats.max_pollution=10 stats sample.jsonl");
    assert_eq!(run.code, 6, "{run:?}");
}

#[test]
fn other_tools_count_as_far_as_they_have_figures() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "b",
        "timestamp": "2026-03-02T11:00:00.000Z",
        "compactMetadata": {"trigger": "auto", "preTokens": 150_000}});
    let summary = json!({"type": "user", "uuid": "c", "isCompactSummary": true,
        "timestamp": "2026-03-02T11:00:01.000Z",
        "message": {"role": "user", "content": "The user wants keep_alive to work."}});
    // A torn last line, as a crash leaves it.
    let log = format!(
        "{}\n{boundary}\n{summary}\n{{\"type\":\"us",
        SAMPLE.trim_end()
    );
    let machine = Machine::new(&[("project/log.jsonl", &log)]);
    let run = machine.run("stats log.jsonl --json");
    assert_eq!(run.code, 0, "{run:?}");
    let stats: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(stats["acted"]["compactions_foreign"], 1, "{stats}");
    assert_eq!(stats["skipped_lines"], 1, "{stats}");
    let facts = &stats["facts"];
    assert!(facts["after"].as_u64() >= Some(1), "{stats}");
    assert!(
        facts["before"].as_u64() > facts["after"].as_u64(),
        "{stats}"
    );
    let usage = machine.run("usage log.jsonl --json");
    let usage: Value = serde_json::from_str(&usage.stdout).unwrap();
    assert_eq!(stats["cost_usd"], usage["cost_usd"]);
}

#[test]
fn nothing_at_all_is_told_apart_from_zero() {
    let machine = Machine::new(&[]);
    let run = machine.run("stats --here");
    assert_eq!(run.code, 3, "{run:?}");
    let run = machine.run("stats nowhere.jsonl");
    assert_eq!(run.code, 3, "{run:?}");
}
