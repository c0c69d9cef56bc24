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
