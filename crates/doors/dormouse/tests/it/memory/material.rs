//! Real folders of memories, copied before anything is done to them; skipped where they are absent.

use super::{MEMORY, dated, json, machine, memory, run};
use crate::program::Machine;
use dormouse_system::{Access, Files as _, RealFiles};
use dormouse_testkit::material::{material, notes, sample};
use pretty_assertions::assert_eq;
use std::path::{Path, PathBuf};

/// A machine whose memory is a copy of a folder.
fn copy_of(folder: &Path) -> Machine {
    let machine = machine(&[]);
    let target = machine.home().join(MEMORY);
    for walked in RealFiles.walk(folder, &|_| false).unwrap() {
        let path = target.join(&walked.path);
        let bytes = RealFiles
            .read(&folder.join(&walked.path), u64::MAX)
            .unwrap();
        RealFiles
            .create_dir_all(path.parent().unwrap(), Access::Private)
            .unwrap();
        RealFiles.replace(&path, &bytes, Access::Private).unwrap();
    }
    machine
}

/// Folders of memories that agents wrote: the sample, then the real ones.
fn folders() -> Vec<PathBuf> {
    let mut folders = vec![sample("memories/agent")];
    folders.extend(material("memories/recommendarr-mit/.claude/memory"));
    if let Some(agents) = material("memories/compose-envkit-mit/.claude/agent-memory") {
        let entries = RealFiles.list(&agents).unwrap().into_iter();
        folders.extend(entries.map(|entry| agents.join(entry.name)));
    }
    folders
}

#[test]
fn every_folder_is_listed_checked_searched_and_left_as_it_was() {
    for folder in folders() {
        let machine = copy_of(&folder);
        let own = machine.home().join(MEMORY);
        let before = dated(&own);
        let topics = before
            .iter()
            .filter(|(path, _, _)| !path.ends_with("MEMORY.md"))
            .filter(|(path, _, _)| path.extension().is_some_and(|end| end == "md"));
        let listed = json(&machine, &["list", "--all"]);
        let rows = listed["memories"].as_array().unwrap();
        assert_eq!(rows.len(), topics.count(), "{}", folder.display());
        for row in rows.iter().take(10) {
            let description = row["description"].as_str().unwrap();
            assert!(!description.is_empty(), "{row}");
            let found = machine.run_of(&["recall", "--all", "--json", "--", description]);
            assert_eq!((found.code, found.stderr.as_str()), (0, ""));
            let found: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
            // A session is not given a memory of which nothing is left in the working tree.
            let mut others = found["uncertain"].as_array().unwrap().iter();
            let stale = others.any(|other| {
                other["path"] == row["path"] && other["mark"].to_string().contains("stale")
            });
            let first = &found["memories"][0]["path"];
            assert!(stale || *first == row["path"], "{description}: {found}");
        }
        let check = run(&machine, &["check", "--json"]);
        assert!([0, 4].contains(&check.code), "{}", check.stderr);
        memory(&machine, &["index", "--dry-run"]);
        memory(&machine, &["status"]);
        memory(
            &machine,
            &["add", "A thing that none of these folders has said so far"],
        );
        memory(&machine, &["undo"]);
        let after = dated(&own);
        assert_eq!(after.len(), before.len());
        for (old, new) in before.iter().zip(&after) {
            assert_eq!((&old.0, &old.1), (&new.0, &new.1));
            if !old.0.ends_with("MEMORY.md") {
                assert_eq!(old.2, new.2, "{}", old.0.display());
            }
        }
    }
}

#[test]
fn a_description_is_changed_and_every_other_byte_stays() {
    for folder in folders() {
        let machine = copy_of(&folder);
        let listed = json(&machine, &["list", "--all"]);
        for row in listed["memories"].as_array().unwrap().iter().take(8) {
            let name = format!("{MEMORY}/{}", row["path"].as_str().unwrap());
            let before = machine.read(&name);
            memory(
                &machine,
                &[
                    "edit",
                    row["path"].as_str().unwrap(),
                    "--description",
                    "Something else",
                ],
            );
            let after = machine.read(&name);
            let same = |line: &&str| {
                !line.starts_with("description:") && !line.starts_with("  description:")
            };
            let rest = |text: &str| -> Vec<String> {
                let lines = text.split_inclusive('\n');
                lines.filter(same).map(str::to_owned).collect()
            };
            assert_eq!(rest(&after), rest(&before), "{name}");
            assert_eq!(
                json(&machine, &["show", row["path"].as_str().unwrap()])["description"],
                "Something else"
            );
        }
    }
}

#[test]
fn a_folder_of_notes_without_any_front_matter_loads_and_is_searched() {
    let folder = notes();
    let (query, note) = if folder.is_material() {
        ("renaming a branch", "renaming-a-branch.md")
    } else {
        ("undo the last commit", "undo-the-last-commit.md")
    };
    let machine = copy_of(&folder.path().join("git"));
    let listed = json(&machine, &["list"]);
    let count = listed["memories"].as_array().unwrap().len();
    assert!(count >= 3, "{count}");
    let found = machine.json(&format!("recall --json {query}"));
    assert_eq!(found["memories"][0]["path"], note);
    let cold = machine.stdout(&format!("recall {query}"));
    let warm = machine.stdout(&format!("recall {query}"));
    assert_eq!(cold, warm);
    let check = run(&machine, &["check", "--json"]);
    let check: serde_json::Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!(check["memories"], count);
    let imported = machine.home().join("fresh");
    let folder = machine.home().join(MEMORY).display().to_string();
    let dir = imported.display().to_string();
    let report = json(&machine, &["--dir", &dir, "import", &folder]);
    let (added, skipped) = (
        report["added"].as_array().unwrap(),
        report["skipped"].as_array().unwrap(),
    );
    assert_eq!(added.len() + skipped.len(), count, "{skipped:?}");
    assert!(added.len() * 10 > count * 9, "{skipped:?}");
}
