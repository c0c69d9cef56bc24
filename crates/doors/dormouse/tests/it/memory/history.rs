//! The journal: log, diff, undo, inbox.

use super::{MEMORY, dated, json, machine, memory, run};
use pretty_assertions::assert_eq;

#[test]
fn the_log_says_who_changed_what_and_why() {
    let machine = machine(&[]);
    memory(&machine, &["add", "Use tabs"]);
    memory(
        &machine,
        &["edit", "tabs", "--description", "tabs, not spaces"],
    );
    memory(
        &machine,
        &[
            "forget",
            "feedback_use_tabs",
            "--reason",
            "we use spaces now",
        ],
    );
    let log = json(&machine, &["log"]);
    let rows: Vec<(&str, &str)> = log["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["author"].as_str().unwrap(),
                row["reason"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("user", "we use spaces now"),
            ("user", "edit feedback_use_tabs.md"),
            ("user", "added by hand"),
        ]
    );
    let text = memory(&machine, &["log", "--limit", "1"]);
    let id = &log["entries"][0]["id"].as_str().unwrap()[..18];
    assert_eq!(
        text,
        format!(
            "entry               when      by    files                 why\n\
             {id}  just now  user  feedback_use_tabs.md  we use spaces now\n"
        )
    );
    // A memory that is gone can still be asked for.
    let past = json(&machine, &["log", "feedback_use_tabs"]);
    assert_eq!(past["entries"].as_array().unwrap().len(), 3);
    let edit = log["entries"][1]["id"].as_str().unwrap();
    let diff = memory(&machine, &["diff", edit]);
    assert!(
        diff.contains("- description: Use tabs\n+ description: tabs, not spaces\n"),
        "{diff}"
    );
    assert!(
        diff.contains("just now by user: edit feedback_use_tabs.md\n"),
        "{diff}"
    );
    assert!(!diff.contains("ago ago") && !diff.contains("now ago"));
    let diff = json(&machine, &["diff"]);
    let changes = diff["changes"].as_array().unwrap();
    let gone = changes
        .iter()
        .find(|change| change["path"] == "feedback_use_tabs.md");
    assert_eq!(gone.unwrap()["after"], serde_json::Value::Null);
}

#[test]
fn undo_goes_back_step_by_step_and_can_be_undone() {
    let machine = machine(&[]);
    let root = machine.home().join(MEMORY);
    memory(&machine, &["add", "Use tabs"]);
    let one = dated(&root);
    memory(&machine, &["add", "The release is on Monday"]);
    let two = dated(&root);
    assert_eq!(
        memory(&machine, &["undo"]),
        "Undone: added by hand (project_the_release_is_on_monday.md)\n"
    );
    let content = |state: &[(std::path::PathBuf, Vec<u8>, i64)]| -> Vec<(String, Vec<u8>)> {
        let plain = state.iter();
        plain
            .map(|(path, bytes, _)| (path.display().to_string(), bytes.clone()))
            .collect()
    };
    assert_eq!(content(&dated(&root)), content(&one));
    memory(&machine, &["undo"]);
    let left = content(&dated(&root));
    assert!(left.iter().all(|(path, _)| path == "MEMORY.md"), "{left:?}");
    let spent = run(&machine, &["undo"]);
    assert_eq!(
        (spent.code, spent.stderr.lines().next()),
        (4, Some("error: every change is undone already"))
    );
    // Undoing an undo by its id brings the change back.
    let log = json(&machine, &["log"]);
    let entries = log["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 4);
    for undo in &entries[..2] {
        assert!(!undo["undoes"].is_null());
        memory(&machine, &["undo", undo["id"].as_str().unwrap()]);
    }
    assert_eq!(content(&dated(&root)), content(&two));
}

#[test]
fn an_undo_does_not_lose_what_came_after() {
    let machine = machine(&[]);
    memory(&machine, &["add", "Use tabs"]);
    let first = json(&machine, &["log"])["entries"][0]["id"].clone();
    memory(
        &machine,
        &["edit", "tabs", "--text", "Use tabs, eight wide."],
    );
    let refused = run(&machine, &["undo", first.as_str().unwrap()]);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
    let text = machine.read("memory/feedback_use_tabs.md");
    assert!(text.contains("eight wide"), "{text}");
    let none = run(&machine, &["undo", "ffffffff"]);
    assert_eq!(none.code, 3, "{}", none.stderr);
}

#[test]
fn foreign_files_survive_a_round_trip_untouched() {
    let machine = machine(&[
        (
            "MEMORY.md",
            "# Mine\r\n* [A](a.md): first\n\n- [B](sub/b.md)",
        ),
        (
            "a.md",
            "---\nname: \"A\"\nzz: {k: [v]}\ndescription: first: with colon\n---\nno newline",
        ),
        ("sub/b.md", "\u{feff}# B\n"),
        ("pinned/c.md", "pinned\n"),
        ("logs/2026/11/2026-11-15.md", "- log\n"),
        ("notes.txt", "no memory\n"),
    ]);
    let root = machine.home().join(MEMORY);
    let before = dated(&root);
    memory(&machine, &["add", "A thing that nobody knew before"]);
    memory(&machine, &["undo"]);
    memory(&machine, &["list"]);
    run(&machine, &["check"]);
    memory(&machine, &["index", "--dry-run"]);
    memory(&machine, &["status"]);
    let after = dated(&root);
    let names = |state: &[(std::path::PathBuf, Vec<u8>, i64)]| {
        let bytes = state
            .iter()
            .map(|(path, bytes, _)| (path.clone(), bytes.clone()));
        bytes.collect::<Vec<_>>()
    };
    assert_eq!(names(&after), names(&before));
    for (old, new) in before.iter().zip(&after) {
        // The index was changed and changed back; nothing else was touched.
        if !old.0.ends_with("MEMORY.md") {
            assert_eq!(old.2, new.2, "{}", old.0.display());
        }
    }
}

fn item(id: &str, path: &str) -> String {
    serde_json::json!({
        "format": 1,
        "id": id,
        "time": 1_700_000_000_000_i64,
        "path": path,
        "expected": "absent",
        "content": format!("---\nname: {path}\ndescription: from a page\ntrust: external\n---\n\nDo it.\n"),
        "author": "extractor",
        "trust": "external",
        "reason": "extracted",
        "waits_because": "stems from a web page",
    })
    .to_string()
}

#[test]
fn what_waits_is_listed_and_decided() {
    let machine = machine(&[
        (".inbox/item-one.json", &item("item-one", "one.md")),
        (".inbox/item-two.json", &item("item-two", "two.md")),
    ]);
    let listed = json(&machine, &["inbox"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
    let text = memory(&machine, &["inbox"]);
    assert!(text.contains("stems from a web page"), "{text}");
    assert!(memory(&machine, &["inbox", "--full"]).contains("  Do it.\n"));
    assert_eq!(
        memory(&machine, &["approve", "item-one"]),
        "Approved: one.md\n"
    );
    assert!(machine.read("memory/one.md").contains("trust: user"));
    assert_eq!(memory(&machine, &["reject", "--all"]), "Rejected: two.md\n");
    assert_eq!(
        memory(&machine, &["inbox"]),
        "Nothing waits for approval.\n"
    );
    let left = json(&machine, &["list"]);
    assert_eq!(left["memories"].as_array().unwrap().len(), 1);
}

#[test]
fn one_command_is_one_entry_and_undo_leaves_edits_by_hand_alone() {
    let machine = machine(&[]);
    for text in [
        "Use tabs",
        "The release is on Monday",
        "Ann owns the calendar",
    ] {
        memory(&machine, &["add", text]);
    }
    let before = machine.read("memory/MEMORY.md");
    memory(
        &machine,
        &[
            "forget",
            "feedback_use_tabs",
            "project_the_release_is_on_monday",
            "project_ann_owns_the_calendar",
        ],
    );
    let log = json(&machine, &["log"]);
    assert_eq!(log["entries"].as_array().unwrap().len(), 4);
    memory(&machine, &["undo"]);
    assert_eq!(machine.read("memory/MEMORY.md"), before);
    // An edit by hand is in the log when that is looked at, and `undo` does not touch it.
    let file = "memory/project_ann_owns_the_calendar.md";
    let edited = format!("{}By hand.\n", machine.read(file));
    machine.write(file, &edited);
    machine.write("memory/mine.md", "My own.\n");
    let newest = json(&machine, &["log", "--limit", "1"]);
    assert_eq!(newest["entries"][0]["author"], "outside");
    let refused = run(&machine, &["undo"]);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("changed since without Dormouse"),
        "{}",
        refused.stderr
    );
    assert_eq!(machine.read(file), edited);
    assert_eq!(machine.read("memory/mine.md"), "My own.\n");
}

#[test]
fn ids_are_shown_so_that_they_are_accepted() {
    let machine = machine(&[]);
    memory(&machine, &["add", "Use tabs"]);
    // Entries of the same millisecond, as several processes make them.
    let journal = machine.read("memory/.journal/journal.jsonl");
    let line: serde_json::Value = serde_json::from_str(journal.trim()).unwrap();
    let mut text = journal.clone();
    for end in ["0001", "0002"] {
        let mut entry = line.clone();
        entry["id"] = format!("019a9d2c-1234-7abc-8def-00000000{end}").into();
        entry["changes"] = serde_json::json!([]);
        text.push_str(&entry.to_string());
        text.push('\n');
    }
    machine.write("memory/.journal/journal.jsonl", &text);
    let log = memory(&machine, &["log"]);
    let shown: Vec<&str> = log
        .lines()
        .skip(1)
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(shown.len(), 3, "{log}");
    for id in shown {
        assert_eq!(run(&machine, &["diff", id]).code, 0, "{id}");
    }
}

#[test]
fn approving_several_is_one_entry() {
    let machine = machine(&[
        (".inbox/item-one.json", &item("item-one", "one.md")),
        (".inbox/item-two.json", &item("item-two", "two.md")),
    ]);
    memory(&machine, &["approve", "--all"]);
    assert_eq!(
        json(&machine, &["list"])["memories"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        json(&machine, &["log"])["entries"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    memory(&machine, &["undo"]);
    assert_eq!(
        json(&machine, &["list"])["memories"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}
