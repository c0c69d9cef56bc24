//! Layer 1: long results go into files before anything is logged, and the decision is for ever.

use crate::kit::{Kit, RESULTS, boundaries, check, prompt, prompt_text, prose};
use crate::provider::Answer;
use dormouse_context::offload::{EMPTY_RESULT, ToolOutput};
use dormouse_context::policy::Economic;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Record, ReplacementDecision};
use dormouse_engine::{CompactWish, Notice, Purpose, Session};
use dormouse_system::{Fault, Operation};
use dormouse_testkit::blocks::{block, call};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::sync::Arc;

fn kit() -> Kit {
    let mut kit = Kit::new();
    kit.config.window = None;
    kit
}

fn offloaded(notice: &Notice) -> bool {
    matches!(notice, Notice::Offloaded { .. })
}

/// One round in which the model calls all these tools at once. Returns the results as sent.
async fn round(kit: &Kit, session: &mut Session, tools: &[&str]) -> Vec<Value> {
    let calls = tools.iter().enumerate();
    let calls = calls.map(|(at, tool)| call(&format!("call_{at}"), tool, &json!({"x": "y"})));
    kit.provider
        .next(Purpose::Turn, Answer::Blocks(calls.collect()));
    session.turn(vec![Block::text("Look.")]).await.unwrap();
    check(session);
    let blocks = kit.provider.sent().pop().unwrap().blocks();
    let results: Vec<Value> = blocks
        .into_iter()
        .filter(|b| b["type"] == "tool_result")
        .collect();
    results[results.len() - tools.len()..].to_vec()
}

fn text(result: &Value) -> &str {
    result["content"].as_str().unwrap()
}

fn is_preview(result: &Value) -> bool {
    text(result).starts_with("<persisted-output>")
}

/// The decisions in the log, each with the number of records from it to its message: negative
/// where the message was there before.
async fn decisions(session: &Session) -> Vec<(ReplacementDecision, i64)> {
    let decision = |record: Record| match record.body {
        Body::Replacement(replacement) => {
            let distance =
                replacement.key.record.get().cast_signed() - record.seq.get().cast_signed();
            Some((replacement.decision, distance))
        }
        _ => None,
    };
    session
        .records()
        .await
        .unwrap()
        .into_iter()
        .filter_map(decision)
        .collect()
}

#[tokio::test]
async fn each_tool_has_its_limit() {
    let kit = kit();
    let long = |chars: usize| prose(1, chars).chars().take(chars).collect::<String>();
    for (tool, limit) in [
        ("Bash", 30_000),
        ("Grep", 20_000),
        ("Edit", 50_000),
        ("Shy", 1_000),
    ] {
        let mut session = kit.open().await;
        for (chars, goes) in [(limit, false), (limit + 1, true)] {
            kit.tools.returns(tool, long(chars));
            let results = round(&kit, &mut session, &[tool]).await;
            assert_eq!(is_preview(&results[0]), goes, "{tool} {chars}");
        }
    }
    kit.set(&["notes=off", "offload.limit.Edit=10"]);
    let mut session = kit.open().await;
    kit.tools.returns("Edit", prose(2, 3_000));
    assert!(
        is_preview(&round(&kit, &mut session, &["Edit"]).await[0]),
        "the user's own limit"
    );
}

#[tokio::test]
async fn the_file_holds_everything_and_the_preview_tells_where() {
    let kit = kit();
    let whole = prose(5, 60_000);
    kit.tools.returns("Bash", whole.clone());
    let mut session = kit.open().await;
    let result = round(&kit, &mut session, &["Bash"]).await.remove(0);
    let path = text(&result)
        .lines()
        .find(|line| line.starts_with(RESULTS))
        .unwrap();
    assert_eq!(kit.machine.files.content(path).unwrap(), whole.as_bytes());
    assert!(
        !path.contains("call_0"),
        "the model's id is no part of a path"
    );
    assert!(text(&result).len() < 2_500 && text(&result).contains(&whole[..1_000]));
    let log = kit.machine.files.content(crate::kit::LOG).unwrap();
    assert!(log.len() < 20_000, "the whole text never enters the log");
    assert_eq!(kit.told(offloaded), 1);
    // The decision stands right before its message.
    let decisions = decisions(&session).await;
    assert!(
        matches!(&decisions[..], [(ReplacementDecision::Replaced { .. }, 1)]),
        "{decisions:?}"
    );
    kit.tools
        .returns("Bash", format!("[{}1]", "1,".repeat(20_000)));
    let result = round(&kit, &mut session, &["Bash"]).await.remove(0);
    assert!(text(&result).contains(".json\n"), "JSON is named so");
}

/// All results of one round together are limited too; the largest go first, and what stays is
/// decided as well.
#[tokio::test]
async fn the_largest_of_a_round_go_first() {
    let kit = kit();
    kit.set(&["notes=off", "offload.turn_limit=50000"]);
    for (tool, chars) in [("Bash", 28_000), ("Grep", 15_000), ("Edit", 18_000)] {
        kit.tools.returns(tool, prose(chars, chars));
    }
    let mut session = kit.open().await;
    let results = round(&kit, &mut session, &["Grep", "Bash", "Edit"]).await;
    let previews: Vec<bool> = results.iter().map(is_preview).collect();
    assert_eq!(previews, [false, true, false]);
    let decisions = decisions(&session).await;
    let left = |(decision, _): &&(ReplacementDecision, i64)| *decision == ReplacementDecision::Left;
    assert_eq!(
        (decisions.len(), decisions.iter().filter(left).count()),
        (3, 2)
    );
    // Each result was a record as soon as it had ended; the round's limit came after the last.
    assert!(
        decisions
            .iter()
            .map(|(_, distance)| *distance)
            .eq([-3, -3, -3])
    );
}

#[tokio::test]
async fn an_empty_result_becomes_a_short_marker() {
    let kit = kit();
    kit.tools.returns("Bash", " \n");
    let mut session = kit.open().await;
    assert_eq!(
        text(&round(&kit, &mut session, &["Bash"]).await[0]),
        EMPTY_RESULT
    );
}

#[tokio::test]
async fn a_tool_that_reads_files_is_exempt() {
    let kit = kit();
    kit.set(&["notes=off", "offload.turn_limit=50000"]);
    kit.tools.returns("Read", prose(1, 120_000));
    kit.tools.returns("Bash", prose(2, 10_000));
    let mut session = kit.open().await;
    let results = round(&kit, &mut session, &["Read", "Bash"]).await;
    assert!(!is_preview(&results[0]) && is_preview(&results[1]));
}

/// Under `economic` a page of a file has a price like any other result. The model must get the rest
/// when it asks for it, however it asks.
#[tokio::test]
async fn a_long_page_is_cut_by_its_price_and_whole_when_asked_for_again() {
    let mut kit = kit();
    kit.config.policy = Some(Arc::new(Economic));
    kit.set(&["notes=off", "offload.turn_limit=900000"]);
    let mut session = kit.open().await;
    let mut read = async |id: &str, input: Value, chars: usize| {
        kit.tools.returns("Read", prose(1, chars));
        let asked = vec![call(id, "Read", &input)];
        kit.provider.next(Purpose::Turn, Answer::Blocks(asked));
        session.turn(vec![Block::text("Look.")]).await.unwrap();
        check(&session);
        let blocks = kit.provider.sent().pop().unwrap().blocks();
        blocks
            .into_iter()
            .rfind(|block| block["type"] == "tool_result")
            .unwrap()
    };
    let file = json!({"file_path": "/a.rs"});
    let cut = read("call_0", file.clone(), 120_000).await;
    // More of it stays than of a result beyond its limit: the model has asked for this file.
    assert!(is_preview(&cut), "{}", text(&cut).len());
    assert!((15_000..32_000).contains(&text(&cut).len()));
    let again = read("call_1", file, 120_000).await;
    assert!(!is_preview(&again));
    let part = json!({"file_path": "/b.rs", "offset": 700});
    assert!(!is_preview(&read("call_2", part, 120_000).await));
    // A rest that costs less than the call that might fetch it is shown at once.
    let short = json!({"file_path": "/c.rs"});
    assert!(!is_preview(&read("call_3", short, 30_500).await));
}

#[tokio::test]
async fn images_are_kept_apart_and_whole() {
    let kit = kit();
    let image = json!({"type": "image", "source":
        {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}});
    kit.tools.returns_output(
        "Bash",
        ToolOutput {
            media: vec![block(&image)],
            ..ToolOutput::text("unset".into(), prose(3, 60_000))
        },
    );
    let mut session = kit.open().await;
    let result = round(&kit, &mut session, &["Bash"]).await.remove(0);
    let content = result["content"].as_array().unwrap();
    assert!(
        content[0]["text"]
            .as_str()
            .unwrap()
            .starts_with("<persisted-output>")
    );
    assert_eq!(content[1], image);
}

#[tokio::test]
async fn on_a_full_disk_the_result_is_cut_with_an_honest_note_and_the_session_goes_on() {
    let kit = kit();
    kit.tools.returns("Bash", prose(1, 60_000));
    let mut session = kit.open().await;
    let full = Fault::fail(ErrorKind::StorageFull).on(Operation::Write);
    kit.machine.files.inject(full.at(RESULTS).lasting());
    let result = round(&kit, &mut session, &["Bash"]).await.remove(0);
    assert!(text(&result).len() < 3_000);
    assert!(
        text(&result).contains("could not be saved to a file"),
        "{}",
        text(&result)
    );
    assert!(text(&result).contains("not kept anywhere"));
    assert_eq!(kit.told(|n| matches!(n, Notice::NotSaved { .. })), 1);
    assert_eq!(decisions(&session).await, [], "nothing was replaced");
    kit.machine.files.clear_faults();
    assert!(is_preview(&round(&kit, &mut session, &["Bash"]).await[0]));
}

/// Later turns, a crash and a fork show the same bytes, whatever the settings say by then.
#[tokio::test]
async fn a_decision_is_for_ever() {
    let kit = kit();
    kit.tools.returns("Bash", prose(1, 60_000));
    kit.tools.returns("Grep", prose(2, 15_000));
    let mut session = kit.open().await;
    round(&kit, &mut session, &["Bash", "Grep"]).await;
    let before = prompt(&session);
    kit.set(&["notes=off", "offload=off", "offload.limit.Grep=10"]);
    session.turn(vec![Block::text("Go on.")]).await.unwrap();
    assert!(prompt(&session)[..before.len()] == before[..]);
    let limits = dormouse_engine::ForkLimits { requests: 1 };
    session.fork("A side task.", None, limits).await.unwrap();
    let (turn, fork) = (
        kit.provider
            .sent_for(Purpose::Turn)
            .pop()
            .unwrap()
            .messages(),
        kit.provider
            .sent_for(Purpose::Fork)
            .pop()
            .unwrap()
            .messages(),
    );
    assert_eq!(fork[..turn.len()], turn[..]);
    let now = prompt(&session);
    drop(session);
    let (mut session, resumed) = kit.killed().await;
    assert!(resumed == now, "another prompt after the crash");
    // A boundary that keeps the preview keeps its bytes.
    kit.talk_until(&mut session, 20_000).await;
    session
        .compact(CompactWish {
            from: Some(4),
            ..CompactWish::default()
        })
        .await
        .unwrap();
    assert_eq!(boundaries(&session).await.len(), 1);
    assert!(prompt(&session)[..4] == before[..4]);
    assert!(prompt_text(&session).contains("<persisted-output>"));
}

/// A window of 40,000 tokens and a file of 100,000: exempt from the limits, and cut nevertheless.
#[tokio::test]
async fn a_round_that_does_not_fit_is_cut_and_resumes_as_it_was_sent() {
    let kit = Kit::new();
    kit.tools.returns("Read", prose(1, 400_000));
    kit.tools.returns("Grep", prose(2, 2_000));
    let mut session = kit.open().await;
    let results = round(&kit, &mut session, &["Read", "Grep"]).await;
    // Calls that only read run together, so either result may come first.
    let (cut, whole): (Vec<_>, Vec<_>) = results.iter().partition(|result| is_preview(result));
    assert_eq!((cut.len(), whole.len()), (1, 1));
    assert!(text(cut[0]).contains("400"), "{}", text(cut[0]));
    assert_eq!(kit.told(offloaded), 1);
    let before = prompt(&session);
    drop(session);
    assert!(prompt(&kit.open().await) == before);
}

#[tokio::test]
async fn a_round_that_does_not_fit_is_cut_on_a_full_disk_too() {
    let kit = Kit::new();
    kit.tools.returns("Read", prose(1, 400_000));
    let mut session = kit.open().await;
    let full = Fault::fail(ErrorKind::StorageFull).on(Operation::Write);
    kit.machine.files.inject(full.at(RESULTS).lasting());
    let results = round(&kit, &mut session, &["Read", "Read"]).await;
    for result in &results {
        assert!(text(result).contains("could not be saved to a file"));
        assert!(text(result).len() < 3_000);
    }
    assert_eq!(kit.told(|n| matches!(n, Notice::NotSaved { .. })), 2);
    let before = prompt(&session);
    drop(session);
    assert!(prompt(&kit.open().await) == before);
}
