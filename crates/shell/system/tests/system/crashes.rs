//! State after a crash, call by call, as the documentation of the port promises.

use dormouse_system::{Access, Fault, FileResult, Files as _, MemoryFiles, Survives, is_temporary};
use std::path::Path;

const LOG: &str = "/s/log";

fn disk() -> MemoryFiles {
    let files = MemoryFiles::default();
    files
        .create_dir_all("/s".as_ref(), Access::Private)
        .unwrap();
    files
}

fn replace(files: &MemoryFiles, content: &str) -> FileResult<()> {
    files.replace(LOG.as_ref(), content.as_bytes(), Access::Private)
}

/// A log with `synced` on disk and `more` only written.
fn log_with(synced: &str, more: &str) -> MemoryFiles {
    let files = disk();
    let mut log = files.append(LOG.as_ref(), Access::Private).unwrap();
    log.append(synced.as_bytes()).unwrap();
    log.sync_data().unwrap();
    log.append(more.as_bytes()).unwrap();
    files
}

#[test]
fn only_synced_bytes_survive_a_power_cut() {
    let files = log_with("kept\n", "lost\n");
    files.crash();
    assert_eq!(files.content(LOG).unwrap(), "kept\n");
    // The content at this point is on disk for good.
    files.crash();
    assert_eq!(files.content(LOG).unwrap(), "kept\n");
}

#[test]
fn everything_written_survives_a_killed_process_but_not_the_next_power_cut() {
    let files = log_with("kept\n", "more\n");
    files.crash_with(Survives::Written);
    assert_eq!(files.content(LOG).unwrap(), "kept\nmore\n");
    files.crash();
    assert_eq!(files.content(LOG).unwrap(), "kept\n");
}

#[test]
fn a_power_cut_can_leave_a_torn_tail() {
    let files = log_with("kept\n", "more\n");
    files.crash_with(Survives::SyncedAnd(2));
    assert_eq!(files.content(LOG).unwrap(), "kept\nmo");
    let files = log_with("kept\n", "more\n");
    files.crash_with(Survives::SyncedAnd(999));
    assert_eq!(files.content(LOG).unwrap(), "kept\nmore\n");
}

#[test]
fn a_created_file_and_its_directory_are_there_afterwards_if_empty() {
    let files = disk();
    files
        .create_dir_all("/a/b".as_ref(), Access::Private)
        .unwrap();
    let mut created = files
        .create_new("/a/b/created".as_ref(), Access::Private)
        .unwrap();
    created.append(b"not synced").unwrap();
    files.crash();
    assert_eq!(files.content("/a/b/created").unwrap(), "");
}

#[test]
fn a_removed_file_may_come_back() {
    let files = log_with("kept", "");
    files.remove_file(LOG.as_ref()).unwrap();
    files.crash();
    assert_eq!(files.content(LOG).unwrap(), "kept");

    // Unless its directory was synced afterwards, here by making another file.
    files.remove_file(LOG.as_ref()).unwrap();
    drop(
        files
            .create_new("/s/other".as_ref(), Access::Private)
            .unwrap(),
    );
    files.crash();
    assert_eq!(files.content(LOG), None);
}

#[test]
fn handles_and_locks_of_the_dead_process_are_dead() {
    let files = disk();
    let mut log = files.append(LOG.as_ref(), Access::Private).unwrap();
    let reader = files.open(LOG.as_ref()).unwrap();
    let old = files.lock_exclusive(LOG.as_ref()).unwrap().unwrap();
    files.crash_with(Survives::Written);

    log.append(b"ghost").unwrap_err();
    log.sync_data().unwrap_err();
    log.len().unwrap_err();
    reader.read_range(0, 1).unwrap_err();
    let new = files.lock_exclusive(LOG.as_ref()).unwrap();
    assert!(new.is_some());
    // A guard from before must not release the lock that was taken since.
    drop(old);
    assert!(files.lock_exclusive(LOG.as_ref()).unwrap().is_none());
    assert_eq!(files.content(LOG).unwrap(), "");
}

#[test]
fn the_machine_goes_down_after_a_number_of_bytes_over_all_files() {
    let files = disk();
    files.go_down_after(5);
    let mut log = files.append(LOG.as_ref(), Access::Private).unwrap();
    let mut other = files.append("/s/other".as_ref(), Access::Private).unwrap();
    log.append(b"abc").unwrap();
    other.append(b"de").unwrap();
    assert!(!files.is_down());
    log.append(b"f").unwrap_err();
    assert!(files.is_down());
    files.crash_with(Survives::Written);
    assert_eq!(files.content(LOG).unwrap(), "abc");
    assert_eq!(files.content("/s/other").unwrap(), "de");
    files
        .append(LOG.as_ref(), Access::Private)
        .unwrap()
        .append(b"running again")
        .unwrap();
}

/// The machine stops at every operation in turn and after every byte: a replacement shows the old
/// or the new content, and what else lies around is recognisably temporary.
#[test]
fn a_replacement_is_old_or_new_wherever_the_crash_comes() {
    let old = "old content";
    let new = "the new content";
    let mut crashes: Vec<Fault> = (1..=5).map(|n| Fault::go_down().nth(n)).collect();
    crashes.extend((0..=new.len()).map(Fault::torn_write));
    for fault in crashes {
        for survives in [Survives::Written, Survives::Synced, Survives::SyncedAnd(3)] {
            let files = disk();
            replace(&files, old).unwrap();
            files.inject(fault.clone());
            replace(&files, new).unwrap_err();
            assert_eq!(files.waiting_faults(), []);
            files.crash_with(survives);

            let content = files.content(LOG).unwrap();
            assert!(
                content == old || content == new,
                "{content:?} after {fault:?}"
            );
            for entry in files.list("/s".as_ref()).unwrap() {
                assert!(
                    entry.name == "log" || is_temporary(&entry.name),
                    "{:?}",
                    entry.name
                );
            }
            replace(&files, "works again").unwrap();
            assert_eq!(files.content(LOG).unwrap(), "works again");
        }
    }
}

#[test]
fn a_finished_replacement_survives_every_crash() {
    for survives in [Survives::Written, Survives::Synced, Survives::SyncedAnd(3)] {
        let files = disk();
        replace(&files, "old").unwrap();
        replace(&files, "new").unwrap();
        files.crash_with(survives);
        assert_eq!(files.content(LOG).unwrap(), "new");
        assert_eq!(files.list(Path::new("/s")).unwrap().len(), 1);
    }
}

#[test]
fn a_directory_whose_entry_was_not_synced_takes_its_files_with_it() {
    let files = disk();
    files.inject(
        Fault::fail(std::io::ErrorKind::ResourceBusy).on(dormouse_system::Operation::SyncDir),
    );
    files
        .create_dir_all("/s/sub".as_ref(), Access::Private)
        .unwrap_err();
    files
        .replace("/s/sub/file".as_ref(), b"x", Access::Private)
        .unwrap();
    files.crash();
    assert!(files.metadata("/s/sub".as_ref()).unwrap_err().not_found());
    assert!(
        files
            .metadata("/s/sub/file".as_ref())
            .unwrap_err()
            .not_found()
    );
}
