//! Compaction by hand: wishes, and parts of the conversation.

use crate::broken_summaries::summary;
use crate::kit::{Kit, LOG, boundaries, check, prompt, prompt_text, turn};
use crate::provider::Answer;
use dormouse_context::compaction::CompactionOutcome;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::record::{Body, BoundaryKind, Trigger};
use dormouse_engine::{CompactWish, EngineError, Notice, Purpose, Session};
use serde_json::json;
use std::sync::Arc;

fn from(message: u64) -> CompactWish {
    CompactWish {
        from: Some(message),
        ..CompactWish::default()
    }
}

fn up_to(message: u64) -> CompactWish {
    CompactWish {
        up_to: Some(message),
        ..CompactWish::default()
    }
}

async fn last_boundary(session: &Session) -> (Trigger, BoundaryKind) {
    match boundaries(session).await.pop().unwrap().body {
        Body::Boundary(boundary) => (boundary.trigger, boundary.kind),
        _ => unreachable!("only boundaries were asked for"),
    }
}

#[tokio::test]
async fn the_users_wish_reaches_the_model_and_the_summary_the_prompt() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    let wish = CompactWish {
        instructions: Some("Keep the list of ports.".to_owned()),
        ..CompactWish::default()
    };
    kit.provider
        .next(Purpose::Compaction, Answer::text(&summary(80)));
    session.compact(wish).await.unwrap();
    assert_eq!(
        last_boundary(&session).await,
        (Trigger::Manual, BoundaryKind::Full)
    );
    let asked = kit.provider.sent_for(Purpose::Compaction).pop().unwrap();
    assert!(asked.last_text().contains("Keep the list of ports."));
    let text = prompt_text(&session);
    assert!(text.contains("Primary request and intent") && !text.contains("<analysis>"));
    assert!(text.contains(LOG), "the summary names the full history");
    assert!(
        !text.contains("Keep the list of ports."),
        "a wish is not part of the conversation"
    );
}

/// Instruction files may say what every summary should pay attention to.
#[tokio::test]
async fn instruction_files_have_their_say_in_every_summary() {
    let mut kit = Kit::new();
    let rules =
        Block::text("# Project\n\n## Compact instructions\nKeep every port.\n\n## Style\nShort.");
    let plain = crate::kit::prefix("You help with the work.");
    let prefix = RenderedPrefix::new(
        plain.tools().to_vec(),
        plain.system().to_vec(),
        vec![Part::block("AGENTS.md", &rules)],
    );
    kit.config.prefix = Arc::new(prefix);
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    session.compact(CompactWish::default()).await.unwrap();
    let asked = kit.provider.sent_for(Purpose::Compaction).pop().unwrap();
    assert!(asked.last_text().contains("- Keep every port."));
    assert!(!asked.last_text().contains("Short."));
}

/// A new prefix is written down and is no surprise to the cache's ledger.
#[tokio::test]
async fn instructions_that_changed_are_an_expected_break() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 8_000).await;
    let changed = crate::kit::prefix("You help with the work, and you are brief.");
    session.set_prefix(Arc::new(changed)).await.unwrap();
    turn(&mut session, "Go on.").await;
    let sent = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    assert!(sent.contains("and you are brief"));
    let broken = |notice: &Notice| matches!(notice, Notice::CacheBroken { .. });
    assert_eq!(kit.told(broken), 0, "{:?}", kit.notices());
    drop(session);
    check(&kit.open().await);
}

/// `from n`: what is before stays as it was, so the cached prefix survives.
#[tokio::test]
async fn from_a_message_on_leaves_the_cached_prefix_alone() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 14_000).await;
    let before = prompt(&session);
    let last = kit
        .provider
        .sent_for(Purpose::Turn)
        .pop()
        .unwrap()
        .messages();
    session.compact(from(6)).await.unwrap();
    let directive = kit.provider.sent_for(Purpose::Compaction)[0].last_text();
    assert!(directive.contains("the message that begins with `Answer 3."));
    assert_eq!(
        last_boundary(&session).await,
        (Trigger::Manual, BoundaryKind::Partial)
    );
    let after = prompt(&session);
    assert!(after[..6] == before[..6], "the kept part changed");
    assert!(after.len() < before.len());
    turn(&mut session, "Go on.").await;
    let sent = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    assert_eq!(sent.messages()[..6], last[..6]);
    // The prefix and the kept messages were read from the cache.
    let usage = session
        .conversation()
        .state()
        .last_usage
        .clone()
        .unwrap()
        .usage;
    assert!(usage.cache_read.get() > 1_500, "{usage:?}");
}

/// `up_to n`: what follows stays byte for byte behind the summary.
#[tokio::test]
async fn up_to_a_message_keeps_the_rest() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 14_000).await;
    let before = prompt(&session);
    kit.provider
        .next(Purpose::Compaction, Answer::text(&summary(80)));
    session.compact(up_to(7)).await.unwrap();
    assert_eq!(
        last_boundary(&session).await,
        (Trigger::Manual, BoundaryKind::Partial)
    );
    let after = prompt(&session);
    let kept = before.len() - 6;
    assert!(
        after[after.len() - kept..] == before[6..],
        "the kept part changed"
    );
    check(&session);
    turn(&mut session, "Go on.").await;
    // Questions that stay are not said twice.
    let text = prompt_text(&session);
    assert!(text.contains("[user message 3:") && !text.contains("[user message 9:"));
    let now = prompt(&session);
    drop(session);
    assert!(kit.killed().await.1 == now);
}

/// A cut never separates a call from its result.
#[tokio::test]
async fn calls_and_results_stay_together() {
    for wish in [
        from(11),
        up_to(11),
        from(12),
        up_to(12),
        from(13),
        up_to(13),
        from(14),
        up_to(14),
    ] {
        let kit = Kit::new();
        kit.tools.returns("Bash", crate::kit::prose(2, 9_000));
        let mut session = kit.open().await;
        kit.provider
            .always(Purpose::Compaction, Answer::text(&summary(80)));
        for _ in 0..5 {
            kit.provider
                .next(Purpose::Turn, Answer::text(&crate::kit::prose(1, 2_000)));
            turn(&mut session, "And?").await;
        }
        kit.work(&mut session, &["Bash", "Bash", "Bash"]).await;
        kit.talk_until(&mut session, 14_000).await;
        let outcome = session.compact(wish.clone()).await.unwrap();
        assert!(
            matches!(outcome, CompactionOutcome::Compacted { .. }),
            "{wish:?} {outcome:?}"
        );
        check(&session);
        turn(&mut session, "Go on.").await;
    }
}

#[tokio::test]
async fn what_cannot_be_done_is_said() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, "Hello.").await;
    let before = prompt(&session);
    for message in [0, 3, 99] {
        let error = session.compact(from(message)).await.unwrap_err();
        assert!(matches!(error, EngineError::NoSuchMessage(found) if found == message));
    }
    for wish in [from(2), up_to(1)] {
        let outcome = session.compact(wish).await.unwrap();
        assert!(
            matches!(outcome, CompactionOutcome::Nothing(_)),
            "{outcome:?}"
        );
    }
    // Too little to gain anything: the old view stands.
    let outcome = session.compact(CompactWish::default()).await.unwrap();
    assert!(
        matches!(outcome, CompactionOutcome::NoProgress { .. }),
        "{outcome:?}"
    );
    assert!(prompt(&session) == before);
    kit.set(&["compact=off"]);
    let error = session.compact(CompactWish::default()).await.unwrap_err();
    assert!(matches!(error, EngineError::CompactionOff));
}

/// Files that were read are shown again as they are on disk now.
#[tokio::test]
async fn files_read_lately_are_shown_again() {
    let kit = Kit::new();
    kit.machine
        .files
        .put("/project/src/a.rs", "fn as_it_is_now() {}");
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 8_000).await;
    let read = Answer::call("call_r", "Read", &json!({"file_path": "/project/src/a.rs"}));
    kit.tools.returns("Read", "fn as_it_was() {}");
    kit.provider.next(Purpose::Turn, read);
    session.turn(vec![Block::text("Read it.")]).await.unwrap();
    session.compact(CompactWish::default()).await.unwrap();
    let text = prompt_text(&session);
    assert!(text.contains("fn as_it_is_now() {}"), "{text}");
    check(&session);
}
