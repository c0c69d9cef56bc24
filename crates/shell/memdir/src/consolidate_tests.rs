use super::*;
use crate::kit::{Kit, ROOT};
use dormouse_system::Files as _;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const AGE: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

fn lock(kit: &Kit) -> ConsolidationLock {
    kit.dir.consolidation_lock(AGE)
}

fn now(kit: &Kit) -> Millis {
    kit.machine.system().clock.now()
}

fn body(kit: &Kit) -> Option<String> {
    let body = kit.content(FILE)?;
    Some(String::from_utf8(body.into()).unwrap())
}

/// Puts a body there, as of now.
fn put(kit: &Kit, body: &str) {
    kit.put(FILE, body.as_bytes());
}

/// An idle lock of a consolidation just now; then a day passes.
fn consolidated(kit: &Kit) -> Millis {
    let at = now(kit);
    lock(kit).try_take().unwrap().succeed().unwrap();
    kit.machine.clock.advance(DAY);
    at
}

fn status(last: Option<Millis>, remark: Option<Remark>) -> LockStatus {
    LockStatus {
        last_consolidated: last,
        holder: None,
        remark,
    }
}

#[test]
fn no_file_means_never_and_success_dates_from_the_start() {
    let kit = Kit::new();
    let lock = lock(&kit);
    assert_eq!(lock.status().unwrap(), status(None, Some(Remark::NoFile)));
    let start = now(&kit);
    let taken = lock.try_take().unwrap();
    let first = body(&kit).unwrap();
    assert!(
        first.starts_with("4000 ") && first.ends_with(" -"),
        "{first}"
    );
    let held = lock.status().unwrap();
    assert_eq!(held.last_consolidated, None);
    assert_eq!(held.holder.unwrap().pid, 4000);
    kit.machine.clock.advance(Duration::from_mins(20));
    assert!(taken.still_mine().unwrap());
    taken.succeed().unwrap();
    assert_eq!(body(&kit).as_deref(), Some(""));
    assert_eq!(lock.status().unwrap(), status(Some(start), None));
}

#[test]
fn failure_restores_what_was() {
    let kit = Kit::new();
    let lock = lock(&kit);
    lock.try_take().unwrap().fail().unwrap();
    assert_eq!(lock.status().unwrap(), status(None, Some(Remark::NoFile)));
    let before = consolidated(&kit);
    drop(lock.try_take().unwrap());
    assert_eq!(lock.status().unwrap(), status(Some(before), None));
    assert_eq!(body(&kit).as_deref(), Some(""));
}

#[test]
fn a_second_taker_is_told_who_has_it() {
    let kit = Kit::new();
    let taken = lock(&kit).try_take().unwrap();
    kit.machine.processes.start(7);
    kit.machine.processes.become_process(7);
    match lock(&kit).try_take() {
        Err(TakeError::Held(holder)) => assert_eq!((holder.pid, holder.since), (4000, now(&kit))),
        other => panic!("{other:?}"),
    }
    drop(taken);
    lock(&kit).try_take().unwrap().succeed().unwrap();
}

#[test]
fn a_dead_holder_leaves_the_time_before_it() {
    let kit = Kit::new();
    let before = consolidated(&kit);
    kit.machine.processes.start(7);
    kit.machine.processes.become_process(7);
    std::mem::forget(lock(&kit).try_take().unwrap());
    kit.machine.processes.end(7);
    kit.machine.processes.become_process(4000);
    let expected = status(Some(before), Some(Remark::HolderGone(7)));
    assert_eq!(lock(&kit).status().unwrap(), expected);
    // The number is used again, by a process that does not dream.
    kit.machine.processes.start(7);
    assert_eq!(lock(&kit).status().unwrap(), expected);
    let taken = lock(&kit).try_take().unwrap();
    assert_eq!(taken.previous(), Some(before));
    taken.fail().unwrap();
    assert_eq!(lock(&kit).status().unwrap(), status(Some(before), None));
}

#[test]
fn a_lock_that_is_too_old_is_taken_over_and_the_late_holder_changes_nothing() {
    let kit = Kit::new();
    let before = consolidated(&kit);
    let late = lock(&kit).try_take().unwrap();
    kit.machine.clock.advance(AGE);
    let expected = status(Some(before), Some(Remark::TooOld(4000)));
    assert_eq!(lock(&kit).status().unwrap(), expected);
    let second = lock(&kit).try_take().unwrap();
    assert!(!late.still_mine().unwrap() && second.still_mine().unwrap());
    let at = now(&kit);
    assert!(matches!(late.succeed(), Err(ReleaseError::NotMine)));
    assert!(second.still_mine().unwrap());
    second.succeed().unwrap();
    assert_eq!(lock(&kit).status().unwrap(), status(Some(at), None));
}

#[test]
fn a_time_in_the_future_counts_as_never() {
    let kit = Kit::new();
    let at = consolidated(&kit);
    for (back, never) in [(5, false), (6, true)] {
        kit.machine.clock.set(Millis(at.0 - back * 60 * 1000));
        let expected = if never {
            status(None, Some(Remark::Future(at)))
        } else {
            status(Some(at), None)
        };
        assert_eq!(lock(&kit).status().unwrap(), expected);
    }
    // A dream that fails then leaves no trace of the wrong time.
    lock(&kit).try_take().unwrap().fail().unwrap();
    assert_eq!(
        lock(&kit).status().unwrap(),
        status(None, Some(Remark::NoFile))
    );
}

#[test]
fn a_clock_that_jumps_back_does_not_free_a_held_lock() {
    let kit = Kit::new();
    let taken = lock(&kit).try_take().unwrap();
    kit.machine.clock.set(Millis(now(&kit).0 - 86_400_000));
    assert!(matches!(lock(&kit).try_take(), Err(TakeError::Held(_))));
    assert!(taken.still_mine().unwrap());
}

#[test]
fn other_tools_write_only_a_number() {
    let kit = Kit::new();
    kit.machine.processes.start(9);
    put(&kit, "9");
    let at = now(&kit);
    let held = lock(&kit).status().unwrap();
    assert_eq!(
        held.holder.map(|holder| (holder.pid, holder.start)),
        Some((9, None))
    );
    assert!(matches!(lock(&kit).try_take(), Err(TakeError::Held(_))));
    kit.machine.processes.end(9);
    let expected = status(Some(at), Some(Remark::HolderGone(9)));
    assert_eq!(lock(&kit).status().unwrap(), expected);
    kit.machine.processes.start(9);
    kit.machine.clock.advance(AGE);
    let expected = status(Some(at), Some(Remark::TooOld(9)));
    assert_eq!(lock(&kit).status().unwrap(), expected);
    lock(&kit).try_take().unwrap().succeed().unwrap();
}

#[test]
fn garbage_holds_nothing() {
    let kit = Kit::new();
    let long = "x".repeat(10_000);
    for garbage in [
        "hello",
        "1 2",
        "-1 x 3",
        "4000 a b",
        "1 2 3 4",
        "99999999999 a 1",
        &long,
    ] {
        put(&kit, garbage);
        let at = now(&kit);
        let expected = status(Some(at), Some(Remark::Garbage));
        assert_eq!(lock(&kit).status().unwrap(), expected, "{garbage}");
        let taken = lock(&kit).try_take().unwrap();
        put(&kit, garbage);
        assert!(matches!(taken.succeed(), Err(ReleaseError::NotMine)));
        assert_eq!(body(&kit).as_deref(), Some(garbage));
    }
    put(&kit, " \n");
    assert_eq!(lock(&kit).status().unwrap(), status(Some(now(&kit)), None));
}

#[test]
fn the_time_is_right_from_the_moment_the_file_is_there() {
    let kit = Kit::new();
    let at = consolidated(&kit);
    let path = format!("{ROOT}/{FILE}");
    let modified = kit.machine.files.metadata(path.as_ref()).unwrap().modified;
    assert_eq!(modified, at);
}

/// Events of the test, in any order.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take(u32),
    Succeed(u32),
    Fail(u32),
    Kill(u32),
    Reborn(u32),
    Pass(u64),
    Back(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let pid = 1_u32..4;
    prop_oneof![
        4 => pid.clone().prop_map(Step::Take),
        2 => pid.clone().prop_map(Step::Succeed),
        1 => pid.clone().prop_map(Step::Fail),
        1 => pid.clone().prop_map(Step::Kill),
        1 => pid.prop_map(Step::Reborn),
        2 => prop_oneof![Just(1_u64), Just(30), Just(61)].prop_map(Step::Pass),
        1 => (1_i64..90).prop_map(Step::Back),
    ]
}

/// Expected state, kept in the simplest way.
#[derive(Default)]
struct Model {
    last: Option<Millis>,
    /// Process that holds it, and since when.
    held: Option<(u32, Millis)>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_one_holds_it_and_the_time_is_the_last_success(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let kit = Kit::new();
        let mut model = Model::default();
        let mut hands: std::collections::BTreeMap<u32, Taken> = std::collections::BTreeMap::new();
        for pid in 1..4 {
            kit.machine.processes.start(pid);
        }
        for step in steps {
            let at = now(&kit);
            match step {
                Step::Take(pid) => {
                    if kit.machine.system().processes.start_of(pid).is_none() {
                        continue;
                    }
                    kit.machine.processes.become_process(pid);
                    let free = model.held.is_none_or(|(_, since)| {
                        u128::from(at.since(since)) >= AGE.as_millis()
                    });
                    let result = lock(&kit).try_take();
                    prop_assert_eq!(result.is_ok(), free, "{:?}", result);
                    if let Ok(taken) = result {
                        // A process that took it in the same millisecond of a clock that was set
                        // back is the same holder: the file names process and time.
                        match hands.insert(pid, taken) {
                            Some(late) if late.since() == at => std::mem::forget(late),
                            Some(late) => {
                                prop_assert!(late.fail().is_err(), "a late holder let go");
                            }
                            None => {}
                        }
                        let future = |last: &Millis| last.0 > at.0 + FUTURE;
                        model.last = model.last.filter(|last| !future(last));
                        model.held = Some((pid, at));
                    }
                }
                Step::Succeed(pid) | Step::Fail(pid) => {
                    let Some(taken) = hands.remove(&pid) else { continue };
                    kit.machine.processes.become_process(pid);
                    let mine = model.held == Some((pid, taken.since()));
                    prop_assert_eq!(taken.still_mine().unwrap(), mine);
                    let since = taken.since();
                    let succeeds = matches!(step, Step::Succeed(_));
                    let result = if succeeds { taken.succeed() } else { taken.fail() };
                    prop_assert_eq!(result.is_ok(), mine);
                    if mine {
                        model.held = None;
                        if succeeds {
                            model.last = Some(since);
                        }
                    }
                }
                Step::Kill(pid) | Step::Reborn(pid) => {
                    kit.machine.processes.end(pid);
                    if let Some(taken) = hands.remove(&pid) {
                        std::mem::forget(taken);
                    }
                    if model.held.is_some_and(|(holder, _)| holder == pid) {
                        model.held = None;
                    }
                    if matches!(step, Step::Reborn(_)) {
                        kit.machine.processes.start(pid);
                    }
                }
                Step::Pass(minutes) => kit.machine.clock.advance(Duration::from_mins(minutes)),
                Step::Back(minutes) => kit.machine.clock.set(Millis(at.0 - minutes * 60_000)),
            }
            let at = now(&kit);
            let found = lock(&kit).status().unwrap();
            let held = model.held.filter(|(_, since)| {
                u128::from(at.since(*since)) < AGE.as_millis()
            });
            prop_assert_eq!(found.holder.map(|holder| (holder.pid, holder.since)), held);
            let last = model.last.filter(|last| last.0 <= at.0 + FUTURE);
            prop_assert_eq!(found.last_consolidated, last);
        }
        for (pid, taken) in hands {
            kit.machine.processes.become_process(pid);
            drop(taken);
        }
    }
}
