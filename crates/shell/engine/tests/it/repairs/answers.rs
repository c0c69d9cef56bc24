//! Answers that break, stop early, or come only after several attempts.

use super::{attempts, records};
use crate::kit::{Kit, check, prompt, prompt_text, prose, turn};
use crate::provider::Answer;
use dormouse_ask::retry::RetryPolicy;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Message, Role};
use dormouse_core::units::Tokens;
use dormouse_drive::SwitchModel;
use dormouse_engine::{Asker as _, EngineError, Notice, Purpose, Session};
use dormouse_model::{Params, StopReason};
use dormouse_testkit::blocks::call;
use serde_json::json;
use std::time::Duration;

async fn answers(session: &Session) -> Vec<Message> {
    let records = records(session).await.into_iter();
    let answers = records.filter_map(|record| match record.body {
        Body::Message(message) if message.role == Role::Assistant => Some(message),
        _ => None,
    });
    answers.collect()
}

fn continued(notice: &Notice) -> bool {
    matches!(notice, Notice::Continued { .. })
}

#[tokio::test]
async fn a_text_that_was_shown_when_the_stream_broke_is_in_the_log() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    let half = Answer::Broken(Vec::new(), "The first half of the answer".to_owned());
    kit.provider.next(Purpose::Turn, half);
    kit.provider
        .next(Purpose::Turn, Answer::text("and the rest."));
    turn(&mut session, "Explain it.").await;
    let answers = answers(&session).await;
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0].stop_reason.as_deref(), Some("stream_broken"));
    assert!(answers[0].usage.is_some(), "it is counted");
    assert!(prompt_text(&session).contains("The first half of the answer"));
    assert_eq!(kit.told(|it| matches!(it, Notice::Interrupted { .. })), 1);
    let last = kit.provider.sent().pop().unwrap();
    assert!(last.contains("The first half of the answer"));
    let before = prompt(&session);
    assert_eq!(kit.killed().await.1, before);
}

#[tokio::test]
async fn complete_calls_of_a_broken_answer_are_run_and_not_asked_for_again() {
    let kit = Kit::new();
    kit.tools.returns("Bash", "the result of the call");
    let mut session = kit.open().await;
    let calls = vec![call("call_1", "Bash", &json!({"x": "1"}))];
    kit.provider
        .next(Purpose::Turn, Answer::Broken(calls, String::new()));
    turn(&mut session, "Do it.").await;
    let sent = kit.provider.sent_for(Purpose::Turn);
    assert_eq!(sent.len(), 2, "the answer is not asked for again");
    assert!(sent[1].contains("the result of the call"));
    assert_eq!(kit.tools.runs.started(), ["call_1"]);
    assert_eq!(kit.told(continued), 0);
}

/// Blocks that were handed over one by one are not appended a second time with the partial.
#[tokio::test]
async fn blocks_that_arrived_before_the_break_are_in_the_log_once() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    let calls = vec![
        Block::text("I look first."),
        call("call_1", "Read", &json!({"x": "1"})),
    ];
    let broken = Answer::Broken(Vec::new(), String::new());
    kit.provider
        .next(Purpose::Turn, Answer::Streamed(calls, Box::new(broken)));
    turn(&mut session, "Do it.").await;
    let said = answers(&session).await;
    let blocks: Vec<&Block> = said.iter().flat_map(|it| &it.content).collect();
    let looks = |block: &&&Block| {
        block
            .readable_text()
            .is_some_and(|it| it == "I look first.")
    };
    assert_eq!(blocks.iter().filter(looks).count(), 1);
    assert_eq!(kit.tools.runs.started(), ["call_1"]);
    assert_eq!(kit.provider.count(Purpose::Turn), 2);
}

#[tokio::test]
async fn an_answer_that_fills_the_window_is_compacted_once_and_continued() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    let full = || {
        let text = Block::text("The answer does not fit");
        Answer::Stopped(vec![text], StopReason::WindowExceeded)
    };
    kit.provider.next(Purpose::Turn, full());
    kit.provider.next(Purpose::Turn, full());
    turn(&mut session, "Explain it.").await;
    assert_eq!(crate::kit::boundaries(&session).await.len(), 1);
    assert_eq!(kit.told(continued), 1, "{:?}", kit.notices());
    let last = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    assert!(last.last_text().contains("Go on exactly where it stopped"));
    check(&session);
}

#[tokio::test]
async fn a_paused_turn_is_sent_again_as_it_is() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    let paused = Answer::Stopped(vec![Block::text("I search.")], StopReason::PauseTurn);
    kit.provider.next(Purpose::Turn, paused);
    turn(&mut session, "Search.").await;
    let sent = kit.provider.sent_for(Purpose::Turn);
    assert_eq!(sent.len(), 2);
    let last = sent[1].messages().pop().unwrap();
    assert_eq!(last["role"], "assistant");
    assert_eq!(last["content"][0]["text"], "I search.");
    assert_eq!(kit.told(continued), 0);
}

#[tokio::test]
async fn an_answer_at_its_longest_is_continued_three_times_at_most() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    for part in 0..6 {
        let text = format!("Part {part}.");
        kit.provider
            .next(Purpose::Turn, Answer::CutOff(vec![Block::text(&text)]));
    }
    let end = session.turn(vec![Block::text("Write it all.")]).await;
    assert_eq!(end.unwrap().requests, 4);
    assert_eq!(kit.told(continued), 3);
    let text = prompt_text(&session);
    for part in ["Part 0.", "Part 1.", "Part 2.", "Part 3."] {
        assert!(text.contains(part), "{part}");
    }
}

fn patient() -> Kit {
    let mut kit = Kit::new();
    kit.config.retry = RetryPolicy::default();
    kit
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_provider_is_asked_three_times_on_the_drivers_clock() {
    let kit = patient();
    let mut session = kit.open().await;
    let begun = tokio::time::Instant::now();
    kit.provider.next(Purpose::Turn, Answer::overloaded());
    kit.provider.next(Purpose::Turn, Answer::overloaded());
    turn(&mut session, "Answer me.").await;
    let sent = kit.provider.sent_for(Purpose::Turn);
    assert_eq!(sent.len(), 3);
    assert!(
        sent.iter().all(|it| it.body == sent[0].body),
        "the same bytes"
    );
    let attempts = attempts(&session).await;
    assert_eq!(attempts.len(), 2);
    let numbers: Vec<u32> = attempts.iter().map(|it| it.number).collect();
    assert_eq!(numbers, [1, 2]);
    let pauses = attempts.iter().filter_map(|it| it.again_after).sum();
    assert!(
        begun.elapsed() >= Duration::from_millis(pauses),
        "{attempts:?}"
    );
    assert_eq!(answers(&session).await.len(), 1);
    assert_eq!(kit.told(|it| matches!(it, Notice::Retrying(_))), 2);
}

#[tokio::test(start_paused = true)]
async fn the_pause_that_the_server_asks_for_is_kept() {
    let kit = patient();
    let mut session = kit.open().await;
    let pause = Duration::from_secs(37);
    kit.provider.next(Purpose::Turn, Answer::busy_for(pause));
    let begun = tokio::time::Instant::now();
    turn(&mut session, "Answer me.").await;
    let attempts = attempts(&session).await;
    assert_eq!(attempts[0].again_after, Some(37_000));
    assert!(begun.elapsed() >= pause && begun.elapsed() < pause * 2);
}

#[tokio::test(start_paused = true)]
async fn a_longer_pause_than_the_policy_allows_ends_the_attempts() {
    let kit = patient();
    let mut session = kit.open().await;
    let pause = Duration::from_mins(10);
    kit.provider.next(Purpose::Turn, Answer::busy_for(pause));
    let failed = session.turn(vec![Block::text("Answer me.")]).await;
    assert!(matches!(failed, Err(EngineError::Model(_))), "{failed:?}");
    assert_eq!(kit.provider.count(Purpose::Turn), 1);
}

/// A second answer would be another one: the model goes on behind the text that people saw.
#[tokio::test(start_paused = true)]
async fn a_request_is_not_sent_again_once_its_answer_was_shown() {
    let kit = patient();
    let mut session = kit.open().await;
    let shown = vec![Block::text("Shown already.")];
    let broken = Answer::Broken(Vec::new(), String::new());
    kit.provider
        .next(Purpose::Turn, Answer::Streamed(shown, Box::new(broken)));
    turn(&mut session, "Answer me.").await;
    let sent = kit.provider.sent_for(Purpose::Turn);
    assert_eq!(sent.len(), 2);
    assert!(
        sent[1].contains("Shown already."),
        "it is continued, not repeated"
    );
    let attempts = attempts(&session).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].again_after, None);
}

#[tokio::test(start_paused = true)]
async fn another_model_takes_over_when_the_retries_are_exhausted() {
    let mut kit = patient();
    let other = "claude-haiku-4-5";
    kit.config.fallback = Some(Box::new(SwitchModel {
        model: other.to_owned(),
        params: Params::new(other, Tokens(8_000)).unwrap(),
        capabilities: kit.provider.capabilities(other),
    }));
    let mut session = kit.open().await;
    turn(&mut session, &prose(1, 9_000)).await;
    for _ in 0..3 {
        kit.provider.next(Purpose::Turn, Answer::overloaded());
    }
    turn(&mut session, "Answer me.").await;
    let sent = kit.provider.sent_for(Purpose::Turn);
    assert_eq!(sent.len(), 5);
    assert_eq!(sent[4].json()["model"], other);
    assert_eq!(session.model(), other);
    let told = kit.told(|it| matches!(it, Notice::ModelChanged { model, .. } if model == other));
    assert_eq!(told, 1);
    assert_eq!(kit.told(|it| matches!(it, Notice::CacheBroken { .. })), 0);
}
