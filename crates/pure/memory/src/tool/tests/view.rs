use super::{Files, fails, files, memory, path, succeeds};
use crate::tool::{Overwrite, Tree, answer};
use bytes::Bytes;
use pretty_assertions::assert_eq;
use serde_json::json;

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
