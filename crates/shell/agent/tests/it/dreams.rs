//! Layer 6 from real turns: at its gates, beside the conversation, left to the next session.

use crate::kit::{Client, Kit};
use dormouse_agent::protocol::{Command, Event, TaskState, Told};
use dormouse_host::StatsAsk;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use tokio::net::TcpListener;

/// A script of answers that are as many turns.
fn turns(count: usize) -> Script {
    (0..count).fold(Script::new(), |script, number| {
        script.then(Answer::text(&format!("Answer {number}.")))
    })
}

/// Settings under which only dreams happen beside the conversation, after two other sessions.
fn settings(kit: &Kit, more: &str) {
    kit.with_memory(&format!(
        "extract = false\nnotes = false\ndream.sessions = 2\n{more}"
    ));
}

/// A kit with two memories that say the same.
fn kit(script: Script) -> Kit {
    let kit = Kit::new(script);
    settings(&kit, "");
    let memory = |name: &str| {
        format!(
            "---\nname: {name}\ndescription: Tests use the real database.\ntype: feedback\n---\n\
             Integration tests use the real database on port 5432.\n"
        )
    };
    kit.put("memory/tests.md", &memory("Tests"));
    kit.put("memory/testing.md", &memory("Testing"));
    let index = "- [Tests](tests.md) — Tests use the real database.\n\
                 - [Testing](testing.md) — Tests use the real database.\n";
    kit.put("memory/MEMORY.md", index);
    kit
}

/// Sessions of one turn each.
async fn sessions(kit: &Kit, count: usize) -> Vec<Told> {
    let mut told = Vec::new();
    for _ in 0..count {
        let mut client = kit.open(kit.ask()).await;
        client.turn("Hello there, which day is it?").await;
        told.extend(client.leave(false).await);
    }
    told
}

fn task(event: &Event) -> Option<(String, TaskState)> {
    match event {
        Event::TaskChanged { task, state, .. } => Some((task.clone(), *state)),
        _ => None,
    }
}

fn states(told: &[Told]) -> Vec<TaskState> {
    let tasks = told.iter().filter_map(|told| task(&told.event));
    tasks.map(|(_, state)| state).collect()
}

fn dreamt(told: &[Told]) -> Vec<String> {
    let saved = told.iter().filter_map(|told| match &told.event {
        Event::Saved { what } => Some(what.clone()),
        _ => None,
    });
    saved.filter(|what| what.starts_with("dreamt")).collect()
}

/// Number of memories that are left of the two.
fn left(kit: &Kit) -> usize {
    let all = ["memory/tests.md", "memory/testing.md"];
    all.iter().filter(|name| !kit.text(name).is_empty()).count()
}

#[tokio::test]
async fn a_dream_begins_by_itself_when_its_gates_are_open() {
    let kit = kit(turns(4));
    let early = sessions(&kit, 2).await;
    assert_eq!(states(&early), [], "too few sessions");
    assert_eq!(left(&kit), 2);
    let mut client = kit.open(kit.ask()).await;
    let session = client.session();
    client.turn("Hello there, which day is it?").await;
    // Without another word of the user.
    client
        .until(|event| matches!(event, Event::Saved { .. }).then_some(()))
        .await;
    assert_eq!(left(&kit), 1);
    // The last dream was a moment ago.
    client.turn("And now, which day is it?").await;
    let told = client.leave(false).await;
    assert_eq!(states(&told), [TaskState::Running, TaskState::Ended]);
    let news = dreamt(&told);
    assert_eq!(news.len(), 1, "{news:?}");
    assert!(
        news[0].contains("tests.md") && news[0].contains("testing.md"),
        "{news:?}"
    );
    // The news is in the log, and counted.
    assert_eq!(dreamt(&kit.rebuilt(&session)), news);
    let ask = StatsAsk {
        here: true,
        ..StatsAsk::default()
    };
    assert_eq!(kit.host().stats(&ask).unwrap().all.acted.dreams, 1);
    // The conversation had the model for itself.
    assert_eq!(kit.model.received().len(), 4);
    kit.model.finish();
}

#[tokio::test]
async fn leaving_waits_for_a_dream_that_ends_in_time() {
    let kit = kit(turns(3));
    // The end is asked for as soon as the turn has ended, as `-p` does.
    let told = sessions(&kit, 3).await;
    assert_eq!(dreamt(&told).len(), 1, "{told:?}");
    assert_eq!(states(&told), [TaskState::Running, TaskState::Ended]);
    assert_eq!(left(&kit), 1);
}

/// A provider that accepts and never answers.
async fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let settings = format!(
        "model = \"claude-sonnet-4-5\"\nanthropic.api_key = \"any\"\n\
         anthropic.base_url = \"http://{address}\"\n"
    );
    (listener, settings)
}

/// A client whose dream waits for a provider that never answers, and the id of the dream.
async fn dreaming(kit: &Kit) -> (Client, TcpListener, String) {
    sessions(kit, 2).await;
    let (listener, provider) = silent().await;
    settings(kit, &provider);
    let mut client = kit.open(kit.ask()).await;
    client.turn("Hello there, which day is it?").await;
    let (id, state) = client.until(task).await;
    assert_eq!(state, TaskState::Running);
    // It asks, and the connection stays open.
    let (connection, _) = listener.accept().await.unwrap();
    std::mem::forget(connection);
    (client, listener, id)
}

#[tokio::test]
async fn a_dream_delays_no_request_and_is_left_to_the_next_session() {
    let kit = kit(turns(5));
    let (mut client, _provider, _) = dreaming(&kit).await;
    let end = client.turn("And now, which day is it?").await;
    assert_eq!(end.text, "Answer 3.");
    let told = client.leave(true).await;
    assert_eq!(states(&told), [TaskState::Running, TaskState::Killed]);
    assert_eq!((left(&kit), dreamt(&told).len()), (2, 0));
    assert_eq!(kit.text("memory/.consolidate-lock"), "", "nobody holds it");
    // The next session dreams instead, by rules because it has no model.
    settings(&kit, "");
    let told = sessions(&kit, 1).await;
    assert_eq!((left(&kit), dreamt(&told).len()), (1, 1));
}

#[tokio::test]
async fn a_user_in_a_hurry_does_not_wait_for_a_dream() {
    let kit = kit(turns(3));
    let (mut client, _provider, _) = dreaming(&kit).await;
    client.send(Command::Quit { now: false }).await;
    client
        .until(|event| match event {
            Event::Notice { text } => text.starts_with("saving memory").then_some(()),
            _ => None,
        })
        .await;
    let told = client.leave(true).await;
    assert_eq!(states(&told), [TaskState::Running, TaskState::Killed]);
    assert_eq!((left(&kit), dreamt(&told).len()), (2, 0));
}

#[tokio::test]
async fn the_user_may_stop_a_dream() {
    let kit = kit(turns(4));
    let (mut client, _provider, id) = dreaming(&kit).await;
    let refused = client
        .done(Command::KillTask {
            task: "another".to_owned(),
        })
        .await;
    assert_eq!(refused.as_deref(), Some("no task another runs"));
    let killed = client.done(Command::KillTask { task: id.clone() }).await;
    assert_eq!(killed, None);
    assert_eq!(client.until(task).await, (id, TaskState::Killed));
    assert_eq!(client.turn("Still there?").await.text, "Answer 3.");
    let told = client.leave(false).await;
    assert_eq!((left(&kit), dreamt(&told).len()), (2, 0));
}

#[tokio::test]
async fn a_run_that_ends_with_its_answer_dreams_only_if_it_may_wait() {
    for may in [false, true] {
        let kit = kit(turns(3));
        sessions(&kit, 2).await;
        kit.with_memory(&format!(
            "notes = false\ndream.sessions = 2\nextract.one_shot = {may}\n"
        ));
        let ask = dormouse_agent::AgentAsk {
            one_shot: true,
            ..kit.ask()
        };
        let mut client = kit.open(ask).await;
        client.turn("Hello there, which day is it?").await;
        let told = client.leave(false).await;
        assert_eq!(dreamt(&told).len(), usize::from(may));
        kit.model.finish();
    }
}
