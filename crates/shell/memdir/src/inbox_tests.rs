use super::*;
use crate::kit::{Kit, path};
use pretty_assertions::assert_eq;

fn proposal(name: &str, content: &str) -> Proposal {
    Proposal {
        path: path(name),
        content: content.to_owned(),
        expected: Expected::Absent,
        author: Author::Extractor,
        reason: "seen in a file".to_owned(),
        origin: None,
        trust: Trust::External,
        waits_because: "it stems from a web page".to_owned(),
    }
}

fn approve(kit: &Kit, id: &str) -> Result<Option<JournalEntry>> {
    kit.dir.approve(id, |item, _| Ok(item.transaction()))
}

#[test]
fn an_approved_write_is_the_users() {
    let kit = Kit::new();
    let item = kit.dir.propose(proposal("a.md", "text")).unwrap();
    assert_eq!(kit.dir.inbox().unwrap().items, std::slice::from_ref(&item));
    assert!(kit.dir.snapshot().unwrap().is_empty());
    let entry = approve(&kit, &item.id).unwrap().unwrap();
    assert_eq!(
        (entry.author, &*entry.reason),
        (Author::User, "approved: seen in a file")
    );
    assert_eq!(kit.content("a.md").unwrap(), "text");
    assert_eq!(kit.dir.inbox().unwrap(), Inbox::default());
    let again = approve(&kit, &item.id);
    assert!(matches!(again, Err(MemdirError::NoItem(_))));
}

#[test]
fn the_same_waits_once() {
    let kit = Kit::new();
    let first = kit.dir.propose(proposal("a.md", "text")).unwrap();
    let other = kit.dir.propose(proposal("a.md", "other")).unwrap();
    assert_eq!(kit.dir.propose(proposal("a.md", "text")).unwrap(), first);
    assert_eq!(kit.dir.inbox().unwrap().items, [first, other]);
}

#[test]
fn a_write_that_comes_too_late_keeps_waiting_until_it_is_rejected() {
    let kit = Kit::new();
    let item = kit.dir.propose(proposal("a.md", "text")).unwrap();
    kit.put("a.md", b"meanwhile");
    let refused = approve(&kit, &item.id);
    assert!(matches!(refused, Err(MemdirError::Conflict(_))));
    assert_eq!(kit.dir.reject(&item.id).unwrap(), item);
    assert_eq!(kit.dir.inbox().unwrap(), Inbox::default());
    assert_eq!(kit.content("a.md").unwrap(), "meanwhile");
}

#[test]
fn what_may_not_be_written_may_not_wait() {
    let kit = Kit::new();
    let key = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for (name, content) in [(".journal/x.md", "x"), ("a.md", &*key)] {
        let refused = kit.dir.propose(proposal(name, content));
        assert!(
            matches!(refused, Err(MemdirError::Refused(_))),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn files_that_are_no_items_are_reported_and_left() {
    let kit = Kit::new();
    let item = kit.dir.propose(proposal("a.md", "text")).unwrap();
    kit.put(".inbox/broken.json", b"{");
    kit.put(".inbox/readme.txt", b"hello");
    let text = kit.content(&format!(".inbox/{}.json", item.id)).unwrap();
    kit.put(".inbox/copy.json", &text);
    let inbox = kit.dir.inbox().unwrap();
    assert_eq!(inbox.items, [item]);
    assert_eq!(inbox.unreadable.len(), 2);
    let unknown = kit.dir.reject("copy");
    assert!(matches!(unknown, Err(MemdirError::NoItem(_))));
}

#[test]
fn one_bad_entry_does_not_hide_the_others() {
    let kit = Kit::new();
    let good = kit.dir.propose(proposal("a.md", "text")).unwrap();
    let long = vec![b' '; usize::try_from(MOST_BYTES).unwrap() + 1];
    kit.put(".inbox/long.json", &long);
    kit.put(".inbox/torn.json", b"{\"format\":1,");
    kit.put(".inbox/folder.json/inside", b"x");
    let inbox = kit.dir.inbox().unwrap();
    assert_eq!(inbox.items, [good]);
    let names: Vec<_> = inbox
        .unreadable
        .iter()
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert_eq!(
        names,
        [".inbox/folder.json", ".inbox/long.json", ".inbox/torn.json"]
    );
}

#[test]
fn reasons_hold_no_credential() {
    let kit = Kit::new();
    // In parts, because the repository itself is scanned.
    let stated = ["the password is Marigold", "2019x"].concat();
    let asked = Proposal {
        reason: stated.clone(),
        waits_because: stated,
        ..proposal("a.md", "text")
    };
    let item = kit.dir.propose(asked).unwrap();
    let clean = "the password is [secret: stated-password]";
    assert_eq!((&*item.reason, &*item.waits_because), (clean, clean));
}
