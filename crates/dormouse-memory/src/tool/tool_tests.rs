use super::{Answer, Change, Overwrite, Tree, answer};
use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

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

fn told(input: &Value) -> Answer {
    answer(input, &memory(), Overwrite::Refuse)
}

#[track_caller]
fn fails(input: &Value, text: &str) {
    let expected = Answer {
        text: text.to_owned(),
        is_error: true,
        operations: Vec::new(),
    };
    assert_eq!(told(input), expected);
}

#[track_caller]
fn succeeds(input: &Value, text: &str, operations: Vec<Change>) {
    let expected = Answer {
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

#[test]
fn directories_are_listed_two_levels_deep_with_sizes() {
    succeeds(
        &json!({"command": "view", "path": "/memories"}),
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n\
         48B\t/memories\n\
         17B\t/memories/dir\n\
         6B\t/memories/dir/a.md\n\
         11B\t/memories/dir/deep\n\
         0B\t/memories/empty.md\n\
         14B\t/memories/notes.md\n\
         7B\t/memories/open.md\n\
         10B\t/memories/photo.PNG",
        Vec::new(),
    );
    succeeds(
        &json!({"command": "view", "path": "/memories/dir/"}),
        "Here're the files and directories up to 2 levels deep in /memories/dir, excluding hidden items and node_modules:\n\
         17B\t/memories/dir\n\
         6B\t/memories/dir/a.md\n\
         11B\t/memories/dir/deep\n\
         5B\t/memories/dir/deep/b.md\n\
         6B\t/memories/dir/deep/deeper",
        Vec::new(),
    );
}

#[test]
fn an_empty_root_is_no_error() {
    let told = answer(
        &json!({"command": "view", "path": "/memories/"}),
        &Files::new(),
        Overwrite::Refuse,
    );
    assert!(!told.is_error);
    assert_eq!(
        told.text,
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories"
    );
}

#[test]
fn files_are_shown_with_numbers() {
    let head = "Here's the content of /memories/notes.md with line numbers:\n";
    let cases = [
        (json!(null), "     1\tone\n     2\ttwo\n     3\tthree"),
        (json!([2, -1]), "     2\ttwo\n     3\tthree"),
        (json!([1, 1]), "     1\tone"),
        (json!([2, 9]), "     2\ttwo\n     3\tthree"),
    ];
    for (range, lines) in cases {
        succeeds(
            &json!({"command": "view", "path": "/memories/notes.md", "view_range": range}),
            &format!("{head}{lines}"),
            Vec::new(),
        );
    }
    succeeds(
        &json!({"command": "view", "path": "/memories/empty.md"}),
        "Here's the content of /memories/empty.md with line numbers:\n",
        Vec::new(),
    );
}

#[test]
fn ranges_that_make_no_sense_are_named() {
    let tail = "The file has 3 lines: the first must be within [1, 3], the last not before it, or -1 for the end of the file";
    for (first, last) in [
        (0, 2),
        (-3, -1),
        (4, -1),
        (3, 2),
        (1, -2),
        (i64::MIN, i64::MAX),
    ] {
        fails(
            &json!({"command": "view", "path": "/memories/notes.md", "view_range": [first, last]}),
            &format!("Error: Invalid `view_range` parameter: [{first}, {last}]. {tail}"),
        );
    }
    fails(
        &json!({"command": "view", "path": "/memories/dir", "view_range": [1, 2]}),
        "Error: Invalid `view_range` parameter: /memories/dir is a directory, which has no lines",
    );
    for range in [
        json!([1]),
        json!([1, 2, 3]),
        json!("1-2"),
        json!([1.5, 2]),
        json!(["1", "2"]),
    ] {
        fails(
            &json!({"command": "view", "path": "/memories/notes.md", "view_range": range}),
            "Error: The field `view_range` must be a list of two whole numbers, the first and the last line",
        );
    }
}

#[test]
fn long_files_are_cut_between_lines_and_say_how_to_go_on() {
    let line = "x".repeat(93);
    let long = files(&[("long.md", &format!("{line}\n").repeat(400))]);
    let first = answer(
        &json!({"command": "view", "path": "/memories/long.md"}),
        &long,
        Overwrite::Refuse,
    );
    // A numbered line takes 100 characters, its line end one more.
    assert!(first.text.ends_with(&format!(
        "   158\t{line}\n[Shown up to line 158 of 400: an answer holds at most 16,000 characters. View the rest with view_range [159, 400].]"
    )));
    let next = answer(
        &json!({"command": "view", "path": "/memories/long.md", "view_range": [159, 400]}),
        &long,
        Overwrite::Refuse,
    );
    assert!(next.text.contains("\n   159\t"));
    assert!(
        next.text
            .ends_with("View the rest with view_range [317, 400].]")
    );

    let wide = files(&[("wide.md", &"ä".repeat(20_000))]);
    let torn = answer(
        &json!({"command": "view", "path": "/memories/wide.md"}),
        &wide,
        Overwrite::Refuse,
    );
    assert!(
        torn.text
            .ends_with("ä\n[Line 1 is cut: an answer holds at most 16,000 characters.]")
    );
    assert!(torn.text.chars().count() < 16_200);
}

#[test]
fn a_file_with_a_million_lines_is_refused() {
    let most = files(&[
        ("big.md", &"\n".repeat(999_999)),
        ("more.md", &"\n".repeat(1_000_000)),
    ]);
    let view = |name: &str| {
        let input = json!({"command": "view", "path": name, "view_range": [999_999, -1]});
        answer(&input, &most, Overwrite::Refuse)
    };
    assert_eq!(
        view("/memories/big.md").text,
        "Here's the content of /memories/big.md with line numbers:\n999999\t"
    );
    let refused = view("/memories/more.md");
    assert!(refused.is_error);
    assert_eq!(
        refused.text,
        "File /memories/more.md exceeds maximum line limit of 999,999 lines."
    );
}

#[test]
fn long_listings_are_cut() {
    let many: Files = (0..2_000)
        .map(|index| (path(&format!("note_{index:05}.md")), Bytes::new()))
        .collect();
    let told = answer(
        &json!({"command": "view", "path": "/memories"}),
        &many,
        Overwrite::Refuse,
    );
    assert!(told.text.chars().count() < 16_200, "{}", told.text.len());
    assert!(
        told.text
            .ends_with(" more entries. View a directory to see what is in it.]")
    );
}

#[test]
fn what_cannot_be_shown_says_so() {
    fails(
        &json!({"command": "view", "path": "/memories/none.md"}),
        "The path /memories/none.md does not exist. Please provide a valid path.",
    );
    fails(
        &json!({"command": "view", "path": "/memories/photo.PNG"}),
        "Error: /memories/photo.PNG is an image (10B); images cannot be shown here",
    );
    let binary: Files = [(path("x.bin"), Bytes::from_static(b"\xff\xfe"))].into();
    let told = answer(
        &json!({"command": "view", "path": "/memories/x.bin"}),
        &binary,
        Overwrite::Refuse,
    );
    assert_eq!(
        (told.text.as_str(), told.is_error),
        ("Error: /memories/x.bin is not a text file in UTF-8", true)
    );
}

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

#[test]
fn delete() {
    succeeds(
        &json!({"command": "delete", "path": "/memories/notes.md"}),
        "Successfully deleted /memories/notes.md",
        vec![gone("notes.md")],
    );
    succeeds(
        &json!({"command": "delete", "path": "/memories/dir"}),
        "Successfully deleted /memories/dir",
        vec![
            gone("dir/a.md"),
            gone("dir/deep/b.md"),
            gone("dir/deep/deeper/c.md"),
        ],
    );
    fails(
        &json!({"command": "delete", "path": "/memories/none"}),
        "Error: The path /memories/none does not exist",
    );
    fails(
        &json!({"command": "delete", "path": "/memories/"}),
        "Error: The directory /memories itself cannot be deleted",
    );
}

#[test]
fn rename() {
    let input =
        |old: &str, new: &str| json!({"command": "rename", "old_path": old, "new_path": new});
    succeeds(
        &input("/memories/notes.md", "/memories/sub/n.md"),
        "Successfully renamed /memories/notes.md to /memories/sub/n.md",
        vec![gone("notes.md"), put("sub/n.md", "one\ntwo\nthree\n")],
    );
    succeeds(
        &input("/memories/dir/deep", "/memories/flat"),
        "Successfully renamed /memories/dir/deep to /memories/flat",
        vec![
            gone("dir/deep/b.md"),
            put("flat/b.md", "beta\n"),
            gone("dir/deep/deeper/c.md"),
            put("flat/deeper/c.md", "gamma\n"),
        ],
    );
    let cases = [
        (
            "/memories/none.md",
            "/memories/x.md",
            "Error: The path /memories/none.md does not exist",
        ),
        (
            "/memories/notes.md",
            "/memories/open.md",
            "Error: The destination /memories/open.md already exists",
        ),
        (
            "/memories/notes.md",
            "/memories/notes.md",
            "Error: The destination /memories/notes.md already exists",
        ),
        (
            "/memories/notes.md",
            "/memories/dir",
            "Error: The destination /memories/dir already exists",
        ),
        (
            "/memories/notes.md",
            "/memories",
            "Error: The destination /memories already exists",
        ),
        (
            "/memories",
            "/memories/x",
            "Error: The directory /memories itself cannot be renamed",
        ),
        (
            "/memories/dir",
            "/memories/dir/in/side",
            "Error: /memories/dir cannot be moved to /memories/dir/in/side, which is inside it",
        ),
        (
            "/memories/dir",
            "/memories/notes.md/x",
            "Error: /memories/notes.md is a file, so nothing can be below it",
        ),
        (
            "/memories/notes.md",
            "/memories/Notes.md",
            "Error: /memories/Notes.md would be the same file as /memories/notes.md on some disks; choose another name",
        ),
    ];
    for (old, new, text) in cases {
        fails(&input(old, new), text);
    }
}

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

#[test]
fn a_listing_of_a_map_shows_what_the_paths_imply() {
    let tree = memory();
    let names: Vec<_> = tree
        .list(Some(&path("dir")))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["a.md", "deep"]);
    assert!(tree.list(Some(&path("notes.md"))).is_empty());
    assert!(tree.find(&path("di")).is_none());
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
pub(super) fn throw(tree: &Files, text: &str, field: usize, command: usize) {
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
            assert!(!path.as_str().contains("..") || !path.components().any(|part| part == ".."));
            assert!(!path.as_str().starts_with('/') && !path.as_str().starts_with('.'));
        }
    }
}
