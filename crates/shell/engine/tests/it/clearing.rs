//! Layer 2: old results give way to markers that tell where their text is.

use crate::kit::{BOUND, Kit, PLAIN, RESULTS, check, prompt, prompt_text, prose, turn};
use crate::provider::{Answer, Sent};
use dormouse_core::block::Block;
use dormouse_core::record::Body;
use dormouse_core::units::Tokens;
use dormouse_engine::{Notice, Purpose, Session};
use dormouse_sim::{AnswerConfig, SimConfig};
use serde_json::Value;
use std::time::Duration;

/// Longer than the longest cache lifetime, so that the cache has lapsed.
const TWO_HOURS: Duration = Duration::from_hours(2);

fn cleared(notice: &Notice) -> bool {
    matches!(notice, Notice::Cleared { .. })
}

fn markers(session: &Session) -> usize {
    prompt_text(session)
        .matches("[Old tool result content cleared")
        .count()
}

/// The path in each marker of a prompt.
fn marker_paths(sent: &Sent) -> Vec<String> {
    let texts = sent
        .blocks()
        .into_iter()
        .filter_map(|block| match &block["content"] {
            Value::String(text) => Some(text.clone()),
            _ => None,
        });
    let paths = texts.filter_map(|text| {
        let path = text.strip_prefix("[Old tool result content cleared; full text: ")?;
        Some(path.strip_suffix(']')?.to_owned())
    });
    paths.collect()
}

/// A kit whose tools return results of about 2,000 tokens, all of them different.
fn kit() -> Kit {
    let kit = Kit::new();
    for (seed, tool) in ["Bash", "Read", "Grep", "mcp__db__query"]
        .into_iter()
        .enumerate()
    {
        kit.tools.returns(tool, prose(seed, 7_000));
    }
    kit
}

#[tokio::test]
async fn when_the_cache_has_lapsed_all_but_the_newest_five_are_cleared() {
    let kit = kit();
    let mut session = kit.open().await;
    kit.work(
        &mut session,
        &[
            "mcp__db__query",
            "Bash",
            "Read",
            "Grep",
            "Bash",
            "Read",
            "Grep",
            "Bash",
        ],
    )
    .await;
    turn(&mut session, "A word in between, while the cache is warm.").await;
    assert_eq!(markers(&session), 0);
    kit.wait(TWO_HOURS);
    turn(&mut session, "Back again.").await;
    assert_eq!(kit.told(cleared), 1, "one batch: {:?}", kit.notices());
    // Seven compactable results, five stay; the result of an MCP tool always does.
    assert_eq!(markers(&session), 2);
    assert!(
        prompt_text(&session).contains(
            &prose(3, 6_000)[..500]
                .replace('\n', "\\n")
                .replace('"', "\\\"")
        )
    );
    let paths = marker_paths(&kit.provider.sent().pop().unwrap());
    let texts: Vec<String> = paths
        .iter()
        .map(|path| String::from_utf8(kit.machine.files.content(path).unwrap().to_vec()).unwrap())
        .collect();
    assert_eq!(texts, [prose(0, 7_000), prose(1, 7_000)], "{paths:?}");
    assert!(paths.iter().all(|path| path.starts_with(RESULTS)));
    // A later pause clears what has become old since, and never a marker.
    kit.work(&mut session, &["Bash"]).await;
    kit.wait(TWO_HOURS);
    turn(&mut session, "And again.").await;
    assert_eq!(markers(&session), 3);
    let now = prompt(&session);
    drop(session);
    assert!(
        kit.killed().await.1 == now,
        "another prompt after the crash"
    );
}

#[tokio::test]
async fn a_pause_shorter_than_the_cache_lives_clears_nothing() {
    let kit = kit();
    let mut session = kit.open().await;
    kit.work(
        &mut session,
        &["Bash", "Read", "Grep", "Bash", "Read", "Grep", "Bash"],
    )
    .await;
    kit.wait(Duration::from_mins(4));
    turn(&mut session, "Back soon.").await;
    assert_eq!((kit.told(cleared), markers(&session)), (0, 0));
}

/// Under pressure: above the warning, enough held, enough freed; the newest three stay.
#[tokio::test]
async fn a_tight_window_clears_in_one_batch() {
    let kit = kit();
    kit.set(&[
        "notes=off",
        "microcompact.pressure.min_held=8000",
        "microcompact.pressure.min_freed=4000",
    ]);
    let mut session = kit.open().await;
    kit.work(
        &mut session,
        &["Bash", "Read", "Grep", "Bash", "Read", "Grep"],
    )
    .await;
    assert_eq!(kit.told(cleared), 0, "not below the warning");
    kit.talk_until(&mut session, 19_500).await;
    assert_eq!(
        (kit.told(cleared), markers(&session)),
        (1, 3),
        "{:?}",
        kit.notices()
    );
    assert_eq!(
        kit.provider.count(Purpose::Compaction),
        0,
        "no compaction was needed"
    );
    // Not a sliding window: what is left is below the minimum.
    kit.talk_until(&mut session, 20_000).await;
    assert_eq!(kit.told(cleared), 1);
}

#[tokio::test]
async fn too_little_is_not_worth_it() {
    let kit = kit();
    let mut session = kit.open().await;
    kit.work(
        &mut session,
        &["Bash", "Read", "Grep", "Bash", "Read", "Grep"],
    )
    .await;
    kit.talk_until(&mut session, 22_000).await;
    assert_eq!(kit.told(cleared), 0, "the classic minimum is 40,000 tokens");
}

/// A long result that was put into a file is cleared like others; its marker names the file with
/// the whole text, not one with the preview.
#[tokio::test]
async fn the_marker_of_a_preview_names_the_whole_text() {
    let kit = kit();
    let whole = prose(9, 60_000);
    kit.tools.returns("Bash", whole.clone());
    kit.set(&["notes=off", "microcompact.idle.keep=1"]);
    let mut session = kit.open().await;
    kit.work(&mut session, &["Bash", "Grep"]).await;
    kit.wait(TWO_HOURS);
    turn(&mut session, "Back again.").await;
    let paths = marker_paths(&kit.provider.sent().pop().unwrap());
    assert_eq!(paths.len(), 1);
    assert_eq!(
        kit.machine.files.content(&paths[0]).unwrap(),
        whole.as_bytes()
    );
}

/// In a folder with a long path a marker weighs something too. It is not cleared again.
#[tokio::test]
async fn a_marker_is_never_cleared() {
    let kit = kit();
    kit.set(&["notes=off", "microcompact.idle.keep=1"]);
    let home = format!("/home/{}", "a-long-name/".repeat(40));
    let mut session = kit.open_on(kit.machine.system(), home.as_ref()).await;
    kit.work(&mut session, &["Bash", "Read", "Grep"]).await;
    for pause in 1..=3 {
        kit.wait(TWO_HOURS);
        turn(&mut session, "Back again.").await;
        assert_eq!(markers(&session), 2, "pause {pause}");
    }
    assert_eq!(kit.told(cleared), 1);
}

/// A text that cannot be saved is not cleared: the marker would point nowhere.
#[tokio::test]
async fn on_a_full_disk_nothing_is_cleared_and_the_session_goes_on() {
    use dormouse_system::{Fault, Operation};
    let kit = kit();
    let mut session = kit.open().await;
    kit.work(
        &mut session,
        &["Bash", "Read", "Grep", "Bash", "Read", "Grep", "Bash"],
    )
    .await;
    kit.wait(TWO_HOURS);
    let full = Fault::fail(std::io::ErrorKind::StorageFull).on(Operation::Write);
    kit.machine.files.inject(full.at(RESULTS).lasting());
    turn(&mut session, "Back again.").await;
    assert_eq!((kit.told(cleared), markers(&session)), (0, 0));
    assert_eq!(
        kit.told(|notice| matches!(notice, Notice::NotSaved { .. })),
        1
    );
}

/// The persona thinks, calls tools, and its thinking is bound to all that precedes it.
pub(crate) fn thinking_kit(model: &str) -> Kit {
    let simulator = SimConfig {
        answers: AnswerConfig {
            tool_rounds: Some(9),
            thinking_chars: Some(300),
            ..AnswerConfig::default()
        },
        ..SimConfig::default()
    };
    let mut kit = Kit::with(model, simulator);
    let params = kit.config.params.clone();
    let thinking = match model {
        BOUND => serde_json::json!({"type": "adaptive"}),
        _ => serde_json::json!({"type": "enabled", "budget_tokens": 2_000}),
    };
    kit.config.params = params.set("thinking", &thinking).unwrap();
    for (seed, tool) in ["Bash", "Read", "Grep", "Edit", "Write", "Shy"]
        .into_iter()
        .enumerate()
    {
        kit.tools.returns(tool, prose(seed, 7_000));
    }
    kit.provider.always(Purpose::Turn, Answer::Persona);
    kit.set(&[
        "notes=off",
        "microcompact.pressure.min_held=4000",
        "microcompact.pressure.min_freed=2000",
    ]);
    kit.config.window = Some(Tokens(60_000));
    kit
}

fn thinking_in(session: &Session) -> usize {
    let segments = session.conversation().view().segments();
    segments
        .iter()
        .filter(|s| s.block.kind().is_thinking())
        .count()
}

/// Inside a tool loop bound thinking forbids any rewrite; it waits until the turn is over, and then
/// takes the thinking along.
#[tokio::test]
async fn bound_thinking_makes_clearing_wait_for_the_end_of_the_turn() {
    let kit = thinking_kit(BOUND);
    let mut session = kit.open().await;
    for round in 0..8 {
        session
            .turn(vec![Block::text(&format!("Work on part {round}."))])
            .await
            .unwrap();
        check(&session);
    }
    assert!(kit.told(cleared) >= 1, "{:?}", kit.notices());
    let not_compacted = |notice: &Notice| matches!(notice, Notice::NotCompacted { .. });
    assert_eq!(
        kit.told(not_compacted),
        0,
        "waiting is nothing to talk about"
    );
    let records = session.records().await.unwrap();
    for (at, record) in records.iter().enumerate() {
        let Body::Cleared(clearing) = &record.body else {
            continue;
        };
        assert!(!clearing.thinking.is_empty());
        let last_message = records[..at]
            .iter()
            .rev()
            .find_map(|record| match &record.body {
                Body::Message(message) => Some(message),
                _ => None,
            });
        let calls = last_message
            .unwrap()
            .content
            .iter()
            .any(|block| block.call().is_some());
        assert!(!calls, "cleared between a call and the end of its turn");
    }
}

/// The user comes back after a long pause: the turn before is over, so old results may go.
#[tokio::test]
async fn bound_thinking_does_not_hinder_clearing_between_turns() {
    let kit = thinking_kit(BOUND);
    kit.set(&[
        "notes=off",
        "microcompact.pressure=off",
        "microcompact.idle.keep=1",
    ]);
    let mut session = kit.open().await;
    for round in 0..2 {
        session
            .turn(vec![Block::text(&format!("Work on part {round}."))])
            .await
            .unwrap();
    }
    let before = thinking_in(&session);
    assert!(before > 0, "the persona thinks");
    kit.wait(TWO_HOURS);
    session
        .turn(vec![Block::text("Back again.")])
        .await
        .unwrap();
    check(&session);
    assert_eq!(kit.told(cleared), 1, "{:?}", kit.notices());
}

/// A model that binds nothing keeps its thinking when results are cleared.
#[tokio::test]
async fn free_thinking_stays() {
    let kit = thinking_kit(PLAIN);
    kit.set(&[
        "notes=off",
        "microcompact.pressure=off",
        "microcompact.idle.keep=1",
    ]);
    let mut session = kit.open().await;
    session.turn(vec![Block::text("Work.")]).await.unwrap();
    let before = thinking_in(&session);
    kit.wait(TWO_HOURS);
    session
        .turn(vec![Block::text("Back again.")])
        .await
        .unwrap();
    assert_eq!(kit.told(cleared), 1, "{:?}", kit.notices());
    assert!(before > 0 && thinking_in(&session) >= before);
}
