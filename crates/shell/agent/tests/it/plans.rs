//! Plan mode: entered, approved, sent back, kept over compactions and restarts.

use crate::kit::{Client, Kit, bash, summary};
use dormouse_agent::{AgentAsk, Command, Event, Mode, Resume};
use dormouse_core::id::CallId;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PLAN: &str = "# Plan\n1. Move the HERON.\n2. Test it.";

fn enter(id: &str) -> Answer {
    Answer::call(id, "EnterPlanMode", &json!({}))
}

fn hand_in(id: &str, plan: &str) -> Answer {
    Answer::call(id, "ExitPlanMode", &json!({ "plan": plan }))
}

/// The call and the plan that wait for approval.
async fn shown(client: &mut Client) -> (CallId, String) {
    client
        .until(|event| match event {
            Event::PermissionWanted(wanted) if wanted.tool == "ExitPlanMode" => {
                let plan = wanted.input["plan"].as_str().unwrap().to_owned();
                Some((wanted.call.clone(), plan))
            }
            _ => None,
        })
        .await
}

fn modes(told: &[dormouse_agent::Told]) -> Vec<Mode> {
    let changed = told.iter().filter_map(|told| match &told.event {
        Event::Changed { mode, .. } => Some(*mode),
        _ => None,
    });
    changed.collect()
}

fn last_messages(kit: &Kit) -> String {
    let received = kit.model.received();
    let body: Value = serde_json::from_slice(&received.last().unwrap().body).unwrap();
    body["messages"].to_string()
}

fn in_mode(kit: &Kit, mode: Mode) -> AgentAsk {
    AgentAsk { mode, ..kit.ask() }
}

#[tokio::test]
async fn a_plan_is_made_sent_back_and_approved() {
    let script = Script::new()
        .then(enter("c1"))
        .then(bash("c2", "touch early"))
        .then(hand_in("c3", "# Plan\nToo short."))
        .then(hand_in("c4", PLAN))
        .then(bash("c5", "touch late"))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    let mut client = kit.open(in_mode(&kit, Mode::All)).await;
    client.say("Move the heron.").await;
    let (call, plan) = shown(&mut client).await;
    assert_eq!(plan, "# Plan\nToo short.");
    client
        .send(Command::Permit {
            call,
            allow: false,
            words: Some("Say how it is tested.".to_owned()),
            input: None,
            remember: None,
        })
        .await;
    let (call, plan) = shown(&mut client).await;
    assert_eq!(plan, PLAN);
    client.permit(&call, true).await;
    client.turn_end().await;
    let told = client.quit().await;
    // Entered by the tool, and back to the mode before with the approval.
    assert_eq!(modes(&told), [Mode::Plan, Mode::All]);
    assert!(
        Client::result(&told, "c2").contains("Not allowed"),
        "{told:?}"
    );
    assert!(Client::result(&told, "c3").contains("Say how it is tested."));
    assert!(Client::result(&told, "c4").contains("approved"));
    assert!(!kit.path("project/early").exists());
    assert!(kit.path("project/late").exists());
}

#[tokio::test]
async fn a_person_may_change_the_plan_and_the_mode_with_the_approval() {
    let script = Script::new()
        .then(hand_in("c1", PLAN))
        .then(Answer::call(
            "c2",
            "Write",
            &json!({ "file_path": "made.txt", "content": "x" }),
        ))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    let mut client = kit.open(in_mode(&kit, Mode::Plan)).await;
    client.say("Move the heron.").await;
    let (call, _) = shown(&mut client).await;
    let mode = Mode::AcceptEdits;
    client.send(Command::SetMode { mode }).await;
    client
        .send(Command::Permit {
            call,
            allow: true,
            words: None,
            input: Some(json!({ "plan": "Move the STORK." })),
            remember: None,
        })
        .await;
    client.turn_end().await;
    let session = client.session();
    let told = client.quit().await;
    assert!(
        Client::result(&told, "c1").contains("Move the STORK."),
        "{told:?}"
    );
    assert!(kit.path("project/made.txt").exists());
    assert_eq!(modes(&told), [Mode::AcceptEdits]);
    let folder = kit.host().session_folder(&session).unwrap();
    let plan = folder.join("session-memory/plan.md");
    let plan = plan.strip_prefix(kit.path("")).unwrap().to_owned();
    assert_eq!(kit.text(plan.to_str().unwrap()), "Move the STORK.");
}

#[tokio::test]
async fn without_a_person_the_tools_say_so() {
    let script = Script::new()
        .then(enter("c1"))
        .then(hand_in("c2", PLAN))
        .then(Answer::text("I did not plan."))
        .then(hand_in("c3", PLAN))
        .then(bash("c4", "touch early"))
        .then(Answer::text(PLAN));
    let kit = Kit::new(script);
    let ask = |mode| AgentAsk {
        attended: false,
        ..in_mode(&kit, mode)
    };
    let mut client = kit.open(ask(Mode::Ask)).await;
    client.turn("go").await;
    let told = client.quit().await;
    assert!(
        Client::result(&told, "c1").contains("Nobody is here"),
        "{told:?}"
    );
    assert!(Client::result(&told, "c2").contains("Plan mode is not on"));
    assert_eq!(modes(&told), []);
    let mut client = kit.open(ask(Mode::Plan)).await;
    let end = client.turn("go").await;
    assert_eq!(end.text, PLAN);
    assert!(last_messages(&kit).contains("nobody is here who could approve"));
    let told = client.quit().await;
    assert!(Client::result(&told, "c3").contains("Nobody is here"));
    assert!(!kit.path("project/early").exists());
}

#[tokio::test]
async fn plan_mode_is_told_once_and_survives_a_restart() {
    let script = Script::new()
        .then(Answer::text("Looking."))
        .then(Answer::text("Still."))
        .then(Answer::text("Again."))
        .then(Answer::text("Free."));
    let kit = Kit::new(script);
    let mut client = kit.open(kit.ask()).await;
    let mode = Mode::Plan;
    client.send(Command::SetMode { mode }).await;
    client.turn("one").await;
    client.turn("two").await;
    client.quit().await;
    let mut client = kit.open_again().await;
    assert_eq!(client.agent.opened.mode, Mode::Plan);
    client.turn("three").await;
    client.quit().await;
    let sent = last_messages(&kit);
    assert_eq!(sent.matches("Plan mode is on").count(), 1, "{sent}");
    // A mode that the caller wishes for counts.
    let ask = AgentAsk {
        resume: Resume::Newest,
        ..in_mode(&kit, Mode::All)
    };
    let mut client = kit.open(ask).await;
    assert_eq!(client.agent.opened.mode, Mode::All);
    client.turn("four").await;
    client.quit().await;
    let sent = last_messages(&kit);
    assert_eq!(sent.matches("Plan mode is off.").count(), 1, "{sent}");
}

#[tokio::test]
async fn a_plan_that_waits_for_approval_survives_a_restart() {
    let script = Script::new()
        .then(hand_in("c1", PLAN))
        .then(Answer::text("Begun."));
    let kit = Kit::new(script);
    let mut client = kit.open(in_mode(&kit, Mode::Plan)).await;
    client.say("Move the heron.").await;
    shown(&mut client).await;
    client.agent.kill().await;
    let mut client = kit.open_again().await;
    let (call, plan) = shown(&mut client).await;
    assert_eq!(plan, PLAN);
    client.permit(&call, true).await;
    let end = client.turn_end().await;
    assert_eq!(end.text, "Begun.");
    let told = client.quit().await;
    assert!(Client::result(&told, "c1").contains("approved"), "{told:?}");
}

#[tokio::test]
async fn the_plan_comes_back_after_a_compaction_once() {
    let long = "The reeds are high and the water is low. ".repeat(500);
    let script = Script::new()
        .then(hand_in("c1", PLAN))
        .then(Answer::call(
            "c2",
            "Read",
            &json!({ "file_path": "notes.txt" }),
        ))
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(summary())
        .then(Answer::text("Going on."));
    let kit = Kit::new(script);
    kit.put("project/notes.txt", "x\n");
    let mut client = kit.open(in_mode(&kit, Mode::Plan)).await;
    client.say("Move it.").await;
    let (call, _) = shown(&mut client).await;
    client.permit(&call, true).await;
    client.turn_end().await;
    for words in ["And more.", "Thanks.", "/compact"] {
        client.turn(words).await;
    }
    client.turn("Go on.").await;
    client.quit().await;
    let sent = last_messages(&kit);
    assert_eq!(sent.matches("Move the HERON.").count(), 1, "{sent}");
    assert!(sent.contains("The user approved this plan"), "{sent}");
}

#[tokio::test]
async fn a_sub_agent_has_no_plan_mode_of_its_own() {
    let task = json!({ "description": "x", "prompt": "look" });
    let script = Script::new()
        .then(Answer::call("c1", "Agent", &task))
        .then(hand_in("s1", PLAN))
        .then(Answer::text("I cannot."))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    let mut client = kit.open(in_mode(&kit, Mode::Plan)).await;
    client.turn("go").await;
    let told = client.quit().await;
    let asked = told
        .iter()
        .any(|told| matches!(told.event, Event::PermissionWanted(_)));
    assert!(!asked, "{told:?}");
    let received = kit.model.received();
    let body: Value = serde_json::from_slice(&received[1].body).unwrap();
    assert!(!body["tools"].to_string().contains("ExitPlanMode"));
}
