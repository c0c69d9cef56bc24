//! A scripted turn with hooks, questions and tools, interrupted or killed behind every single event.
//!
//! Afterwards the session is opened again and goes on. Every time: a log that a provider accepts,
//! every event that was told and no other history, and no tool that ran twice without a word.

use crate::kit::{Client, Kit, bash, bashes};
use dormouse_agent::protocol::{Command, Event, Told};
use dormouse_core::id::SessionId;
use dormouse_host::Point;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Disturbance behind an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    Interrupt,
    Kill,
}

/// Calls of the turn, each with the file it appends to.
const CALLS: [&str; 3] = ["c1", "c2", "c3"];

fn script() -> Script {
    let mut script = Script::new()
        .then(bash("c1", "echo ran >> c1"))
        .then(bashes(&[
            ("c2", "echo ran >> c2"),
            ("c3", "echo ran >> c3"),
        ]));
    // More than any course of events needs: a disturbed turn asks again.
    for _ in 0..8 {
        script = script.then(Answer::text("Done."));
    }
    script
}

fn kit() -> Kit {
    let kit = Kit::new(script());
    let hook = |line: &str| json!([{ "hooks": [{ "type": "command", "command": line }] }]);
    kit.hooks(&json!({
        "UserPromptSubmit": hook("echo 'mind the gap'"),
        "PreToolUse": hook("true"),
        "PostToolUse": hook("true"),
        "Stop": hook("true"),
    }));
    kit
}

/// Plays the turn and disturbs it behind the event with this number; returns the events told before
/// and whether the blow came.
async fn play(kit: &Kit, blow: Option<(usize, Blow)>) -> (SessionId, Vec<Told>, bool) {
    let mut client = kit.open(kit.ask()).await;
    let session = client.session();
    client.say("Work.").await;
    let mut interrupted = false;
    loop {
        let event = client.next().await.unwrap();
        if blow.is_some_and(|(at, _)| at == client.told.len()) {
            match blow.unwrap().1 {
                Blow::Kill => {
                    let told = std::mem::take(&mut client.told);
                    client.agent.kill().await;
                    return (session, told, true);
                }
                Blow::Interrupt => {
                    interrupted = true;
                    client.send(Command::Interrupt).await;
                }
            }
        }
        match event {
            Event::PermissionWanted(wanted) if !interrupted => {
                client.permit(&wanted.call, true).await;
            }
            Event::TurnEnded(_) => break,
            _ => {}
        }
    }
    let told = client.quit().await;
    (session, told, interrupted)
}

/// Opens the session again, answers what still waits, and says something.
async fn go_on(kit: &Kit) -> Vec<Told> {
    let mut client = kit.open_again().await;
    client.say("Go on.").await;
    loop {
        match client.next().await.unwrap() {
            Event::PermissionWanted(wanted) => client.permit(&wanted.call, true).await,
            Event::TurnEnded(end) => {
                assert_eq!(end.end, "answered", "{end:?}");
                break;
            }
            _ => {}
        }
    }
    client.quit().await
}

fn check(kit: &Kit, session: &SessionId, told: &[Told], name: &str) {
    // Nothing that was told is lost, and nothing was told that is not in the log.
    let rebuilt = kit.rebuilt(session);
    for told in Client::durable(told) {
        assert!(rebuilt.contains(&told), "{name}: {told:?}");
    }
    // A provider accepts the prompt.
    let host = kit.host();
    let log = host.session_log(session).unwrap();
    let point = host.transcripts().prompt_at(&log, &Point::Now).unwrap();
    let view = point.view(|_| None);
    assert_eq!(view.acceptable, None, "{name}");
    assert_eq!(view.issues, Vec::<String>::new(), "{name}");
    for call in CALLS {
        let runs = kit.text(&format!("project/{call}")).lines().count();
        assert!(runs <= 1, "{name}: {call} ran {runs} times");
        let results = Client::result(&rebuilt, call);
        // A call that ran has its output, or the model is told that it may have run.
        let asked = rebuilt.iter().any(
            |told| matches!(&told.event, Event::ToolAsked { call: id, .. } if id.as_str() == call),
        );
        if runs == 1 && asked && !results.is_empty() {
            let told = !results.contains("was not run");
            assert!(
                told,
                "{name}: {call} ran, and the model is told otherwise: {results}"
            );
        }
    }
}

/// Number of events of the undisturbed turn, from its opening to its end.
async fn events() -> usize {
    let kit = kit();
    let (session, told, _) = play(&kit, None).await;
    check(&kit, &session, &told, "undisturbed");
    let ended = told
        .iter()
        .position(|told| matches!(told.event, Event::TurnEnded(_)));
    ended.unwrap() + 1
}

async fn strike(blow: Blow) {
    let events = events().await;
    assert!(events > 20, "{events} events are no long turn");
    let mut struck = 0;
    for at in 1..=events {
        let kit = kit();
        let name = format!("{blow:?} behind event {at}");
        let (session, mut told, came) = play(&kit, Some((at, blow))).await;
        struck += usize::from(came);
        check(&kit, &session, &told, &name);
        told.extend(go_on(&kit).await);
        check(&kit, &session, &told, &format!("{name}, gone on"));
    }
    // Pieces of an answer may be joined, so that a turn has some events fewer.
    assert!(struck * 10 >= events * 9, "{struck} of {events}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_behind_any_event_leaves_a_sound_session() {
    strike(Blow::Interrupt).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_behind_any_event_leaves_a_sound_session() {
    strike(Blow::Kill).await;
}
