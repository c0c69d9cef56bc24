//! Every layer has a switch. Flipped while a session runs, it takes effect at the next step, and
//! the other layers go on.

use crate::kit::{Kit, boundaries, check, prompt_text, prose, turn};
use crate::notes::section;
use crate::provider::Answer;
use dormouse_core::record::{Body, BoundaryKind};
use dormouse_core::units::Tokens;
use dormouse_engine::{CompactWish, EngineError, Notice, Purpose, Session};
use std::time::Duration;

/// Longer than the longest cache lifetime, so that the cache has lapsed.
const TWO_HOURS: Duration = Duration::from_hours(2);

fn offloaded(kit: &Kit) -> usize {
    kit.told(|notice| matches!(notice, Notice::Offloaded { .. }))
}

fn cleared(kit: &Kit) -> usize {
    kit.told(|notice| matches!(notice, Notice::Cleared { .. }))
}

async fn kinds(session: &Session) -> Vec<BoundaryKind> {
    let boundaries = boundaries(session).await.into_iter();
    let kinds = boundaries.filter_map(|record| match record.body {
        Body::Boundary(boundary) => Some(boundary.kind),
        _ => None,
    });
    kinds.collect()
}

fn kit() -> Kit {
    let kit = Kit::new();
    for (seed, tool) in ["Bash", "Read", "Grep"].into_iter().enumerate() {
        kit.tools.returns(tool, prose(seed, 6_000));
    }
    kit
}

async fn say(kit: &Kit, session: &mut Session, tokens: usize) {
    kit.provider
        .next(Purpose::Turn, Answer::text(&prose(tokens, tokens * 4)));
    turn(session, "Go on.").await;
    session.settle_notes().await.unwrap();
}

#[tokio::test]
async fn offload() {
    let mut kit = kit();
    kit.config.window = None;
    kit.tools.returns("Bash", prose(1, 40_000));
    let mut session = kit.open().await;
    kit.work(&mut session, &["Bash"]).await;
    kit.set(&["notes=off", "offload=off"]);
    kit.work(&mut session, &["Bash"]).await;
    assert_eq!(offloaded(&kit), 1);
    assert!(prompt_text(&session).len() > 40_000);
    kit.set(&["notes=off"]);
    kit.work(&mut session, &["Bash"]).await;
    assert_eq!(offloaded(&kit), 2);
}

#[tokio::test]
async fn clearing_on_a_lapsed_cache() {
    let kit = kit();
    kit.set(&[
        "notes=off",
        "microcompact.idle=off",
        "microcompact.idle.keep=1",
    ]);
    let mut session = kit.open().await;
    kit.work(&mut session, &["Bash", "Read", "Grep"]).await;
    kit.wait(TWO_HOURS);
    turn(&mut session, "Back.").await;
    assert_eq!(cleared(&kit), 0);
    kit.set(&["notes=off", "microcompact.idle.keep=1"]);
    kit.wait(TWO_HOURS);
    turn(&mut session, "Back again.").await;
    assert_eq!(cleared(&kit), 1);
}

#[tokio::test]
async fn clearing_in_a_tight_window() {
    let kit = kit();
    let small = [
        "microcompact.pressure.min_held=3000",
        "microcompact.pressure.min_freed=1000",
    ];
    let on = [&["notes=off"][..], &small].concat();
    let off = [&["notes=off", "microcompact.pressure=off"][..], &small].concat();
    kit.set(&off);
    let mut session = kit.open().await;
    kit.work(
        &mut session,
        &["Bash", "Read", "Grep", "Bash", "Read", "Grep"],
    )
    .await;
    kit.talk_until(&mut session, 20_000).await;
    assert_eq!(cleared(&kit), 0);
    kit.set(&on);
    turn(&mut session, "Go on.").await;
    assert_eq!(cleared(&kit), 1);
}

#[tokio::test]
async fn notes() {
    let mut kit = kit();
    kit.config.window = None;
    kit.set(&["notes=off"]);
    let mut session = kit.open().await;
    say(&kit, &mut session, 12_000).await;
    assert_eq!(kit.provider.count(Purpose::Notes), 0);
    kit.set(&[]);
    say(&kit, &mut session, 100).await;
    assert_eq!(kit.provider.count(Purpose::Notes), 1);
    kit.set(&["notes=off"]);
    say(&kit, &mut session, 8_000).await;
    assert_eq!(kit.provider.count(Purpose::Notes), 1);
    // Without automatic compaction there is no use for them.
    kit.set(&["compact.auto=off"]);
    say(&kit, &mut session, 8_000).await;
    assert_eq!(kit.provider.count(Purpose::Notes), 1);
}

/// Notes are written, but the model is asked for the summary.
#[tokio::test]
async fn notes_as_compaction() {
    for (flag, kind) in [
        ("notes.compact=on", BoundaryKind::Notes),
        ("notes.compact=off", BoundaryKind::Full),
    ] {
        let mut kit = kit();
        kit.config.window = Some(Tokens(60_000));
        kit.set(&[]);
        kit.provider
            .always(Purpose::Notes, section("Worklog", "as it was"));
        let mut session = kit.open().await;
        for round in 0..8 {
            say(&kit, &mut session, 4_000 + round).await;
        }
        assert!(boundaries(&session).await.is_empty());
        kit.set(&[flag]);
        say(&kit, &mut session, 9_000).await;
        assert_eq!(kinds(&session).await, [kind], "{flag}: {:?}", kit.notices());
        assert!(kit.provider.count(Purpose::Notes) > 2, "notes go on");
    }
}

/// `compact`: neither by itself nor by hand; when the window is full, that is said.
#[tokio::test]
async fn compaction_of_any_kind() {
    let kit = kit();
    kit.set(&["compact=off"]);
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 27_500).await;
    assert!(boundaries(&session).await.is_empty());
    let error = session.compact(CompactWish::default()).await.unwrap_err();
    assert!(matches!(error, EngineError::CompactionOff));
    kit.talk_until(&mut session, 30_900).await;
    let error = session
        .turn(vec![dormouse_core::block::Block::text("More.")])
        .await
        .unwrap_err();
    assert!(matches!(error, EngineError::Blocked { .. }), "{error}");
    kit.set(&["notes=off"]);
    session.go_on().await.unwrap();
    check(&session);
    assert_eq!(kinds(&session).await, [BoundaryKind::Full]);
}

/// `compact.auto`: only by hand.
#[tokio::test]
async fn automatic_compaction() {
    let kit = kit();
    kit.set(&["compact.auto=off"]);
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 27_500).await;
    assert!(boundaries(&session).await.is_empty());
    session.compact(CompactWish::default()).await.unwrap();
    assert_eq!(boundaries(&session).await.len(), 1);
    kit.talk_until(&mut session, 27_500).await;
    assert_eq!(boundaries(&session).await.len(), 1);
    kit.set(&["notes=off"]);
    turn(&mut session, "Go on.").await;
    assert_eq!(boundaries(&session).await.len(), 2, "{:?}", kit.notices());
}
