use super::*;
use crate::kit::{Kit, path};
use dormouse_memory::transaction::Author;
use dormouse_system::Operation;
use pretty_assertions::assert_eq;
use std::time::Duration;

#[test]
fn folders_too_deep_are_left_out_with_a_note_and_hide_nothing() {
    let kit = Kit::new();
    kit.put("a.md", b"text");
    // Deeper than a walk goes at all, which was an error for the whole directory.
    let deep = "d/".repeat(dormouse_system::DEEPEST_WALK + 3);
    kit.put(&format!("{deep}b.md"), b"text");
    let look = kit.dir.look().unwrap();
    assert!(look.snapshot.get(&path("a.md")).is_some());
    assert_eq!(look.snapshot.len(), 1);
    assert_eq!(look.skipped.len(), 1, "{:?}", look.skipped);
    assert!(look.skipped[0].why.contains("nested deeper"));
    // Searching and writing go on as well.
    assert_eq!(kit.dir.scan().unwrap().cards().count(), 1);
    let mut change = Transaction::by(Author::User, "added");
    change.put(&look.snapshot, path("c.md"), "more");
    assert!(kit.dir.apply(change).unwrap().is_some());
}

/// Files of memories opened after the lock was taken, while one memory was added to so many.
fn opened_under_the_lock(memories: usize) -> usize {
    let kit = Kit::new();
    for number in 0..memories {
        kit.put(&format!("m{number}.md"), b"---\nname: m\n---\n\nBody.\n");
    }
    kit.machine.clock.advance(Duration::from_secs(1));
    let before = kit.machine.files.performed().len();
    let entry = kit.dir.update(|snapshot| {
        let mut change = Transaction::by(Author::User, "test");
        change.put(snapshot, path("new.md"), "New.\n");
        Ok::<_, MemdirError>(change)
    });
    assert!(entry.unwrap().is_some());
    let performed = kit.machine.files.performed();
    let behind = performed[before..]
        .iter()
        .skip_while(|done| done.operation != Operation::Lock);
    let opened = behind.filter(|done| {
        let memory = done.path.extension().is_some_and(|end| end == "md");
        memory && matches!(done.operation, Operation::Read | Operation::Open)
    });
    opened.count()
}

#[test]
fn under_the_lock_only_the_files_of_the_change_are_opened() {
    let few = opened_under_the_lock(20);
    // The new file and the index, once before the change and once while it is made.
    assert!(few <= 4, "{few}");
    assert_eq!(few, opened_under_the_lock(80));
}

#[test]
fn a_change_that_came_between_plan_and_lock_is_planned_on() {
    let kit = Kit::new();
    kit.put("a.md", b"one\n");
    kit.machine.clock.advance(Duration::from_secs(1));
    let mut asked = Vec::new();
    let entry = kit.dir.update(|snapshot| {
        let text = snapshot
            .get(&path("a.md"))
            .map(|file| file.text().into_owned());
        if asked.is_empty() {
            // Another process, between the plan and the lock.
            let mut theirs = Transaction::by(Author::User, "theirs");
            theirs.put(snapshot, path("a.md"), "two\n");
            kit.dir.apply(theirs)?;
        }
        asked.push(text.clone().unwrap_or_default());
        let mut change = Transaction::by(Author::User, "mine");
        change.put(
            snapshot,
            path("a.md"),
            format!("{}mine\n", text.unwrap_or_default()),
        );
        Ok::<_, MemdirError>(change)
    });
    assert!(entry.unwrap().is_some());
    assert_eq!(asked, ["one\n", "two\n"]);
    assert_eq!(kit.content("a.md").unwrap(), "two\nmine\n");
}

#[test]
fn an_edit_by_hand_between_plan_and_lock_is_planned_on() {
    for after in [Some("hand\n"), None] {
        let kit = Kit::new();
        kit.put("a.md", b"one\n");
        kit.put("b.md", b"other\n");
        kit.machine.clock.advance(Duration::from_secs(1));
        let mut asked = 0;
        let entry = kit.dir.update(|snapshot| {
            asked += 1;
            if asked == 1 {
                match after {
                    Some(text) => kit.put("b.md", text.as_bytes()),
                    None => kit.disk().remove("b.md".as_ref())?,
                }
            }
            let other = snapshot.get(&path("b.md"));
            let text = other.map_or_else(|| "none\n".to_owned(), |file| file.text().into_owned());
            let mut change = Transaction::by(Author::User, "mine");
            change.put(snapshot, path("a.md"), text);
            Ok::<_, MemdirError>(change)
        });
        assert!(entry.unwrap().is_some());
        assert_eq!(kit.content("a.md").unwrap(), after.unwrap_or("none\n"));
    }
}

/// Directory with a long memory, a short one and an index, on a disk with this many bytes free.
fn on_full_disk(free: u64, cache: usize) -> Kit {
    let kit = Kit::new();
    kit.put("long.md", &b"x".repeat(20_000));
    kit.put("short.md", b"A short one.\n");
    kit.put("MEMORY.md", b"- [Long](long.md)\n- [Short](short.md)\n");
    if cache > 0 {
        kit.put(".cache/recall.index", &b"c".repeat(cache));
    }
    kit.machine.clock.advance(Duration::from_secs(1));
    kit.machine.files.set_free_space(Some(free));
    kit
}

fn forget(kit: &Kit, name: &str) -> Result<Option<JournalEntry>> {
    kit.dir.update(|snapshot| {
        let file = path(name);
        let forgotten = dormouse_memory::write::forget(snapshot, &file, Author::User, "forget");
        Ok(forgotten.unwrap())
    })
}

#[test]
fn a_memory_can_be_forgotten_on_a_full_disk() {
    for free in [0, 10, 100, 1_000, 30_000] {
        let kit = on_full_disk(free, 0);
        let entry = forget(&kit, "long.md").unwrap().unwrap();
        assert_eq!(kit.content("long.md"), None, "{free} bytes free");
        assert_eq!(kit.content("MEMORY.md").unwrap(), "- [Short](short.md)\n");
        let history = kit.dir.history().unwrap();
        assert!(history.entries.iter().any(|known| known.id == entry.id));
        let look = kit.dir.look().unwrap();
        assert_eq!(look.snapshot.len(), 2, "{free} bytes free");
        assert_eq!(look.skipped.len(), 0, "{:?}", look.skipped);
    }
}

#[test]
fn a_cache_makes_room_before_anything_is_lost() {
    let kit = on_full_disk(0, 50_000);
    let entry = forget(&kit, "short.md").unwrap().unwrap();
    assert_eq!(kit.content("short.md"), None);
    assert_eq!(kit.content(".cache/recall.index"), None);
    kit.machine.files.set_free_space(None);
    kit.dir.undo(&entry.id).unwrap();
    assert_eq!(kit.content("short.md").unwrap(), "A short one.\n");
}

#[test]
fn a_full_disk_refuses_new_memories_and_changes_nothing() {
    let kit = on_full_disk(0, 0);
    let added = kit.dir.update(|snapshot| {
        let mut change = Transaction::by(Author::User, "add");
        change.put(snapshot, path("new.md"), "New.\n");
        Ok::<_, MemdirError>(change)
    });
    assert!(added.unwrap_err().is_full());
    kit.machine.files.set_free_space(None);
    let look = kit.dir.look().unwrap();
    assert_eq!(look.snapshot.len(), 3);
    assert_eq!(kit.dir.history().unwrap().entries, []);
}
