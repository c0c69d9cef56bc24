//! Everything a disk in memory can be told to do wrong.

use dormouse_system::{
    Access, Fault, FileResult, Files as _, MemoryFiles, Operation, Performed, Survives, System,
};
use std::io::ErrorKind;
use std::path::Path;

const LOG: &str = "/s/log";

fn disk() -> MemoryFiles {
    let files = MemoryFiles::default();
    files.put(LOG, "");
    files
}

fn append(files: &MemoryFiles, text: &str) -> FileResult<()> {
    files
        .append(LOG.as_ref(), Access::Private)?
        .append(text.as_bytes())
}

fn count(files: &MemoryFiles, operation: Operation) -> usize {
    files
        .performed()
        .iter()
        .filter(|performed| performed.operation == operation)
        .count()
}

#[test]
fn an_append_is_one_write_call() {
    let files = disk();
    append(&files, &"x".repeat(100_000)).unwrap();
    assert_eq!(count(&files, Operation::Write), 1);
}

#[test]
fn the_operations_of_a_replacement_come_in_the_order_that_makes_it_atomic() {
    let files = disk();
    files.replace(LOG.as_ref(), b"x", Access::Private).unwrap();
    let step = |operation, path: &str| Performed {
        operation,
        path: path.into(),
    };
    assert_eq!(
        files.performed(),
        [
            step(Operation::CreateFile, LOG),
            step(Operation::Write, LOG),
            step(Operation::SyncData, LOG),
            step(Operation::Rename, LOG),
            step(Operation::SyncDir, "/s"),
        ]
    );
}

#[test]
fn a_short_write_is_completed() {
    let files = disk();
    files.inject(Fault::short_write(3).at(LOG));
    append(&files, "abcdef").unwrap();
    assert_eq!(files.content(LOG).unwrap(), "abcdef");
    assert_eq!(count(&files, Operation::Write), 2);
    assert_eq!(files.waiting_faults(), []);
}

#[test]
fn a_write_that_takes_nothing_is_an_error_not_a_loop() {
    let files = disk();
    files.inject(Fault::short_write(0).lasting());
    assert_eq!(
        append(&files, "abc").unwrap_err().kind(),
        ErrorKind::WriteZero
    );
}

#[test]
fn an_interrupted_write_is_repeated() {
    let files = disk();
    files.inject(Fault::fail(ErrorKind::Interrupted).on(Operation::Write));
    append(&files, "abc").unwrap();
    assert_eq!(files.content(LOG).unwrap(), "abc");
}

#[test]
fn the_nth_operation_fails_and_the_next_succeeds() {
    let files = disk();
    files.inject(
        Fault::fail(ErrorKind::PermissionDenied)
            .on(Operation::Write)
            .at(LOG)
            .nth(2),
    );
    append(&files, "1").unwrap();
    let error = append(&files, "2").unwrap_err();
    assert!(error.permission_denied());
    assert_eq!(
        (error.operation, error.path.as_path()),
        (Operation::Write, Path::new(LOG))
    );
    append(&files, "3").unwrap();
    assert_eq!(files.content(LOG).unwrap(), "13");
}

#[test]
fn faults_strike_one_after_another_in_the_order_given() {
    let files = disk();
    files.inject(Fault::fail(ErrorKind::TimedOut).on(Operation::Write));
    files.inject(Fault::fail(ErrorKind::StorageFull).on(Operation::Write));
    assert_eq!(append(&files, "1").unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(
        append(&files, "2").unwrap_err().kind(),
        ErrorKind::StorageFull
    );
    append(&files, "3").unwrap();
}

#[test]
fn a_fault_at_a_directory_concerns_what_lies_below_and_nothing_else() {
    let files = disk();
    files.put("/other", "fine");
    files.put("/sibling-of-s", "fine");
    files.inject(Fault::fail(ErrorKind::PermissionDenied).at("/s").lasting());
    assert!(files.read(LOG.as_ref(), 9).unwrap_err().permission_denied());
    assert!(files.list("/s".as_ref()).unwrap_err().permission_denied());
    assert!(files.read(LOG.as_ref(), 9).unwrap_err().permission_denied());
    assert!(files.read("/other".as_ref(), 9).is_ok());
    assert!(files.read("/sibling-of-s".as_ref(), 9).is_ok());
    files.clear_faults();
    assert!(files.read(LOG.as_ref(), 9).is_ok());
}

#[test]
fn faults_that_never_struck_can_be_seen() {
    let files = disk();
    let fault = Fault::fail(ErrorKind::NotFound)
        .on(Operation::Lock)
        .lasting();
    files.inject(fault.clone());
    append(&files, "x").unwrap();
    assert_eq!(files.waiting_faults(), [fault]);
    files.lock_exclusive(LOG.as_ref()).unwrap_err();
    assert_eq!(files.waiting_faults(), []);
}

/// Every operation of the port can be made to fail, and says which one it was.
#[test]
fn every_operation_can_fail() {
    type Attempt = fn(&MemoryFiles) -> FileResult<()>;
    let cases: [(Operation, Attempt); 14] = [
        (Operation::Read, |files| {
            files.read(LOG.as_ref(), 9).map(drop)
        }),
        (Operation::Open, |files| files.open(LOG.as_ref()).map(drop)),
        (Operation::ReadAt, |files| {
            files.open(LOG.as_ref())?.read_range(0, 1).map(drop)
        }),
        (Operation::Metadata, |files| {
            files.metadata(LOG.as_ref()).map(drop)
        }),
        (Operation::List, |files| files.list("/s".as_ref()).map(drop)),
        (Operation::CreateDir, |files| {
            files.create_dir_all("/d/e".as_ref(), Access::Private)
        }),
        (Operation::CreateFile, |files| {
            files
                .create_new("/s/new".as_ref(), Access::Private)
                .map(drop)
        }),
        (Operation::OpenAppend, |files| {
            files.append(LOG.as_ref(), Access::Private).map(drop)
        }),
        (Operation::Write, |files| append(files, "x")),
        (Operation::SyncData, |files| {
            files.append(LOG.as_ref(), Access::Private)?.sync_data()
        }),
        (Operation::Rename, |files| {
            files.replace(LOG.as_ref(), b"x", Access::Private)
        }),
        (Operation::SyncDir, |files| {
            files.replace(LOG.as_ref(), b"x", Access::Private)
        }),
        (Operation::Remove, |files| files.remove_file(LOG.as_ref())),
        (Operation::Lock, |files| {
            files.lock_exclusive(LOG.as_ref()).map(drop)
        }),
    ];
    for (operation, attempt) in cases {
        let files = disk();
        files.inject(Fault::fail(ErrorKind::ResourceBusy).on(operation));
        let error = attempt(&files).unwrap_err();
        assert_eq!(
            (error.operation, error.kind()),
            (operation, ErrorKind::ResourceBusy)
        );
        assert_eq!(files.waiting_faults(), []);
        attempt(&files).unwrap();
    }
}

#[test]
fn a_replacement_that_fails_leaves_the_old_content_and_no_rubbish() {
    for operation in [
        Operation::CreateFile,
        Operation::Write,
        Operation::SyncData,
        Operation::Rename,
    ] {
        let files = disk();
        files.put(LOG, "old");
        files.inject(Fault::fail(ErrorKind::ResourceBusy).on(operation));
        files
            .replace(LOG.as_ref(), b"new", Access::Private)
            .unwrap_err();
        assert_eq!(files.content(LOG).unwrap(), "old");
        assert_eq!(files.list("/s".as_ref()).unwrap().len(), 1, "{operation:?}");
    }
}

#[test]
fn a_full_disk_takes_what_fits_and_then_refuses() {
    let files = disk();
    files.set_free_space(Some(4));
    append(&files, "abc").unwrap();
    assert!(append(&files, "def").unwrap_err().storage_full());
    assert_eq!(files.content(LOG).unwrap(), "abcd");
    assert!(append(&files, "g").unwrap_err().storage_full());

    files.remove_file(LOG.as_ref()).unwrap();
    append(&files, "wxyz").unwrap();
    assert!(append(&files, "!").unwrap_err().storage_full());
    files.set_free_space(None);
    append(&files, "!").unwrap();
}

#[test]
fn a_replacement_needs_room_for_both_and_gives_back_the_old() {
    let files = disk();
    files.put(LOG, "12345");
    files.set_free_space(Some(4));
    assert!(
        files
            .replace(LOG.as_ref(), b"67890", Access::Private)
            .unwrap_err()
            .storage_full()
    );
    assert_eq!(files.content(LOG).unwrap(), "12345");
    files
        .replace(LOG.as_ref(), b"6789", Access::Private)
        .unwrap();
    // Four bytes taken, five given back.
    append(&files, "abcde").unwrap();
    assert!(append(&files, "f").unwrap_err().storage_full());
}

#[test]
fn a_torn_write_brings_the_machine_down_until_it_is_started_again() {
    let files = disk();
    files.inject(Fault::torn_write(2).nth(2));
    append(&files, "whole ").unwrap();
    append(&files, "torn").unwrap_err();
    assert!(files.is_down());
    files.read(LOG.as_ref(), 99).unwrap_err();
    files.crash_with(Survives::Written);
    assert!(!files.is_down());
    assert_eq!(files.read(LOG.as_ref(), 99).unwrap(), "whole to");
}

#[test]
fn the_bundle_in_memory_is_usable_without_levers() {
    let system = System::memory();
    let home = system.env.home_dir().unwrap();
    system.files.create_dir_all(&home, Access::Private).unwrap();
    assert!(system.files.list(&home).unwrap().is_empty());
    assert_eq!(system.clock.now(), system.clock.now());
}
