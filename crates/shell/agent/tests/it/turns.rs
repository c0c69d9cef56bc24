//! Turns and what is told of them: live, rebuilt, interrupted, queued, steered, forked.

use crate::kit::{Client, Kit, bash};
use dormouse_agent::protocol::{Attachment, Command, Event, PROTOCOL, Side, Told, When};
use dormouse_agent::{AgentAsk, Mode, Resume};
use dormouse_core::block::Block;
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;

fn all(kit: &Kit) -> AgentAsk {
    AgentAsk {
        mode: Mode::All,
        ..kit.ask()
    }
}

#[tokio::test]
async fn live_events_and_rebuilt_ones_agree() {
    let script = Script::new()
        .then(bash("c1", "echo one"))
        .then(bash("c2", "echo two; exit 3"))
        .then(Answer::text("Done."))
        .then(Answer::text("Again."));
    let kit = Kit::new(script);
    let mut client = kit.open(all(&kit)).await;
    let session = client.session();
    let opened = client.next().await;
    assert!(matches!(opened, Some(Event::Opened(facts)) if facts.protocol == PROTOCOL));
    let end = client.turn("go").await;
    assert_eq!((end.end.as_str(), end.requests), ("answered", 3));
    assert_eq!(end.text, "Done.");
    client.turn("again").await;
    let told = client.quit().await;
    let live = Client::durable(&told);
    let mut rebuilt = kit.rebuilt(&session);
    // Events of the opening itself are told by `Opened`.
    let first = live.first().and_then(|told| told.seq);
    rebuilt.retain(|told| told.seq >= first);
    assert_eq!(live, rebuilt);
    // A client that knows only JSON loses nothing.
    let written = serde_json::to_string(&live).unwrap();
    let read: Vec<Told> = serde_json::from_str(&written).unwrap();
    assert_eq!(read, live);
    let kinds: Vec<String> = live
        .iter()
        .map(|told| serde_json::to_value(told).unwrap()["event"].to_string())
        .collect();
    for kind in [
        "said",
        "message_done",
        "tool_asked",
        "tool_done",
        "usage",
        "turn_ended",
    ] {
        assert!(kinds.contains(&format!("{kind:?}")), "{kind}: {kinds:?}");
    }
}

#[test]
fn unknown_commands_and_events_are_no_error() {
    let command: Command = serde_json::from_str(r#"{"command":"dance","how":"well"}"#).unwrap();
    assert_eq!(command, Command::Unknown);
    let told: Told = serde_json::from_str(r#"{"event":"danced","seq":7}"#).unwrap();
    assert_eq!(told.event, Event::Unknown);
}

#[tokio::test]
async fn an_interrupt_keeps_what_arrived_and_the_session_goes_on() {
    let script = Script::new()
        .then(bash("c1", "echo started > started; exec sleep 1000"))
        .then(Answer::text("All right."));
    let kit = Kit::new(script);
    let mut client = kit.open(all(&kit)).await;
    client.say("wait").await;
    client
        .until(|event| matches!(event, Event::ToolRunning { .. }).then_some(()))
        .await;
    client.send(Command::Interrupt).await;
    assert_eq!(client.turn_end().await.end, "interrupted");
    assert!(Client::result(&client.told, "c1").contains("stopped this call"));
    assert_eq!(client.turn("go on").await.text, "All right.");
    client.quit().await;
}

#[tokio::test]
async fn words_that_come_meanwhile_steer_or_wait_for_the_end() {
    let steered = Expect::Contains("mind the gap".to_owned());
    let script = Script::new()
        .then(bash(
            "c1",
            "while [ ! -e go ]; do read -t 0.01 <> <(:); done; echo went",
        ))
        .on(steered, Answer::text("Minded."))
        .then(Answer::text("Second."));
    let kit = Kit::new(script);
    let mut client = kit.open(all(&kit)).await;
    client.say("first").await;
    client
        .until(|event| matches!(event, Event::ToolRunning { .. }).then_some(()))
        .await;
    client.say("and then this").await;
    client.say_when("mind the gap", When::Steer).await;
    // Both are recorded before the tool may end: a crash would not lose them.
    client
        .until(|event| match event {
            Event::Queued { prompts } if prompts.len() == 2 => Some(()),
            _ => None,
        })
        .await;
    kit.put("project/go", "");
    assert_eq!(client.turn_end().await.text, "Minded.");
    assert_eq!(client.turn_end().await.text, "Second.");
    let said: Vec<String> = client
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Said {
                by: Side::User,
                content,
            } => content[0].readable_text(),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["first", "mind the gap", "and then this"]);
    client.quit().await;
}

#[tokio::test]
async fn an_attached_file_goes_with_the_words() {
    let read = Expect::Contains("forty-two".to_owned());
    let kit = Kit::new(Script::new().on(read, Answer::text("I see.")));
    kit.put("project/answer.txt", "forty-two\n");
    let mut client = kit.open(kit.ask()).await;
    let attachments = vec![Attachment::File {
        path: "answer.txt".into(),
    }];
    client
        .send(Command::Prompt {
            content: vec![Block::text("What is it?")],
            attachments,
            when: When::Queue,
        })
        .await;
    assert_eq!(client.turn_end().await.text, "I see.");
    client.quit().await;
}

#[tokio::test]
async fn a_copy_goes_on_by_itself_and_the_original_stays() {
    let remembered = Expect::Contains("heron".to_owned());
    let script = Script::new()
        .then(Answer::text("Noted."))
        .on(remembered.clone(), Answer::text("In the copy."))
        .on(remembered, Answer::text("In the original."));
    let kit = Kit::new(script);
    let mut client = kit.open(kit.ask()).await;
    let original = client.session();
    client.turn("The word is heron.").await;
    client.quit().await;
    let before = kit.records(&original).len();
    let ask = AgentAsk {
        resume: Resume::Named(original.to_string()),
        fork: true,
        session: Some("the-copy".into()),
        ..kit.ask()
    };
    let mut copy = kit.open(ask).await;
    assert_eq!(copy.session().as_str(), "the-copy");
    assert_eq!(copy.turn("Which word?").await.text, "In the copy.");
    copy.quit().await;
    assert_eq!(kit.records(&original).len(), before);
    let ask = AgentAsk {
        resume: Resume::Named(original.to_string()),
        ..kit.ask()
    };
    let mut client = kit.open(ask).await;
    assert_eq!(client.turn("Which word?").await.text, "In the original.");
    // While it runs, a client may ask for a copy, too.
    assert_eq!(client.done(Command::Fork).await, None);
    let forked = |told: &Told| matches!(told.event, Event::Forked { .. });
    assert!(client.told.iter().any(forked));
    client.quit().await;
}

#[tokio::test]
async fn commands_that_cannot_be_carried_out_say_why() {
    let kit = Kit::new(Script::no_request());
    let mut client = kit.open(kit.ask()).await;
    let permit = Command::Permit {
        call: "none".into(),
        allow: true,
        words: None,
        input: None,
        remember: None,
    };
    let failed = client.done(permit).await.unwrap();
    assert!(failed.contains("none"), "{failed}");
    let task = "sh9".to_owned();
    let failed = client.done(Command::KillTask { task }).await.unwrap();
    assert!(failed.contains("sh9"), "{failed}");
    assert!(client.done(Command::Unknown).await.is_some());
    assert!(client.done(Command::Undo { rewrite: None }).await.is_some());
    // None of it ended the agent.
    let mode = Mode::Plan;
    assert_eq!(client.done(Command::SetMode { mode }).await, None);
    client.quit().await;
}
