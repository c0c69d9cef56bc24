//! Tables of inputs and exact answers, one file for each kind of command.

mod edit;
mod input;
mod model;
mod moves;
mod view;

use super::{Change, CommandAnswer, Overwrite, answer};
use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Files = BTreeMap<SafePath, Bytes>;

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

fn files(entries: &[(&str, &str)]) -> Files {
    entries
        .iter()
        .map(|(name, content)| (path(name), Bytes::from((*content).to_owned())))
        .collect()
}

/// A small memory used by most cases.
fn memory() -> Files {
    files(&[
        ("notes.md", "one\ntwo\nthree\n"),
        ("open.md", "one\ntwo"),
        ("empty.md", ""),
        ("dir/a.md", "alpha\n"),
        ("dir/deep/b.md", "beta\n"),
        ("dir/deep/deeper/c.md", "gamma\n"),
        ("node_modules/x.md", "x"),
        (".hidden/y.md", "y"),
        ("photo.PNG", "not really"),
    ])
}

fn told(input: &Value) -> CommandAnswer {
    answer(input, &memory(), Overwrite::Refuse)
}

#[track_caller]
fn fails(input: &Value, text: &str) {
    let expected = CommandAnswer {
        text: text.to_owned(),
        is_error: true,
        operations: Vec::new(),
    };
    assert_eq!(told(input), expected);
}

#[track_caller]
fn succeeds(input: &Value, text: &str, operations: Vec<Change>) {
    let expected = CommandAnswer {
        text: text.to_owned(),
        is_error: false,
        operations,
    };
    assert_eq!(told(input), expected);
}

fn put(name: &str, content: &str) -> Change {
    Change::Put {
        path: path(name),
        content: Bytes::from(content.to_owned()),
    }
}

fn gone(name: &str) -> Change {
    Change::Delete { path: path(name) }
}

const COMMANDS: [&str; 6] = [
    "view",
    "create",
    "str_replace",
    "insert",
    "delete",
    "rename",
];
const FIELDS: [&str; 9] = [
    "command",
    "path",
    "view_range",
    "file_text",
    "old_str",
    "new_str",
    "insert_text",
    "old_path",
    "new_path",
];

/// Puts a text into one field of an otherwise good input. Whatever is answered stays in bounds.
fn throw(tree: &Files, text: &str, field: usize, command: usize) {
    let command = COMMANDS[command];
    let mut input = match command {
        "create" => json!({"path": "/memories/new.md", "file_text": "x"}),
        "str_replace" => json!({"path": "/memories/a.md", "old_str": "x", "new_str": "y"}),
        "insert" => json!({"path": "/memories/a.md", "insert_line": 0, "insert_text": "x"}),
        "rename" => json!({"old_path": "/memories/a.md", "new_path": "/memories/b.md"}),
        _ => json!({"path": "/memories/a.md"}),
    };
    input["command"] = json!(command);
    for text in [text.to_owned(), format!("/memories/{text}")] {
        input[FIELDS[field]] = json!(text);
        let told = answer(&input, tree, Overwrite::Allow);
        assert!(!told.is_error || told.operations.is_empty());
        let bound = 17_000 + 2 * text.chars().count();
        assert!(told.text.chars().count() <= bound, "{}", told.text);
        for change in &told.operations {
            let (Change::Put { path, .. } | Change::Delete { path }) = change;
            assert!(path.components().all(|part| !part.starts_with('.')));
            assert!(!path.as_str().starts_with('/'));
        }
    }
}
