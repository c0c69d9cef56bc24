//! The agent's files and memory: tools of memory, copies of changed files, and going back.

use crate::agent::{Scene, calls, results_of, says};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn edit(file: &str, old: &str, new: &str) -> Value {
    calls(
        "Edit",
        &json!({ "file_path": file, "old_string": old, "new_string": new }),
    )
}

#[test]
fn files_and_conversation_go_back_and_that_is_undone() {
    let script = [
        says("Hello."),
        calls("Read", &json!({ "file_path": "a.txt" })),
        edit("a.txt", "one", "two"),
        calls(
            "Write",
            &json!({ "file_path": "sub/new.txt", "content": "made\n" }),
        ),
        says("Changed."),
        edit("a.txt", "two", "three"),
        says("Again."),
        says("After the rewind."),
    ];
    let scene = Scene::new(&script, &[("project/a.txt", "one\n")]);
    let go = |prompt: &str| scene.run(&["--mode", "all", "--continue", "-p", prompt]);
    scene.run(&["--mode", "all", "-p", "greet"]);
    go("change it");
    // The third turn is a process of its own: the file counts as read all the same.
    let third = go("and again");
    assert_eq!(third.stdout, "Again.\n", "{third:?}");
    let a = || scene.machine.read("project/a.txt");
    let made = scene.machine.home().join("project/sub/new.txt");
    assert_eq!(a(), "three\n");

    let listed = scene.run(&["rewind", "--json"]);
    let points: Value = serde_json::from_str(&listed.stdout).unwrap();
    let points = points["points"].as_array().unwrap().clone();
    let told: Vec<(&str, usize)> = points
        .iter()
        .map(|point| {
            (
                point["words"].as_str().unwrap(),
                point["files"].as_array().unwrap().len(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [("greet", 0), ("change it", 2), ("and again", 1)],
        "{listed:?}"
    );

    let dry = scene.run(&["rewind", "--to", "2", "--dry-run"]);
    assert!(
        dry.stdout.contains("restored") && dry.stdout.contains("removed"),
        "{dry:?}"
    );
    assert_eq!(a(), "three\n");

    let files = scene.run(&["rewind", "--to", "3", "--files"]);
    assert_eq!((files.code, a().as_str()), (0, "two\n"), "{files:?}");
    let undone = scene.run(&["rewind", "--undo"]);
    assert_eq!((undone.code, a().as_str()), (0, "three\n"), "{undone:?}");

    let both = scene.run(&["rewind", "--to", "2", "--both"]);
    assert_eq!((both.code, a().as_str()), (0, "one\n"), "{both:?}");
    assert!(!made.exists(), "a file that was made is removed");
    let left = scene.run(&["rewind", "--json"]);
    let left: Value = serde_json::from_str(&left.stdout).unwrap();
    assert_eq!(left["points"].as_array().unwrap().len(), 1, "{left}");
    // The session goes on from there.
    assert_eq!(go("on").stdout, "After the rewind.\n");
    let undone = scene.run(&["rewind", "--undo"]);
    assert_eq!((undone.code, a().as_str()), (0, "three\n"), "{undone:?}");
    assert!(made.exists());
    // No blob of it is garbage.
    let garbage = scene.run(&["gc", "--json"]);
    assert!(
        garbage.stdout.contains("\"total_files\": 0")
            || garbage.stdout.contains("\"total_files\":0"),
        "{garbage:?}"
    );
}

#[test]
fn a_file_that_others_changed_is_named_and_left() {
    let script = [
        calls("Read", &json!({ "file_path": "a.txt" })),
        edit("a.txt", "one", "two"),
        calls("Write", &json!({ "file_path": "b.txt", "content": "b\n" })),
        calls("Bash", &json!({ "command": "echo by command >> a.txt" })),
        says("Done."),
    ];
    let scene = Scene::new(&script, &[("project/a.txt", "one\n")]);
    let frames = scene.frames(&["--mode", "all", "-p", "go"]);
    let results = results_of(&frames);
    assert!(
        results[3].contains("a.txt; a rewind does not cover this"),
        "{}",
        results[3]
    );
    let back = scene.run(&["rewind", "--to", "1", "--files"]);
    assert_ne!(back.code, 0);
    assert!(
        back.stdout.contains("refused") && back.stdout.contains("a.txt"),
        "{back:?}"
    );
    assert_eq!(scene.machine.read("project/a.txt"), "two\nby command\n");
    assert!(
        !scene.machine.home().join("project/b.txt").exists(),
        "the other went back"
    );
    // Bad input names the remedy and changes nothing.
    let none = scene.run(&["rewind", "--to", "7"]);
    assert!(
        none.code != 0 && none.stderr.contains("dormouse rewind"),
        "{none:?}"
    );
    let nothing = scene.run(&["rewind", "nothing-of-this-name"]);
    assert_ne!(nothing.code, 0, "{nothing:?}");
}

#[test]
fn memory_is_written_read_and_found_by_its_tools() {
    let create = json!({ "command": "create", "path": "/memories/release.md",
        "file_text": "---\nname: release\ndescription: Releases leave on Tuesday.\ntype: project\n---\nThe train leaves on Tuesday.\n" });
    let script = [
        calls("Memory", &create),
        calls(
            "Memory",
            &json!({ "command": "view", "path": "/memories/release.md" }),
        ),
        calls("Bash", &json!({ "command": "echo the walrus sings" })),
        calls("SearchMemory", &json!({ "query": "releases tuesday" })),
        calls("SearchMemory", &json!({ "query": "walrus sings" })),
        calls("SearchMemory", &json!({ "query": "unheard-of-xyzzy" })),
        calls(
            "AskUserQuestion",
            &json!({ "questions": [{ "question": "Which?",
            "options": [{ "label": "a" }, { "label": "b" }] }] }),
        ),
        says("Done."),
    ];
    let scene = Scene::new(&script, &[]);
    let frames = scene.frames(&["--mode", "all", "-p", "go"]);
    let results = results_of(&frames);
    assert_eq!(
        results[0],
        "File created successfully at: /memories/release.md"
    );
    assert!(results[1].contains("The train leaves"), "{}", results[1]);
    assert!(
        results[3].contains("memory `release.md`: Releases leave on Tuesday."),
        "{}",
        results[3]
    );
    // The output of this session's own command is found, the question itself is not.
    assert!(results[4].contains("the walrus sings"), "{}", results[4]);
    assert_eq!(
        results[5],
        "Nothing has these words. Try fewer or other ones."
    );
    assert!(results[6].contains("asked here"), "{}", results[6]);
}
