//! The contract, continued: dates, stamps, walks, waiting and files beneath a directory.

use super::{Place, fails};
use dormouse_core::units::Millis;
use dormouse_system::{Access, FileKind, FileResult, Operation};
use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn a_date_is_there_with_the_content(place: &Place) {
    let path = place.path("note");
    for date in [Millis(1_234_567_890_123), Millis(5)] {
        place
            .files
            .replace_dated(&path, b"x", Access::Private, date)
            .unwrap();
        let facts = place.files.metadata(&path).unwrap();
        assert_eq!(facts.modified, date);
        assert_eq!(facts.stamp.modified_ns, i128::from(date.0) * 1_000_000);
    }
    assert_eq!(place.names(), ["note"]);
}

pub(super) fn stamps_tell_states_apart(place: &Place) {
    let path = place.write("note", "one");
    let stamp = || place.files.metadata(&path).unwrap().stamp;
    let first = stamp();
    assert_eq!((first.len, stamp()), (3, first));
    place.write("note", "two");
    let second = stamp();
    assert_ne!(first, second);
    let mut log = place.files.append(&path, Access::Private).unwrap();
    log.append(b"!").unwrap();
    assert_ne!(second, stamp());
    assert_eq!(second.inode, stamp().inode);
}

pub(super) fn a_walk_finds_every_file_in_order(place: &Place) {
    for name in ["b/d/e", "a", "b/c", "b.md", "z/y"] {
        let parent = place.path(name).parent().unwrap().to_owned();
        place
            .files
            .create_dir_all(&parent, Access::Private)
            .unwrap();
        place.write(name, name);
    }
    let found = place.files.walk(&place.root, &|_| false).unwrap();
    let paths: Vec<_> = found
        .iter()
        .map(|file| file.path.to_str().unwrap())
        .collect();
    assert_eq!(paths, ["a", "b/c", "b/d/e", "b.md", "z/y"]);
    for file in &found {
        let facts = place.files.metadata(&place.root.join(&file.path)).unwrap();
        assert_eq!(file.stamp, facts.stamp);
    }
}

pub(super) fn a_walk_does_not_enter_what_is_skipped(place: &Place) {
    let inner = place.path("skipped/inner");
    place.files.create_dir_all(&inner, Access::Private).unwrap();
    for name in ["skipped/inner/a", "skipped/b", "kept", "other"] {
        place.write(name, "");
    }
    let asked = RefCell::new(Vec::new());
    let found = place
        .files
        .walk(&place.root, &|path| {
            asked.borrow_mut().push(path.to_owned());
            path == Path::new("skipped") || path == Path::new("other")
        })
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, Path::new("kept"));
    let mut asked = asked.into_inner();
    asked.sort();
    assert_eq!(asked, ["kept", "other", "skipped"].map(PathBuf::from));
}

pub(super) fn a_walk_of_nothing_is_an_error(place: &Place) {
    let missing = place.path("missing");
    let walked = place.files.walk(&missing, &|_| false);
    assert!(fails(walked, Operation::List, &missing).not_found());
    let file = place.write("file", "");
    let walked = place.files.walk(&file, &|_| false);
    assert!(fails(walked, Operation::List, &file).not_found());
    place.files.remove_file(&file).unwrap();
    assert_eq!(place.files.walk(&place.root, &|_| false).unwrap(), []);
}

pub(super) fn waiting_for_a_lock_ends(place: &Place) {
    let path = place.path("log");
    let most = Duration::from_millis(3);
    let first = place.files.lock_waiting(&path, most).unwrap().unwrap();
    assert_eq!(first.path(), path);
    assert!(place.files.lock_waiting(&path, most).unwrap().is_none());
    let none = Duration::ZERO;
    assert!(place.files.lock_waiting(&path, none).unwrap().is_none());
    drop(first);
    assert!(place.files.lock_waiting(&path, none).unwrap().is_some());
}

pub(super) fn files_beneath_a_directory_stay_there(place: &Place) {
    let outside = place.write("outside", "precious");
    let root = place.path("root");
    let missing = place.files.beneath(&root);
    assert!(fails(missing, Operation::Open, &root).not_found());
    place.files.create_dir_all(&root, Access::Private).unwrap();
    let files = place.files.beneath(&root).unwrap();
    let access = Access::Private;
    files.replace("note".as_ref(), b"x", access).unwrap();
    assert_eq!(place.text(&root.join("note")), "x");
    assert_eq!(
        files.real_path("./note".as_ref()).unwrap(),
        Path::new("note")
    );
    let ways_out = [
        "..",
        "../outside",
        "a/../../outside",
        "/outside",
        "/",
        "note/../..",
    ];
    for way in ways_out
        .map(Path::new)
        .into_iter()
        .chain([outside.as_path()])
    {
        if way == outside && way.is_relative() {
            continue;
        }
        let refused = |result: FileResult<()>| {
            let kind = result.unwrap_err().kind();
            assert_eq!(kind, ErrorKind::InvalidInput, "{}", way.display());
        };
        refused(files.read(way, 99).map(drop));
        refused(files.open(way).map(drop));
        refused(files.append(way, access).map(drop));
        refused(files.create_new(way, access).map(drop));
        refused(files.replace(way, b"!", access));
        refused(files.replace_dated(way, b"!", access, Millis(0)));
        refused(files.list(way).map(drop));
        refused(files.walk(way, &|_| false).map(drop));
        refused(files.metadata(way).map(drop));
        refused(files.real_path(way).map(drop));
        refused(files.create_dir_all(way, access));
        refused(files.remove_file(way));
        refused(files.remove_dir(way));
        refused(files.lock_exclusive(way).map(drop));
        refused(files.beneath(way).map(drop));
    }
    assert_eq!(place.text(&outside), "precious");
    assert_eq!(place.names(), ["outside", "root"]);
}

pub(super) fn files_beneath_files_beneath(place: &Place) {
    let inner = place.path("a/b");
    place.files.create_dir_all(&inner, Access::Private).unwrap();
    let outer = place.files.beneath(&place.root).unwrap();
    let files = outer.beneath("a".as_ref()).unwrap();
    files
        .replace("b/note".as_ref(), b"x", Access::Private)
        .unwrap();
    assert_eq!(outer.read("a/b/note".as_ref(), 9).unwrap(), "x");
    assert_eq!(files.list("".as_ref()).unwrap().len(), 1);
    let locked = files.lock_exclusive("".as_ref());
    assert!(fails(locked, Operation::Lock, "".as_ref()).is_directory());
    let kind = files.metadata("".as_ref()).unwrap().kind;
    assert_eq!(kind, FileKind::Directory);
    let out = files.read("../a/b/note".as_ref(), 9);
    assert_eq!(out.unwrap_err().kind(), ErrorKind::InvalidInput);
}
