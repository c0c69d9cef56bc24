//! The machine goes down at every single operation on the disk around a change of several files.
//! Afterwards the directory is the old one or the new one, and nothing in between.

use crate::kit::{Files, open, put, shown};
use dormouse_memdir::MemoryDir;
use dormouse_system::{Fault, MemorySystem, Operation, Survives};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

const ROOT: &str = "/home/dormouse/memory";
const CRASHES: [Survives; 4] = [
    Survives::Written,
    Survives::Synced,
    Survives::SyncedAnd(1),
    Survives::SyncedAnd(300),
];

fn dir(machine: &MemorySystem) -> MemoryDir {
    open(&machine.system(), ROOT.as_ref())
}

/// A directory with a past, partly without Dormouse.
fn prepared() -> MemorySystem {
    let machine = MemorySystem::new();
    let dir = dir(&machine);
    put(
        &dir,
        &[
            ("MEMORY.md", Some("- [A](a.md) — a\n")),
            ("a.md", Some("old a")),
            ("sub/b.md", Some("old b")),
            ("alone/gone.md", Some("to be deleted")),
        ],
    )
    .unwrap();
    machine.files.put(format!("{ROOT}/hand.md"), "by hand");
    machine
        .files
        .put(format!("{ROOT}/a.md"), "old a, edited by hand");
    machine
}

/// Creates, changes and deletes, in several folders.
const CHANGE: [(&str, Option<&str>); 6] = [
    // Nothing else happens in its folder that would sync the removal by chance.
    ("alone/gone.md", None),
    ("MEMORY.md", Some("- [C](c.md) — c\n")),
    ("a.md", None),
    ("sub/b.md", Some("new b")),
    ("new/folder/c.md", Some("new c")),
    ("hand.md", Some("by machine")),
];

fn snapshot(machine: &MemorySystem) -> Files {
    shown(&dir(machine).snapshot().unwrap())
}

/// Numbers of crashes that left the old and the new state.
#[derive(Debug, Default)]
struct Seen {
    old: usize,
    new: usize,
}

fn try_fault(fault: &Fault, survives: Survives, old: &Files, new: &Files, seen: &mut Seen) -> bool {
    let machine = prepared();
    let dir_before = dir(&machine);
    machine.files.inject(fault.clone());
    let result = put(&dir_before, &CHANGE);
    let struck = machine.files.waiting_faults().is_empty();
    machine.files.clear_faults();
    machine.files.crash_with(survives);
    let found = snapshot(&machine);
    assert!(
        found == *old || found == *new,
        "{fault:?} {survives:?}: {found:?}"
    );
    if result.is_ok() {
        assert_eq!(
            &found, new,
            "{fault:?} {survives:?}: what was promised is not there"
        );
    }
    seen.old += usize::from(found == *old);
    seen.new += usize::from(found == *new);

    // A second crash, while the first is mended.
    for nth in [3, 9, 15] {
        machine.files.inject(Fault::go_down().nth(nth));
        drop(put(&dir(&machine), &[("later.md", Some("x"))]));
        machine.files.clear_faults();
        machine.files.crash_with(survives);
        let mut again = snapshot(&machine);
        again.retain(|(name, _)| name != "later.md");
        assert_eq!(again, found, "{fault:?} {survives:?}, then at {nth}");
    }

    // In any case the next change works and the history is whole.
    put(&dir(&machine), &[("after.md", Some("after"))]).unwrap();
    let mut after = snapshot(&machine);
    after.retain(|(name, _)| name != "after.md" && name != "later.md");
    assert_eq!(
        after, found,
        "{fault:?} {survives:?}: finishing changed the state"
    );
    assert!(
        machine
            .files
            .content(format!("{ROOT}/.journal/pending.json"))
            .is_none()
    );
    replayed(&machine);
    struck
}

/// The journal, followed from its beginning, leads to what is on the disk.
fn replayed(machine: &MemorySystem) {
    let dir = dir(machine);
    dir.note_outside_changes().unwrap();
    let history = dir.history().unwrap();
    let mut files = BTreeMap::new();
    for entry in &history.entries {
        for change in &entry.changes {
            match change.after {
                Some(hash) => {
                    let content = dir.content(hash).unwrap().expect("kept");
                    files.insert(change.path.to_string(), content);
                }
                None => drop(files.remove(change.path.as_str())),
            }
        }
    }
    let files: Files = files
        .into_iter()
        .map(|(name, content)| (name, String::from_utf8(content.into()).unwrap()))
        .collect();
    assert_eq!(files, shown(&dir.snapshot().unwrap()));
}

#[test]
fn a_change_is_there_or_it_is_not() {
    let machine = prepared();
    let old = snapshot(&machine);
    put(&dir(&machine), &CHANGE).unwrap();
    let new = snapshot(&machine);
    assert_ne!(old, new);
    let mut seen = Seen::default();
    let mut crashes = 0;
    for survives in CRASHES {
        for torn in [false, true] {
            for nth in 1.. {
                let fault = if torn {
                    Fault::torn_write(7).on(Operation::Write).nth(nth)
                } else {
                    Fault::go_down().nth(nth)
                };
                if !try_fault(&fault, survives, &old, &new, &mut seen) {
                    break;
                }
                crashes += 1;
            }
        }
    }
    println!("{crashes} crashes: {seen:?}");
    assert!(crashes > 300, "only {crashes} crashes were tried");
    assert!(seen.old > 50 && seen.new > 50, "{seen:?}");
}

/// Not a crash: one operation fails, and the process goes on.
#[test]
fn a_change_that_fails_is_taken_back_or_finished_later() {
    let machine = prepared();
    let old = snapshot(&machine);
    put(&dir(&machine), &CHANGE).unwrap();
    let new = snapshot(&machine);
    for nth in 1.. {
        let machine = prepared();
        let fault = Fault::fail(std::io::ErrorKind::StorageFull);
        let open = dir(&machine);
        machine.files.inject(fault.nth(nth));
        let result = put(&open, &CHANGE);
        let struck = machine.files.waiting_faults().is_empty();
        machine.files.clear_faults();
        let found = snapshot(&machine);
        match result {
            Ok(_) => assert_eq!(found, new, "{nth}"),
            Err(_) => assert!(found == old || found == new, "{nth}: {found:?}"),
        }
        put(&dir(&machine), &[("after.md", Some("after"))]).unwrap();
        let mut after = snapshot(&machine);
        after.retain(|(name, _)| name != "after.md");
        assert_eq!(after, found, "{nth}");
        replayed(&machine);
        if !struck {
            assert!(nth > 50, "only {nth} operations");
            break;
        }
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    for free in (0..4_000).step_by(37) {
        let machine = prepared();
        let old = snapshot(&machine);
        let open = dir(&machine);
        machine.files.set_free_space(Some(free));
        let result = put(&open, &CHANGE);
        let found = snapshot(&machine);
        if result.is_err() {
            let open = dir(&machine);
            machine.files.set_free_space(None);
            put(&open, &[("after.md", Some("after"))]).unwrap();
            let mut after = snapshot(&machine);
            after.retain(|(name, _)| name != "after.md");
            assert_eq!(after, found, "{free}");
        } else {
            assert_ne!(found, old);
        }
        machine.files.set_free_space(None);
        replayed(&machine);
    }
}
