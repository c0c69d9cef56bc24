//! News that a conversation is told at its tail, once.

use crate::agent::{Scene, calls, says};
use dormouse_system::{Access, Files as _, RealFiles};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Log of the only session.
fn log(scene: &Scene) -> PathBuf {
    let projects = scene.machine.home().join(".dormouse/projects");
    let project = projects.join(&RealFiles.list(&projects).unwrap()[0].name);
    let entries = RealFiles.list(&project).unwrap();
    let mut logs = entries.into_iter().map(|entry| project.join(entry.name));
    logs.find(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .unwrap()
}

fn lines(scene: &Scene) -> Vec<Value> {
    let text = RealFiles.read(&log(scene), 1 << 26).unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Fragments of the log that have these words.
fn told(scene: &Scene, words: &str) -> usize {
    let all = lines(scene);
    let fragments = all.iter().filter(|line| line["subtype"] == "fragment");
    fragments
        .filter(|line| line.to_string().contains(words))
        .count()
}

fn bash(line: &str) -> Value {
    calls("Bash", &json!({ "command": line }))
}

#[test]
fn an_idle_list_is_shown_again_after_ten_rounds() {
    let todos = json!({ "todos": [{ "content": "Feed the walrus", "status": "pending" }] });
    let mut script = vec![calls("TodoWrite", &todos)];
    script.extend((0..12).map(|_| bash("true")));
    script.push(says("Done."));
    script.extend((0..9).map(|_| bash("true")));
    script.push(says("Done."));
    let scene = Scene::new(&script, &[]);
    scene.run(&["--mode", "all", "-p", "go"]);
    assert_eq!(
        told(&scene, "[to do] Feed the walrus"),
        1,
        "{:?}",
        lines(&scene)
    );
    // A process of its own: the list is there, and its rounds are counted on.
    let again = scene.run(&["--mode", "all", "--continue", "-p", "on"]);
    assert_eq!(again.stdout, "Done.\n", "{again:?}");
    assert!(told(&scene, "[to do] Feed the walrus") <= 2);
}

#[test]
fn a_new_day_changed_files_and_ended_commands_are_told_once() {
    let script = [
        calls("Read", &json!({ "file_path": "a.txt" })),
        says("One."),
        says("Two."),
        says("Three."),
        calls(
            "Bash",
            &json!({ "command": "true", "run_in_background": true }),
        ),
        bash("sleep 0.3"),
        bash("true"),
        says("Four."),
    ];
    let scene = Scene::new(&script, &[("project/a.txt", "one\n")]);
    let go = |prompt: &str| scene.run(&["--mode", "all", "--continue", "-p", prompt]);
    scene.run(&["--mode", "all", "-p", "first"]);
    assert_eq!(told(&scene, "Changed outside"), 0);
    // Somebody edits the file and a day passes.
    scene.machine.write("project/a.txt", "by hand\n");
    let path = log(&scene);
    let text = String::from_utf8(RealFiles.read(&path, 1 << 26).unwrap().to_vec()).unwrap();
    let today = lines(&scene)
        .iter()
        .find_map(|line| {
            line["dormouse"]["value"]["date"]
                .as_str()
                .map(str::to_owned)
        })
        .unwrap();
    let aged = text.replace(&format!("\"date\":\"{today}\""), "\"date\":\"2020-01-01\"");
    RealFiles
        .replace(&path, aged.as_bytes(), Access::Private)
        .unwrap();
    go("second");
    assert_eq!(told(&scene, "The date has changed from 2020-01-01"), 1);
    assert_eq!(told(&scene, "Changed outside since they were read"), 1);
    go("third");
    assert_eq!(
        told(&scene, "The date has changed"),
        1,
        "resuming repeats nothing"
    );
    go("fourth");
    assert_eq!(told(&scene, "Background commands that have ended"), 1);
    // Never in the prefix, and behind what they are about.
    let all = lines(&scene);
    let prefixes: Vec<&Value> = all
        .iter()
        .filter(|line| line["subtype"] == "prefix")
        .collect();
    assert!(
        !prefixes
            .iter()
            .any(|line| line.to_string().contains("has changed"))
    );
}

#[test]
fn instructions_of_folders_and_rules_come_when_a_file_there_is_read() {
    let script = [
        calls("Read", &json!({ "file_path": "sub/deep/x.txt" })),
        calls("Read", &json!({ "file_path": "sub/deep/x.txt" })),
        says("One."),
        calls("Read", &json!({ "file_path": "sub/deep/x.txt" })),
        says("Two."),
        says("Three."),
    ];
    let files = [
        ("project/CLAUDE.md", "Speak of otters.\n"),
        ("project/sub/CLAUDE.md", "Here speak of walruses.\n"),
        (
            "project/.claude/rules/text.md",
            "---\npaths: [\"**/*.txt\"]\n---\nTexts are about seals.\n",
        ),
        ("project/sub/deep/x.txt", "x\n"),
    ];
    let scene = Scene::new(&script, &files);
    assert_eq!(scene.run(&["config", "trust"]).code, 0);
    let go = |prompt: &str| scene.run(&["--mode", "all", "--continue", "-p", prompt]);
    scene.run(&["--mode", "all", "-p", "first"]);
    assert_eq!(told(&scene, "speak of walruses"), 1, "{:?}", lines(&scene));
    assert_eq!(told(&scene, "Texts are about seals"), 1);
    go("second");
    assert_eq!(
        told(&scene, "speak of walruses"),
        1,
        "once, also after a resume"
    );
    scene
        .machine
        .write("project/CLAUDE.md", "Speak of beavers.\n");
    go("third");
    assert_eq!(told(&scene, "changed: "), 1, "{:?}", lines(&scene));
}

#[test]
fn a_wish_to_remember_is_saved_at_once() {
    let scene = Scene::new(&[says("Noted."), says("Noted.")], &[]);
    scene.run(&["-p", "Remember that the staging port is 8443."]);
    let found = scene.run(&["memory", "list"]);
    assert!(found.stdout.contains("staging"), "{found:?}");
    assert_eq!(told(&scene, "Saved to memory as asked"), 1);
    // A credential is not saved, and the conversation is told.
    let secret = format!("remember that the key is AKIA{}", "QZ7RTY2WX4MNB3PL");
    scene.run(&["--continue", "-p", &secret]);
    assert_eq!(
        told(&scene, "It was not saved to memory"),
        1,
        "{:?}",
        lines(&scene)
    );
}

#[test]
fn a_dream_can_be_scheduled() {
    let scene = Scene::new(&[], &[]);
    let run = scene.run(&["dream", "--schedule"]);
    for part in ["17 3 * * *", "OnCalendar", "StartCalendarInterval"] {
        assert!(run.stdout.contains(part), "{run:?}");
    }
}
