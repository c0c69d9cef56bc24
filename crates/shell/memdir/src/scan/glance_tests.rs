use super::*;
use dormouse_guard::paths::SafePath;
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_recall::{Query, Scratch};
use dormouse_system::{Clock as _, Files as _, ManualClock, RealClock, RealFiles, System};
use pretty_assertions::assert_eq;
use std::sync::Arc;
use tempfile::TempDir;

/// A directory on a real disk, because folders have no times in memory. The clock is an hour ahead,
/// so that every file has come to rest.
struct Shelf {
    folder: TempDir,
    clock: Arc<ManualClock>,
}

impl Shelf {
    fn new(memories: usize) -> Self {
        let clock = ManualClock::default();
        clock.set(Millis(RealClock::default().now().0 + 3_600_000));
        let shelf = Self {
            folder: TempDir::new().unwrap(),
            clock: Arc::new(clock),
        };
        for number in 0..memories {
            shelf.put(
                &format!("memory_{number:04}.md"),
                "project",
                &format!("number{number}"),
            );
        }
        shelf
    }

    fn put(&self, name: &str, kind: &str, word: &str) {
        let text = format!(
            "---\nname: {word}\ndescription: about {word}\ntype: {kind}\n---\nThe {word} is here.\n"
        );
        let path = self.folder.path().join(name);
        RealFiles
            .create_dir_all(path.parent().unwrap(), Access::Private)
            .unwrap();
        RealFiles
            .replace(&path, text.as_bytes(), Access::Private)
            .unwrap();
    }

    fn dir(&self) -> MemoryDir {
        let system = System {
            clock: Arc::clone(&self.clock) as _,
            ..System::real()
        };
        MemoryDir::open(&system, self.folder.path(), Access::Private).unwrap()
    }
}

fn found(glance: &Glance, words: &str) -> Option<String> {
    let query = Query {
        text: words,
        top: 1,
        now: 0,
    };
    let hits = glance
        .scan
        .searcher()
        .search(&query, &mut Scratch::default());
    Some(glance.scan.card(hits.first()?.document)?.path.to_string())
}

fn names(cards: &[Card]) -> Vec<&str> {
    cards.iter().map(|card| card.path.as_str()).collect()
}

#[test]
fn a_small_directory_is_scanned_and_exact() {
    let shelf = Shelf::new(3);
    let first = shelf.dir().glance().unwrap();
    assert_eq!(found(&first, "number2").as_deref(), Some("memory_0002.md"));
    shelf.put("memory_0002.md", "project", "zebra");
    let then = shelf.dir().glance().unwrap();
    assert_eq!(found(&then, "zebra").as_deref(), Some("memory_0002.md"));
}

#[test]
fn a_large_directory_without_an_index_is_left_to_a_refresh() {
    let shelf = Shelf::new(SMALL + 1);
    let dir = shelf.dir();
    let glance = dir.glance().unwrap();
    assert!(glance.stale && found(&glance, "number77").is_none());
    assert!(dir.wants_refresher());
    assert!(!dir.wants_refresher(), "the second caller starts none");
    dir.renew().unwrap();
    let glance = dir.glance().unwrap();
    assert!(!glance.stale);
    assert_eq!(
        found(&glance, "number77").as_deref(),
        Some("memory_0077.md")
    );
}

#[test]
fn a_refresher_is_wanted_again_after_a_while_and_after_a_clock_that_was_wrong() {
    let shelf = Shelf::new(0);
    let dir = shelf.dir();
    assert!(dir.wants_refresher());
    shelf.clock.advance(Duration::from_secs(59));
    assert!(!dir.wants_refresher());
    shelf.clock.advance(Duration::from_secs(2));
    assert!(dir.wants_refresher());
    shelf.clock.set(Millis(0));
    assert!(dir.wants_refresher(), "the file is from the future");
}

#[test]
fn changes_through_the_journal_show_at_once_and_foreign_ones_make_it_stale() {
    let shelf = Shelf::new(SMALL + 1);
    shelf.put("pinned/rule.md", "feedback", "tabs");
    let dir = shelf.dir();
    dir.renew().unwrap();
    let glance = dir.glance().unwrap();
    assert!(!glance.stale);
    assert_eq!(names(&glance.standing), ["pinned/rule.md"]);

    let path = |name: &str| SafePath::parse(name).unwrap();
    let text = "---\nname: ports\ndescription: ports\ntype: feedback\ntriggers:\n  paths: [\"*.sql\"]\n---\nThe giraffe port.\n";
    let mut change = Transaction::by(Author::User, "a test");
    let snapshot = dir.snapshot().unwrap();
    change.put(&snapshot, path("feedback_ports.md"), text);
    change.delete(&snapshot, path("memory_0005.md"));
    dir.apply(change).unwrap().unwrap();
    let glance = shelf.dir().glance().unwrap();
    assert_eq!(
        found(&glance, "giraffe").as_deref(),
        Some("feedback_ports.md")
    );
    assert_ne!(found(&glance, "number5").as_deref(), Some("memory_0005.md"));
    assert_eq!(names(&glance.triggered), ["feedback_ports.md"]);
    assert_eq!(
        names(&glance.standing),
        ["feedback_ports.md", "pinned/rule.md"]
    );

    dir.renew().unwrap();
    assert!(!shelf.dir().glance().unwrap().stale);
    shelf.put("by_hand.md", "project", "walrus");
    let glance = shelf.dir().glance().unwrap();
    assert!(glance.stale, "the folder has another time");
    dir.renew().unwrap();
    let glance = shelf.dir().glance().unwrap();
    assert!(!glance.stale);
    assert_eq!(found(&glance, "walrus").as_deref(), Some("by_hand.md"));
}

#[test]
fn a_digest_that_is_damaged_or_of_another_index_is_not_believed() {
    let shelf = Shelf::new(SMALL + 1);
    let dir = shelf.dir();
    dir.renew().unwrap();
    let digest = shelf.folder.path().join(DIGEST);
    let whole = RealFiles.read(&digest, MOST_DIGEST).unwrap();
    RealFiles
        .replace(&digest, &whole[..whole.len() / 2], Access::Private)
        .unwrap();
    let glance = dir.glance().unwrap();
    assert_eq!(found(&glance, "number9").as_deref(), Some("memory_0009.md"));
    // The index is rewritten behind the digest's back.
    RealFiles.replace(&digest, &whole, Access::Private).unwrap();
    let index = shelf.folder.path().join(CACHE);
    let bytes = RealFiles.read(&index, u64::MAX).unwrap();
    RealFiles.replace(&index, &bytes, Access::Private).unwrap();
    let glance = dir.glance().unwrap();
    assert!(glance.stale);
    assert_eq!(found(&glance, "number9").as_deref(), Some("memory_0009.md"));
}
