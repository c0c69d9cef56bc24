//! Daily-log mode through real turns: the log of the day grows, files and index rest until a dream.

use crate::kit::Kit;
use dormouse_agent::protocol::{Event, Told};
use dormouse_core::units::Millis;
use dormouse_system::ManualClock;
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::Duration;

/// 2026-11-16, eight in the morning.
const MORNING: Millis = Millis(1_794_816_000_000);
const LOG: &str = "logs/2026/11/2026-11-16.md";
const RULE: &str = "Always run the migrations before the integration tests.";

fn kit(script: Script, more: &str) -> Kit {
    let mut kit = Kit::new(script);
    kit.clock = Some(ManualClock::new(MORNING));
    kit.with_memory(&format!("daily_log = true\nnotes = false\n{more}"));
    kit
}

fn saved(told: &[Told]) -> Vec<String> {
    let saved = told.iter().filter_map(|told| match &told.event {
        Event::Saved { what } => Some(what.clone()),
        _ => None,
    });
    saved.collect()
}

fn log(kit: &Kit) -> String {
    kit.text(&format!("memory/{LOG}"))
}

#[tokio::test]
async fn memories_of_turns_go_into_the_log_and_are_said_once() {
    let script = Script::new()
        .then(Answer::text("I will."))
        .then(Answer::text("As before."));
    let kit = kit(script, "");
    let mut client = kit.open(kit.ask()).await;
    client.turn(RULE).await;
    let news = client
        .until(|event| match event {
            Event::Saved { what } => Some(what.clone()),
            _ => None,
        })
        .await;
    assert_eq!(news, format!("saved: {LOG}"));
    let first = log(&kit);
    assert!(first.contains(RULE), "{first}");
    // No index and no file of its own: that is the dream's work.
    assert_eq!(kit.text("memory/MEMORY.md"), "");
    client.turn(RULE).await;
    let told = client.leave(false).await;
    assert_eq!(saved(&told), [format!("saved: {LOG}")]);
    assert_eq!(log(&kit), first, "said twice, logged once");
    kit.model.finish();
}

#[tokio::test]
async fn the_agents_own_entries_count_and_a_dream_distils_the_day() {
    let pattern = Expect::that("the prompt names the pattern and no day", |body| {
        let system = body["system"].to_string();
        system.contains("logs/YYYY/MM/YYYY-MM-DD.md") && !system.contains("2026-11")
    });
    let entry = json!({ "command": "create", "path": format!("/memories/{LOG}"),
        "file_text": "- We decided to freeze the schema until Friday.\n" });
    let changed = Expect::Contains("Append to `logs/2026/11/2026-11-17.md` from now on".to_owned());
    let script = Script::new()
        .on(pattern, Answer::call("c1", "Memory", &entry))
        .then(Answer::text("Logged."))
        .on(changed, Answer::text("Good morning."));
    let kit = kit(script, "dream.sessions = 0\n");
    let mut client = kit.open(kit.ask()).await;
    client.turn(RULE).await;
    let told = client.leave(false).await;
    // The agent wrote itself: nothing is drawn from the turn a second time, and the first dream
    // leaves a day alone that is not over.
    assert!(!log(&kit).contains(RULE), "{}", log(&kit));
    assert_eq!(saved(&told), ["dreamt: nothing to change"]);
    let clock = kit.clock.clone().unwrap();
    clock.advance(Duration::from_hours(25));
    let mut client = kit.open_again().await;
    client.turn("Good morning, what is new?").await;
    let told = client.leave(false).await;
    let memory = kit.text("memory/project_log_2026-11-16.md");
    assert!(memory.contains("freeze the schema until"), "{told:?}");
    assert!(
        kit.text("memory/MEMORY.md")
            .contains("project_log_2026-11-16.md")
    );
    assert!(log(&kit).contains("freeze the schema"), "the log stays");
    let news = saved(&told);
    assert!(
        news.len() == 1 && news[0].contains("project_log_2026-11-16.md"),
        "{news:?}"
    );
    kit.model.finish();
}
