//! Models that change while a session runs: the fallback that takes over, and settings.

use crate::kit::{Client, Kit, MODEL};
use dormouse_agent::open;
use dormouse_agent::protocol::{Event, Told};
use dormouse_core::block::Block;
use dormouse_core::record::{Body, StateChange};
use dormouse_host::Host;
use dormouse_model::ModelError;
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

const OTHER: &str = "gpt-5";

fn overloaded() -> Answer {
    Answer::fault(|| ModelError::Overloaded(Box::default()))
}

/// A request for this model, with or without thinking in it.
fn to(model: &'static str, thinking: bool) -> Expect {
    Expect::that("the model and its thinking", move |body| {
        let has = body["messages"].to_string().contains("\"thinking\"");
        body["model"] == model && has == thinking
    })
}

fn thought() -> Answer {
    let thinking = json!({ "type": "thinking", "thinking": "Hm.", "signature": "c2ln" });
    Answer::blocks(vec![
        Block::from_value(&thinking).unwrap(),
        Block::text("First."),
    ])
    .with(|response| response.model = MODEL.into())
}

fn notices(told: &[Told]) -> Vec<(bool, &str)> {
    let notices = told.iter().filter_map(|told| match &told.event {
        Event::Notice { text } => Some((told.seq.is_some(), text.as_str())),
        _ => None,
    });
    notices.collect()
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_model_is_followed_by_the_fallback_which_is_said_and_recorded() {
    let own = Expect::that("its own model", |body| body["model"] == MODEL);
    let script = Script::new()
        .on(to(MODEL, false), thought())
        // The first attempt and two more; thinking of the same model stays.
        .on(to(MODEL, true), overloaded())
        .on(to(MODEL, true), overloaded())
        .on(to(MODEL, true), overloaded())
        // Another family gets the words without the thinking it could not check.
        .on(to(OTHER, false), Answer::text("Second."))
        .on(to(OTHER, false), Answer::text("Third."))
        // A session that is opened again begins with its own model.
        .on(own, Answer::text("Fourth."));
    let kit = Kit::with_settings(
        script,
        &format!("simple = true\nfallback_model = \"{OTHER}\"\n"),
    );
    let mut client = kit.open(kit.ask()).await;
    let session = client.session();
    assert_eq!(client.turn("One.").await.text, "First.");
    assert_eq!(client.turn("Two.").await.text, "Second.");
    assert_eq!(client.turn("Three.").await.text, "Third.");
    let told = client.quit().await;
    let attempts = told.iter().filter_map(|told| match &told.event {
        Event::AttemptFailed {
            number,
            again_after,
            ..
        } => Some((*number, again_after.is_some())),
        _ => None,
    });
    let attempts: Vec<(u32, bool)> = attempts.collect();
    assert_eq!(attempts, [(1, true), (2, true), (3, false)]);
    let said = notices(&told);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].0, "it follows from a record: {said:?}");
    assert!(said[0].1.starts_with(MODEL) && said[0].1.ends_with("gpt-5 goes on"));
    let changed = told.iter().filter_map(|told| match &told.event {
        Event::Changed { model, .. } => Some(model.as_str()),
        _ => None,
    });
    assert_eq!(changed.collect::<Vec<_>>(), [OTHER]);
    let recorded = kit.records(&session).into_iter().filter(|record| {
        matches!(&record.body, Body::State(StateChange::Fact { name, value })
            if name == "takeover" && value["to"] == OTHER && value["from"] == MODEL)
    });
    assert_eq!(recorded.count(), 1);
    let mut client = kit.open_again().await;
    assert_eq!(client.agent.opened.model, MODEL);
    assert_eq!(client.turn("Four.").await.text, "Fourth.");
    client.quit().await;
    kit.model.finish();
}

#[tokio::test(start_paused = true)]
async fn without_a_fallback_an_overload_ends_the_turn_and_the_next_one_goes_on() {
    let script = Script::new()
        .then(overloaded())
        .then(overloaded())
        .then(overloaded())
        .on(to(MODEL, false), Answer::text("Now."));
    let kit = Kit::new(script);
    let mut client = kit.open(kit.ask()).await;
    let end = client.turn("One.").await;
    assert_eq!(end.end, "failed", "{end:?}");
    assert_eq!(client.turn("Two.").await.text, "Now.");
    client.quit().await;
    kit.model.finish();
}

/// A host that follows its settings files, and a function that waits for a change.
fn watched(kit: &Kit) -> (Arc<Host>, impl FnOnce() + Send + 'static) {
    let mut host = kit.host();
    let updates = host.watch().unwrap();
    let changed = move || assert!(updates.recv().is_ok());
    (Arc::new(host), changed)
}

#[tokio::test]
async fn parameters_of_the_model_follow_the_settings_from_the_next_turn_on() {
    let longest = |tokens: u64| {
        Expect::that("the longest answer", move |body| {
            body["max_tokens"] == tokens
        })
    };
    let script = Script::new()
        .on(longest(64_000), Answer::text("Long."))
        .on(longest(15_000), Answer::text("Short."))
        .on(longest(15_000), Answer::text("Still short."));
    let kit = Kit::new(script);
    let (host, changed) = watched(&kit);
    let mut client = Client::new(open(host, kit.ask()).await.unwrap());
    assert_eq!(client.turn("One.").await.text, "Long.");
    kit.settings("simple = true\ncontext.window = 60000\n");
    tokio::task::spawn_blocking(changed).await.unwrap();
    assert_eq!(client.turn("Two.").await.text, "Short.");
    assert_eq!(client.turn("Three.").await.text, "Still short.");
    client.quit().await;
    kit.model.finish();
}
