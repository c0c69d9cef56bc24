//! The circuit breaker, and the hooks around a compaction.

use crate::broken_summaries::summary;
use crate::kit::{Kit, boundaries, prompt_text};
use crate::provider::Answer;
use dormouse_context::compaction::{CompactionOutcome, RestoredKind, RestoredPart};
use dormouse_core::record::BoundaryKind;
use dormouse_engine::{CompactWish, HookAnswer, Notice, Purpose};

#[tokio::test]
async fn three_failures_in_a_row_and_the_model_is_not_asked_again_by_itself() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.provider
        .always(Purpose::Compaction, Answer::overloaded());
    for failed in 1..=3 {
        assert_eq!(
            kit.talk_until_compacted(&mut session).await,
            BoundaryKind::Offline
        );
        assert_eq!(kit.provider.count(Purpose::Compaction), failed);
    }
    for _ in 0..2 {
        assert_eq!(
            kit.talk_until_compacted(&mut session).await,
            BoundaryKind::Offline
        );
        assert_eq!(
            kit.provider.count(Purpose::Compaction),
            3,
            "it was asked again"
        );
    }
    // It stays so in a session that is opened again.
    drop(session);
    let (mut session, _) = kit.power_cut().await;
    assert_eq!(
        kit.talk_until_compacted(&mut session).await,
        BoundaryKind::Offline
    );
    assert_eq!(kit.provider.count(Purpose::Compaction), 3);
    // By hand, the model is asked; it works; the breaker closes.
    kit.provider
        .always(Purpose::Compaction, Answer::text(&summary(60)));
    kit.talk_until(&mut session, 15_000).await;
    let outcome = session.compact(CompactWish::default()).await.unwrap();
    assert!(matches!(
        outcome,
        CompactionOutcome::Compacted {
            kind: BoundaryKind::Full,
            ..
        }
    ));
    assert_eq!(
        kit.talk_until_compacted(&mut session).await,
        BoundaryKind::Full
    );
    assert_eq!(kit.provider.count(Purpose::Compaction), 5);
}

#[tokio::test]
async fn one_success_forgives_earlier_failures() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    for answer in [
        Answer::overloaded(),
        Answer::overloaded(),
        Answer::text(&summary(60)),
        Answer::overloaded(),
    ] {
        kit.provider.next(Purpose::Compaction, answer);
        kit.talk_until_compacted(&mut session).await;
    }
    kit.provider
        .next(Purpose::Compaction, Answer::text(&summary(60)));
    assert_eq!(
        kit.talk_until_compacted(&mut session).await,
        BoundaryKind::Full
    );
}

#[tokio::test]
async fn a_hook_adds_its_wishes_to_those_of_the_user() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    kit.hooks.answer.lock().unwrap().instructions = vec!["Keep the table of ports.".to_owned()];
    *kit.hooks.after.lock().unwrap() = vec![RestoredPart {
        kind: RestoredKind::Hook,
        name: "greeter".to_owned(),
        text: "The build is red.".to_owned(),
    }];
    let wish = CompactWish {
        instructions: Some("Mind the names.".to_owned()),
        ..CompactWish::default()
    };
    session.compact(wish).await.unwrap();
    let asked = kit.hooks.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        ["before Manual [\"Mind the names.\"]", "after Manual"]
    );
    let directive = kit.provider.sent_for(Purpose::Compaction)[0].last_text();
    assert!(
        directive.contains("Mind the names.") && directive.contains("Keep the table of ports.")
    );
    assert!(prompt_text(&session).contains("The build is red."));
}

#[tokio::test]
async fn a_hook_can_block_an_automatic_compaction_and_not_a_manual_one() {
    let kit = Kit::new();
    *kit.hooks.answer.lock().unwrap() = HookAnswer {
        blocked: Some("not before the demo".to_owned()),
        ..HookAnswer::default()
    };
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 28_000).await;
    assert_eq!(boundaries(&session).await.len(), 0);
    assert_eq!(kit.provider.count(Purpose::Compaction), 0);
    let blocked =
        |notice: &Notice| matches!(notice, Notice::NotCompacted { why } if why.contains("demo"));
    assert!(kit.told(blocked) >= 1);
    session.compact(CompactWish::default()).await.unwrap();
    assert_eq!(boundaries(&session).await.len(), 1);
}

/// When the summary is refused after files were read again, the hooks are not run twice.
#[tokio::test]
async fn hooks_run_once_for_each_compaction() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    kit.provider
        .next(Purpose::Compaction, Answer::text(&summary(12_000)));
    session.compact(CompactWish::default()).await.unwrap();
    assert_eq!(kit.hooks.asked.lock().unwrap().len(), 2);
}
