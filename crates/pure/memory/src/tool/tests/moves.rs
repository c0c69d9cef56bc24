use super::{fails, gone, put, succeeds};
use serde_json::json;

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
