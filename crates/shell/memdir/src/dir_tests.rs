use super::*;
use crate::kit::{Kit, path};

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
    let mut change = Transaction::by(dormouse_memory::transaction::Author::User, "added");
    change.put(&look.snapshot, path("c.md"), "more");
    assert!(kit.dir.apply(change).unwrap().is_some());
}
