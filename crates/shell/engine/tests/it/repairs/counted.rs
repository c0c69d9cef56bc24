//! Everything the provider bills is in the log.

use super::{interrupt, records};
use crate::kit::{Kit, prose, turn};
use crate::notes::section;
use crate::provider::Answer;
use dormouse_ask::retry::RetryPolicy;
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::record::Body;
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{CompactWish, ForkLimits, Purpose, Session};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Usage by message, with the purpose: a later record of the same message corrects the earlier.
async fn logged(session: &Session) -> BTreeMap<MessageId, (Purpose, TokenUsage)> {
    let records = records(session).await.into_iter();
    let reports = records.filter_map(|record| match record.body {
        Body::Usage(report) => Some((report.message?, (report.purpose, report.usage))),
        _ => None,
    });
    reports.collect()
}

fn sum(usages: impl IntoIterator<Item = TokenUsage>) -> TokenUsage {
    usages
        .into_iter()
        .fold(TokenUsage::default(), |mut sum, usage| {
            sum += usage;
            sum
        })
}

fn totals(session: &Session) -> TokenUsage {
    let conversation = session.conversation();
    let models = &conversation.view().target().models;
    sum(conversation
        .state()
        .totals
        .sums(models)
        .values()
        .map(|sum| sum.usage))
}

/// Log, folded state and bill agree.
async fn agrees(kit: &Kit, session: &Session) {
    let billed = sum(kit.provider.billed().into_iter().map(|(_, usage)| usage));
    let logged = logged(session).await;
    assert_eq!(sum(logged.values().map(|(_, usage)| *usage)), billed);
    assert_eq!(totals(session), billed);
}

/// A session that did everything there is to pay for.
async fn busy() -> (Kit, Session) {
    let mut kit = Kit::new();
    kit.config.window = None;
    kit.set(&["cache.keep_alive=on", "cache.ttl.messages=5m"]);
    let notes = section("Current State", "the work goes on");
    kit.provider.always(Purpose::Notes, notes);
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 14_000).await;
    session.settle_notes().await.unwrap();
    for _ in 0..2 {
        kit.wait(Duration::from_mins(9));
        turn(&mut session, "Back again.").await;
    }
    kit.wait(Duration::from_mins(4));
    assert!(session.keep_alive().await.unwrap());
    let limits = ForkLimits { requests: 3 };
    let fork = session.fork("Say something.", None, limits).await.unwrap();
    assert_eq!(fork.requests, 1);
    session.settle_notes().await.unwrap();
    kit.set(&["notes=off"]);
    session.compact(CompactWish::default()).await.unwrap();
    turn(&mut session, "Go on.").await;
    (kit, session)
}

#[tokio::test]
async fn every_purpose_is_in_the_log_and_the_sum_is_the_providers_bill() {
    let (kit, session) = busy().await;
    let logged = logged(&session).await;
    for purpose in [
        Purpose::Turn,
        Purpose::Notes,
        Purpose::Compaction,
        Purpose::KeepAlive,
        Purpose::Fork,
    ] {
        let asked = kit.provider.count(purpose);
        assert!(asked > 0, "{purpose:?} was never asked for");
        let counted = logged.values().filter(|(of, _)| *of == purpose).count();
        assert_eq!(counted, asked, "{purpose:?}");
    }
    agrees(&kit, &session).await;
}

#[tokio::test]
async fn the_sum_is_the_bill_after_a_kill_too() {
    let (kit, session) = busy().await;
    drop(session);
    let (mut session, _) = kit.killed().await;
    agrees(&kit, &session).await;
    turn(&mut session, "And on.").await;
    agrees(&kit, &session).await;
}

#[tokio::test]
async fn a_stream_that_broke_before_any_text_is_paid_for() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, &prose(1, 4_000)).await;
    let broken = Answer::Broken(Vec::new(), String::new());
    kit.provider.next(Purpose::Turn, broken);
    session.turn(vec![Block::text("Go on.")]).await.unwrap_err();
    agrees(&kit, &session).await;
    turn(&mut session, "And on.").await;
    agrees(&kit, &session).await;
}

/// The client reports a plain error where no content had arrived; the attempt is made again.
#[tokio::test(start_paused = true)]
async fn attempts_that_failed_behind_the_start_of_an_answer_are_paid_for() {
    let mut kit = Kit::new();
    kit.config.retry = RetryPolicy::default();
    let mut session = kit.open().await;
    turn(&mut session, &prose(1, 4_000)).await;
    let failing = || {
        let word = Arc::new(Notify::new());
        word.notify_one();
        Answer::overloaded().held(&word)
    };
    kit.provider.next(Purpose::Turn, failing());
    turn(&mut session, "Go on.").await;
    assert_eq!(kit.provider.count(Purpose::Turn), 3);
    agrees(&kit, &session).await;
    kit.provider.next(Purpose::Compaction, failing());
    session.compact(CompactWish::default()).await.unwrap();
    agrees(&kit, &session).await;
    kit.provider.next(Purpose::Fork, failing());
    let limits = ForkLimits { requests: 1 };
    session.fork("Look.", None, limits).await.unwrap();
    assert_eq!(kit.provider.count(Purpose::Fork), 2);
    agrees(&kit, &session).await;
}

#[tokio::test]
async fn a_broken_summary_is_paid_for() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 9_000).await;
    let broken = Answer::Broken(Vec::new(), "<summary>It was".to_owned());
    kit.provider.next(Purpose::Compaction, broken);
    session.compact(CompactWish::default()).await.unwrap();
    turn(&mut session, "Go on.").await;
    agrees(&kit, &session).await;
}

/// A fork that fails at its second request has used its first.
#[tokio::test]
async fn a_fork_that_fails_is_paid_for() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, &prose(1, 4_000)).await;
    let input = serde_json::json!({"x": "1"});
    kit.provider
        .next(Purpose::Fork, Answer::call("call_1", "Bash", &input));
    kit.provider.next(Purpose::Fork, Answer::overloaded());
    let tools = Some(Arc::clone(&kit.tools) as _);
    let limits = ForkLimits { requests: 5 };
    session.fork("Look.", tools, limits).await.unwrap_err();
    assert_eq!(kit.provider.count(Purpose::Fork), 2);
    agrees(&kit, &session).await;
}

/// The prompt was taken when the response began: a cancel does not make it free.
#[tokio::test]
async fn a_cancelled_answer_is_paid_for_as_far_as_it_got() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, &prose(1, 4_000)).await;
    let word = Arc::default();
    kit.provider
        .next(Purpose::Turn, Answer::text("never").held(&word));
    let waits = Notify::new();
    let cancelled = async {
        kit.provider.waits().await;
        waits.notify_one();
    };
    tokio::join!(interrupt(&mut session, "Go on.", &waits), cancelled);
    session.checkpoint().await.unwrap();
    let begun = kit.provider.sent().pop().unwrap().usage;
    let billed = sum(kit.provider.billed().into_iter().map(|(_, usage)| usage));
    assert_eq!(totals(&session), sum([billed, begun]));
}
