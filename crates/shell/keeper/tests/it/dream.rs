//! Dreams: on a copy, checked as a whole, put in place as one.

use crate::kit::{Kit, calls, safe, topic, used, write};
use dormouse_core::units::Millis;
use dormouse_keeper::dreaming::{DreamError, DreamWish, Dreamt};
use dormouse_keeper::extraction::By;
use dormouse_memory::dream::{Ending, Phase, Reason, Task};
use dormouse_system::{Clock as _, Files as _, RealFiles};
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

const DAYS: Duration = Duration::from_hours(48);
pub(crate) const INDEX: &str = "- [Tests](tests.md) — Tests use the real database\n- [Mocks](mocks.md) — Never mock the billing service\n- [People](people.md) — Who does what\n- [P](pinned/p.md)\n";

pub(crate) fn tests() -> String {
    topic(
        "feedback",
        "Tests",
        "Tests use the real database",
        "",
        "Integration tests use the real database on port 5432.",
    )
}

fn mocks() -> String {
    topic(
        "feedback",
        "Mocks",
        "Never mock the billing service",
        "",
        "Never mock the billing service.",
    )
}

pub(crate) fn people() -> String {
    topic(
        "project",
        "People",
        "Who does what",
        "",
        "Ann owns the release train. Bob reviews migrations.",
    )
}

pub(crate) fn kit() -> Kit {
    let kit = Kit::new();
    fill(&kit);
    kit
}

fn fill(kit: &Kit) {
    for (name, text) in [
        ("MEMORY.md", INDEX.to_owned()),
        ("tests.md", tests()),
        ("mocks.md", mocks()),
        ("people.md", people()),
        ("pinned/p.md", "Pinned.\n".to_owned()),
    ] {
        kit.remember(name, &text);
    }
    kit.put_aged("memory/.consolidate-lock", "", DAYS);
}

/// Files that a good dream writes: one memory of two.
pub(crate) fn merge() -> Vec<(&'static str, String)> {
    let both = tests().replace("5432.\n", "5432.\nNever mock the billing service.\n");
    let index = INDEX.replace("- [Mocks](mocks.md) — Never mock the billing service\n", "");
    let report = "## Merged\n- tests.md: tests.md, mocks.md - both say how to test\n";
    vec![
        ("tests.md", both),
        ("mocks.md", String::new()),
        ("MEMORY.md", index),
        ("DREAM_REPORT.md", report.to_owned()),
    ]
}

/// A call that writes files of the copy.
pub(crate) fn staged(kit: &Kit, files: &[(&str, String)]) -> Answer {
    let all: Vec<_> = files
        .iter()
        .map(|(name, text)| write(&kit.staging().join(name), text))
        .collect();
    calls(&all)
}

pub(crate) fn writes(kit: &Kit, files: &[(&str, String)]) -> Script {
    Script::new()
        .then(staged(kit, files))
        .then(Answer::text("Good night."))
}

pub(crate) async fn dream(kit: &Kit, wish: DreamWish) -> (Result<Dreamt, DreamError>, Task) {
    let task = kit.keeper.dream_task();
    let dreamt = kit.keeper.dream(wish, task.clone()).await;
    let task = task.lock().unwrap().clone();
    (dreamt, task)
}

/// All files of the memory directory but the lock's guard, and what the lock says.
pub(crate) fn whole(kit: &Kit) -> (BTreeMap<String, String>, String, Millis) {
    let lock = kit.path("memory/.consolidate-lock");
    let time = RealFiles.metadata(&lock).map(|facts| facts.modified);
    let body = kit.text("memory/.consolidate-lock");
    (kit.memories(), body, time.unwrap_or_default())
}

pub(crate) fn left_behind(kit: &Kit) -> usize {
    let staging = kit.path("memory/.journal/staging");
    RealFiles.list(&staging).map_or(0, |all| all.len())
}

#[tokio::test]
async fn a_dream_merges_two_files_in_one_entry_that_can_be_undone() {
    let kit = kit();
    let before = kit.memories();
    kit.side.plays(
        Script::new()
            .on(
                Expect::Contains("You work on a staged copy in".to_owned()),
                calls(&[
                    ("Read", json!({"file_path": kit.staging().join("tests.md")})),
                    ("Read", json!({"file_path": kit.staging().join("mocks.md")})),
                ])
                .using(used(1_000)),
            )
            .on(
                Expect::Contains("Integration tests use the real".to_owned()),
                staged(&kit, &merge()).using(used(2_000)),
            )
            .then(Answer::text("Good night.").using(used(3_000))),
    );
    let began = kit.clock.now();
    let (dreamt, task) = dream(&kit, DreamWish::default()).await;
    kit.side.finish();
    let dreamt = dreamt.unwrap();
    assert_eq!(dreamt.by, By::Model);
    assert_eq!(dreamt.dropped, []);
    assert_eq!(dreamt.changes.len(), 1);
    let entry = dreamt.entry.unwrap();
    let history = kit.keeper.memory.history().unwrap().entries;
    let by_dream = history.iter().filter(|known| known.id == entry.id);
    assert_eq!(by_dream.count(), 1);
    let after = kit.memories();
    assert!(after["tests.md"].contains("5432.\nNever mock the billing service."));
    assert!(!after.contains_key("mocks.md") && !after.contains_key("DREAM_REPORT.md"));
    assert!(!after["MEMORY.md"].contains("mocks.md"));
    assert_eq!(after["people.md"], before["people.md"]);
    // The lock tells the time of consolidation, and no process holds it.
    let (_, body, time) = whole(&kit);
    assert_eq!((body.as_str(), time), ("", began));
    assert_eq!(left_behind(&kit), 0);
    assert_eq!(kit.keeper.budget.today().tokens, 6_000);
    // The shared task showed it.
    assert_eq!(
        (task.ending, task.phase, task.tools),
        (Some(Ending::Completed), Phase::Updating, 6)
    );
    let said: Vec<&str> = task.turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(said, ["", "", "Good night."]);
    assert!(task.files.contains(&safe("tests.md")));

    kit.keeper.memory.undo(&entry.id).unwrap();
    assert_eq!(kit.memories(), before, "byte for byte");
}

#[tokio::test]
async fn a_bad_result_is_thrown_away_whole() {
    let key = concat!("gh", "p_16C7e42F292c6912E7710c838347Ae178B4a");
    let cases: Vec<(&str, Vec<(&str, String)>)> = vec![
        (
            "memories are lost",
            vec![
                ("people.md", String::new()),
                ("mocks.md", String::new()),
                (
                    "MEMORY.md",
                    format!("{}\n- [P](pinned/p.md)\n", INDEX.lines().next().unwrap()),
                ),
            ],
        ),
        (
            "holds a credential",
            vec![(
                "tests.md",
                tests().replace("5432.", &format!("5432, key {key}.")),
            )],
        ),
        (
            "states what no source states",
            vec![(
                "people.md",
                people().replace("Bob", "Dora pays the bills. Bob"),
            )],
        ),
        (
            "has no valid `description`",
            vec![(
                "people.md",
                people().replace("description: Who does what\n", ""),
            )],
        ),
    ];
    for (why, files) in cases {
        let kit = kit();
        let before = whole(&kit);
        kit.side.plays(writes(&kit, &files));
        let (dreamt, task) = dream(&kit, DreamWish::default()).await;
        let error = dreamt.map(|dreamt| dreamt.transaction).unwrap_err();
        assert!(matches!(error, DreamError::Refused(_)), "{why}: {error:?}");
        assert!(error.to_string().contains(why), "{why}: {error}");
        assert!(!error.to_string().contains(key));
        assert_eq!(whole(&kit), before, "{why}");
        assert_eq!(left_behind(&kit), 0);
        assert!(matches!(task.ending, Some(Ending::Failed(_))), "{why}");
        assert_eq!(kit.keeper.memory.history().unwrap().entries, []);
    }
}

#[tokio::test]
async fn the_copy_refuses_pins_and_what_is_no_memory_at_once() {
    let kit = kit();
    let before = kit.memories();
    let outside = write(&kit.path("memory/tests.md"), "x");
    let mut wanted: Vec<_> = [
        ("pinned/p.md", "Mine now.\n"),
        ("pinned/new.md", "x"),
        ("script.sh", "rm"),
        (".journal/x.md", "x"),
        ("../../x.md", "x"),
    ]
    .into_iter()
    .map(|(name, text)| write(&kit.staging().join(name), text))
    .collect();
    wanted.push(outside);
    kit.side.plays(Script::new().then(calls(&wanted)).on(
        Expect::that("each is refused", |body| {
            body.to_string().matches("\"is_error\":true").count() == 6
        }),
        Answer::text("Good night."),
    ));
    let (dreamt, task) = dream(&kit, DreamWish::default()).await;
    kit.side.finish();
    assert_eq!(dreamt.unwrap().entry, None);
    assert_eq!(task.phase, Phase::Starting);
    assert_eq!(kit.memories(), before);
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_kept_and_its_part_dropped() {
    let kit = kit();
    let mut files = merge();
    let reworded = people().replace("Bob reviews migrations.", "Migrations are reviewed by Bob.");
    files.push(("people.md", reworded.clone()));
    let theirs = format!("{}Ask Cleo first.\n", mocks());
    let (path, text) = (kit.path("memory/mocks.md"), theirs.clone());
    kit.side.plays(Script::new().then(staged(&kit, &files)).on(
        Expect::that("somebody edits", move |_| {
            let private = dormouse_system::Access::Private;
            RealFiles.replace(&path, text.as_bytes(), private).is_ok()
        }),
        Answer::text("Good night."),
    ));
    let (dreamt, _) = dream(&kit, DreamWish::default()).await;
    let dreamt = dreamt.unwrap();
    let mut dropped: Vec<String> = dreamt
        .dropped
        .iter()
        .map(|dropped| format!("{} because of {}", dropped.path, dropped.because_of))
        .collect();
    dropped.sort();
    assert_eq!(
        dropped,
        [
            "mocks.md because of mocks.md",
            "tests.md because of mocks.md"
        ]
    );
    let after = kit.memories();
    assert_eq!(after["mocks.md"], theirs);
    assert_eq!(after["tests.md"], tests());
    assert!(
        after["people.md"].contains("reviewed by Bob"),
        "the rest holds"
    );
    assert!(after["MEMORY.md"].contains("(mocks.md)"));
}

#[tokio::test]
async fn nothing_to_do_is_a_success() {
    let kit = kit();
    let before = kit.memories();
    kit.side
        .plays(Script::new().then(Answer::text("All is well.")));
    let (dreamt, task) = dream(&kit, DreamWish::default()).await;
    let dreamt = dreamt.unwrap();
    assert!(dreamt.transaction.is_empty() && dreamt.entry.is_none());
    assert_eq!(task.ending, Some(Ending::Completed));
    assert_eq!(whole(&kit), (before, String::new(), kit.clock.now()));
}

#[tokio::test]
async fn a_dry_run_shows_and_changes_nothing_while_another_dreams() {
    let kit = kit();
    let held = kit
        .keeper
        .memory
        .consolidation_lock(DAYS)
        .try_take()
        .unwrap();
    kit.put("memory/.journal/staging/another/tests.md", "Theirs.\n");
    let before = whole(&kit);
    kit.side.plays(writes(&kit, &merge()));
    let wish = DreamWish {
        dry_run: true,
        ..DreamWish::default()
    };
    let (dreamt, _) = dream(&kit, wish).await;
    let dreamt = dreamt.unwrap();
    assert!(!dreamt.transaction.is_empty() && dreamt.entry.is_none());
    assert_eq!(whole(&kit), before);
    assert!(held.still_mine().unwrap());
    let theirs = kit.text("memory/.journal/staging/another/tests.md");
    assert_eq!(theirs, "Theirs.\n", "the copy of the other dream stays");
    assert_eq!(left_behind(&kit), 1);
}

#[tokio::test]
async fn the_gates_are_asked_in_their_order() {
    let kit = Kit::new();
    let mut gates = kit.keeper.dream_gates();
    let mut due = |session: &str| kit.keeper.dream_due(&mut gates, session);
    for setting in [
        "dream=off",
        "memory=off",
        "memory.consent=off",
        "memory.remote=on",
    ] {
        kit.set(&[setting]);
        assert_eq!(due("s"), Err(Reason::SwitchedOff), "{setting}");
    }
    kit.set(&[]);
    kit.put_aged("memory/.consolidate-lock", "", Duration::from_hours(1));
    assert!(matches!(due("s"), Err(Reason::TooSoon { .. })));
    kit.put_aged("memory/.consolidate-lock", "", DAYS);
    for at in 0..5 {
        kit.put(&format!("home/projects/p/session{at}.jsonl"), "");
    }
    kit.put_aged("home/projects/p/older.jsonl", "", 2 * DAYS);
    kit.put("home/projects/p/notes.txt", "");
    // The session itself is not counted among the others.
    let few = Err(Reason::TooFewSessions {
        found: 4,
        needed: 5,
    });
    assert_eq!(due("session0"), few);
    assert!(matches!(due("s"), Err(Reason::ScannedRecently { .. })));
    kit.clock.advance(Duration::from_secs(601));
    assert_eq!(due("s"), Ok(()));
    assert_eq!(kit.side.asked().len(), 0);
}
