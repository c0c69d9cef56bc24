//! Rewrites can be taken back, byte for byte.

use crate::kit::{Kit, boundaries, prompt, prompt_text, prose, turn};
use crate::provider::Answer;
use dormouse_context::undo::UndoError;
use dormouse_engine::{CompactWish, EngineError, Notice, Purpose};
use std::time::Duration;

#[tokio::test]
async fn undoing_a_compaction_gives_back_every_byte() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    let (before, used) = (prompt(&session), session.used());
    session.compact(CompactWish::default()).await.unwrap();
    assert!(prompt(&session) != before);
    assert_eq!(session.undo(None).await.unwrap(), 1);
    assert!(prompt(&session) == before, "other bytes came back");
    let difference = session.used().get().abs_diff(used.get());
    assert!(difference <= used.get() / 20, "{} {used}", session.used());
    drop(session);
    let (mut session, resumed) = kit.killed().await;
    assert!(resumed == before, "other bytes after the crash");
    turn(&mut session, "Go on.").await;
    assert!(prompt(&session)[..before.len()] == before[..]);
}

#[tokio::test]
async fn what_was_said_since_stays() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    let before = prompt(&session);
    session.compact(CompactWish::default()).await.unwrap();
    turn(&mut session, "Said after the summary.").await;
    session.undo(None).await.unwrap();
    let now = prompt(&session);
    assert!(now[..before.len()] == before[..]);
    assert_eq!(now.len(), before.len() + 2);
    assert!(prompt_text(&session).contains("Said after the summary."));
    turn(&mut session, "Go on.").await;
}

/// A user who takes a compaction back does not want it again with the next request.
#[tokio::test]
async fn what_was_undone_is_not_done_again_at_once() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until_compacted(&mut session).await;
    session.undo(None).await.unwrap();
    let target = session.driver().settings().thresholds.autocompact_target;
    assert!(session.used() >= target, "it is as full as it was");
    turn(&mut session, "Go on.").await;
    assert_eq!(boundaries(&session).await.len(), 1);
    // When there is no more room it has to be.
    for _ in 0..10 {
        kit.provider
            .next(Purpose::Turn, Answer::text(&prose(5, 8_000)));
        turn(&mut session, "And on.").await;
        if boundaries(&session).await.len() > 1 {
            break;
        }
    }
    assert_eq!(boundaries(&session).await.len(), 2);
}

#[tokio::test]
async fn undoing_a_clearing_gives_back_every_byte() {
    let kit = Kit::new();
    for (seed, tool) in ["Bash", "Read", "Grep"].into_iter().enumerate() {
        kit.tools.returns(tool, prose(seed, 7_000));
    }
    kit.set(&["notes=off", "microcompact.idle.keep=1"]);
    let mut session = kit.open().await;
    kit.work(&mut session, &["Bash", "Read", "Grep"]).await;
    let before = prompt(&session);
    kit.wait(Duration::from_hours(2));
    turn(&mut session, "Back again.").await;
    assert!(prompt(&session)[..before.len()] != before[..]);
    session.undo(None).await.unwrap();
    assert!(
        prompt(&session)[..before.len()] == before[..],
        "other bytes came back"
    );
    let now = prompt(&session);
    drop(session);
    assert!(kit.killed().await.1 == now);
}

#[tokio::test]
async fn it_is_refused_with_the_figures_when_it_does_not_fit() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 20_000).await;
    session.compact(CompactWish::default()).await.unwrap();
    kit.talk_until(&mut session, 20_000).await;
    let before = prompt(&session);
    let error = session.undo(None).await.unwrap_err();
    let EngineError::Undo(UndoError::DoesNotFit { needed, limit }) = error else {
        panic!("{error}")
    };
    assert!(needed > limit);
    assert_eq!(limit, session.driver().settings().thresholds.blocking_limit);
    assert!(prompt(&session) == before);
}

#[tokio::test]
async fn without_a_rewrite_there_is_nothing_to_undo() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, "Hello.").await;
    let error = session.undo(None).await.unwrap_err();
    assert!(matches!(error, EngineError::Undo(UndoError::NothingToUndo)));
}

/// Two compactions: the newest first; the older one takes the newer with it.
#[tokio::test]
async fn an_older_rewrite_takes_the_newer_ones_along() {
    let mut kit = Kit::new();
    kit.config.window = None;
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 10_000).await;
    let first = prompt(&session);
    session.compact(CompactWish::default()).await.unwrap();
    kit.provider
        .next(Purpose::Turn, Answer::text(&prose(1, 20_000)));
    turn(&mut session, "More.").await;
    session.compact(CompactWish::default()).await.unwrap();
    let oldest = crate::kit::boundaries(&session).await[0].id.clone();
    assert_eq!(session.undo(Some(&oldest)).await.unwrap(), 2);
    assert!(prompt(&session)[..first.len()] == first[..]);
}

/// A prompt that is full again because the compaction was undone does not count against it.
#[tokio::test]
async fn an_undone_compaction_is_not_judged() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.set(&["compact.auto=off"]);
    kit.talk_until(&mut session, 27_500).await;
    session.compact(CompactWish::default()).await.unwrap();
    session.undo(None).await.unwrap();
    turn(&mut session, "As before?").await;
    assert_eq!(kit.told(|n| matches!(n, Notice::CannotCompact { .. })), 0);
    kit.set(&["notes=off"]);
    session.compact(CompactWish::default()).await.unwrap();
    assert_eq!(
        crate::kit::boundaries(&session).await.len(),
        2,
        "compaction still works"
    );
}
