//! Sessions that are opened again, with the same or with another prefix and model.

use super::records;
use crate::kit::{Kit, PLAIN, check, prefix, prompt, prose, turn};
use crate::provider::{Answer, Sent};
use dormouse_context::policy::Economic;
use dormouse_core::record::{Body, CacheObservation};
use dormouse_core::units::Tokens;
use dormouse_engine::{Notice, Purpose, Session};
use dormouse_model::Params;
use std::sync::Arc;
use std::time::Duration;

const OTHER: &str = "claude-haiku-4-5";

fn kept(notice: &Notice) -> bool {
    matches!(notice, Notice::PrefixKept { .. })
}

fn blamed(notice: &Notice) -> bool {
    matches!(notice, Notice::CacheBroken { .. })
}

/// The part of the prompt before that the next request read from the cache, in percent.
fn read_of(before: &Sent, after: &Sent) -> u64 {
    after.usage.cache_read.get() * 100 / before.usage.prompt().get()
}

fn last(kit: &Kit) -> Sent {
    kit.provider.sent_for(Purpose::Turn).pop().unwrap()
}

/// The ledger's observation of the last answer.
async fn observed(session: &Session) -> CacheObservation {
    let records = records(session).await.into_iter().rev();
    let mut reports = records.filter_map(|record| match record.body {
        Body::Usage(report) => report.cache,
        _ => None,
    });
    reports.next().unwrap()
}

/// A session with something in the cache, and a kit that opens it with another system prompt.
async fn with_another_prefix() -> Kit {
    let mut kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 9_000).await;
    kit.config.prefix = Arc::new(prefix("You help in another way."));
    kit
}

#[tokio::test]
async fn while_the_cache_may_be_warm_the_recorded_prefix_goes_on() {
    let kit = with_another_prefix().await;
    let before = last(&kit);
    kit.wait(Duration::from_mins(1));
    let (mut session, _) = kit.killed().await;
    turn(&mut session, "Go on.").await;
    let after = last(&kit);
    assert!(after.contains("You help with the work."));
    assert!(read_of(&before, &after) >= 99, "{:?}", after.usage);
    assert_eq!((kit.told(kept), kit.told(blamed)), (1, 0));
}

#[tokio::test]
async fn when_the_cache_is_cold_the_new_prefix_is_used_and_announced() {
    let kit = with_another_prefix().await;
    kit.wait(Duration::from_hours(2));
    let (mut session, _) = kit.killed().await;
    turn(&mut session, "Go on.").await;
    assert!(last(&kit).contains("You help in another way."));
    assert_eq!((kit.told(kept), kit.told(blamed)), (0, 0));
    let observed = observed(&session).await;
    assert!(observed.expected, "{observed:?}");
    // A changed prefix is recorded, so that the next opening knows it.
    let named = session.conversation().state().prefix.clone().unwrap();
    assert_eq!(named.id, kit.config.prefix.id());
    let (mut session, _) = kit.killed().await;
    turn(&mut session, "And on.").await;
    assert!(last(&kit).contains("You help in another way."));
    assert_eq!(kit.told(kept), 0);
}

#[tokio::test]
async fn a_session_resumed_with_another_model_blames_nothing() {
    let mut kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 9_000).await;
    drop(session);
    kit.config.model = OTHER.to_owned();
    kit.config.params = Params::new(OTHER, Tokens(8_000)).unwrap();
    let (mut session, _) = kit.killed().await;
    turn(&mut session, "Go on.").await;
    assert_eq!(last(&kit).json()["model"], OTHER);
    assert_eq!(kit.told(blamed), 0);
}

#[tokio::test]
async fn another_model_in_mid_session_blames_nothing() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 9_000).await;
    let params = Params::new(OTHER, Tokens(8_000)).unwrap();
    session.set_model(OTHER, params).await.unwrap();
    turn(&mut session, "Go on.").await;
    assert_eq!(last(&kit).json()["model"], OTHER);
    assert_eq!(kit.told(blamed), 0);
    let told = kit.told(|it| matches!(it, Notice::ModelChanged { model, .. } if model == OTHER));
    assert_eq!(told, 1);
    let before = prompt(&session);
    kit.wait(Duration::from_mins(1));
    let sent = last(&kit);
    let mut kit = kit;
    kit.config.model = OTHER.to_owned();
    kit.config.params = Params::new(OTHER, Tokens(8_000)).unwrap();
    let (mut session, after) = kit.killed().await;
    assert_eq!(after, before);
    turn(&mut session, "And on.").await;
    assert!(read_of(&sent, &last(&kit)) >= 99);
}

/// Providers answer an alias under the model's dated name.
#[tokio::test]
async fn a_model_that_answers_under_another_name_is_still_the_same_model() {
    let kit = Kit::new();
    kit.provider.answer_as("claude-sonnet-4-5-20250929");
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 9_000).await;
    let before = last(&kit);
    drop(session);
    kit.wait(Duration::from_mins(1));
    let (mut session, _) = kit.killed().await;
    assert!(
        session.driver().ledger().last_touched().is_some(),
        "the cache is known"
    );
    turn(&mut session, "Go on.").await;
    assert!(read_of(&before, &last(&kit)) >= 99);
    assert!(observed(&session).await.predicted > Tokens::ZERO);
}

/// A resumed ledger knows what the last request left, so that it predicts the next one.
#[tokio::test]
async fn the_ledger_is_rebuilt_when_a_session_is_resumed() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 9_000).await;
    let touched = session.driver().ledger().last_touched();
    assert!(touched.is_some());
    drop(session);
    let (mut session, _) = kit.killed().await;
    assert_eq!(session.driver().ledger().last_touched(), touched);
    turn(&mut session, "Go on.").await;
    let observed = observed(&session).await;
    let read = last(&kit).usage.cache_read;
    assert!(
        observed.predicted.get() * 100 >= read.get() * 90,
        "{observed:?} {read}"
    );
}

/// An economic session in which old results lie about.
fn economic() -> Kit {
    let mut kit = Kit::new();
    kit.config.policy = Some(Arc::new(Economic));
    kit.config.window = Some(Tokens(60_000));
    kit.tools.returns("Bash", prose(1, 9_000));
    // Distilled results would leave the other layers nothing to decide.
    kit.set(&["notes=off", "distil=off"]);
    kit
}

/// Times compaction was considered with the cache taken to be cold.
fn cold(notice: &Notice) -> bool {
    let Notice::Considered { layers, .. } = notice else {
        return false;
    };
    layers.iter().any(|it| it.why.contains("cold cache"))
}

#[tokio::test]
async fn another_model_or_prefix_is_a_cold_moment_for_a_resumed_economic_session() {
    for (model, minutes, is_cold) in [(PLAIN, 1, false), (OTHER, 1, true), (PLAIN, 120, true)] {
        let mut kit = economic();
        kit.config.explain = true;
        let mut session = kit.open().await;
        kit.work(&mut session, &["Bash"; 9]).await;
        assert_eq!(kit.told(cold), 0);
        drop(session);
        kit.wait(Duration::from_mins(minutes));
        kit.config.model = model.to_owned();
        kit.config.params = Params::new(model, Tokens(8_000)).unwrap();
        kit.config.prefix = Arc::new(prefix("You help in another way."));
        let (mut session, _) = kit.killed().await;
        turn(&mut session, "Go on.").await;
        // Once for each plan of the moment: a clearing is followed by another.
        let moments = kit.told(cold);
        assert_eq!(moments > 0, is_cold, "{model} after {minutes} minutes");
        turn(&mut session, "And on.").await;
        assert_eq!(kit.told(cold), moments, "it is over with the next request");
    }
}

/// The decisions of the layers, as records.
async fn decisions(session: &Session) -> Vec<String> {
    let records = records(session).await.into_iter();
    let decisions = records.filter_map(|record| match record.body {
        Body::Cleared(clearing) => Some(format!("{:?}", clearing.blocks)),
        Body::Boundary(boundary) => Some(format!("{:?} {:?}", boundary.kind, boundary.pre_tokens)),
        Body::Distilled(distilled) => Some(format!("{:?}", distilled.blocks[0].key)),
        _ => None,
    });
    decisions.collect()
}

/// The ids of records: they depend on a seed that every opening draws anew.
async fn names(session: &Session) -> Vec<(String, u64)> {
    let records = records(session).await.into_iter();
    let names = records.map(|record| (record.id.to_string(), record.seq.get()));
    names.collect()
}

/// A body with numbers in place of ids.
fn named(body: &[u8], names: &[(String, u64)]) -> String {
    let mut text = String::from_utf8_lossy(body).into_owned();
    for (id, seq) in names {
        text = text.replace(id, &format!("#{seq}"));
    }
    text
}

#[tokio::test]
async fn an_unbroken_and_a_resumed_session_decide_alike() {
    alike("distil=off").await;
    alike("distil=on").await;
}

async fn alike(distil: &str) {
    let mut stories = Vec::new();
    for killed in [false, true] {
        let mut kit = economic();
        kit.set(&["notes=off", distil]);
        kit.config.window = Some(Tokens(40_000));
        let mut session = kit.open().await;
        for round in 0..10 {
            let pause = if round % 4 == 3 { 20 } else { 1 };
            kit.wait(Duration::from_mins(pause));
            let (id, text) = (format!("call_{round}"), prose(round, 3_000));
            let calls = Answer::call(&id, "Bash", &serde_json::json!({"x": id}));
            kit.provider.next(Purpose::Turn, calls);
            kit.provider.next(Purpose::Turn, Answer::text(&text));
            turn(&mut session, &format!("Question {round}?")).await;
            if killed {
                session = kit.killed().await.0;
            }
        }
        check(&session);
        let sent = kit.provider.sent();
        let names = names(&session).await;
        let bodies = sent.iter().map(|it| (it.purpose, named(&it.body, &names)));
        let bodies: Vec<(Purpose, String)> = bodies.collect();
        stories.push((bodies, decisions(&session).await));
    }
    let (resumed, unbroken) = (stories.pop().unwrap(), stories.pop().unwrap());
    assert!(!unbroken.1.is_empty(), "the layers had something to decide");
    assert_eq!(resumed.1, unbroken.1);
    assert_eq!(resumed.0.len(), unbroken.0.len());
    for (at, (resumed, unbroken)) in resumed.0.iter().zip(&unbroken.0).enumerate() {
        assert_eq!(resumed.0, unbroken.0, "request {at}");
        assert!(resumed.1 == unbroken.1, "request {at} has other bytes");
    }
}
