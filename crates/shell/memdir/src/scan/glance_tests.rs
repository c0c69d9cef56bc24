use super::*;
use dormouse_guard::paths::SafePath;
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_recall::{Query, Scratch};
use dormouse_system::{Clock as _, Files as _, ManualClock, RealClock, RealFiles, System};
use pretty_assertions::assert_eq;
use std::os::unix::fs::FileExt as _;
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

/// Flips a bit of a file in place and gives the file its old time, as a bad disk would.
fn rot(path: &Path, at: u64) {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
    file.set_modified(time).unwrap();
}

#[test]
fn a_damaged_part_answers_nothing_and_the_refresh_writes_the_index_anew() {
    let shelf = Shelf::new(SMALL + 1);
    let dir = shelf.dir();
    dir.renew().unwrap();
    let index = shelf.folder.path().join(CACHE);
    let length = RealFiles.metadata(&index).unwrap().stamp.len;
    let (mut silent, mut right) = (0, 0);
    for at in (0..length).step_by(8_192) {
        rot(&index, at);
        let glance = shelf.dir().glance().unwrap();
        let found = found(&glance, "number77");
        if glance.stale || glance.scan.is_damaged() {
            silent += 1;
        } else {
            // The part is none that the question needs.
            assert_eq!(found.as_deref(), Some("memory_0077.md"), "{at}");
            right += 1;
        }
        // Made whole again by the same bit.
        rot(&index, at);
    }
    assert!(silent > 0 && right > 0, "{silent} {right}");
    rot(&index, length / 2);
    dir.renew().unwrap();
    let glance = shelf.dir().glance().unwrap();
    assert!(!glance.stale && !glance.scan.is_damaged());
    assert_eq!(
        found(&glance, "number77").as_deref(),
        Some("memory_0077.md")
    );
}

#[test]
fn history_and_numbers_are_those_of_a_whole_scan() {
    let shelf = Shelf::new(SMALL + 1);
    let over = "---\nname: old\ndescription: old\nvalid_until: 2020-01-01\n---\nThe old port.\n";
    let new =
        "---\nname: new\ndescription: new\ncontradicts: [memory_0003.md]\n---\nThe new port.\n";
    for (name, text) in [("sub/over.md", over), ("zz/new.md", new)] {
        let path = shelf.folder.path().join(name);
        RealFiles
            .create_dir_all(path.parent().unwrap(), Access::Private)
            .unwrap();
        RealFiles
            .replace(&path, text.as_bytes(), Access::Private)
            .unwrap();
    }
    let dir = shelf.dir();
    dir.renew().unwrap();
    let mut change = Transaction::by(Author::User, "a test");
    let snapshot = dir.snapshot().unwrap();
    let path = |name: &str| SafePath::parse(name).unwrap();
    let later = "---\nname: later\ndescription: later\nvalid_until: 2020-01-02\n---\nLater.\n";
    change.put(&snapshot, path("later.md"), later);
    change.delete(&snapshot, path("memory_0009.md"));
    dir.apply(change).unwrap().unwrap();
    let doubtful = |scan: &Scan| {
        let mut paths: Vec<String> = scan
            .doubtful()
            .into_iter()
            .map(|(number, card)| {
                assert_eq!(scan.document(&card.path), Some(number));
                card.path.to_string()
            })
            .collect();
        paths.sort();
        paths
    };
    let glance = shelf.dir().glance().unwrap();
    assert!(glance.scan.suspects.is_some(), "read by parts");
    let whole = doubtful(&dir.peek().unwrap());
    assert_eq!(doubtful(&glance.scan), whole);
    assert_eq!(
        whole,
        ["later.md", "memory_0003.md", "sub/over.md", "zz/new.md"]
    );
    assert_eq!(glance.scan.document(&path("memory_0009.md")), None);
    assert_eq!(glance.scan.document(&path("none.md")), None);
}
