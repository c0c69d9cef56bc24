//! The machine goes down at every single operation on the disk around a rewrite. Afterwards the
//! view is the old one or the new one, byte for byte, and nothing in between.

use crate::kit::{Kit, LOG, NOTES, check, prompt, prompt_text, prose, turn};
use crate::notes::{records, section};
use crate::provider::Answer;
use bytes::Bytes;
use dormouse_core::block::Block;
use dormouse_core::record::Role;
use dormouse_engine::{CompactWish, Purpose, Session};
use dormouse_system::{Fault, Operation, Survives};
use serde_json::json;
use std::time::Duration;

type Prompt = Vec<(Role, Bytes)>;

/// Kinds of crash: everything written survives, only synced bytes do, or 40 bytes more than those
/// (inside a record).
const CRASHES: [Survives; 3] = [Survives::Written, Survives::Synced, Survives::SyncedAnd(40)];

/// The faults to try: going down before the n-th operation of any kind, or in the middle of the
/// n-th write to the log.
fn faults(nth: u64) -> [Fault; 2] {
    let torn = Fault::torn_write(60).on(Operation::Write).at(LOG);
    [Fault::go_down().nth(nth), torn.nth(nth)]
}

/// Runs a story with the machine going down at every operation of its last step, and has every
/// outcome judged.
async fn at_every_operation(
    prepare: impl AsyncFn() -> (Kit, Session),
    step: impl AsyncFn(&Kit, &mut Session),
    judge: impl AsyncFn(&Kit, &Session, Prompt),
) {
    let mut crashes = 0;
    for kind in 0..2 {
        for nth in 1.. {
            let fault = faults(nth)[kind].clone();
            let mut struck = false;
            for survives in CRASHES {
                let (kit, mut session) = prepare().await;
                kit.machine.files.inject(fault.clone());
                step(&kit, &mut session).await;
                let strikes = kit.machine.files.waiting_faults().is_empty();
                kit.machine.files.clear_faults();
                drop(session);
                kit.machine.files.crash_with(survives);
                let mut session = kit.open().await;
                check(&session);
                let found = prompt(&session);
                judge(&kit, &session, found).await;
                // Whatever was left, the session goes on.
                turn(&mut session, "After the crash.").await;
                crashes += usize::from(strikes);
                // Work beside the turn may end before its last operation in one run of three.
                struck |= strikes;
            }
            if !struck {
                break;
            }
        }
    }
    assert!(crashes > 10, "only {crashes} crashes were tried");
}

/// A short conversation with a lot in it.
async fn conversation() -> (Kit, Session) {
    let kit = Kit::new();
    let mut session = kit.open().await;
    for round in 0..2 {
        kit.provider
            .next(Purpose::Turn, Answer::text(&prose(round, 9_000)));
        turn(&mut session, &format!("Question {round}.")).await;
    }
    kit.sync_log();
    let summary = crate::broken_summaries::summary(40);
    kit.provider
        .always(Purpose::Compaction, Answer::text(&summary));
    (kit, session)
}

#[tokio::test]
async fn a_compaction_is_there_or_it_is_not() {
    let (_kit, mut session) = conversation().await;
    let old = prompt(&session);
    session.compact(CompactWish::default()).await.unwrap();
    let new = prompt(&session);
    assert!(old != new);
    let (mut olds, mut news) = (0, 0);
    let judged = std::cell::RefCell::new((&mut olds, &mut news));
    at_every_operation(
        conversation,
        async |_, session| {
            drop(session.compact(CompactWish::default()).await);
        },
        async |_, _, found| {
            let mut judged = judged.borrow_mut();
            *judged.0 += usize::from(found == old);
            *judged.1 += usize::from(found == new);
            assert!(found == old || found == new, "something in between");
        },
    )
    .await;
    assert!(olds > 0 && news > 0, "{olds} {news}");
}

/// Killed while the model is writing the summary: nothing has happened.
#[tokio::test]
async fn between_summary_and_boundary_the_old_view_stands() {
    let (kit, mut session) = conversation().await;
    let old = prompt(&session);
    let never = std::sync::Arc::new(tokio::sync::Notify::new());
    kit.provider
        .next(Purpose::Compaction, Answer::text("too late").held(&never));
    let wish = session.compact(CompactWish::default());
    let ended = tokio::time::timeout(Duration::from_millis(20), wish).await;
    assert!(ended.is_err(), "the answer never comes");
    assert!(
        prompt(&session) == old,
        "a cancelled compaction leaves the view alone"
    );
    turn(&mut session, "Go on.").await;
    assert!(prompt(&session)[..old.len()] == old[..]);
    drop(session);
    assert!(kit.killed().await.1[..old.len()] == old[..]);
}

#[tokio::test]
async fn a_clearing_is_there_or_it_is_not() {
    let prepare = async || {
        let kit = Kit::new();
        for (seed, tool) in ["Bash", "Read", "Grep"].into_iter().enumerate() {
            kit.tools.returns(tool, prose(seed, 3_000));
        }
        kit.set(&["notes=off", "microcompact.idle.keep=1"]);
        let mut session = kit.open().await;
        kit.work(&mut session, &["Bash", "Read", "Grep"]).await;
        kit.sync_log();
        kit.wait(Duration::from_hours(2));
        (kit, session)
    };
    let step = async |_: &Kit, session: &mut Session| {
        drop(session.turn(vec![Block::text("Back again.")]).await);
    };
    let (kit, mut session) = prepare().await;
    let old = prompt(&session);
    step(&kit, &mut session).await;
    let new = prompt(&session)[..old.len()].to_vec();
    assert!(old != new);
    at_every_operation(prepare, step, async |kit, session, found| {
        let found = &found[..old.len()];
        assert!(found == old || found == new, "something in between");
        // A marker never points to a file that is not there.
        for marker in prompt_text(session).split("full text: ").skip(1) {
            let path = marker.split(']').next().unwrap();
            assert!(kit.machine.files.content(path).is_some(), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_offloaded_result_is_whole_on_disk_before_anybody_hears_of_it() {
    let whole = prose(1, 40_000);
    let prepare = async || {
        let kit = Kit::new();
        kit.tools.returns("Bash", whole.clone());
        let mut session = kit.open().await;
        turn(&mut session, "Hello.").await;
        kit.sync_log();
        (kit, session)
    };
    let step = async |kit: &Kit, session: &mut Session| {
        kit.provider.next(
            Purpose::Turn,
            Answer::call("call_0", "Bash", &json!({"x": "y"})),
        );
        drop(session.turn(vec![Block::text("Run it.")]).await);
    };
    let (kit, mut session) = prepare().await;
    step(&kit, &mut session).await;
    let new = prompt(&session);
    assert!(prompt_text(&session).contains("<persisted-output>"));
    at_every_operation(prepare, step, async |kit, session, found| {
        let text = prompt_text(session);
        let missing =
            String::from_utf8_lossy(dormouse_context::MISSING_RESULT.as_bytes()).into_owned();
        for part in &found {
            let stand_in = String::from_utf8_lossy(&part.1).contains(&missing);
            assert!(
                new.contains(part) || stand_in,
                "something in between: {part:?}"
            );
        }
        if let Some(preview) = text.split("in the file\\n").nth(1) {
            let path = preview.split("\\n").next().unwrap();
            assert_eq!(kit.machine.files.content(path).unwrap(), whole.as_bytes());
        }
    })
    .await;
}

#[tokio::test]
async fn notes_are_the_old_ones_or_the_new_ones() {
    let prepare = async || {
        let kit = Kit::new();
        kit.set(&["notes.start=2000", "notes.growth=1000"]);
        let mut session = kit.open().await;
        for (seed, body) in [(1, "the old notes"), (2, "the new notes")] {
            kit.provider.next(Purpose::Notes, section("Worklog", body));
            kit.provider
                .next(Purpose::Turn, Answer::text(&prose(seed, 9_000)));
            turn(&mut session, "Go on.").await;
            if seed == 1 {
                session.settle_notes().await.unwrap();
            }
        }
        kit.sync_log();
        (kit, session)
    };
    let step = async |_: &Kit, session: &mut Session| {
        drop(session.settle_notes().await);
    };
    let (kit, mut session) = prepare().await;
    let old = prompt(&session);
    assert_eq!(records(&session).await.len(), 1);
    step(&kit, &mut session).await;
    assert_eq!(records(&session).await.len(), 2, "{:?}", kit.notices());
    at_every_operation(prepare, step, async |kit, session, found| {
        assert!(found == old, "notes do not touch the prompt");
        let file = kit.machine.files.content(NOTES).unwrap();
        let file = String::from_utf8_lossy(&file).into_owned();
        let new = file.contains("the new notes");
        assert!(new || file.contains("the old notes"));
        // The record comes last: what it says is on the disk.
        assert!(new || records(session).await.len() == 1);
    })
    .await;
}
