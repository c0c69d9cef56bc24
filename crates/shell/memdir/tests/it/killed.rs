//! A real process on a real disk, killed without warning at every step of a change that writes.

use crate::halting::Halting;
use crate::kit::{Files, again, lines_of, open, put, shown, told};
use dormouse_system::{Files as _, RealFiles, System};
use pretty_assertions::assert_eq;
use std::path::Path;
use std::sync::Arc;

const CHANGE: [(&str, Option<&str>); 4] = [
    ("MEMORY.md", Some("- [C](c.md) — c\n")),
    ("a.md", None),
    ("sub/b.md", Some("new b")),
    ("new/c.md", Some("new c")),
];

fn prepare(root: &Path) {
    let files = [
        ("MEMORY.md", Some("- [A](a.md) — a\n")),
        ("a.md", Some("old a")),
        ("sub/b.md", Some("old b")),
    ];
    put(&open(&System::real(), root), &files).unwrap();
}

fn snapshot(root: &Path) -> Files {
    shown(&open(&System::real(), root).snapshot().unwrap())
}

/// Changes the directory and is killed meanwhile; does nothing unless told where.
#[test]
fn the_one_that_is_killed() {
    let (Some(root), Some(steps)) = (told("ROOT"), told("STEPS")) else {
        return;
    };
    let mut system = System::real();
    system.files = Arc::new(Halting::new(system.files, steps.parse().unwrap()));
    put(&open(&system, root.as_ref()), &CHANGE).unwrap();
    println!("\ndone");
}

#[test]
fn whatever_moment_it_is_killed_at_the_directory_is_whole() {
    let (mut olds, mut news) = (0, 0);
    for steps in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("memory");
        prepare(&root);
        let old = snapshot(&root);
        let mut child = again("killed::the_one_that_is_killed")
            .env("DORMOUSE_TEST_ROOT", &root)
            .env("DORMOUSE_TEST_STEPS", steps.to_string())
            .spawn()
            .unwrap();
        let mut said = lines_of(&mut child);
        let line = said.find(|line| line.starts_with("halted") || line == "done");
        let line = line.expect("it says where it is");
        child.kill().unwrap();
        child.wait().unwrap();
        let found = snapshot(&root);
        let new = found.iter().any(|(name, _)| name == "new/c.md");
        if new {
            news += 1;
            let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
            assert_eq!(names, ["MEMORY.md", "new/c.md", "sub/b.md"], "{line}");
            assert!(
                found
                    .iter()
                    .all(|(_, text)| text.contains('c') || text == "new b"),
                "{line}"
            );
        } else {
            olds += 1;
            assert_eq!(found, old, "{line}");
        }
        put(&open(&System::real(), &root), &[("later.md", Some("x"))]).unwrap();
        let mut later = snapshot(&root);
        later.retain(|(name, _)| name != "later.md");
        assert_eq!(later, found, "{line}");
        let pending = root.join(".journal/pending.json");
        assert!(RealFiles.metadata(&pending).is_err(), "{line}");
        if line == "done" {
            break;
        }
    }
    assert!(olds > 5 && news > 8, "{olds} {news}");
}
