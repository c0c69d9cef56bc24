//! Taking changes back, forgetting, and interrupted changes that cannot be finished.

use crate::kit::{open, path, put, shown};
use dormouse_core::units::Millis;
use dormouse_memdir::{MemdirError, MemoryDir};
use dormouse_memory::journal::UndoError;
use dormouse_system::{Fault, MemorySystem, Operation};
use pretty_assertions::assert_eq;
use std::time::Duration;

const ROOT: &str = "/m/memory";

fn machine() -> (MemorySystem, MemoryDir) {
    let machine = MemorySystem::new();
    let dir = open(&machine.system(), ROOT.as_ref());
    (machine, dir)
}

#[test]
fn a_change_of_many_files_is_taken_back_whole_and_made_again() {
    let (_machine, dir) = machine();
    put(&dir, &[("a.md", Some("1")), ("b.md", Some("1"))]).unwrap();
    let before = shown(&dir.snapshot().unwrap());
    let files = [("a.md", Some("2")), ("b.md", None), ("c.md", Some("1"))];
    let entry = put(&dir, &files).unwrap().unwrap();
    let after = shown(&dir.snapshot().unwrap());
    let back = dir.undo(&entry.id).unwrap().unwrap();
    assert_eq!(shown(&dir.snapshot().unwrap()), before);
    assert_eq!(back.undoes.as_deref(), Some(&*entry.id));
    let twice = dir.undo(&entry.id);
    assert!(matches!(
        twice,
        Err(MemdirError::Undo(UndoError::Already(..)))
    ));
    dir.undo(&back.id).unwrap();
    assert_eq!(shown(&dir.snapshot().unwrap()), after);
    assert!(matches!(dir.undo("nothing"), Err(MemdirError::NoEntry(_))));
}

#[test]
fn nothing_newer_is_lost_by_taking_back() {
    let (_machine, dir) = machine();
    let entry = put(&dir, &[("a.md", Some("1"))]).unwrap().unwrap();
    put(&dir, &[("a.md", Some("2"))]).unwrap();
    let refused = dir.undo(&entry.id);
    assert!(
        matches!(refused, Err(MemdirError::Undo(UndoError::ChangedSince(_)))),
        "{refused:?}"
    );
    assert_eq!(dir.read(&path("a.md")).unwrap().unwrap().content, "2");
}

#[test]
fn a_newer_format_stops_undoing() {
    let (machine, dir) = machine();
    let entry = put(&dir, &[("a.md", Some("1"))]).unwrap().unwrap();
    let journal = format!("{ROOT}/.journal/journal.jsonl");
    let mut text = machine.files.content(&journal).unwrap().to_vec();
    text.extend_from_slice(b"{\"format\":2}\n");
    machine.files.put(&journal, text);
    let refused = dir.undo(&entry.id);
    assert!(matches!(
        refused,
        Err(MemdirError::Newer {
            line: 2,
            found: 2,
            ..
        })
    ));
}

#[test]
fn purging_forgets_the_contents_of_one_file_alone() {
    let (_machine, dir) = machine();
    put(&dir, &[("a.md", Some("secret")), ("b.md", Some("shared"))]).unwrap();
    put(&dir, &[("a.md", Some("shared"))]).unwrap();
    let gone = put(&dir, &[("a.md", None)]).unwrap().unwrap();
    let history = dir.history().unwrap();
    assert_eq!(dir.purge(&path("a.md")).unwrap(), 1);
    assert_eq!(dir.history().unwrap(), history, "entries stay");
    let secret = history.entries[0].changes[0].after.unwrap();
    assert_eq!(dir.content(secret).unwrap(), None);
    dir.undo(&gone.id).unwrap();
    assert_eq!(dir.read(&path("a.md")).unwrap().unwrap().content, "shared");
    let purged = dir.undo(&history.entries[1].id);
    assert!(
        matches!(purged, Err(MemdirError::Undo(UndoError::Purged(_)))),
        "{purged:?}"
    );
}

#[test]
fn purging_forgets_the_lines_of_indexes_too() {
    let (_machine, dir) = machine();
    let index = "- [A](a.md) — secret\n";
    let both = "- [A](a.md) — secret\n- [B](b.md)\n";
    put(&dir, &[("a.md", Some("1")), ("MEMORY.md", Some(index))]).unwrap();
    put(&dir, &[("b.md", Some("2")), ("MEMORY.md", Some(both))]).unwrap();
    let last = [("a.md", None), ("MEMORY.md", Some("- [B](b.md)\n"))];
    put(&dir, &last).unwrap();
    assert_eq!(dir.purge(&path("a.md")).unwrap(), 3);
    let entries = dir.history().unwrap().entries;
    let hashes = entries
        .iter()
        .flat_map(|entry| &entry.changes)
        .flat_map(|change| change.before.into_iter().chain(change.after));
    let kept: Vec<_> = hashes
        .filter_map(|hash| dir.content(hash).unwrap())
        .collect();
    let tells = |text: &[u8]| String::from_utf8_lossy(text).contains("secret");
    assert!(!kept.iter().any(|text| tells(text)));
    assert!(kept.iter().any(|text| text == "2"));
}

#[test]
fn old_contents_can_be_forgotten_by_age() {
    let (machine, dir) = machine();
    put(&dir, &[("a.md", Some("1"))]).unwrap();
    put(&dir, &[("a.md", Some("2"))]).unwrap();
    machine.clock.advance(Duration::from_hours(24));
    let recent = put(&dir, &[("a.md", Some("3"))]).unwrap().unwrap();
    let now = machine.system().clock.now();
    assert_eq!(dir.purge_before(Millis(now.0 - 1)).unwrap(), 1);
    dir.undo(&recent.id).unwrap();
    assert_eq!(dir.read(&path("a.md")).unwrap().unwrap().content, "2");
}

/// A change that was interrupted after it was described and before any file was changed.
fn interrupted() -> (MemorySystem, MemoryDir) {
    let (machine, dir) = machine();
    put(&dir, &[("a.md", Some("old a")), ("b.md", Some("old b"))]).unwrap();
    let fault = Fault::go_down()
        .on(Operation::CreateFile)
        .at(format!("{ROOT}/b.md"));
    machine.files.inject(fault);
    let files = [("a.md", Some("new a")), ("b.md", Some("new b"))];
    let error = put(&dir, &files).unwrap_err();
    assert!(matches!(error, MemdirError::Unfinished { .. }), "{error:?}");
    machine.files.crash();
    let dir = open(&machine.system(), ROOT.as_ref());
    assert_eq!(dir.read(&path("b.md")).unwrap().unwrap().content, "new b");
    (machine, dir)
}

fn remove_blob(machine: &MemorySystem, text: &str) {
    let hash = dormouse_core::hash::Hash::of(text.as_bytes());
    let blob = format!("{ROOT}/.journal/blobs/{hash}");
    machine.system().files.remove_file(blob.as_ref()).unwrap();
}

#[test]
fn what_cannot_be_completed_is_taken_back() {
    let (machine, dir) = interrupted();
    remove_blob(&machine, "new b");
    let text = |name| dir.read(&path(name)).unwrap().unwrap().content;
    assert_eq!(
        (text("a.md"), text("b.md")),
        ("old a".into(), "old b".into())
    );
    put(&dir, &[("c.md", Some("c"))]).unwrap();
    assert_eq!(
        (text("a.md"), text("b.md")),
        ("old a".into(), "old b".into())
    );
    let reasons: Vec<String> = dir
        .history()
        .unwrap()
        .entries
        .into_iter()
        .map(|entry| entry.reason)
        .collect();
    assert_eq!(reasons, ["test", "could not be completed: test", "test"]);
}

#[test]
fn what_can_neither_be_completed_nor_taken_back_is_said() {
    let (machine, dir) = interrupted();
    remove_blob(&machine, "new b");
    remove_blob(&machine, "old a");
    let error = put(&dir, &[("c.md", Some("c"))]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("a.md") && text.contains("pending.json"),
        "{text}"
    );
    // As the message says.
    let pending = format!("{ROOT}/.journal/pending.json");
    machine
        .system()
        .files
        .remove_file(pending.as_ref())
        .unwrap();
    put(&dir, &[("c.md", Some("c"))]).unwrap();
}

#[test]
fn an_edit_by_hand_in_the_middle_is_kept_in_the_journal() {
    let (machine, dir) = interrupted();
    machine.files.put(format!("{ROOT}/b.md"), "by hand");
    put(&dir, &[("c.md", Some("c"))]).unwrap();
    assert_eq!(dir.read(&path("b.md")).unwrap().unwrap().content, "new b");
    let hash = dormouse_core::hash::Hash::of(b"by hand");
    assert_eq!(dir.content(hash).unwrap().unwrap(), "by hand");
}

#[test]
fn a_description_nobody_understands_stops_writers_with_advice() {
    let (machine, dir) = machine();
    put(&dir, &[("a.md", Some("1"))]).unwrap();
    for bad in ["{", "{\"format\":99,\"entry\":{}}", ""] {
        machine
            .files
            .put(format!("{ROOT}/.journal/pending.json"), bad);
        let error = put(&dir, &[("a.md", Some("2"))]).unwrap_err().to_string();
        assert!(
            error.contains("pending.json") && error.contains("remove"),
            "{error}"
        );
    }
}

#[test]
fn a_writer_that_waits_in_vain_says_for_what() {
    let (machine, dir) = machine();
    put(&dir, &[("a.md", Some("1"))]).unwrap();
    let lock = format!("{ROOT}/.journal/write");
    let _held = machine
        .system()
        .files
        .lock_exclusive(lock.as_ref())
        .unwrap()
        .unwrap();
    let error = put(&dir, &[("a.md", Some("2"))]).unwrap_err().to_string();
    assert!(error.contains("/m/memory/.journal/write.lock"), "{error}");
    assert_eq!(dir.snapshot().unwrap().len(), 1, "readers do not wait");
}
