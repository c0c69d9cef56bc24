//! Limits of a run, and settings that change while it runs.

use crate::kit::{Kit, bash};
use dormouse_agent::{AgentAsk, Event, Mode};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

#[tokio::test]
async fn a_budget_ends_the_work_before_the_request_that_would_exceed_it() {
    let usage = TokenUsage {
        input: Tokens(100_000),
        ..TokenUsage::default()
    };
    // Three dollars a million tokens: thirty cents a request.
    let call = |id: &str| {
        bash(id, "true").using(usage).with(|response| {
            response.model = crate::kit::MODEL.into();
        })
    };
    let script = Script::new()
        .then(call("c1"))
        .then(call("c2"))
        .then(call("c3"));
    let kit = Kit::new(script);
    let ask = AgentAsk {
        mode: Mode::All,
        budget: Some("0.50".parse().unwrap()),
        ..kit.ask()
    };
    let mut client = kit.open(ask).await;
    let end = client.turn("go").await;
    assert_eq!((end.end.as_str(), end.requests), ("budget", 2));
    client.quit().await;
    assert_eq!(kit.model.received().len(), 2);
}

#[tokio::test]
async fn a_turn_that_meets_its_limit_teaches_what_the_user_said() {
    let kit = Kit::new(Script::new().then(bash("c1", "true")));
    kit.with_memory("notes = false\n");
    let ask = AgentAsk {
        mode: Mode::All,
        most_requests: Some(1),
        ..kit.ask()
    };
    let mut client = kit.open(ask).await;
    let rule = "Always run the migrations before the integration tests.";
    let end = client.turn(rule).await;
    assert_eq!((end.end.as_str(), end.requests), ("requests", 1));
    client.leave(false).await;
    assert!(kit.text("memory/MEMORY.md").contains("migrations"));
}

#[tokio::test]
async fn rules_of_the_run_count_beside_those_of_the_settings() {
    let script = Script::new()
        .then(bash("c1", "touch allowed"))
        .then(Answer::call(
            "c2",
            "Write",
            &json!({ "file_path": "no.txt", "content": "x" }),
        ))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    let ask = AgentAsk {
        attended: false,
        mode: Mode::AcceptEdits,
        allow: vec!["Bash(touch *)".to_owned()],
        deny: vec!["Write".to_owned()],
        ..kit.ask()
    };
    let mut client = kit.open(ask).await;
    assert!(!client.agent.opened.tools.contains(&"Write".to_owned()));
    client.turn("go").await;
    assert!(kit.path("project/allowed").exists());
    assert!(!kit.path("project/no.txt").exists());
    let refused = client
        .told
        .iter()
        .filter(|told| matches!(told.event, Event::Refused { .. }));
    assert_eq!(refused.count(), 1);
    client.quit().await;
}

#[tokio::test]
async fn settings_that_change_while_a_session_runs_count_for_the_next_call() {
    let script = Script::new()
        .then(bash("c1", "touch one"))
        .then(Answer::text("Refused."))
        .then(bash("c2", "touch two"))
        .then(Answer::text("Ran."))
        .then(bash("c3", "touch three"))
        .then(Answer::text("Hooked."));
    let kit = Kit::new(script);
    let ask = AgentAsk {
        attended: false,
        ..kit.ask()
    };
    let mut client = kit.open(ask).await;
    client.turn("one").await;
    assert!(!kit.path("project/one").exists());
    let rules = json!({ "permissions": { "allow": ["Bash(touch *)"] } });
    kit.put("home/.claude/settings.json", &rules.to_string());
    client.turn("two").await;
    assert!(kit.path("project/two").exists());
    let hook = json!({ "type": "command", "command": "echo not today >&2; exit 2" });
    let settings = json!({ "permissions": { "allow": ["Bash(touch *)"] },
        "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [hook] }] } });
    kit.put("home/.claude/settings.json", &settings.to_string());
    client.turn("three").await;
    assert!(!kit.path("project/three").exists());
    client.quit().await;
}
