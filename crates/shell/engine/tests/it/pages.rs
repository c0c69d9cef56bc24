//! Prompts of a session as pages: before and after each layer, and each request that a layer makes.
//!
//! The pages are files in `snapshots/`. A change of a prompt shows in their diff;
//! `INSTA_UPDATE=always cargo test -p dormouse-engine pages` writes them anew.

use crate::broken_summaries::summary;
use crate::kit::{Kit, prose, turn};
use crate::notes::section;
use crate::provider::Answer;
use dormouse_core::block::Block;
use dormouse_core::units::Tokens;
use dormouse_engine::{CompactWish, HookAnswer, Purpose, Session};
use dormouse_testkit::page;
use insta::assert_snapshot;
use serde_json::json;
use std::time::Duration;

/// Text of one long line, which a page shows shortened.
fn filler(seed: usize, chars: usize) -> String {
    prose(seed, chars).replace('\n', " ")
}

/// Page of the last request of a kind.
fn last(kit: &Kit, purpose: Purpose) -> String {
    page(&kit.provider.sent_for(purpose).pop().unwrap().json())
}

/// A short piece of work: a file is read, tests are run and fail, a file is edited.
async fn work(kit: &Kit, session: &mut Session) {
    kit.tools
        .returns("Read", "pub fn port() -> u16 {\n    8080\n}");
    kit.tools
        .returns("Bash", "test port ... FAILED\nexit code: 101");
    for (at, (tool, input)) in [
        ("Read", json!({"file_path": "src/port.rs"})),
        ("Bash", json!({"command": "cargo test port"})),
        (
            "Edit",
            json!({"file_path": "src/port.rs", "old_string": "8080", "new_string": "9090"}),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("call_{at}");
        kit.provider
            .next(Purpose::Turn, Answer::call(&id, tool, &input));
    }
    kit.provider
        .next(Purpose::Turn, Answer::text("The port is 9090 now."));
    turn(
        session,
        "The service must listen on 9090. Never touch src/legacy.rs.",
    )
    .await;
}

/// Questions and long answers after the work, until a compaction pays.
async fn worked(kit: &Kit) -> Session {
    let mut session = kit.open().await;
    work(kit, &mut session).await;
    for round in 0..6 {
        kit.provider
            .next(Purpose::Turn, Answer::text(&filler(round, 8_000)));
        turn(&mut session, &format!("Question {round}: and then?")).await;
    }
    session
}

#[tokio::test]
async fn offload_replaces_a_long_result_by_a_preview() {
    for (name, chars) in [("offload_before", 29_000), ("offload_after", 31_000)] {
        let mut kit = Kit::new();
        kit.config.window = None;
        kit.tools.returns("Bash", filler(1, chars));
        let mut session = kit.open().await;
        kit.work(&mut session, &["Bash"]).await;
        assert_snapshot!(name, last(&kit, Purpose::Turn));
    }
}

#[tokio::test]
async fn clearing_replaces_old_results_by_markers() {
    let kit = Kit::new();
    for (seed, tool) in ["Bash", "Read", "Grep"].into_iter().enumerate() {
        kit.tools.returns(tool, filler(seed, 7_000));
    }
    let mut session = kit.open().await;
    kit.work(
        &mut session,
        &["Bash", "Read", "Grep", "Bash", "Read", "Grep", "Bash"],
    )
    .await;
    assert_snapshot!("clearing_before", last(&kit, Purpose::Turn));
    // The cache has lapsed: rewriting old parts costs nothing now.
    kit.wait(Duration::from_hours(2));
    turn(&mut session, "Back again.").await;
    assert_snapshot!("clearing_after", last(&kit, Purpose::Turn));
}

#[tokio::test]
async fn notes_are_asked_for_behind_the_conversation() {
    let kit = crate::notes::kit();
    kit.provider.always(
        Purpose::Notes,
        section("Current State", "The port is 9090; its test fails."),
    );
    let mut session = worked(&kit).await;
    session.settle_notes().await.unwrap();
    assert_snapshot!("notes_request", last(&kit, Purpose::Notes));
    kit.provider
        .next(Purpose::Turn, Answer::text(&filler(9, 30_000)));
    turn(&mut session, "More.").await;
    session.settle_notes().await.unwrap();
    assert_snapshot!("notes_request_again", last(&kit, Purpose::Notes));
}

#[tokio::test]
async fn notes_stand_for_what_a_compaction_removes() {
    let mut kit = Kit::new();
    kit.set(&[]);
    kit.config.window = Some(Tokens(60_000));
    kit.provider.always(
        Purpose::Notes,
        section("Current State", "The port is 9090; its test fails."),
    );
    let mut session = kit.open().await;
    work(&kit, &mut session).await;
    while crate::kit::boundaries(&session).await.is_empty() {
        assert!(session.used() < Tokens(50_000), "no compaction");
        kit.provider
            .next(Purpose::Turn, Answer::text(&filler(5, 20_000)));
        turn(&mut session, "Go on.").await;
        session.settle_notes().await.unwrap();
    }
    turn(&mut session, "Which port is it?").await;
    assert_snapshot!("notes_as_summary_after", last(&kit, Purpose::Turn));
}

#[tokio::test]
async fn a_compaction_asks_for_a_summary_and_builds_the_prompt_on_it() {
    let kit = Kit::new();
    *kit.hooks.answer.lock().unwrap() = HookAnswer {
        instructions: vec!["Name the branch.".to_owned()],
        ..HookAnswer::default()
    };
    let mut session = worked(&kit).await;
    assert_snapshot!("compaction_before", last(&kit, Purpose::Turn));
    kit.provider
        .next(Purpose::Compaction, Answer::text(&summary(60)));
    let wish = CompactWish {
        instructions: Some("Keep the list of ports.".to_owned()),
        ..CompactWish::default()
    };
    session.compact(wish).await.unwrap();
    assert_snapshot!("compaction_request", last(&kit, Purpose::Compaction));
    turn(&mut session, "Which port is it?").await;
    assert_snapshot!("compaction_after", last(&kit, Purpose::Turn));
}

#[tokio::test]
async fn without_a_model_the_summary_is_made_of_the_conversation() {
    let kit = Kit::new();
    let mut session = worked(&kit).await;
    kit.provider.always(
        Purpose::Compaction,
        Answer::Blocks(vec![Block::text("I cannot.")]),
    );
    session.compact(CompactWish::default()).await.unwrap();
    turn(&mut session, "Which port is it?").await;
    assert_snapshot!("compaction_without_model_after", last(&kit, Purpose::Turn));
}

#[tokio::test]
async fn a_part_is_compacted_where_the_user_says() {
    for (name, wish) in [
        (
            "compaction_request_up_to",
            CompactWish {
                up_to: Some(6),
                ..CompactWish::default()
            },
        ),
        (
            "compaction_request_from",
            CompactWish {
                from: Some(8),
                ..CompactWish::default()
            },
        ),
    ] {
        let kit = Kit::new();
        let mut session = worked(&kit).await;
        kit.provider
            .next(Purpose::Compaction, Answer::text(&summary(60)));
        session.compact(wish).await.unwrap();
        assert_snapshot!(name, last(&kit, Purpose::Compaction));
    }
}
