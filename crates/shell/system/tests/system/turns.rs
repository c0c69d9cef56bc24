//! Callers that wait for a lock get it in turn.

use dormouse_system::{Access, Files, RealFiles, lock_path};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const WRITERS: usize = 50;
const ROUNDS: usize = 8;

/// Waits of all writers, sorted, each as the number of other writers that were served meanwhile.
fn waits(files: &dyn Files, folder: &std::path::Path) -> Vec<usize> {
    let served = AtomicUsize::new(0);
    let write = || {
        let mut waits = Vec::new();
        for round in 0..ROUNDS {
            let asked = served.load(Ordering::SeqCst);
            let guard = files.lock_waiting(&folder.join("write"), Duration::from_mins(1));
            let guard = guard.unwrap().expect("a turn within a minute");
            waits.push(served.fetch_add(1, Ordering::SeqCst) - asked);
            // A write as the holder of such a lock makes it.
            let path = folder.join("data");
            files
                .replace(&path, round.to_string().as_bytes(), Access::Private)
                .unwrap();
            drop(guard);
        }
        waits
    };
    let mut all: Vec<usize> = std::thread::scope(|threads| {
        let writers: Vec<_> = (0..WRITERS).map(|_| threads.spawn(write)).collect();
        let waits = writers.into_iter().map(|writer| writer.join().unwrap());
        waits.flatten().collect()
    });
    all.sort_unstable();
    all
}

#[test]
fn of_fifty_writers_none_waits_much_longer_than_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let beneath = RealFiles.beneath(folder.path()).unwrap();
    let (everywhere, below): (&dyn Files, &dyn Files) = (&RealFiles, &*beneath);
    for (files, path) in [(everywhere, folder.path()), (below, "".as_ref())] {
        let waits = waits(files, path);
        let (middle, most) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
        println!(
            "turns waited: p50 {middle}, p99 {most}, longest {:?}",
            waits.last()
        );
        assert!(most <= 10 * middle.max(1), "p50 {middle}, p99 {most}");
        // In turn: about once around the others.
        assert!(waits.last().unwrap() <= &(3 * WRITERS), "{waits:?}");
    }
    // No ticket is left behind.
    let names: Vec<_> = RealFiles.list(folder.path()).unwrap();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_ticket_whose_holder_died_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("write");
    let held = RealFiles.lock_exclusive(&path).unwrap().unwrap();
    for number in [3, 7] {
        let ticket = format!("{}.{number}", lock_path(&path).display());
        drop(
            RealFiles
                .create_new(ticket.as_ref(), Access::Private)
                .unwrap(),
        );
    }
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| RealFiles.lock_waiting(&path, Duration::from_mins(1)));
        drop(held);
        assert!(waiting.join().unwrap().unwrap().is_some());
    });
    assert_eq!(RealFiles.list(folder.path()).unwrap().len(), 1);
}

#[test]
fn a_caller_that_gives_up_leaves_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("write");
    let _held = RealFiles.lock_exclusive(&path).unwrap().unwrap();
    let waited = RealFiles.lock_waiting(&path, Duration::from_millis(3));
    assert!(waited.unwrap().is_none());
    assert_eq!(RealFiles.list(folder.path()).unwrap().len(), 1);
}
