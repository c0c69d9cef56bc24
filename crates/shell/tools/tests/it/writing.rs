//! Tests of Edit and Write.

use crate::kit::Kit;
use dormouse_tools::limits::{LARGEST_WRITTEN, MOST_DENIALS};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn a_file_is_made_and_changed_through_the_port_only() {
    let kit = Kit::new();
    let before = kit.disk();
    let path = kit.text("memory/topics/a.md");
    let write =
        |content: &str| kit.says("Write", &json!({ "file_path": path, "content": content }));
    assert_eq!(write("one two two"), "Made `topics/a.md`.");
    assert_eq!(write("one two two three"), "Changed `topics/a.md`.");
    let edit = |old: &str, new: &str, all: bool| json!({ "file_path": path, "old_string": old, "new_string": new, "replace_all": all });
    assert_eq!(
        kit.says("Edit", &edit("one", "1", false)),
        "Changed `topics/a.md`."
    );
    assert_eq!(
        kit.says("Edit", &edit("two", "2", true)),
        "Changed `topics/a.md`."
    );
    assert_eq!(kit.notes.get("topics/a.md").unwrap(), "1 2 2 three");
    assert_eq!(kit.disk(), before);
}

#[test]
fn an_edit_must_be_clear() {
    let kit = Kit::new();
    kit.notes.put("a.md", "one two two");
    let fails = |path: &str, old: &str, new: &str| {
        let path = kit.text(path);
        kit.fails(
            "Edit",
            &json!({ "file_path": path, "old_string": old, "new_string": new }),
        )
    };
    assert_eq!(
        fails("memory/a.md", "two", "2"),
        "old_string occurs 2 times in `a.md`. Give more of the text around the right one, or set \
         replace_all."
    );
    assert_eq!(
        fails("memory/a.md", "three", "3"),
        "old_string does not occur in `a.md`. Read the file again."
    );
    assert_eq!(
        fails("memory/a.md", "", "3"),
        "old_string is empty: name the text to replace."
    );
    assert_eq!(
        fails("memory/a.md", "one", "one"),
        "old_string and new_string are the same."
    );
    assert_eq!(
        fails("memory/b.md", "one", "1"),
        "There is no file `b.md`. Use Write to make it."
    );
    assert_eq!(kit.notes.get("a.md").unwrap(), "one two two");
}

#[test]
fn the_port_has_the_last_word() {
    let kit = Kit::new();
    let input = json!({ "file_path": kit.text("memory/full.md"), "content": "x" });
    assert_eq!(
        kit.fails("Write", &input),
        "There is no room for `full.md`."
    );
}

#[test]
fn a_file_cannot_grow_without_end() {
    let kit = Kit::new();
    let path = kit.text("memory/a.md");
    let large = "x".repeat(LARGEST_WRITTEN + 1);
    let text = kit.fails("Write", &json!({ "file_path": path, "content": large }));
    assert!(text.contains("a memory file has at most 1048576"), "{text}");
    kit.notes.put("a.md", &"a".repeat(10_000));
    let long = "b".repeat(10_000);
    let input =
        json!({ "file_path": path, "old_string": "a", "new_string": long, "replace_all": true });
    assert!(kit.fails("Edit", &input).contains("at most"));
}

#[test]
fn nothing_else_is_written() {
    let kit = Kit::new();
    kit.put("project/a", "x");
    let before = kit.disk();
    let paths = [
        "a",
        "a.md",
        "src/new.rs",
        "../memory/../outside/new",
        "../outside/secret",
        "/etc/passwd",
        "~/.bashrc",
        &kit.text("project/a"),
        &kit.text("memory"),
        &kit.text("memory2/a.md"),
        &kit.text("transcripts/t"),
        &kit.text("outside/secret"),
        &kit.text("memory/../outside/new"),
        &kit.text("memory/.journal/journal.jsonl"),
        &kit.text("memory/.consolidate-lock"),
        &kit.text("memory/a\\b"),
        &kit.text("memory/a\u{0}b"),
        &kit.text("memory/CON.md"),
        &kit.text("memory/name. "),
        &kit.text(&format!("memory/{}", "n".repeat(5_000))),
    ];
    for path in paths {
        let write = json!({ "file_path": path, "content": "attack" });
        kit.denies("Write", &write);
        let edit = json!({ "file_path": path, "old_string": "x", "new_string": "y" });
        kit.denies("Edit", &edit);
    }
    assert_eq!(kit.disk(), before);
    assert_eq!(kit.notes.names(), [""; 0]);
}

#[test]
fn other_tools_do_not_exist_here() {
    let kit = Kit::new();
    for tool in [
        "mcp__server__write",
        "Task",
        "Agent",
        "WebFetch",
        "read",
        "",
        "Read ",
    ] {
        let text = kit.denies(tool, &json!({ "file_path": "a" }));
        assert_eq!(
            text,
            "Not allowed: side tasks have only the tools Read, Grep, Glob, Bash, Edit, Write."
        );
    }
}

#[test]
fn denials_are_listed_in_words_and_not_without_end() {
    let kit = Kit::new();
    let input = json!({ "file_path": "/etc/shadow" });
    for _ in 0..MOST_DENIALS + 5 {
        kit.call("Read", &input);
    }
    let denials = kit.tools.denials();
    assert_eq!(denials.len(), MOST_DENIALS);
    assert_eq!(kit.tools.denial_count(), 1_005);
    let text = denials[0].to_string();
    assert!(
        text.starts_with("Read of `/etc/shadow`: only files below"),
        "{text}"
    );
    let long = json!({ "command": "rm ".repeat(1_000) });
    let other = Kit::new();
    other.denies("Bash", &long);
    assert_eq!(other.tools.denials()[0].target.len(), 500);
}
