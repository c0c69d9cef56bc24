//! Beside foreign hands: files of other tools stay as they are, and what people do is written down.

use crate::kit::{open, path, put, shown};
use dormouse_memdir::{MemdirError, MemoryDir};
use dormouse_memory::transaction::{Author, Conflict, Expected, Transaction};
use dormouse_system::{Access, Files as _, MemorySystem, RealFiles, Stamp, System};
use pretty_assertions::assert_eq;
use std::path::Path;

fn stamp(path: &Path) -> Stamp {
    RealFiles.metadata(path).unwrap().stamp
}

fn write(path: &Path, content: &str) {
    RealFiles
        .create_dir_all(path.parent().unwrap(), Access::Shared)
        .unwrap();
    RealFiles
        .replace(path, content.as_bytes(), Access::Shared)
        .unwrap();
}

#[test]
fn what_a_change_does_not_touch_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "a.md",
        "odd name.md",
        "sub/b.md",
        "notes.txt",
        "logs/2026/11/2026-11-15.md",
    ];
    for name in names {
        write(
            &folder.path().join(name),
            &format!("\u{feff}{name}\r\nno newline"),
        );
    }
    let before: Vec<Stamp> = names
        .iter()
        .map(|name| stamp(&folder.path().join(name)))
        .collect();
    let dir = open(&System::real(), folder.path());
    let snapshot = dir.snapshot().unwrap();
    assert_eq!(snapshot.len(), names.len());
    put(&dir, &[("new.md", Some("x"))]).unwrap();
    let entry = put(&dir, &[("new.md", Some("y"))]).unwrap().unwrap();
    dir.undo(&entry.id).unwrap();
    let after: Vec<Stamp> = names
        .iter()
        .map(|name| stamp(&folder.path().join(name)))
        .collect();
    assert_eq!(after, before);
}

#[test]
fn a_change_that_changes_nothing_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let dir = open(&System::real(), folder.path());
    put(&dir, &[("a.md", Some("x"))]).unwrap();
    let before = stamp(&folder.path().join("a.md"));
    assert_eq!(put(&dir, &[("a.md", Some("x"))]).unwrap(), None);
    assert_eq!(stamp(&folder.path().join("a.md")), before);
    assert_eq!(dir.history().unwrap().entries.len(), 1);
}

fn machine() -> (MemorySystem, MemoryDir) {
    let machine = MemorySystem::new();
    let dir = open(&machine.system(), "/m/memory".as_ref());
    (machine, dir)
}

/// Authors of the journal, oldest first.
fn authors(dir: &MemoryDir) -> Vec<Author> {
    let entries = dir.history().unwrap().entries;
    entries.iter().map(|entry| entry.author).collect()
}

#[test]
fn edits_by_hand_are_written_down_before_the_next_change() {
    let (machine, dir) = machine();
    put(&dir, &[("a.md", Some("1"))]).unwrap();
    put(&dir, &[("b.md", Some("1"))]).unwrap();
    machine.files.put("/m/memory/a.md", "by hand");
    put(&dir, &[("b.md", Some("2"))]).unwrap();
    assert_eq!(authors(&dir), [Author::User; 3], "it is about another file");
    put(&dir, &[("a.md", None)]).unwrap();
    assert_eq!(authors(&dir)[3..], [Author::Outside, Author::User]);
    let history = dir.history().unwrap().entries;
    assert_eq!(history[3].changes[0].before, history[0].changes[0].after);
    let by_hand = history[3].changes[0].after.unwrap();
    assert_eq!(dir.content(by_hand).unwrap().unwrap(), "by hand");
    // Back to what the user wrote by hand.
    dir.undo(&history[4].id).unwrap();
    assert_eq!(machine.files.content("/m/memory/a.md").unwrap(), "by hand");
}

#[test]
fn the_log_can_be_brought_up_to_date_on_demand() {
    let (machine, dir) = machine();
    put(&dir, &[("a.md", Some("1")), ("b.md", Some("1"))]).unwrap();
    machine.files.put("/m/memory/c.md", "new by hand");
    machine
        .system()
        .files
        .remove_file("/m/memory/a.md".as_ref())
        .unwrap();
    let entry = dir.note_outside_changes().unwrap().unwrap();
    let changes: Vec<(&str, bool, bool)> = entry
        .changes
        .iter()
        .map(|change| {
            (
                change.path.as_str(),
                change.before.is_some(),
                change.after.is_some(),
            )
        })
        .collect();
    assert_eq!(changes, [("c.md", false, true), ("a.md", true, false)]);
    assert_eq!(dir.note_outside_changes().unwrap(), None);
}

#[test]
fn a_change_that_expects_something_else_is_refused() {
    let (machine, dir) = machine();
    put(&dir, &[("a.md", Some("1"))]).unwrap();
    let snapshot = dir.snapshot().unwrap();
    let mut change = Transaction::by(Author::Agent, "edit");
    change.put(&snapshot, path("a.md"), "2");
    machine.files.put("/m/memory/a.md", "by hand");
    match dir.apply(change.clone()) {
        Err(MemdirError::Conflict(Conflict(paths))) => assert_eq!(paths, [path("a.md")]),
        other => panic!("{other:?}"),
    }
    assert_eq!(machine.files.content("/m/memory/a.md").unwrap(), "by hand");
    change.operations[0].expected = Expected::Any;
    assert!(dir.apply(change).unwrap().is_some());
}

#[test]
fn what_may_not_be_written_is_not_written() {
    let (_machine, dir) = machine();
    let refused = put(&dir, &[(".journal/journal.md", Some("x"))]);
    assert!(
        matches!(refused, Err(MemdirError::Refused(_))),
        "{refused:?}"
    );
    let mut automatic = Transaction::by(Author::Extractor, "learnt");
    automatic.put(&dir.snapshot().unwrap(), path("a.md"), "x");
    let refused = dir.apply(automatic);
    assert!(
        matches!(refused, Err(MemdirError::Refused(_))),
        "{refused:?}"
    );
    assert_eq!(dir.history().unwrap().entries, []);
}

#[cfg(unix)]
#[test]
fn links_lead_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside.md");
    write(&outside, "outside");
    let root = folder.path().join("memory");
    let dir = open(&System::real(), &root);
    std::os::unix::fs::symlink(&outside, root.join("link.md")).unwrap();
    std::os::unix::fs::symlink(folder.path(), root.join("folder")).unwrap();
    std::fs::hard_link(&outside, root.join("hard.md")).unwrap();
    let look = dir.look().unwrap();
    assert_eq!(shown(&look.snapshot), []);
    assert_eq!(look.skipped.len(), 1, "{:?}", look.skipped);
    for name in ["link.md", "folder/outside.md", "hard.md", "folder/new.md"] {
        let refused = put(&dir, &[(name, Some("x"))]);
        assert!(
            matches!(refused, Err(MemdirError::Files { .. })),
            "{name}: {refused:?}"
        );
        assert!(
            dir.read(&path(name)).is_err() || name == "folder/new.md",
            "{name}"
        );
    }
    assert_eq!(RealFiles.read(&outside, 100).unwrap(), "outside");
    put(&dir, &[("fine.md", Some("x"))]).unwrap();
}

#[test]
fn a_file_where_a_folder_should_be_stops_nobody_else() {
    let (_machine, dir) = machine();
    put(&dir, &[("a.md", Some("1"))]).unwrap();
    assert!(put(&dir, &[("a.md/b.md", Some("x"))]).is_err());
    assert!(put(&dir, &[("c.md", Some("x"))]).unwrap().is_some());
}
