//! `dormouse extract`: memories from a recorded session, and what is left out of them.

use crate::agent::{Scene, calls, says};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A session of Codex in which the user states two rules.
const CODEX: &str = include_str!("../../../../shell/store/tests/data/codex.jsonl");
const TABS: &str = "Please always use tabs for indentation in this project.";

fn report(scene: &Scene, arguments: &[&str]) -> Value {
    let run = scene.run(arguments);
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn what_an_instruction_file_says_is_no_memory() {
    for (instructions, saved) in [("Be brief.\n", 2), (TABS, 1)] {
        let files = [
            ("project/codex.jsonl", CODEX),
            (".claude/CLAUDE.md", instructions),
        ];
        let scene = Scene::new(&[], &files);
        let line = ["extract", "codex.jsonl", "--json"];
        let proposed = report(&scene, &[&line[..], &["--dry-run"]].concat());
        let proposals = proposed["proposals"].as_array().unwrap();
        assert_eq!(proposals.len(), saved, "{proposed}");
        let written = report(&scene, &[&line[..], &["--offline"]].concat());
        assert_eq!(
            written["saved"].as_array().unwrap().len(),
            saved,
            "{written}"
        );
    }
}

#[test]
fn calls_that_were_denied_to_the_model_are_told() {
    let edit = json!({ "file_path": "src/hive.rs", "old_string": "a", "new_string": "b" });
    let answers = [calls("Edit", &edit), says("Nothing.")];
    let files = [("project/codex.jsonl", CODEX), ("project/src/hive.rs", "a")];
    let scene = Scene::new(&answers, &files);
    let told = report(&scene, &["extract", "codex.jsonl", "--json"]);
    let denied = told["denied"].as_array().unwrap();
    assert_eq!(denied.len(), 1, "{told}");
    assert!(
        denied[0].as_str().unwrap().contains("src/hive.rs"),
        "{told}"
    );
    let scene = Scene::new(&answers, &files);
    let run = scene.run(&["extract", "codex.jsonl"]);
    assert!(run.stdout.contains("denied: Edit"), "{run:?}");
}
