//! Behaviour that could be broken without any test noticing.

use super::records;
use crate::doubles::Recaller;
use crate::kit::{Kit, check, prose, turn};
use crate::notes::kit as notes_kit;
use crate::provider::{Answer, Sent};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::view::ViewIssue;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, FragmentKind, Role};
use dormouse_engine::{CompactWish, ForkLimits, Injection, Notice, Purpose, Told};
use dormouse_model::{Delta, Event};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn an_update_of_the_notes_stops_with_its_session() {
    let kit = notes_kit();
    let word = Arc::default();
    let answer = Answer::text("never").held(&word);
    kit.provider.next(Purpose::Notes, answer);
    let mut session = kit.open().await;
    kit.provider
        .next(Purpose::Turn, Answer::text(&prose(1, 48_000)));
    turn(&mut session, "Go on.").await;
    kit.provider.waits().await;
    assert_eq!(kit.provider.dropped(), []);
    drop(session);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(kit.provider.dropped(), [Purpose::Notes]);
}

fn piece(told: &Told) -> Option<(u32, &str)> {
    match told {
        Told::Answer(Event::Delta {
            index,
            delta: Delta::Text(text),
        }) => Some((*index, text)),
        _ => None,
    }
}

#[tokio::test]
async fn pieces_of_a_text_are_joined_for_a_slow_subscriber() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    let reader = session.subscribe();
    let pieces = ["a", "b", "c"].map(|text| (0, text.to_owned()));
    let answer = Answer::Pieces(pieces.to_vec(), Box::new(Answer::text("abc")));
    kit.provider.next(Purpose::Turn, answer);
    turn(&mut session, "Say it.").await;
    let told: Vec<Told> = std::iter::from_fn(|| reader.try_next()).collect();
    let texts: Vec<_> = told.iter().filter_map(piece).collect();
    assert_eq!(texts, [(0, "abc")]);
}

#[tokio::test]
async fn a_subscriber_that_lags_gets_a_snapshot_and_then_goes_on() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    let reader = session.subscribe();
    let pieces = (0..3_000).map(|at| (at % 2, "x".to_owned()));
    let answer = Answer::Pieces(pieces.collect(), Box::new(Answer::text("x")));
    kit.provider.next(Purpose::Turn, answer);
    turn(&mut session, "Say it.").await;
    let told: Vec<Told> = std::iter::from_fn(|| reader.try_next()).collect();
    assert!(told.len() <= 1_025, "{}", told.len());
    let lagged = told.iter().filter_map(|told| match told {
        Told::Lagged(snapshot) => Some(snapshot),
        _ => None,
    });
    assert!(lagged.count() >= 1);
    kit.provider.next(Purpose::Turn, Answer::text("y"));
    turn(&mut session, "And again.").await;
    let mut told = std::iter::from_fn(|| reader.try_next());
    assert!(
        told.any(|told| matches!(told, Told::Answer(_))),
        "it goes on"
    );
}

#[tokio::test]
async fn checkpoints_are_written_as_the_log_grows() {
    for (settings, at_least) in [
        (&["notes=off", "log.checkpoint=4000"][..], 3),
        (&["notes=off"], 0),
    ] {
        let kit = Kit::new();
        kit.set(settings);
        let mut session = kit.open().await;
        kit.talk_until(&mut session, 6_000).await;
        let records = records(&session).await;
        let checkpoints = records
            .iter()
            .filter(|it| matches!(it.body, Body::Checkpoint(_)));
        let checkpoints = checkpoints.count();
        assert!(checkpoints >= at_least, "{checkpoints}");
        assert!(at_least > 0 || checkpoints == 0, "{checkpoints}");
        let state = serde_json::to_value(session.conversation().state()).unwrap();
        let (session, _) = kit.killed().await;
        assert_eq!(
            serde_json::to_value(session.conversation().state()).unwrap(),
            state
        );
    }
}

#[tokio::test]
async fn the_ledger_expects_the_break_of_a_compaction() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    session.compact(CompactWish::default()).await.unwrap();
    turn(&mut session, "Go on.").await;
    assert_eq!(kit.told(|it| matches!(it, Notice::CacheBroken { .. })), 0);
    let records = records(&session).await;
    let observed = records.iter().rev().find_map(|record| match &record.body {
        Body::Usage(report) => report.cache.clone(),
        _ => None,
    });
    let observed = observed.unwrap();
    assert!(
        observed.broken.is_some() && observed.expected,
        "{observed:?}"
    );
}

#[tokio::test]
async fn a_fork_reads_the_parents_prompt_from_the_cache() {
    let kit = Kit::new();
    kit.tools.returns("Bash", prose(1, 6_000));
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 9_000).await;
    kit.work(&mut session, &["Bash"; 3]).await;
    // The provider looks back twenty blocks from a marker: behind a longer answer the fork finds
    // the entry only by a marker where the parent put its last one.
    let long: Vec<Block> = (0..30).map(|at| Block::text(&prose(at, 60))).collect();
    kit.provider.next(Purpose::Turn, Answer::Blocks(long));
    turn(&mut session, "Write a list.").await;
    let parent = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    let limits = ForkLimits { requests: 1 };
    let fork = session.fork("Sum it up.", None, limits).await.unwrap();
    let (read, prompt) = (fork.usage.cache_read.get(), parent.usage.prompt().get());
    assert!(read * 100 >= prompt * 99, "{read} of {prompt}");
    // The parent's own next request finds everything where it left it.
    turn(&mut session, "Go on.").await;
    let next = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    assert!(
        next.usage.cache_read.get() * 100 >= prompt * 99,
        "{:?}",
        next.usage
    );
}

/// A loop of calls that makes an update due in mid-turn, with the request of this number failing.
async fn notes_in_a_loop(failing: Option<usize>) -> Vec<Sent> {
    let kit = notes_kit();
    kit.tools.returns("Bash", prose(1, 24_000));
    let mut session = kit.open().await;
    kit.provider
        .next(Purpose::Turn, Answer::text(&prose(1, 44_000)));
    turn(&mut session, "Go on.").await;
    session.settle_notes().await.unwrap();
    for at in 0..6 {
        let id = format!("call_{at}");
        let answer = match failing {
            Some(failing) if failing == at => Answer::rejected(),
            _ => Answer::call(&id, "Bash", &json!({"x": id})),
        };
        kit.provider.next(Purpose::Turn, answer);
    }
    let ended = session.turn(vec![Block::text("Do the work.")]).await;
    assert_eq!(ended.is_err(), failing.is_some());
    session.settle_notes().await.unwrap();
    kit.provider.sent()
}

#[tokio::test]
async fn notes_leave_only_after_the_provider_took_the_prompt() {
    let sent = notes_in_a_loop(None).await;
    let of = |purpose: Purpose| sent.iter().filter(move |it| it.purpose == purpose);
    // The request whose prompt the second update rides on, counted within the loop.
    let mut ridden = of(Purpose::Notes).nth(1).unwrap().blocks();
    ridden.pop();
    let mut in_loop = of(Purpose::Turn).skip(1);
    let request = in_loop.position(|it| it.blocks() == ridden).unwrap();
    let refused = notes_in_a_loop(Some(request)).await;
    let notes = refused.iter().filter(|it| it.purpose == Purpose::Notes);
    assert_eq!(
        notes.count(),
        1,
        "the prompt of request {request} was refused"
    );
}

#[tokio::test]
async fn a_request_that_the_log_does_not_give_is_reported() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, "The question.").await;
    turn(&mut session, "Another question.").await;
    check(&session);
    let mut records = records(&session).await;
    let target = session.conversation().view().target().clone();
    let message = records
        .iter_mut()
        .find_map(|record| match &mut record.body {
            Body::Message(message) if message.role == Role::User => Some(message),
            _ => None,
        });
    message.unwrap().content = vec![Block::text("Another question altogether.")];
    let folded = Conversation::fold(&path(&records, Leaf::Newest), target);
    let issues = folded.view().issues();
    let reported = |issue: &ViewIssue| matches!(issue, ViewIssue::RequestMismatch { .. });
    assert_eq!(
        issues.iter().filter(|it| reported(it)).count(),
        2,
        "{issues:?}"
    );
}

#[tokio::test]
async fn memories_count_as_shown_until_a_compaction() {
    let mut kit = Kit::new();
    let recaller = Arc::new(Recaller::default());
    kit.companion = Arc::clone(&recaller) as _;
    let memory = Injection {
        kind: FragmentKind::Memory,
        text: "The staging server listens on port 9443.".to_owned(),
        memories: vec![("staging.md".to_owned(), 40)],
    };
    recaller.prepared.lock().unwrap().push(vec![memory]);
    let mut session = kit.open().await;
    turn(&mut session, "Which port?").await;
    kit.talk_until(&mut session, 9_000).await;
    let (mut session, _) = kit.killed().await;
    turn(&mut session, "Which port again?").await;
    session.compact(CompactWish::default()).await.unwrap();
    turn(&mut session, "And now?").await;
    let seen = recaller.seen.lock().unwrap().clone();
    let shown: Vec<bool> = seen
        .iter()
        .map(|it| it.memories.contains_key("staging.md"))
        .collect();
    assert!(!shown[0] && shown[1] && shown[shown.len() - 2]);
    assert!(!shown[shown.len() - 1], "the summary does not show it");
}
