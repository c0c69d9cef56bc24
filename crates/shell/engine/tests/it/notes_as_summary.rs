//! Notes serve as the summary of a compaction: no model is asked, and the recent part stays.

use crate::kit::{Kit, boundaries, check, prompt, prompt_text, prose, turn};
use crate::notes::section;
use crate::provider::Answer;
use dormouse_core::record::{Body, BoundaryKind};
use dormouse_core::units::Tokens;
use dormouse_engine::{Notice, Purpose, Session};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// A window of 60,000 tokens, so that compaction comes at 40,200; notes are on.
fn kit() -> Kit {
    let mut kit = Kit::new();
    kit.set(&[]);
    kit.config.window = Some(Tokens(60_000));
    kit
}

async fn say(kit: &Kit, session: &mut Session, tokens: usize) {
    kit.provider
        .next(Purpose::Turn, Answer::text(&prose(tokens, tokens * 4)));
    turn(session, &format!("A question before {tokens} tokens.")).await;
}

async fn kinds(session: &Session) -> Vec<BoundaryKind> {
    let boundaries = boundaries(session).await.into_iter();
    let kinds = boundaries.map(|record| match record.body {
        Body::Boundary(boundary) => boundary.kind,
        _ => unreachable!("only boundaries were asked for"),
    });
    kinds.collect()
}

#[tokio::test]
async fn no_model_is_asked_and_the_tail_stays() {
    let kit = kit();
    kit.provider.always(
        Purpose::Notes,
        section("Current State", "NOTED-1: the proxy listens on 8080"),
    );
    let mut session = kit.open().await;
    let mut before = Vec::new();
    for round in 0..30 {
        if !boundaries(&session).await.is_empty() {
            break;
        }
        before = prompt(&session);
        say(&kit, &mut session, 2_000 + round).await;
        session.settle_notes().await.unwrap();
    }
    assert_eq!(
        kinds(&session).await,
        [BoundaryKind::Notes],
        "{:?}",
        kit.notices()
    );
    assert_eq!(kit.provider.count(Purpose::Compaction), 0);
    let text = prompt_text(&session);
    assert!(text.contains("NOTED-1: the proxy listens on 8080"));
    assert!(
        text.contains("A question before 2000 tokens."),
        "user messages stand beside the notes"
    );
    // The recent part stays byte for byte: five messages with text, the last two of them said since
    // `before` was taken; the 10,000 tokens of a full window shrink with this one.
    let now = prompt(&session);
    let kept = now.iter().filter(|part| before.contains(part)).count();
    assert!((3..=20).contains(&kept), "{kept}");
    assert!(
        session.used() > Tokens(4_000) && session.used() < Tokens(30_000),
        "{}",
        session.used()
    );
    turn(&mut session, "Go on.").await;
    let now = prompt(&session);
    drop(session);
    assert!(
        kit.killed().await.1 == now,
        "another prompt after the crash"
    );
}

/// A compaction waits for an update that is under way, and uses it.
#[tokio::test(start_paused = true)]
async fn it_waits_for_an_update_that_is_under_way() {
    let kit = kit();
    let word = Arc::new(Notify::new());
    let late = section("Current State", "LATE-BUT-THERE").held(&word);
    kit.provider.next(Purpose::Notes, late);
    let mut session = kit.open().await;
    say(&kit, &mut session, 12_000).await;
    assert_eq!(kit.provider.count(Purpose::Notes), 1);
    let speaker = Arc::clone(&word);
    say(&kit, &mut session, 12_001).await;
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        speaker.notify_one();
    });
    say(&kit, &mut session, 17_000).await;
    assert_eq!(
        kinds(&session).await,
        [BoundaryKind::Notes],
        "{:?}",
        kit.notices()
    );
    assert!(prompt_text(&session).contains("LATE-BUT-THERE"));
    assert_eq!(kit.provider.count(Purpose::Compaction), 0);
}

/// It does not wait for ever; what comes too late is still taken in.
#[tokio::test(start_paused = true)]
async fn it_does_not_wait_for_ever() {
    let kit = kit();
    kit.set(&["notes.start=24000"]);
    let word = Arc::new(Notify::new());
    kit.provider.next(
        Purpose::Notes,
        section("Worklog", "far too late").held(&word),
    );
    let mut session = kit.open().await;
    for tokens in [12_000, 12_001, 17_000] {
        say(&kit, &mut session, tokens).await;
    }
    assert_eq!(
        kinds(&session).await,
        [BoundaryKind::Full],
        "{:?}",
        kit.notices()
    );
    word.notify_one();
    session.settle_notes().await.unwrap();
    assert_eq!(kit.told(|n| matches!(n, Notice::NotesUpdated { .. })), 1);
    // Growth counts from what the compaction left, not from the length before it.
    let notes = session.conversation().state().notes.clone().unwrap();
    assert!(notes.conversation < Tokens(12_000), "{notes:?}");
    check(&session);
}

/// Too much follows what the notes cover: they are not used.
#[tokio::test]
async fn notes_that_lag_behind_are_not_used() {
    let kit = kit();
    kit.set(&["notes.keep_limit=12000"]);
    kit.provider
        .next(Purpose::Notes, section("Worklog", "early notes"));
    kit.provider.always(Purpose::Notes, Answer::overloaded());
    let mut session = kit.open().await;
    for tokens in [11_000, 10_000, 10_001, 12_000] {
        say(&kit, &mut session, tokens).await;
        session.settle_notes().await.unwrap();
    }
    assert_eq!(
        kinds(&session).await,
        [BoundaryKind::Full],
        "{:?}",
        kit.notices()
    );
    assert_eq!(kit.provider.count(Purpose::Compaction), 1);
}

/// The newest records that the notes cover were compacted away: the notes are not used until they
/// are written again.
#[tokio::test]
async fn notes_about_what_is_no_longer_in_view_are_not_used() {
    let kit = kit();
    kit.provider
        .next(Purpose::Notes, section("Worklog", "early notes"));
    kit.provider.always(Purpose::Notes, Answer::overloaded());
    let mut session = kit.open().await;
    say(&kit, &mut session, 11_000).await;
    session.settle_notes().await.unwrap();
    session
        .compact(dormouse_engine::CompactWish::default())
        .await
        .unwrap();
    for tokens in [11_000, 12_000, 12_001, 9_000] {
        say(&kit, &mut session, tokens).await;
        session.settle_notes().await.unwrap();
    }
    assert_eq!(
        kinds(&session).await[..2],
        [BoundaryKind::Full, BoundaryKind::Full]
    );
}

/// A summary that a model wrote is carried along by the notes that follow it.
#[tokio::test]
async fn an_earlier_summary_is_carried_along() {
    let kit = kit();
    let first = crate::broken_summaries::summary(60)
        .replace("7. Current work:", "7. Current work: FROM-THE-MODEL");
    kit.provider.next(Purpose::Compaction, Answer::text(&first));
    kit.provider
        .always(Purpose::Notes, section("Worklog", "later notes"));
    let mut session = kit.open().await;
    say(&kit, &mut session, 11_000).await;
    session.settle_notes().await.unwrap();
    session
        .compact(dormouse_engine::CompactWish::default())
        .await
        .unwrap();
    for round in 0..30 {
        if boundaries(&session).await.len() > 1 {
            break;
        }
        say(&kit, &mut session, 2_500 + round).await;
        session.settle_notes().await.unwrap();
    }
    assert_eq!(
        kinds(&session).await,
        [BoundaryKind::Full, BoundaryKind::Notes],
        "{:?}",
        kit.notices()
    );
    let text = prompt_text(&session);
    assert!(text.contains("later notes") && text.contains("FROM-THE-MODEL"));
}
