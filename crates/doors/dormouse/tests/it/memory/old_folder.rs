//! A memory folder of the version before: the same answers.
//!
//! The folder has memories that were added, edited, pinned, forgotten, brought back and purged, one
//! overtaken by its contrary, and an inbox in which two wait. Beside it lie the answers of the
//! version that wrote it; times of files, which a checkout does not keep, are left out of both. One
//! answer differs on purpose: the memory tool no longer shows a model the provenance of memories.
#![expect(
    clippy::disallowed_methods,
    reason = "the subject is a folder of the source tree, copied to a machine of its own"
)]

use crate::program::Machine;
use pretty_assertions::assert_eq;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/memory-v1")
}

/// Copies a folder. All files get the same time, for lists are ordered by it.
fn copy(from: &Path, to: &Path, time: SystemTime) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target, time);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            let file = fs::File::options().write(true).open(&target).unwrap();
            file.set_modified(time).unwrap();
        }
    }
}

/// An answer as the recorded ones are written down.
fn answer(machine: &Machine, arguments: &[&str]) -> String {
    let folder = machine.home().join("memory").display().to_string();
    let mut all = arguments.to_vec();
    all.extend(["--dir", &folder, "--json"]);
    let run = machine.ran(&mut machine.command_of(&all));
    let text = format!("{}{}exit {}\n", run.stdout, run.stderr, run.code);
    let lines = text.replace("~/memory", "/memory");
    let lines = lines
        .lines()
        .map(|line| match line.split_once("\"modified\": ") {
            Some((before, after)) => {
                let comma = if after.ends_with(',') { "," } else { "" };
                format!("{before}\"modified\": \"(left out)\"{comma}\n")
            }
            None => format!("{line}\n"),
        });
    lines.collect()
}

#[test]
fn a_folder_of_the_version_before_gives_the_same_answers() {
    let machine = Machine::new(&[]);
    let (from, to) = (data().join("memory"), machine.home().join("memory"));
    copy(&from, &to, SystemTime::now());
    let expected = |name: &str| fs::read_to_string(data().join("expected").join(name)).unwrap();
    let view = r#"{"command": "view", "path": "/memories"}"#;
    let asked: [(&str, &[&str]); 6] = [
        ("list", &["memory", "list"]),
        ("list-all", &["memory", "list", "--all"]),
        ("log", &["memory", "log", "--limit", "100"]),
        ("inbox", &["memory", "inbox", "--full"]),
        ("check", &["memory", "check"]),
        ("tool-view", &["memory", "tool", view]),
    ];
    for (name, arguments) in asked {
        assert_eq!(answer(&machine, arguments), expected(name), "{name}");
    }
    let mut shown = 0;
    for entry in fs::read_dir(data().join("expected")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(path) = name.strip_prefix("show+") else {
            continue;
        };
        let path = path.replace('+', "/");
        let found = answer(&machine, &["memory", "show", &path]);
        assert_eq!(found, expected(&name), "{name}");
        shown += 1;
    }
    assert!(shown >= 10, "only {shown} memories were shown");
    // Memories that waited can be approved, and count from then on.
    let approved = answer(&machine, &["memory", "approve", "--all"]);
    assert_eq!(approved, expected("then-approve"));
    let then = answer(&machine, &["memory", "list", "--all"]);
    // Approved by one change, so that the clock of the disk decides on their order in the list.
    let by_path = |text: &str| {
        // The exit code follows the JSON.
        let mut parts = serde_json::Deserializer::from_str(text).into_iter();
        let mut list: serde_json::Value = parts.next().unwrap().unwrap();
        let memories = list["memories"].as_array_mut().unwrap();
        memories.sort_by_key(|memory| memory["path"].to_string());
        list
    };
    assert_eq!(by_path(&then), by_path(&expected("then-list")));
}
