//! The provider says that the prompt is too long: it is shortened once, and sent again.

use crate::kit::{Kit, boundaries, check, prompt_text, prose, turn};
use crate::provider::Answer;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Trigger};
use dormouse_engine::{EngineError, Notice, Purpose};
use serde_json::json;

fn too_long(notice: &Notice) -> bool {
    matches!(notice, Notice::TooLong)
}

#[tokio::test]
async fn a_refused_request_is_shortened_once_and_sent_again() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    kit.provider
        .next(Purpose::Turn, Answer::too_long(Some((210_000, 200_000))));
    kit.provider
        .next(Purpose::Turn, Answer::text("I read the newest question."));
    turn(&mut session, "The newest question: ZETA-9?").await;
    assert_eq!(kit.told(too_long), 1);
    let boundary = boundaries(&session).await.pop().unwrap();
    let Body::Boundary(boundary) = boundary.body else {
        unreachable!()
    };
    assert_eq!(boundary.trigger, Trigger::Reactive);
    // The user's newest question is the last text the model reads, not a line of a summary.
    let last = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    assert_eq!(last.last_text(), "The newest question: ZETA-9?");
    assert!(prompt_text(&session).contains("I read the newest question."));
    turn(&mut session, "Go on.").await;
}

/// The same within a loop of tools: the call and its result stay together at the end.
#[tokio::test]
async fn a_refused_round_of_results_keeps_its_results() {
    let kit = Kit::new();
    kit.tools.returns("Bash", "the very result");
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    kit.provider.next(
        Purpose::Turn,
        Answer::call("call_9", "Bash", &json!({"x": "ls"})),
    );
    kit.provider.next(Purpose::Turn, Answer::too_long(None));
    turn(&mut session, "Look at the folder.").await;
    let last = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    let result = last.blocks().pop().unwrap();
    assert_eq!(
        (&result["type"], &result["content"]),
        (&json!("tool_result"), &json!("the very result"))
    );
    assert_eq!(boundaries(&session).await.len(), 1);
}

#[tokio::test]
async fn a_second_refusal_in_the_same_turn_is_an_error_with_the_providers_words() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    let before = kit.provider.count(Purpose::Turn);
    for _ in 0..2 {
        kit.provider
            .next(Purpose::Turn, Answer::too_long(Some((210_000, 200_000))));
    }
    let error = session
        .turn(vec![Block::text("And now?")])
        .await
        .unwrap_err();
    let EngineError::Model(error) = error else {
        panic!("{error}")
    };
    assert!(
        error
            .reply()
            .unwrap()
            .message
            .contains("the provider's own words")
    );
    assert_eq!(kit.provider.count(Purpose::Turn) - before, 2);
    assert_eq!(boundaries(&session).await.len(), 1);
    check(&session);
    // The next turn may be shortened again, and nothing of the last one is lost.
    session.go_on().await.unwrap();
    assert!(kit.provider.sent().pop().unwrap().contains("And now?"));
}

/// Also where thinking is bound: the turn before is over, and the refused words wait.
#[tokio::test]
async fn a_refused_request_is_shortened_on_a_model_that_binds_thinking() {
    let mut kit = crate::clearing::thinking_kit(crate::kit::BOUND);
    kit.config.window = None;
    let mut session = kit.open().await;
    for round in 0..3 {
        let words = format!("Work on part {round}.");
        session.turn(vec![Block::text(&words)]).await.unwrap();
    }
    kit.provider.next(Purpose::Turn, Answer::too_long(None));
    turn(&mut session, "The newest question: ZETA-9?").await;
    assert_eq!(kit.told(too_long), 1);
    assert_eq!(boundaries(&session).await.len(), 1, "{:?}", kit.notices());
    let sent = kit.provider.sent_for(Purpose::Turn);
    let newest = |sent: &&crate::provider::Sent| sent.last_text().contains("ZETA-9");
    assert_eq!(sent.iter().filter(newest).count(), 2);
}

#[tokio::test]
async fn nothing_is_shortened_where_automatic_compaction_is_off() {
    let kit = Kit::new();
    kit.set(&["compact.auto=off"]);
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    kit.provider.next(Purpose::Turn, Answer::too_long(None));
    let error = session
        .turn(vec![Block::text("And now?")])
        .await
        .unwrap_err();
    assert!(matches!(error, EngineError::Model(_)));
    assert_eq!(boundaries(&session).await.len(), 0);
}

/// The summary cannot be had either: the offline engine makes room.
#[tokio::test]
async fn a_conversation_too_long_for_its_own_summary_is_shortened_without_a_model() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    kit.provider.next(Purpose::Turn, Answer::too_long(None));
    kit.provider
        .always(Purpose::Compaction, Answer::too_long(None));
    turn(
        &mut session,
        &format!("What about OMEGA-1? {}", prose(4, 200)),
    )
    .await;
    assert!(kit.provider.count(Purpose::Compaction) <= 4);
    assert!(
        kit.provider
            .sent()
            .pop()
            .unwrap()
            .last_text()
            .starts_with("What about OMEGA-1?")
    );
}
