//! Dreams that are killed, time out, crash, or whose model fails.

use crate::dream::{dream, kit, left_behind, merge, staged, tests, whole, writes};
use crate::faults::{faults, then_all};
use crate::kit::{Kit, calls, open, used};
use dormouse_core::units::Millis;
use dormouse_keeper::dreaming::{DreamError, DreamWish};
use dormouse_keeper::extraction::By;
use dormouse_memory::dream::Ending;
use dormouse_system::{Clock as _, Fault, MemorySystem, Survives};
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::task::Poll;
use std::time::Duration;

/// A directory with something that rules can tidy.
fn untidy() -> Kit {
    let kit = kit();
    kit.remember("again.md", &tests());
    kit
}

#[tokio::test]
async fn when_the_model_fails_the_rules_dream() {
    for (name, answers) in faults() {
        let kit = untidy();
        let answers = answers.into_iter().map(|answer| answer.using(used(10)));
        kit.side.plays(then_all(Script::new(), answers));
        let (dreamt, task) = dream(&kit, DreamWish::default()).await;
        kit.side.finish();
        let dreamt = dreamt.unwrap();
        let By::Rules(why) = &dreamt.by else {
            panic!("{name}: {dreamt:?}");
        };
        assert!(why.starts_with("the model failed: "), "{name}: {why}");
        assert!(dreamt.entry.is_some(), "{name}");
        let topics = [kit.text("memory/again.md"), kit.text("memory/tests.md")];
        assert_eq!(topics.iter().filter(|text| !text.is_empty()).count(), 1);
        assert_eq!(task.ending, Some(Ending::Completed), "{name}");
        assert_eq!(left_behind(&kit), 0, "{name}");
        assert_eq!(whole(&kit).2, kit.clock.now());
    }
}

#[tokio::test]
async fn what_a_model_did_before_it_failed_is_not_taken() {
    let kit = kit();
    let before = kit.memories();
    let (_, fault) = faults().remove(0);
    let script = Script::new().then(staged(&kit, &merge()));
    kit.side.plays(then_all(script, fault));
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    assert!(matches!(dreamt.unwrap().by, By::Rules(_)));
    assert_eq!(kit.memories()["tests.md"], before["tests.md"]);
    assert_eq!(kit.memories()["mocks.md"], before["mocks.md"]);
}

#[tokio::test]
async fn a_model_that_never_ends_is_ended_and_the_budget_ends_it_too() {
    let kit = untidy();
    let look = || calls(&[("Glob", json!({"pattern": "*.md"}))]);
    let script = (0..60).fold(Script::new(), |script, _| script.then(look()));
    kit.side.plays(script);
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    kit.side.finish();
    assert!(matches!(dreamt.unwrap().by, By::Rules(_)));

    let kit = untidy();
    kit.side
        .plays(Script::new().then(look().using(used(1_000_000))));
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    let By::Rules(why) = dreamt.unwrap().by else {
        panic!("the budget was spent");
    };
    assert!(why.contains("budget.background_day"), "{why}");
    // From then on no model is asked at all.
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    assert!(matches!(dreamt.unwrap().by, By::Rules(why) if why.contains("budget")));
}

#[tokio::test]
async fn a_dream_without_a_model_can_be_wished_for() {
    let kit = untidy();
    let wish = DreamWish {
        without_model: true,
        ..DreamWish::default()
    };
    let (dreamt, _) = dream(&kit, wish).await;
    assert_eq!(
        dreamt.unwrap().by,
        By::Rules("no model was wanted".to_owned())
    );
    assert_eq!(kit.side.asked().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_dream_that_takes_too_long_is_ended_and_the_lock_is_as_before() {
    let kit = kit();
    let before = whole(&kit);
    kit.side.plays(Script::new().then(Answer::Silence));
    let began = tokio::time::Instant::now();
    let (dreamt, task) = dream(&kit, DreamWish::default()).await;
    assert!(matches!(dreamt, Err(DreamError::TooLong(50))), "{dreamt:?}");
    assert_eq!(began.elapsed(), Duration::from_mins(50));
    assert_eq!(whole(&kit), before);
    assert_eq!(left_behind(&kit), 0);
    assert!(matches!(task.ending, Some(Ending::Failed(_))));
}

/// Polls a dream so many times and drops it then; returns true if it ended by itself.
async fn killed_after(kit: &Kit, polls: usize) -> bool {
    let task = kit.keeper.dream_task();
    let mut dream = Box::pin(kit.keeper.dream(DreamWish::default(), task.clone()));
    let mut count = 0;
    let ended = std::future::poll_fn(|context| {
        if count == polls {
            return Poll::Ready(false);
        }
        count += 1;
        let polled = dream.as_mut().poll(context);
        if polled.is_ready() {
            return Poll::Ready(true);
        }
        if count == polls {
            return Poll::Ready(false);
        }
        Poll::Pending
    })
    .await;
    drop(dream);
    let ending = task.lock().unwrap().ending.clone();
    // A future that was never polled was never begun.
    let killed = (polls > 0).then_some(Ending::Killed);
    assert_eq!(
        ending,
        if ended {
            Some(Ending::Completed)
        } else {
            killed
        }
    );
    ended
}

#[tokio::test]
async fn a_dream_can_be_killed_at_any_moment() {
    let mut kills = 0;
    for polls in 0.. {
        let kit = kit();
        let before = whole(&kit);
        kit.side.plays(
            Script::new()
                .then(calls(&[("Glob", json!({"pattern": "*.md"}))]).using(used(10)))
                .then(staged(&kit, &merge()))
                .then(Answer::text("Good night.")),
        );
        if killed_after(&kit, polls).await {
            break;
        }
        kills += 1;
        assert_eq!(whole(&kit), before, "killed after {polls}");
        // The next one gets the lock and finds no copy of the one before.
        kit.side
            .plays(Script::new().then(Answer::text("Good night.")));
        let (dreamt, _) = dream(&kit, DreamWish::default()).await;
        dreamt.unwrap();
        assert_eq!(left_behind(&kit), 0, "killed after {polls}");
    }
    assert!(kills > 3, "{kills}");
}

#[tokio::test]
async fn what_an_earlier_dream_left_behind_is_removed_and_no_link_is_followed() {
    let kit = kit();
    kit.put(
        "memory/.journal/staging/old/logs/2026/x.md",
        "Left behind.\n",
    );
    kit.put("precious/file.txt", "Precious.\n");
    let link = kit.path("memory/.journal/staging/link");
    std::os::unix::fs::symlink(kit.path("precious"), link).unwrap();
    kit.side.plays(writes(&kit, &merge()));
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    dreamt.unwrap();
    let old = kit.text("memory/.journal/staging/old/logs/2026/x.md");
    assert_eq!(old, "");
    assert_eq!(kit.text("precious/file.txt"), "Precious.\n");

    let kit = self::kit();
    kit.put("precious/deep/file.txt", "Precious.\n");
    kit.put("memory/.journal/x", "");
    let staging = kit.path("memory/.journal/staging");
    std::os::unix::fs::symlink(kit.path("precious"), staging).unwrap();
    let before = whole(&kit);
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    assert!(matches!(dreamt, Err(DreamError::Staging(_))), "{dreamt:?}");
    assert_eq!(whole(&kit), before);
    assert_eq!(kit.text("precious/deep/file.txt"), "Precious.\n");
}

#[tokio::test]
async fn while_somebody_else_dreams_there_is_no_dream() {
    let kit = kit();
    let age = Duration::from_hours(1);
    let held = kit
        .keeper
        .memory
        .consolidation_lock(age)
        .try_take()
        .unwrap();
    let before = whole(&kit);
    let (dreamt, task) = dream(&kit, DreamWish::default()).await;
    assert!(matches!(dreamt, Err(DreamError::Lock(_))), "{dreamt:?}");
    assert!(matches!(task.ending, Some(Ending::Failed(_))));
    assert_eq!(whole(&kit), before);
    held.succeed().unwrap();
}

#[tokio::test]
async fn a_dream_whose_lock_was_taken_over_changes_nothing() {
    let kit = kit();
    let before = kit.memories();
    let lock = kit.path("memory/.consolidate-lock");
    kit.side
        .plays(Script::new().then(staged(&kit, &merge())).on(
            dormouse_testkit_model::Expect::that("somebody takes the lock", move |_| {
                let private = dormouse_system::Access::Private;
                dormouse_system::Files::replace(
                    &dormouse_system::RealFiles,
                    &lock,
                    b"1 0 -",
                    private,
                )
                .is_ok()
            }),
            Answer::text("Good night."),
        ));
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    assert!(matches!(dreamt, Err(DreamError::Lost(_))), "{dreamt:?}");
    assert_eq!(kit.memories(), before);
    assert_eq!(kit.text("memory/.consolidate-lock"), "1 0 -");
}

/// A keeper on a disk in memory, with something that rules can tidy.
fn on_a_disk_in_memory() -> (MemorySystem, Kit) {
    let machine = MemorySystem::new();
    let root = Path::new("/home/dormouse/memory");
    machine.files.put(root.join("tests.md"), tests());
    machine.files.put(root.join("again.md"), tests());
    let system = machine.system();
    let kit = Kit::with(|keeper| {
        keeper.model = None;
        keeper.memory = open(&system, root);
        keeper.system = system.clone();
    });
    (machine, kit)
}

fn files(kit: &Kit) -> BTreeMap<String, String> {
    kit.memories()
}

#[tokio::test]
async fn a_machine_that_goes_down_in_the_middle_has_the_old_or_the_new() {
    let (_, kit) = on_a_disk_in_memory();
    let old = files(&kit);
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    assert!(dreamt.unwrap().entry.is_some());
    // Times of change differ from run to run; the rest does not.
    let new: Vec<String> = files(&kit).into_keys().collect();
    let (mut olds, mut news) = (0, 0);
    for nth in 1.. {
        for survives in [Survives::Written, Survives::Synced] {
            let (machine, kit) = on_a_disk_in_memory();
            machine.files.inject(Fault::go_down().nth(nth));
            let (dreamt, _) = dream(&kit, DreamWish::default()).await;
            if !machine.files.is_down() {
                dreamt.unwrap();
                assert!(olds > 0 && news > 0, "{olds} {news}");
                return;
            }
            machine.files.clear_faults();
            machine.files.crash_with(survives);
            let reopened = open(&machine.system(), Path::new("/home/dormouse/memory"));
            let found = reopened.snapshot().unwrap();
            let found: BTreeMap<String, String> = found
                .files()
                .map(|(path, file)| (path.to_string(), file.text().into_owned()))
                .collect();
            if found == old {
                olds += 1;
            } else {
                let names: Vec<String> = found.into_keys().collect();
                assert_eq!(names, new, "down at {nth}");
                news += 1;
            }
            // A new process can dream: the lock of the one that is gone is no obstacle.
            machine.processes.become_process(4_321);
            let status = reopened
                .consolidation_lock(Duration::from_hours(1))
                .status()
                .unwrap();
            assert!(status.last_consolidated.is_none_or(|at| at > Millis(0)));
        }
    }
}
