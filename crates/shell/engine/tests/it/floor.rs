//! A prompt that no compaction can make smaller: said once, tried once, never a loop.

use crate::kit::{Kit, boundaries, check, prefix, prose, turn};
use crate::provider::Answer;
use dormouse_context::policy::{Classic, Economic, Policy};
use dormouse_core::block::Block;
use dormouse_core::record::BoundaryKind;
use dormouse_core::units::Tokens;
use dormouse_engine::{EngineError, Notice, Purpose, Session};
use std::sync::Arc;

fn cannot(notice: &Notice) -> bool {
    matches!(notice, Notice::CannotCompact { .. })
}

/// Several turns of a user who does not give up. Returns how many were answered.
async fn insist(session: &mut Session, turns: usize) -> usize {
    let mut answered = 0;
    for turn in 0..turns {
        let said = session
            .turn(vec![Block::text(&format!("Again, {turn}."))])
            .await;
        match said {
            Ok(_) => answered += 1,
            Err(EngineError::Blocked { used, limit }) => assert!(used >= limit),
            Err(error) => panic!("{error}"),
        }
        check(session);
    }
    answered
}

/// The provider counts 199,000 of 200,000 tokens whatever is sent, and there is hardly anything
/// to summarise.
async fn always_full(policy: impl Policy + 'static) {
    let mut kit = Kit::new();
    kit.config.policy = Some(Arc::new(policy));
    kit.config.window = Some(Tokens(200_000));
    kit.provider
        .report_usage(Some("input=199000,read=0,write_5m=0,write_1h=0"));
    let mut session = kit.open().await;
    insist(&mut session, 6).await;
    assert!(kit.provider.count(Purpose::Compaction) <= 1);
    assert_eq!(kit.told(cannot), 1, "{:?}", kit.notices());
    assert!(kit.provider.sent().len() <= 8);
}

#[tokio::test]
async fn a_provider_that_always_reports_a_full_window_is_asked_for_one_summary() {
    always_full(Classic).await;
    always_full(Economic).await;
}

/// The same with a conversation that can be summarised: it is, the next measurement shows that it
/// was no use, and that is the end of it.
async fn of_no_use(policy: impl Policy + 'static) {
    let mut kit = Kit::new();
    kit.config.policy = Some(Arc::new(policy));
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 20_000).await;
    let before = kit.provider.sent().len();
    kit.provider
        .report_usage(Some("input=39800,read=0,write_5m=0,write_1h=0"));
    let answered = insist(&mut session, 6).await;
    assert_eq!(kit.provider.count(Purpose::Compaction), 1);
    assert_eq!(boundaries(&session).await.len(), 1);
    assert_eq!(kit.told(cannot), 1, "{:?}", kit.notices());
    assert!(answered >= 1 && kit.provider.sent().len() - before <= 6 + 1);
    let (mut session, _) = kit.power_cut().await;
    insist(&mut session, 2).await;
    assert_eq!(
        kit.provider.count(Purpose::Compaction),
        1,
        "a resumed session knows it too"
    );
}

#[tokio::test]
async fn a_summary_that_changes_nothing_is_the_last_one() {
    of_no_use(Classic).await;
    of_no_use(Economic).await;
}

/// System prompt and tools alone are above the target: no summary is even asked for.
#[tokio::test]
async fn a_prefix_above_the_target_is_found_out_without_a_call() {
    let mut kit = Kit::new();
    kit.config.prefix = Arc::new(prefix(&prose(1, 150_000)));
    let mut session = kit.open().await;
    insist(&mut session, 5).await;
    assert_eq!(kit.provider.count(Purpose::Compaction), 0);
    assert_eq!(kit.told(cannot), 1, "{:?}", kit.notices());
    assert!(kit.provider.sent().len() <= 5);
}

/// When the floor falls (here: the provider counts as it should again), compaction is back.
#[tokio::test]
async fn the_breaker_closes_when_the_floor_falls() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 20_000).await;
    // Above the target, but not so far that requests stop.
    kit.provider
        .report_usage(Some("input=27500,read=0,write_5m=0,write_1h=0"));
    insist(&mut session, 3).await;
    assert_eq!(boundaries(&session).await.len(), 1);
    kit.provider.report_usage(None);
    turn(&mut session, "And now?").await;
    assert_eq!(
        kit.talk_until_compacted(&mut session).await,
        BoundaryKind::Full
    );
    assert_eq!(kit.told(cannot), 1);
}

/// A long answer is history once it is finished: it is no part of the floor.
#[tokio::test]
async fn a_long_answer_can_be_summarised() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    let answer = Answer::text(&prose(1, 110_000));
    kit.provider.next(Purpose::Turn, answer);
    turn(&mut session, "Write a book.").await;
    assert_eq!(boundaries(&session).await.len(), 1, "{:?}", kit.notices());
    assert_eq!(kit.told(cannot), 0);
}
