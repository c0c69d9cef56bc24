//! `dormouse memory status`: the files a session would load, and the upkeep of memory.

use super::{json, machine, memory};
use crate::program::Machine;
use pretty_assertions::assert_eq;
use std::fmt::Write as _;

#[test]
fn a_fresh_project() {
    let machine = Machine::new(&[]);
    let text = memory(&machine, &["status"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("Memory         ~/.dormouse/projects/"),
        "{text}"
    );
    assert_eq!(
        lines[1],
        "               the project's folder in Dormouse's home"
    );
    assert_eq!(
        lines[2],
        "               does not exist yet; `dormouse memory add 'TEXT'` makes it"
    );
    assert!(
        text.contains("\nBackground     $0.00 of $1.00 used today\n"),
        "{text}"
    );
    assert!(
        !machine.home().join(".dormouse").exists(),
        "asking makes nothing"
    );
    let json = json(&machine, &["status"]);
    assert_eq!(
        (&json["exists"], &json["memories"]["total"]),
        (&false.into(), &0.into())
    );
}

#[test]
fn memories_inbox_budget_and_dreams_are_counted() {
    let machine = machine(&[
        ("MEMORY.md", "- [A](a.md) — a\n- [Gone](gone.md)\n"),
        (
            "a.md",
            "---\nname: A\ntype: feedback\ntrust: user\n---\n\na\n",
        ),
        (
            "b.md",
            "---\ntype: project\nsuperseded_by: a.md\n---\n\nb\n",
        ),
        ("pinned/c.md", "c\n"),
        (".consolidate-lock", ""),
    ]);
    machine.write(
        ".dormouse/background.json",
        "{\"day\": \"2000-01-01\", \"usd\": \"0.40\", \"tokens\": 5}",
    );
    let json = json(&machine, &["status"]);
    let counts = &json["memories"];
    assert_eq!(counts["total"], 3);
    assert_eq!(
        counts["by_type"],
        serde_json::json!({"feedback": 1, "project": 1, "untyped": 1})
    );
    assert_eq!(
        counts["by_trust"],
        serde_json::json!({"by hand": 2, "user": 1})
    );
    assert_eq!(
        (&counts["pinned"], &counts["overtaken"]),
        (&1.into(), &1.into())
    );
    assert_eq!(json["index"]["drift"], 2, "gone.md and pinned/c.md");
    assert_eq!(json["pending"], false);
    assert!(json["consolidation"]["last"].is_string());
    assert_eq!(json["budget"]["used_usd"], 0.0, "another day's");
    let text = memory(&machine, &["status"]);
    assert!(text.contains("Last dream     just now\n"), "{text}");
    assert!(
        text.contains("2 differences between index and files"),
        "{text}"
    );
}

#[test]
fn an_index_of_too_many_lines_is_cut_where_the_specification_says() {
    let mut index = String::new();
    for number in 1..=238 {
        writeln!(index, "- [Note {number}](note_{number}.md) — hook").unwrap();
    }
    let machine = machine(&[("MEMORY.md", &index)]);
    let shown: usize = index.split_inclusive('\n').take(200).map(str::len).sum();
    let json = json(&machine, &["status"]);
    let told = &json["index"];
    assert_eq!(
        (&told["lines"], &told["lines_loaded"]),
        (&238.into(), &200.into())
    );
    assert_eq!(
        (&told["bytes"], &told["bytes_loaded"]),
        (&index.len().into(), &shown.into())
    );
    let warning = told["warning"].as_str().unwrap();
    let begin = format!(
        "> Warning: MEMORY.md is too long, only 200 of its 238 lines ({shown} of {} bytes) are shown",
        index.len()
    );
    assert!(warning.starts_with(&begin), "{warning}");
    let cut = &json["load"]["cut"][0];
    assert_eq!(
        (&cut["source"], &cut["bytes"]),
        (&"index".into(), &(index.len() - shown).into())
    );
    let text = memory(&machine, &["status"]);
    assert!(text.contains("Index          200 of 238 lines, "), "{text}");
    assert!(
        text.contains("               Warning: MEMORY.md is too long"),
        "{text}"
    );
}

#[test]
fn an_index_of_too_many_bytes_is_cut_at_the_last_newline_before() {
    let line = format!("- [Note](note.md) — {}\n", "x".repeat(180));
    let index = line.repeat(150);
    assert!(index.len() > 25_000);
    let machine = machine(&[("MEMORY.md", &index), ("note.md", "n\n")]);
    let lines = 25_000 / line.len();
    let json = json(&machine, &["status"]);
    assert_eq!(json["index"]["lines_loaded"], lines);
    assert_eq!(json["index"]["bytes_loaded"], lines * line.len());
    assert_eq!(json["index"]["cut"], true);
}

#[test]
fn instruction_files_are_told_with_their_fate() {
    let long = "word ".repeat(9_000);
    let machine = Machine::new(&[
        (
            "project/AGENTS.md",
            "Be brief.\n@./more.md\n@../outside.md\n",
        ),
        ("project/more.md", "More.\n"),
        ("outside.md", "Outside.\n"),
        ("project/CLAUDE.md", &long),
        (
            "project/.claude/rules/rust.md",
            "---\npaths: [\"**/*.rs\"]\n---\n\nNo unwrap.\n",
        ),
        (".claude/CLAUDE.md", "Mine.\n"),
    ]);
    // Before the folder is trusted only the user's own are read.
    let untrusted = json(&machine, &["status"]);
    let outcomes: Vec<&str> = untrusted["instructions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["outcome"].as_str().unwrap())
        .collect();
    let skipped = "skipped: the folder is not trusted";
    assert_eq!(outcomes, ["loaded", skipped, skipped, skipped]);
    assert_eq!(machine.run("config trust").code, 0);
    let json = json(&machine, &["status"]);
    let rows: Vec<(&str, &str, &str)> = json["instructions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["path"].as_str().unwrap(),
                row["scope"].as_str().unwrap(),
                row["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("~/.claude/CLAUDE.md", "user", "loaded"),
            ("~/project/AGENTS.md", "project", "loaded"),
            ("~/project/more.md", "project", "loaded"),
            (
                "~/outside.md",
                "project",
                "skipped: outside the project and not approved"
            ),
            (
                "~/project/CLAUDE.md",
                "project",
                "cut: 40000 of 44999 characters loaded"
            ),
            (
                "~/project/.claude/rules/rust.md",
                "project",
                "waits for **/*.rs"
            ),
        ]
    );
    let sum: u64 = json["instructions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| !row["outcome"].as_str().unwrap().starts_with("waits"))
        .map(|row| row["tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(
        json["tokens"],
        sum + json["prompt"]["tokens"].as_u64().unwrap()
    );
    let text = memory(&machine, &["status"]);
    assert!(
        text.contains("memory section of the system prompt"),
        "{text}"
    );
}

#[test]
fn a_memory_that_is_off_is_an_answer_too() {
    let machine = Machine::new(&[
        ("project/.dormouse/settings.toml", "memory = false\n"),
        ("project/AGENTS.md", "Be brief.\n"),
    ]);
    let text = memory(&machine, &["status"]);
    assert!(
        text.starts_with("Memory         memory is switched off (setting `memory`)\n"),
        "{text}"
    );
    assert!(text.contains("~/project/AGENTS.md"), "{text}");
}
