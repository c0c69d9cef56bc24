//! `dormouse gc`: the files it shows, the files it removes, and those it never touches.

use crate::program::Machine;
use dormouse_system::{Files as _, RealFiles};
use pretty_assertions::assert_eq;
use std::fs::File;
use std::time::{Duration, SystemTime};

/// Folder of the project `/p` in the home.
const PROJECT: &str = ".dormouse/projects/-p";

/// A home with a session, an orphan and a stray file, all from long ago.
fn machine() -> Machine {
    let machine = Machine::new(&[]);
    for (name, text) in [
        ("s1.jsonl", "{\"type\":\"dormouse\",\"blob\":\"f00d\"}\n"),
        ("s1/blobs/f00d", "named by the log"),
        ("s1/blobs/beef", "named by nothing"),
        ("s1/tool-results/aa-11.txt", "named by nothing either"),
        ("s2/tool-results/bb-22.txt", "the log is gone"),
        (".dormouse-1.tmp", "half a file"),
    ] {
        machine.write(&format!("{PROJECT}/{name}"), text);
        make_old(&machine, &format!("{PROJECT}/{name}"));
    }
    machine
}

fn make_old(machine: &Machine, name: &str) {
    let file = File::options()
        .append(true)
        .open(machine.home().join(name))
        .unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    file.set_modified(long_ago).unwrap();
}

fn there(machine: &Machine, name: &str) -> bool {
    let path = machine.home().join(PROJECT).join(name);
    RealFiles.metadata(&path).is_ok()
}

#[test]
fn it_shows_first_and_removes_when_told_to() {
    let machine = machine().with_variable("COLUMNS", "80");
    assert_eq!(
        machine.stdout("gc"),
        "\
~/.dormouse/projects/-p
SESSION  FILES  SIZE  WHY
–            1  11 B  left by interrupted writes
s1           2  39 B  no log refers to them
s2           1  15 B  the session's log is gone

4 files, 65 B can go.
Nothing was removed; dormouse gc --delete does it.
"
    );
    assert_eq!(machine.stdout("gc --dry-run"), machine.stdout("gc"));
    assert!(there(&machine, "s1/blobs/beef"));
    let listed = machine.stdout("gc --files");
    assert!(listed.contains("s1/tool-results/aa-11.txt"), "{listed}");

    let removed = machine.stdout("gc --delete");
    assert!(removed.ends_with("Removed 4 files, 65 B.\n"), "{removed}");
    for gone in ["s1/blobs/beef", "s1/tool-results", "s2", ".dormouse-1.tmp"] {
        assert!(!there(&machine, gone), "{gone}");
    }
    for stays in ["s1.jsonl", "s1/blobs/f00d"] {
        assert!(there(&machine, stays), "{stays}");
    }
    assert_eq!(
        machine.stdout("gc"),
        "There is nothing to remove in ~/.dormouse/projects.\n"
    );
}

#[test]
fn the_json_names_every_file() {
    let machine = machine();
    let report = machine.json("gc --json");
    assert_eq!(
        (
            &report["deleted"],
            &report["total_files"],
            &report["total_bytes"]
        ),
        (&false.into(), &4.into(), &65.into())
    );
    let files = report["files"].as_array().unwrap().iter();
    let mut files: Vec<(&str, &str)> = files
        .map(|file| {
            (
                file["session"].as_str().unwrap_or(""),
                file["why"].as_str().unwrap(),
            )
        })
        .collect();
    files.sort_unstable();
    assert_eq!(
        files,
        [
            ("", "interrupted"),
            ("s1", "unreferenced"),
            ("s1", "unreferenced"),
            ("s2", "log_gone"),
        ]
    );
}

#[test]
fn a_path_narrows_it_and_nothing_outside_is_touched() {
    let machine = machine();
    let home = machine.home();
    let project = home.join(PROJECT);
    for (path, files) in [
        (project.clone(), 4),
        (project.join("s1"), 2),
        (project.join("s1.jsonl"), 2),
        (home.join(".dormouse/projects"), 4),
    ] {
        let report = machine.json(&format!("gc --json {}", path.display()));
        assert_eq!(report["total_files"], files, "{}", path.display());
    }
    let run = machine.run("gc . --delete");
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("no project Dormouse knows"), "{run:?}");
    let run = machine.run("gc missing --delete");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(there(&machine, "s1/blobs/beef"));
    // The folder of a project leads to its sessions.
    let real = home.join("project");
    machine.write(
        &format!("{PROJECT}/project-path"),
        &format!("{}\n", real.display()),
    );
    let slug = dormouse_store::slug(&real);
    let known = format!(".dormouse/projects/{slug}");
    machine.write(
        &format!("{known}/project-path"),
        &format!("{}\n", real.display()),
    );
    machine.write(&format!("{known}/s9/blobs/beef"), "old");
    make_old(&machine, &format!("{known}/s9/blobs/beef"));
    let report = machine.json("gc . --json");
    assert_eq!(report["total_files"], 1, "{report}");
}

#[test]
fn an_open_session_is_left_alone() {
    let machine = machine();
    let log = machine.home().join(PROJECT).join("s1.jsonl");
    let lock = RealFiles.lock_exclusive(&log).unwrap().unwrap();
    let text = machine.stdout("gc --delete");
    assert!(text.contains("s1 was left alone: it is open."), "{text}");
    assert!(there(&machine, "s1/blobs/beef"));
    assert!(!there(&machine, "s2"));
    drop(lock);
    machine.stdout("gc --delete");
    assert!(!there(&machine, "s1/blobs/beef"));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let machine = machine();
    machine.write("elsewhere/blobs/beef", "not ours to remove");
    make_old(&machine, "elsewhere/blobs/beef");
    let link = |from: &str, to: &str| {
        let home = machine.home();
        std::os::unix::fs::symlink(home.join(from), home.join(PROJECT).join(to)).unwrap();
    };
    link("elsewhere", "s3");
    link("elsewhere/blobs/beef", "s2/tool-results/cc-33.txt");
    machine.stdout("gc --delete");
    assert!(there(&machine, "s3/blobs/beef"));
    assert!(there(&machine, "s2/tool-results/cc-33.txt"));
}

#[test]
fn a_new_home_has_nothing_to_remove() {
    let machine = Machine::new(&[]);
    let text = machine.stdout("gc");
    assert!(text.starts_with("There is nothing to remove"), "{text}");
}

#[test]
fn temporary_files_of_killed_writers_are_found_in_every_folder_of_a_memory() {
    let machine = Machine::new(&[]);
    let places = [
        (".dormouse/projects/-p/memory", ""),
        (".dormouse/projects/-p/memory", "pinned/"),
        (".dormouse/projects/-p/memory", ".journal/"),
        ("notes", ".journal/blobs/"),
        ("notes", "logs/2026/11/"),
    ];
    for (root, folder) in places {
        machine.write(&format!("{root}/MEMORY.md"), "# Mine\n");
        machine.write(&format!("{root}/{folder}.dormouse-x1.tmp"), "half");
        make_old(&machine, &format!("{root}/{folder}.dormouse-x1.tmp"));
        machine.write(&format!("{root}/{folder}.dormouse-young.tmp"), "at work");
        machine.write(&format!("{root}/{folder}other.tmp"), "not ours");
        make_old(&machine, &format!("{root}/{folder}other.tmp"));
    }
    let notes = machine.home().join("notes").display().to_string();
    assert_eq!(machine.json("gc --json")["total_files"], 3);
    assert_eq!(
        machine.json(&format!("gc {notes} --json"))["total_files"],
        2
    );
    machine.stdout("gc --delete");
    machine.stdout(&format!("gc {notes} --delete"));
    for (root, folder) in places {
        let there = |name: &str| {
            let path = machine.home().join(format!("{root}/{folder}{name}"));
            RealFiles.metadata(&path).is_ok()
        };
        assert!(!there(".dormouse-x1.tmp"), "{root}/{folder}");
        assert!(
            there(".dormouse-young.tmp") && there("other.tmp"),
            "{root}/{folder}"
        );
    }
    // A folder that is no memory is refused.
    machine.write("plain/a.md", "x");
    let plain = machine.home().join("plain").display().to_string();
    assert_eq!(machine.run(&format!("gc {plain}")).code, 5);
}
