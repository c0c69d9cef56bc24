//! The end of an agent: background commands get their grace, and a client in a hurry does not wait.

use crate::kit::{Client, Kit};
use dormouse_agent::{AgentAsk, Command, Event, Mode};
use dormouse_system::System;
use dormouse_testkit::processes::{await_end, runs, until};
use dormouse_testkit_model::{Answer, Script};
use serde_json::json;

/// An agent with a command in the background that ends when the file `go` is there.
async fn waiting(kit: &Kit) -> Client {
    let ask = AgentAsk {
        mode: Mode::All,
        ..kit.ask()
    };
    let mut client = kit.open(ask).await;
    client.turn("start it").await;
    // The call has its result before the command has run its first line.
    until(|| kit.text("project/pid").ends_with('\n'), "no number");
    client
}

fn script() -> Script {
    let line = "echo $$ > pid; until [ -e go ]; do sleep 0.02; done; echo yes > done";
    let input = json!({ "command": line, "run_in_background": true });
    Script::new()
        .then(Answer::call("c1", "Bash", &input))
        .then(Answer::text("Started."))
}

/// Lines of the tasks that are at work.
async fn tasks(client: &mut Client) -> Vec<String> {
    client.send(Command::Tasks).await;
    client
        .until(|event| match event {
            Event::Tasks { tasks } => Some(tasks.iter().map(|task| task.what.clone()).collect()),
            _ => None,
        })
        .await
}

#[tokio::test]
async fn a_client_that_asks_is_told_the_tasks_at_work() {
    let kit = Kit::new(script());
    let mut client = waiting(&kit).await;
    let told = tasks(&mut client).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("until [ -e go ]"), "{told:?}");
    kit.put("project/go", "");
    while !tasks(&mut client).await.is_empty() {}
    client.quit().await;
}

#[tokio::test]
async fn a_command_in_the_background_may_end_by_itself() {
    let kit = Kit::new(script());
    let mut client = waiting(&kit).await;
    client.send(Command::Quit { now: false }).await;
    kit.put("project/go", "");
    while client.next().await.is_some() {}
    client.agent.ended().await.unwrap();
    assert_eq!(kit.text("project/done"), "yes\n");
}

#[tokio::test]
async fn a_command_that_does_not_end_is_killed_after_its_grace() {
    let kit = Kit::new(script());
    let mut client = waiting(&kit).await;
    assert!(runs(&kit.text("project/pid")));
    client.send(Command::Quit { now: false }).await;
    while client.next().await.is_some() {}
    client.agent.ended().await.unwrap();
    await_end(&kit.text("project/pid"));
    assert_eq!(kit.text("project/done"), "");
}

#[tokio::test]
async fn a_second_wish_to_end_does_not_wait_for_commands() {
    let kit = Kit::new(script());
    let mut client = waiting(&kit).await;
    let clock = System::real().clock;
    let begun = clock.ticks();
    client.send(Command::Quit { now: false }).await;
    client.send(Command::Quit { now: true }).await;
    while client.next().await.is_some() {}
    client.agent.ended().await.unwrap();
    await_end(&kit.text("project/pid"));
    assert_eq!(kit.text("project/done"), "");
    // The grace alone takes five seconds.
    assert!(clock.ticks().since(begun).as_secs() < 5);
}
