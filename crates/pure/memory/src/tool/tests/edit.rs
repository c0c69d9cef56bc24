use super::{fails, files, memory, put, succeeds};
use crate::tool::{Overwrite, answer};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fmt::Write as _;

#[test]
fn create() {
    succeeds(
        &json!({"command": "create", "path": "/memories/new/file.md", "file_text": "hello\n"}),
        "File created successfully at: /memories/new/file.md",
        vec![put("new/file.md", "hello\n")],
    );
    let again = json!({"command": "create", "path": "/memories/notes.md", "file_text": "new"});
    fails(&again, "Error: File /memories/notes.md already exists");
    let allowed = answer(&again, &memory(), Overwrite::Allow);
    assert_eq!(
        allowed.text,
        "File created successfully at: /memories/notes.md"
    );
    assert_eq!(allowed.operations, [put("notes.md", "new")]);
    for place in ["/memories", "/memories/dir"] {
        fails(
            &json!({"command": "create", "path": place, "file_text": "x"}),
            &format!("Error: {place} is a directory"),
        );
    }
    fails(
        &json!({"command": "create", "path": "/memories/notes.md/x.md", "file_text": "x"}),
        "Error: /memories/notes.md is a file, so nothing can be below it",
    );
    fails(
        &json!({"command": "create", "path": "/memories/NOTES.md", "file_text": "x"}),
        "Error: /memories/NOTES.md would be the same file as /memories/notes.md on some disks; choose another name",
    );
    fails(
        &json!({"command": "create", "path": "/memories/DIR/new.md", "file_text": "x"}),
        "Error: /memories/DIR would be the same file as /memories/dir on some disks; choose another name",
    );
}

#[test]
fn str_replace() {
    succeeds(
        &json!({"command": "str_replace", "path": "/memories/notes.md", "old_str": "two", "new_str": "2\n2b"}),
        "The memory file has been edited.\n     1\tone\n     2\t2\n     3\t2b\n     4\tthree",
        vec![put("notes.md", "one\n2\n2b\nthree\n")],
    );
    succeeds(
        &json!({"command": "str_replace", "path": "/memories/notes.md", "old_str": "one\ntwo\n"}),
        "The memory file has been edited.\n     1\tthree",
        vec![put("notes.md", "three\n")],
    );
    succeeds(
        &json!({"command": "str_replace", "path": "/memories/notes.md", "old_str": "two", "new_str": "two"}),
        "The memory file has been edited.\n     1\tone\n     2\ttwo\n     3\tthree",
        Vec::new(),
    );
    for place in ["/memories/none.md", "/memories/dir", "/memories"] {
        fails(
            &json!({"command": "str_replace", "path": place, "old_str": "a", "new_str": "b"}),
            &format!("Error: The path {place} does not exist. Please provide a valid path."),
        );
    }
    fails(
        &json!({"command": "str_replace", "path": "/memories/notes.md", "old_str": "four", "new_str": ""}),
        "No replacement was performed, old_str `four` did not appear verbatim in /memories/notes.md.",
    );
    fails(
        &json!({"command": "str_replace", "path": "/memories/notes.md", "old_str": "t", "new_str": ""}),
        "No replacement was performed. Multiple occurrences of old_str `t` in lines: 2, 3. Please ensure it is unique",
    );
    fails(
        &json!({"command": "str_replace", "path": "/memories/notes.md", "old_str": "e", "new_str": ""}),
        "No replacement was performed. Multiple occurrences of old_str `e` in lines: 1, 3. Please ensure it is unique",
    );
    fails(
        &json!({"command": "str_replace", "path": "/memories/notes.md", "old_str": "", "new_str": "x"}),
        "Error: The field `old_str` must not be empty",
    );
}

#[test]
fn overlapping_occurrences_are_several() {
    let tree = files(&[("a.md", "äää")]);
    let input = json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "ää"});
    assert!(
        answer(&input, &tree, Overwrite::Refuse)
            .text
            .contains("in lines: 1.")
    );
}

#[test]
fn the_snippet_has_four_lines_around() {
    let mut text = String::new();
    for number in 1..=20 {
        writeln!(text, "line {number}").unwrap();
    }
    let tree = files(&[("a.md", &text)]);
    let input = json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "line 10\n", "new_str": "ten\n"});
    assert_eq!(
        answer(&input, &tree, Overwrite::Refuse).text,
        "The memory file has been edited.\n     6\tline 6\n     7\tline 7\n     8\tline 8\n     9\tline 9\n    10\tten\n    11\tline 11\n    12\tline 12\n    13\tline 13\n    14\tline 14\n    15\tline 15"
    );
    let many = files(&[("a.md", &"x\n".repeat(300))]);
    let input = json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "x"});
    assert!(
        answer(&input, &many, Overwrite::Refuse)
            .text
            .ends_with("99, 100, …. Please ensure it is unique")
    );
}

#[test]
fn insert() {
    let cases = [
        ("notes.md", 0, "new\n", "new\none\ntwo\nthree\n"),
        ("notes.md", 1, "new", "one\nnew\ntwo\nthree\n"),
        ("notes.md", 3, "new\n\n", "one\ntwo\nthree\nnew\n\n"),
        ("open.md", 2, "new", "one\ntwo\nnew"),
        ("open.md", 2, "new\n", "one\ntwo\nnew\n"),
        ("open.md", 1, "new\n", "one\nnew\ntwo"),
        ("empty.md", 0, "new\n", "new\n"),
    ];
    for (name, line, text, after) in cases {
        succeeds(
            &json!({"command": "insert", "path": format!("/memories/{name}"), "insert_line": line, "insert_text": text}),
            &format!("The file /memories/{name} has been edited."),
            vec![put(name, after)],
        );
    }
    for line in [-1, 4, i64::MIN, i64::MAX] {
        fails(
            &json!({"command": "insert", "path": "/memories/notes.md", "insert_line": line, "insert_text": "x"}),
            &format!(
                "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, 3]"
            ),
        );
    }
    for place in ["/memories/none.md", "/memories/dir", "/memories"] {
        fails(
            &json!({"command": "insert", "path": place, "insert_line": 0, "insert_text": "x"}),
            &format!("Error: The path {place} does not exist"),
        );
    }
}
