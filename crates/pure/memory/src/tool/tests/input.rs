use super::{fails, memory, told};
use crate::tool::{Overwrite, answer};
use serde_json::json;

#[test]
fn inputs_that_are_no_command_name_the_field() {
    let view = "/memories";
    let cases = [
        (
            json!([]),
            "Error: The input must be an object with a field `command`",
        ),
        (json!({}), "Error: The field `command` is missing"),
        (
            json!({"command": 3}),
            "Error: The field `command` must be a text",
        ),
        (
            json!({"command": "look"}),
            "Error: Unknown command `look`; there are view, create, str_replace, insert, delete, rename",
        ),
        (
            json!({"command": "view"}),
            "Error: The field `path` is missing",
        ),
        (
            json!({"command": "view", "path": null}),
            "Error: The field `path` is missing",
        ),
        (
            json!({"command": "view", "path": ["/memories"]}),
            "Error: The field `path` must be a text",
        ),
        (
            json!({"command": "view", "path": view, "file_text": ""}),
            "Error: Unknown field `file_text` for the command `view`; it takes path, view_range",
        ),
        (
            json!({"command": "create", "path": view}),
            "Error: The field `file_text` is missing",
        ),
        (
            json!({"command": "create", "path": view, "file_text": {}}),
            "Error: The field `file_text` must be a text",
        ),
        (
            json!({"command": "str_replace", "path": view}),
            "Error: The field `old_str` is missing",
        ),
        (
            json!({"command": "str_replace", "path": view, "old_str": "a", "new_str": 1}),
            "Error: The field `new_str` must be a text",
        ),
        (
            json!({"command": "insert", "path": view, "insert_text": ""}),
            "Error: The field `insert_line` is missing",
        ),
        (
            json!({"command": "insert", "path": view, "insert_line": "1", "insert_text": ""}),
            "Error: The field `insert_line` must be a whole number",
        ),
        (
            json!({"command": "insert", "path": view, "insert_line": u64::MAX, "insert_text": ""}),
            "Error: The field `insert_line` must be a whole number",
        ),
        (
            json!({"command": "insert", "path": view, "insert_line": 1}),
            "Error: The field `insert_text` is missing",
        ),
        (
            json!({"command": "delete"}),
            "Error: The field `path` is missing",
        ),
        (
            json!({"command": "rename", "path": view}),
            "Error: Unknown field `path` for the command `rename`; it takes old_path, new_path",
        ),
        (
            json!({"command": "rename", "old_path": view}),
            "Error: The field `new_path` is missing",
        ),
    ];
    for (input, text) in cases {
        fails(&input, text);
    }
}

#[test]
fn paths_cannot_leave_the_root() {
    let bad = [
        "",
        "/",
        "memories",
        "memories/a.md",
        "/memory/a.md",
        "/memoriesx/a.md",
        "/etc/passwd",
        "//memories/a.md",
        "/memories/../etc/passwd",
        "/memories/..",
        "/memories/dir/../../x",
        "/memories/./a.md",
        "/memories//a.md",
        "/memories/a.md//",
        "/memories/..\\x",
        "/memories/a\\b.md",
        "/memories/%2e%2e%2fetc/passwd",
        "/memories/%2E%2E/x",
        "/memories/a%2fb",
        "/memories/a%00.md",
        "/memories/a\u{0}.md",
        "/memories/a\nb.md",
        "/memories/.journal/journal.jsonl",
        "/memories/.consolidate-lock",
        "/memories/dir/.git/config",
        "/memories/\u{7f}",
    ];
    for text in bad {
        for command in ["view", "delete", "create"] {
            let mut input = json!({"command": command, "path": text});
            if command == "create" {
                input["file_text"] = json!("x");
            }
            let told = told(&input);
            assert!(
                told.is_error && told.operations.is_empty(),
                "{command} {text:?}: {told:?}"
            );
            assert!(
                told.text.starts_with("Error: The path "),
                "{text:?}: {}",
                told.text
            );
            assert!(
                told.text.contains(" is not allowed: "),
                "{text:?}: {}",
                told.text
            );
        }
        let into = json!({"command": "rename", "old_path": "/memories/notes.md", "new_path": text});
        assert!(
            answer(&into, &memory(), Overwrite::Refuse).is_error,
            "{text:?}"
        );
    }
    let long = format!("/memories/{}", "x".repeat(100_000));
    let told = told(&json!({"command": "view", "path": long}));
    assert!(told.is_error && told.text.chars().count() < 700);
}
