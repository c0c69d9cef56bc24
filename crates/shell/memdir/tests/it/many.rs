//! Many at once: processes that write, readers that read meanwhile.

use crate::kit::{again, all_end_well, open, path, put, told};
use dormouse_memdir::{MemdirError, MemoryDir};
use dormouse_memory::index::{self, IndexFacts, IndexPast, Limits, Missing};
use dormouse_memory::transaction::Author;
use dormouse_memory::write::retext;
use dormouse_system::{MemorySystem, System};
use pretty_assertions::assert_eq;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const WRITERS: usize = 50;

/// Adds one memory and its line to the index; does nothing unless told where.
#[test]
fn one_of_many_writers() {
    let (Some(root), Some(name)) = (told("ROOT"), told("NAME")) else {
        return;
    };
    let dir = open(&System::real(), root.as_ref());
    let entry = dir.update(|snapshot| {
        let file = path(&format!("{name}.md"));
        let text = format!("---\nname: {name}\ndescription: about {name}\n---\n\nBody.\n");
        let change = retext(snapshot, &file, &text, Author::User, &format!("add {name}"));
        Ok::<_, MemdirError>(change)
    });
    assert!(entry.unwrap().is_some());
}

#[test]
fn fifty_processes_that_add_memories_lose_none() {
    let folder = tempfile::tempdir().unwrap();
    let start = |number: usize| {
        again("many::one_of_many_writers")
            .env("DORMOUSE_TEST_ROOT", folder.path())
            .env("DORMOUSE_TEST_NAME", format!("memory_{number:02}"))
            .spawn()
            .unwrap()
    };
    all_end_well((0..WRITERS).map(start).collect());
    let dir = open(&System::real(), folder.path());
    let snapshot = dir.snapshot().unwrap();
    assert_eq!(snapshot.topics().count(), WRITERS);
    let listed = index::entries(&snapshot.index());
    assert_eq!(listed.len(), WRITERS);
    let facts = IndexFacts {
        today: jiff::civil::date(2026, 11, 16),
        limits: Limits {
            lines: 200,
            bytes: 25_000,
        },
        past: &IndexPast::default(),
        missing: Missing::Keep,
    };
    let drift = index::drift(&snapshot, &facts);
    assert!(drift.is_none(), "{drift:?}");
    let history = dir.history().unwrap();
    assert_eq!((history.entries.len(), history.damaged), (WRITERS, 0));
}

/// Number that both files hold; two different ones would be half a change.
fn same_number(dir: &MemoryDir) -> Option<usize> {
    let snapshot = dir.snapshot().unwrap();
    let number = |name| {
        let file = snapshot.get(&path(name))?;
        file.text().parse::<usize>().ok()
    };
    let (one, two) = (number("one.md"), number("sub/two.md"));
    assert_eq!(one, two, "a mixture");
    one
}

fn readers_beside_a_writer(system: &System, root: &Path, transactions: usize) -> usize {
    let dir = open(system, root);
    let over = AtomicBool::new(false);
    let reads = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let dir = open(system, root);
                let mut last = None;
                while !over.load(Ordering::SeqCst) {
                    let now = same_number(&dir);
                    assert!(now >= last, "time went backwards: {last:?}, then {now:?}");
                    last = now;
                    reads.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let stop = StopAtEnd(&over);
        for number in 0..transactions {
            let text = number.to_string();
            let files = [("one.md", Some(&*text)), ("sub/two.md", Some(&*text))];
            put(&dir, &files).unwrap();
        }
        drop(stop);
    });
    assert_eq!(same_number(&dir), Some(transactions - 1));
    reads.into_inner()
}

/// Readers must end also if the writer panics.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn readers_never_see_half_a_change_on_a_real_disk() {
    let folder = tempfile::tempdir().unwrap();
    let reads = readers_beside_a_writer(&System::real(), folder.path(), 1_000);
    assert!(reads > 100, "only {reads} reads");
}

#[test]
fn readers_never_see_half_a_change_in_memory() {
    let machine = MemorySystem::new();
    let reads = readers_beside_a_writer(&machine.system(), "/home/m/memory".as_ref(), 100);
    assert!(reads > 10, "only {reads} reads");
}
