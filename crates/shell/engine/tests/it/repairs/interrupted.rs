//! Turns that end in the middle: by a cancel, or with the process.

use super::{interrupt, records, says};
use crate::doubles::Recaller;
use crate::kit::{Kit, check, prompt, prompt_text, turn};
use crate::provider::Answer;
use dormouse_core::record::Body;
use dormouse_engine::Purpose;
use dormouse_testkit::blocks::call;
use serde_json::json;
use std::sync::Arc;

fn forgetful() -> (Kit, Arc<Recaller>) {
    let mut kit = Kit::new();
    let recaller = Arc::new(Recaller {
        hangs: true,
        ..Recaller::default()
    });
    kit.companion = Arc::clone(&recaller) as _;
    (kit, recaller)
}

#[tokio::test]
async fn a_message_is_in_the_log_when_the_turn_is_cancelled_during_recall() {
    let (kit, recaller) = forgetful();
    let mut session = kit.open().await;
    interrupt(&mut session, "Remember QX-1?", &recaller.asked).await;
    // The next command is answered once the cancel has been carried out.
    session.checkpoint().await.unwrap();
    assert!(records(&session).await.iter().any(|it| says(it, "QX-1?")));
    assert_eq!(kit.provider.sent().len(), 0);
    let (session, _) = kit.killed().await;
    assert!(prompt_text(&session).contains("QX-1?"));
}

#[tokio::test]
async fn a_message_is_in_the_log_when_the_process_dies_during_recall() {
    let (mut kit, recaller) = forgetful();
    let log = kit.watch_log();
    let mut session = kit.open().await;
    let content = vec![dormouse_core::block::Block::text("Remember QX-1?")];
    tokio::select! {
        biased;
        ended = session.turn(content) => panic!("recall has ended: {ended:?}"),
        () = async {
            recaller.asked.notified().await;
            log.stored(|record| says(record, "QX-1?")).await;
        } => {}
    }
    kit.log = None;
    kit.companion = Arc::new(dormouse_engine::NoCompanion);
    let (mut resumed, _) = kit.killed().await;
    drop(session);
    assert!(prompt_text(&resumed).contains("QX-1?"));
    resumed.go_on().await.unwrap();
    let sent = kit.provider.sent();
    assert!(
        sent[0].contains("QX-1?"),
        "it is answered as if nothing happened"
    );
}

/// A round whose second call hangs: `Bash` writes, so that the calls run one after the other.
fn three_calls(kit: &Kit) {
    kit.tools.returns("Bash", "the first result");
    kit.tools.runs.hang("Edit");
    let input = json!({"x": "1"});
    let calls = [("call_1", "Bash"), ("call_2", "Edit"), ("call_3", "Write")];
    let calls = calls.map(|(id, tool)| call(id, tool, &input));
    kit.provider
        .next(Purpose::Turn, Answer::Blocks(calls.to_vec()));
}

/// The results in the last request, by call.
fn results(kit: &Kit) -> Vec<(String, String)> {
    let blocks = kit.provider.sent().last().unwrap().blocks();
    let results = blocks.iter().filter(|it| it["type"] == "tool_result");
    let text = |content: &serde_json::Value| match content {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut results: Vec<(String, String)> = results
        .map(|it| {
            (
                it["tool_use_id"].as_str().unwrap().to_owned(),
                text(&it["content"]),
            )
        })
        .collect();
    results.sort();
    results
}

#[tokio::test]
async fn a_cancelled_round_keeps_its_results_and_says_which_calls_were_stopped() {
    let kit = Kit::new();
    three_calls(&kit);
    let mut session = kit.open().await;
    let hangs = Arc::clone(&kit.tools.runs.hangs);
    interrupt(&mut session, "Do three things.", &hangs).await;
    turn(&mut session, "Go on.").await;
    let results = results(&kit);
    let [first, second, third] = &results[..] else {
        panic!("{results:?}");
    };
    assert!(first.1.contains("the first result"), "{first:?}");
    assert!(
        second.1.contains("stopped this call while it ran"),
        "{second:?}"
    );
    assert!(third.1.contains("was not run"), "{third:?}");
    assert_eq!(kit.tools.runs.started(), ["call_1", "call_2"]);
    check(&session);
}

#[tokio::test]
async fn a_result_is_a_record_before_a_later_call_of_its_round_ends() {
    let mut kit = Kit::new();
    let log = kit.watch_log();
    three_calls(&kit);
    let mut session = kit.open().await;
    let hangs = Arc::clone(&kit.tools.runs.hangs);
    let content = vec![dormouse_core::block::Block::text("Do three things.")];
    tokio::select! {
        biased;
        ended = session.turn(content) => panic!("the call has ended: {ended:?}"),
        () = async {
            hangs.notified().await;
            log.stored(|record| says(record, "the first result")).await;
        } => {}
    }
    drop(session);
    kit.log = None;
    kit.tools.runs.release("Edit");
    let (mut resumed, _) = kit.killed().await;
    turn(&mut resumed, "Go on.").await;
    let results = results(&kit);
    let [first, second, third] = &results[..] else {
        panic!("{results:?}");
    };
    assert!(first.1.contains("the first result"), "{first:?}");
    for unknown in [second, third] {
        assert!(unknown.1.contains("interrupted"), "{unknown:?}");
    }
    assert_eq!(
        kit.tools.runs.started(),
        ["call_1", "call_2"],
        "no call is run again"
    );
    check(&resumed);
}

#[tokio::test]
async fn after_a_rewind_only_the_new_branch_is_in_view() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, "The first question.").await;
    let back = records(&session).await.last().unwrap().id.clone();
    turn(&mut session, "The abandoned question.").await;
    session.rewind(&back).await.unwrap();
    assert!(!prompt_text(&session).contains("abandoned"));
    turn(&mut session, "The new question.").await;
    let before = prompt(&session);
    let (mut resumed, after) = kit.killed().await;
    assert_eq!(after, before);
    turn(&mut resumed, "And on.").await;
    let last = kit.provider.sent().pop().unwrap();
    for (words, shown) in [("first", true), ("abandoned", false), ("new", true)] {
        assert_eq!(
            last.contains(&format!("The {words} question")),
            shown,
            "{words}"
        );
    }
    let records = records(&resumed).await;
    let kept = |record: &&_| says(record, "abandoned");
    assert_eq!(records.iter().filter(kept).count(), 1, "the log has both");
    assert_eq!(
        kit.told(|it| matches!(it, dormouse_engine::Notice::CacheBroken { .. })),
        0
    );
}

#[tokio::test]
async fn a_rewind_survives_a_kill_before_anything_is_said() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, "The first question.").await;
    let back = records(&session).await.last().unwrap().id.clone();
    turn(&mut session, "The abandoned question.").await;
    session.rewind(&back).await.unwrap();
    let (resumed, _) = kit.killed().await;
    assert!(!prompt_text(&resumed).contains("abandoned"));
    let newest = records(&resumed).await.pop().unwrap();
    assert!(matches!(newest.body, Body::Checkpoint(_)), "{newest:?}");
    assert_eq!(newest.parent, Some(back));
}
