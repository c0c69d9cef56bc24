//! Many processes want to dream.

use crate::kit::{again, all_end_well, lines_of, open, told};
use dormouse_memdir::{Remark, TakeError};
use dormouse_system::{Access, Files as _, OptionalFile as _, RealFiles, System};
use pretty_assertions::assert_eq;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

const CONTENDERS: usize = 64;
const ROUNDS: usize = 200;
const AGE: Duration = Duration::from_hours(1);

fn counter(path: &Path) -> usize {
    let text = RealFiles.read(path, 100).optional().unwrap();
    text.map_or(0, |text| {
        std::str::from_utf8(&text).unwrap().parse().unwrap()
    })
}

fn note(path: &Path, line: &str) {
    let mut log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    log.write_all(line.as_bytes()).unwrap();
}

/// Takes the lock again and again until all rounds are over; does nothing unless told where.
#[test]
fn one_of_many_contenders() {
    let Some(root) = told("ROOT") else {
        return;
    };
    let system = System::real();
    let root = Path::new(&root);
    let lock = open(&system, &root.join("memory")).consolidation_lock(AGE);
    let (log, rounds) = (root.join("log"), root.join("rounds"));
    let pid = std::process::id();
    while counter(&rounds) < ROUNDS {
        match lock.try_take() {
            Ok(taken) => {
                note(&log, &format!("enter {pid}\n"));
                let round = counter(&rounds);
                if round < ROUNDS {
                    let next = (round + 1).to_string();
                    RealFiles
                        .replace(&rounds, next.as_bytes(), Access::Private)
                        .unwrap();
                }
                assert!(taken.still_mine().unwrap());
                note(&log, &format!("leave {pid}\n"));
                if round.is_multiple_of(2) {
                    taken.succeed()
                } else {
                    taken.fail()
                }
                .unwrap();
            }
            Err(TakeError::Held(_)) => std::thread::yield_now(),
            Err(TakeError::Memdir(error)) => panic!("{error:?}"),
        }
    }
}

#[test]
fn of_sixty_four_processes_one_holds_the_lock_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let start = |_| {
        again("contenders::one_of_many_contenders")
            .env("DORMOUSE_TEST_ROOT", folder.path())
            .spawn()
            .unwrap()
    };
    all_end_well((0..CONTENDERS).map(start).collect());
    assert_eq!(counter(&folder.path().join("rounds")), ROUNDS);
    let log = RealFiles.read(&folder.path().join("log"), 1 << 20).unwrap();
    let log = std::str::from_utf8(&log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let mut holders = std::collections::BTreeSet::new();
    for pair in lines.chunks(2) {
        let pid = pair[0].strip_prefix("enter ").expect("it was held twice");
        assert_eq!(
            pair.get(1),
            Some(&&*format!("leave {pid}")),
            "it was held twice"
        );
        holders.insert(pid);
    }
    assert!(lines.len() >= 2 * ROUNDS);
    assert!(holders.len() > 1, "there was no contest");
}

/// Takes the lock and waits to be killed; does nothing unless told where.
#[test]
fn the_holder_that_is_killed() {
    let Some(root) = told("HOLD_IN") else {
        return;
    };
    let lock = open(&System::real(), root.as_ref()).consolidation_lock(AGE);
    let _taken = lock.try_take().unwrap();
    println!("\nheld");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_holder_that_is_killed_leaves_no_trace_but_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let lock = open(&System::real(), folder.path()).consolidation_lock(AGE);
    lock.try_take().unwrap().succeed().unwrap();
    let before = lock.status().unwrap().last_consolidated;
    assert!(before.is_some());
    let mut child = again("contenders::the_holder_that_is_killed")
        .env("DORMOUSE_TEST_HOLD_IN", folder.path())
        .spawn()
        .unwrap();
    assert!(lines_of(&mut child).any(|line| line == "held"));
    let pid = child.id();
    assert!(matches!(lock.try_take(), Err(TakeError::Held(holder)) if holder.pid == pid));
    assert_eq!(lock.status().unwrap().last_consolidated, before);
    child.kill().unwrap();
    child.wait().unwrap();
    let status = lock.status().unwrap();
    assert_eq!(status.remark, Some(Remark::HolderGone(pid)));
    assert_eq!(status.last_consolidated, before);
    let taken = lock.try_take().unwrap();
    assert_eq!(taken.previous(), before);
    taken.fail().unwrap();
    assert_eq!(lock.status().unwrap().last_consolidated, before);
}
