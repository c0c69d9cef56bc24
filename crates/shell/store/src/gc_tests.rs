use super::*;
use dormouse_system::{Clock as _, Fault, MemorySystem, Operation};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::io::ErrorKind;
use std::time::Duration;

const PROJECT: &str = "/home/projects/-p";
/// Age from which on a file may be collected.
const OLD: Duration = Duration::from_millis(GRACE);

/// A machine on which everything was written an hour ago.
fn machine(files: &[(&str, &str)]) -> MemorySystem {
    let machine = MemorySystem::new();
    for (name, text) in files {
        machine.files.put(format!("{PROJECT}/{name}"), text);
    }
    machine.clock.advance(OLD);
    machine
}

fn look(machine: &MemorySystem) -> GcPlan {
    let survey = survey(&machine.files, PROJECT.as_ref(), false).unwrap();
    plan(&survey, machine.clock.now())
}

fn listed(machine: &MemorySystem) -> Vec<(String, Why)> {
    let garbage = look(machine).garbage.into_iter();
    garbage
        .map(|garbage| {
            let path = garbage.path.strip_prefix(PROJECT).unwrap().to_owned();
            (path.display().to_string(), garbage.why)
        })
        .collect()
}

#[test]
fn what_the_log_names_stays_and_the_rest_can_go() {
    let machine = machine(&[
        (
            "s1.jsonl",
            "{\"file\":\"aa-11.txt\"}\n{\"text\":\"it is in\\ncc-33.txt.\"}\n{\"blob\":\"f00d",
        ),
        ("s1/tool-results/aa-11.txt", "long"),
        ("s1/tool-results/bb-22.txt", "forgotten"),
        ("s1/tool-results/cc-33.txt", "cleared"),
        ("s1/blobs/f00d", "in a torn line"),
        ("s1/blobs/beef", "gone"),
        ("s1/blobs/.dormouse-1.tmp", ""),
        ("s1/session-memory/summary.md", "notes"),
        ("s1/subagents/agent-a.jsonl", "{}\n"),
        ("s1/anything/else", "not looked at"),
        ("s2/blobs/f00d", "its log is gone"),
        ("s2/session-memory/summary.md", "notes"),
        ("memory/note.md", "not a session's"),
        (".dormouse-2.tmp", "half"),
    ]);
    assert_eq!(
        listed(&machine),
        [
            (".dormouse-2.tmp".to_owned(), Why::Interrupted),
            ("s1/blobs/.dormouse-1.tmp".to_owned(), Why::Interrupted),
            ("s1/blobs/beef".to_owned(), Why::Unreferenced),
            ("s1/tool-results/bb-22.txt".to_owned(), Why::Unreferenced),
            ("s2/blobs/f00d".to_owned(), Why::LogGone),
            ("s2/session-memory/summary.md".to_owned(), Why::LogGone),
        ]
    );
}

#[test]
fn young_files_are_left_alone() {
    let machine = machine(&[("s1.jsonl", "{}\n")]);
    machine.files.put(format!("{PROJECT}/s1/blobs/beef"), "new");
    assert_eq!(look(&machine), GcPlan::default());
    machine.clock.advance(OLD);
    assert_eq!(look(&machine).garbage.len(), 1);
}

#[test]
fn a_fork_keeps_what_its_parents_hold() {
    let fork = r#"{"lineage":{"session":"p","manifest":{"ranges":[]}},"blob":"beef"}"#;
    let machine = machine(&[
        ("p.jsonl", "{}\n"),
        ("p/blobs/beef", "the fork's"),
        ("p/blobs/dead", "nobody's"),
        ("f.jsonl", fork),
        ("g.jsonl", r#"{"ranges":[{"session":"gone"}]}"#),
        ("gone/blobs/f00d", "the log may come back"),
        ("other.jsonl", "{\"text\":\"p has dead\"}\n"),
    ]);
    assert_eq!(
        listed(&machine),
        [("p/blobs/dead".to_owned(), Why::Unreferenced)]
    );
}

#[test]
fn a_log_in_a_folder_counts_for_its_session() {
    let machine = machine(&[
        ("s1.jsonl", "{}\n"),
        ("s1/forks/x.jsonl", "{\"blob\":\"beef\"}\n"),
        ("s1/blobs/beef", "the fork's"),
        ("s2/forks/y.jsonl", "{}\n"),
        ("s2/blobs/beef", "the log may come back"),
    ]);
    assert_eq!(listed(&machine), []);
}

#[test]
fn forks_of_forks_count_too() {
    let machine = machine(&[
        ("a.jsonl", "{}\n"),
        ("a/blobs/beef", ""),
        ("b.jsonl", r#"{"lineage":{"session":"a"}}"#),
        ("b/blobs/f00d", ""),
        ("c.jsonl", r#"{"lineage":{"session":"b"},"blob":"beef"}"#),
    ]);
    assert_eq!(
        listed(&machine),
        [("b/blobs/f00d".to_owned(), Why::Unreferenced)]
    );
}

#[test]
fn an_open_session_and_the_parents_of_an_open_fork_are_left_alone() {
    let machine = machine(&[
        ("p.jsonl", "{}\n"),
        ("p/blobs/beef", ""),
        ("f.jsonl", r#"{"lineage":{"session":"p"}}"#),
        ("f/blobs/beef", ""),
        ("other.jsonl", "{}\n"),
        ("other/blobs/beef", ""),
    ]);
    let lock = machine
        .files
        .lock_exclusive(format!("{PROJECT}/f.jsonl").as_ref());
    let lock = lock.unwrap().unwrap();
    let plan = look(&machine);
    assert_eq!(plan.garbage.len(), 1);
    assert_eq!(plan.garbage[0].session, Some("other".into()));
    let left = [
        (SessionId::from("f"), LeftAlone::InUse),
        (SessionId::from("p"), LeftAlone::InUse),
    ];
    assert_eq!(plan.left, BTreeMap::from(left));
    drop(lock);
    assert_eq!(look(&machine).garbage.len(), 3);
}

#[test]
fn looking_leaves_no_lock_files_and_removing_takes_only_what_was_planned() {
    let machine = machine(&[
        ("s1.jsonl", "{\"blob\":\"f00d\"}\n"),
        ("s1/blobs/f00d", ""),
        ("s1/tool-results/bb-22.txt", "forgotten"),
        ("s2/blobs/beef", ""),
        ("s3/blobs/beef", ""),
        ("s3/mine.txt", "stays"),
    ]);
    let before: Vec<_> = machine.files.list(PROJECT.as_ref()).unwrap();
    let seen = look(&machine);
    assert_eq!(machine.files.list(PROJECT.as_ref()).unwrap(), before);
    let held = survey(&machine.files, PROJECT.as_ref(), true).unwrap();
    let planned = plan(&held, machine.clock.now());
    assert_eq!(planned, seen);
    assert!(collect(&machine.files, &held, &planned).is_empty());
    drop(held);
    let is_there = |name: &str| {
        let path = format!("{PROJECT}/{name}");
        machine.files.metadata(path.as_ref()).is_ok()
    };
    for stays in ["s1.jsonl", "s1/blobs/f00d", "s3/mine.txt"] {
        assert!(is_there(stays), "{stays}");
    }
    for gone in ["s1/tool-results", "s2", "s3/blobs"] {
        assert!(!is_there(gone), "{gone}");
    }
    assert_eq!(look(&machine), GcPlan::default());
}

#[test]
fn a_file_that_cannot_be_removed_is_named() {
    let machine = machine(&[("s2/blobs/beef", ""), ("s2/blobs/f00d", "")]);
    let path = format!("{PROJECT}/s2/blobs/beef");
    machine.files.inject(
        Fault::fail(ErrorKind::PermissionDenied)
            .on(Operation::Remove)
            .at(&path),
    );
    let held = survey(&machine.files, PROJECT.as_ref(), true).unwrap();
    let failed = collect(&machine.files, &held, &plan(&held, machine.clock.now()));
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].garbage.path, Path::new(&path));
    assert!(failed[0].error.to_string().contains("beef"));
}

#[test]
fn a_log_that_cannot_be_read_keeps_everything() {
    let machine = machine(&[("s1.jsonl", "{}\n"), ("s2/blobs/beef", "")]);
    machine.files.inject(
        Fault::fail(ErrorKind::PermissionDenied)
            .on(Operation::Open)
            .at(format!("{PROJECT}/s1.jsonl")),
    );
    let plan = look(&machine);
    assert!(plan.garbage.is_empty());
    assert_eq!(plan.left[&SessionId::from("s2")], LeftAlone::Unreadable);
}

proptest! {
    /// Whatever surrounds a name in a log, the file is never listed.
    #[test]
    fn a_live_file_is_never_listed(
        digits in "[0-9a-f]{16}-[0-9a-f]{16}\\.(txt|json)",
        before in "[^0-9A-Za-z._-]{0,12}",
        after in "[^0-9A-Za-z_-]{0,12}",
        dots in "\\.{0,3}",
    ) {
        let said = format!("{before}{digits}{dots}{after}");
        // As a string in JSON, and as a string in JSON in a string in JSON.
        let once = serde_json::to_string(&said).unwrap();
        let twice = serde_json::to_string(&once).unwrap();
        for text in [once, twice] {
            let machine = machine(&[
                ("s.jsonl", &format!("{{\"a\":{text}}}\n")),
                (&format!("s/tool-results/{digits}"), "live"),
            ]);
            prop_assert_eq!(listed(&machine), []);
        }
    }
}
