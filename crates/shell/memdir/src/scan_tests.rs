use super::*;
use crate::kit::{Kit, ROOT, path};
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_recall::{Query, Scratch};
use dormouse_system::{Fault, Files as _, Operation};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn memory(word: &str) -> String {
    format!("---\nname: {word}\ndescription: about {word}\n---\nThe {word} is here.\n")
}

/// A file written by hand; time passes so that its stamp can be believed.
fn put(kit: &Kit, name: &str, word: &str) {
    kit.put(name, memory(word).as_bytes());
    kit.machine.clock.advance(Duration::from_secs(1));
}

fn kit(names: &[&str]) -> Kit {
    let kit = Kit::new();
    for name in names {
        put(&kit, name, name.trim_end_matches(".md"));
    }
    kit
}

fn paths(scan: &Scan) -> Vec<String> {
    let mut paths: Vec<String> = scan.cards().map(|card| card.path.to_string()).collect();
    paths.sort();
    paths
}

fn find(scan: &Scan, words: &str) -> Option<String> {
    let query = Query {
        text: words,
        top: 1,
        now: 0,
    };
    let hits = scan.searcher().search(&query, &mut Scratch::default());
    let hit = hits.first()?;
    Some(scan.card(hit.document)?.path.to_string())
}

fn reads_of(kit: &Kit, work: impl FnOnce()) -> usize {
    let before = kit.machine.files.performed().len();
    work();
    let performed = kit.machine.files.performed();
    let memories = performed[before..].iter().filter(|done| {
        done.operation == Operation::Read && done.path.extension().is_some_and(|end| end == "md")
    });
    memories.count()
}

#[test]
fn memories_are_scanned_and_nothing_else() {
    let kit = kit(&["apple.md", "sub/pear.md", "pinned/plum.md", "zebra.md"]);
    for other in [
        "MEMORY.md",
        "sub/MEMORY.md",
        "logs/2026/11/2026-11-15.md",
        "notes.txt",
    ] {
        put(&kit, other, "apple");
    }
    let scan = kit.dir.scan().unwrap();
    let all = ["apple.md", "pinned/plum.md", "sub/pear.md", "zebra.md"];
    assert_eq!(paths(&scan), all);
    assert_eq!(
        find(&scan, "where is the apple").as_deref(),
        Some("apple.md")
    );
    assert!(!scan.cached);
}

#[test]
fn what_has_not_changed_is_not_read() {
    let names: Vec<String> = (0..30).map(|number| format!("m{number:02}.md")).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let kit = kit(&names);
    kit.dir.scan().unwrap();
    assert_eq!(reads_of(&kit, || drop(kit.dir.scan().unwrap())), 0);
    put(&kit, "m05.md", "walrus");
    put(&kit, "new.md", "penguin");
    kit.machine
        .files
        .remove_file(format!("{ROOT}/m07.md").as_ref())
        .unwrap();
    let scan = kit.dir.scan().unwrap();
    assert_eq!((scan.read, scan.outdated, scan.cached), (2, 2, true));
    assert_eq!(scan.searcher().len(), 30);
    assert_eq!(find(&scan, "the walrus").as_deref(), Some("m05.md"));
    assert_eq!(find(&scan, "the penguin").as_deref(), Some("new.md"));
    assert_ne!(find(&scan, "m07").as_deref(), Some("m07.md"));
    assert_eq!(reads_of(&kit, || drop(kit.dir.scan().unwrap())), 2);
    assert!(!scan.wants_rewrite() && !kit.dir.refresh(&scan));
    for name in ["x1.md", "x2.md"] {
        put(&kit, name, name);
    }
    let scan = kit.dir.scan().unwrap();
    assert!(scan.wants_rewrite() && kit.dir.refresh(&scan));
    assert_eq!(reads_of(&kit, || drop(kit.dir.scan().unwrap())), 0);
}

#[test]
fn a_process_that_lives_on_sees_changes_and_reads_no_cache() {
    let kit = kit(&["apple.md", "pear.md"]);
    let first = kit.dir.scan().unwrap();
    let before = kit.machine.files.performed().len();
    let again = kit.dir.rescan(first).unwrap();
    let performed = kit.machine.files.performed();
    let read = |done: &&dormouse_system::Performed| done.operation == Operation::Read;
    let paths_read: Vec<_> = performed[before..]
        .iter()
        .filter(read)
        .map(|done| &done.path)
        .collect();
    assert_eq!(
        paths_read,
        [Path::new(&format!("{ROOT}/.journal/pending.json"))]
    );
    put(&kit, "apple.md", "walrus");
    let changed = kit.dir.rescan(again).unwrap();
    assert_eq!(find(&changed, "the walrus").as_deref(), Some("apple.md"));
    put(&kit, "apple.md", "penguin");
    let changed = kit.dir.rescan(changed).unwrap();
    assert_eq!(find(&changed, "the penguin").as_deref(), Some("apple.md"));
    assert_eq!(paths(&changed), ["apple.md", "pear.md"]);
}

#[test]
fn a_cache_that_is_no_use_is_replaced() {
    let kit = kit(&["apple.md", "pear.md"]);
    kit.dir.scan().unwrap();
    let good = kit.content(CACHE).unwrap();
    let foreign = Segment::build(language_of([]), [Document::default()]).unwrap();
    for bad in [&b""[..], b"garbage", &good[..good.len() - 1], &foreign] {
        kit.put(CACHE, bad);
        let scan = kit.dir.scan().unwrap();
        assert_eq!((scan.read, scan.cached), (2, false));
        assert_eq!(kit.content(CACHE).unwrap(), good);
    }
}

#[test]
fn a_cache_that_cannot_be_written_fails_nobody() {
    let kit = kit(&["apple.md"]);
    let fault = Fault::fail(std::io::ErrorKind::PermissionDenied);
    kit.machine
        .files
        .inject(fault.at(format!("{ROOT}/.cache")).lasting());
    let scan = kit.dir.scan().unwrap();
    assert_eq!(paths(&scan), ["apple.md"]);
    assert_eq!(kit.content(CACHE), None);
}

#[test]
fn a_file_that_changed_just_now_is_read_again() {
    let kit = Kit::new();
    kit.put("a.md", memory("apple").as_bytes());
    kit.dir.scan().unwrap();
    // Same length, and the clock has not moved: only reading tells.
    kit.put("a.md", memory("grape").as_bytes());
    let scan = kit.dir.scan().unwrap();
    assert_eq!(find(&scan, "the grape").as_deref(), Some("a.md"));
}

#[test]
fn a_change_under_way_is_seen_whole() {
    let kit = kit(&["a.md", "b.md", "c.md"]);
    kit.dir.scan().unwrap();
    let snapshot = kit.dir.snapshot().unwrap();
    let mut change = Transaction::by(Author::User, "test");
    change.put(&snapshot, path("a.md"), memory("walrus"));
    change.delete(&snapshot, path("b.md"));
    change.put(&snapshot, path("d.md"), memory("penguin"));
    let fault = Fault::go_down()
        .on(Operation::CreateFile)
        .at(format!("{ROOT}/a.md"));
    kit.machine.files.inject(fault);
    kit.dir.apply(change).unwrap_err();
    kit.machine.files.crash();
    kit.machine.clock.advance(Duration::from_secs(1));
    let dir = MemoryDir::open(
        &kit.machine.system(),
        ROOT.as_ref(),
        dormouse_system::Access::Private,
    );
    let dir = dir.unwrap();
    for _ in 0..2 {
        let scan = dir.scan().unwrap();
        assert_eq!(paths(&scan), ["a.md", "c.md", "d.md"]);
        assert_eq!(find(&scan, "the walrus").as_deref(), Some("a.md"));
        kit.put(CACHE, b"");
    }
    dir.writer().unwrap();
    assert_eq!(paths(&dir.scan().unwrap()), ["a.md", "c.md", "d.md"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    /// After any changes to the files, a scan finds what a scan without a cache finds.
    #[test]
    fn a_scan_with_a_cache_finds_what_one_without_does(
        steps in proptest::collection::vec((0_usize..12, 0_u8..4), 1..40),
    ) {
        let names = [
            "a.md", "a/b.md", "a/b/c.md", "a-b.md", "a b.md", "b.md", "a.md.md", "A.md",
            "é.md", "z/a.md", "a/a.md", "ab.md",
        ];
        let kit = Kit::new();
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for (at, (which, what)) in steps.into_iter().enumerate() {
            let name = names[which];
            match what {
                0 => {
                    if files.remove(name).is_some() {
                        kit.machine.files.remove_file(format!("{ROOT}/{name}").as_ref()).unwrap();
                    }
                }
                1 => {
                    let scan = kit.dir.scan().unwrap();
                    kit.dir.refresh(&scan);
                }
                _ => {
                    let word = format!("word{at}");
                    put(&kit, name, &word);
                    files.insert(name.to_owned(), word);
                }
            }
            let scan = kit.dir.scan().unwrap();
            let mut found: Vec<(String, String)> = scan
                .cards()
                .map(|card| (card.path.to_string(), card.name))
                .collect();
            found.sort();
            let expected: Vec<(String, String)> =
                files.iter().map(|(name, word)| (name.clone(), word.clone())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn git_ignores_the_cache_of_any_directory() {
    let kit = kit(&["apple.md"]);
    kit.dir.scan().unwrap();
    assert_eq!(kit.content(".cache/.gitignore").unwrap(), "*\n");
    // The user may have changed it.
    kit.put(".cache/.gitignore", b"*.index\n");
    kit.dir.make_cache_folder().unwrap();
    assert_eq!(kit.content(".cache/.gitignore").unwrap(), "*.index\n");
}
