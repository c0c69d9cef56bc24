//! Calls that wait for a person: in any order, after a restart, refused, allowed for good.

use crate::kit::{Client, Kit, bash, bashes};
use dormouse_agent::ASK_USER;
use dormouse_agent::protocol::{Answers, Command, Event, Lifetime};
use dormouse_core::id::CallId;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A client whose model makes a call that waits for permission.
async fn asked(script: Script) -> (Kit, Client, CallId) {
    let kit = Kit::new(script);
    let mut client = kit.open(kit.ask()).await;
    client.say("go").await;
    let call = client.wanted().await;
    (kit, client, call)
}

/// Permission for a call with an input of the person's, or for as long as the person says.
fn permit(call: CallId, input: Option<Value>, remember: Option<Lifetime>) -> Command {
    Command::Permit {
        call,
        allow: true,
        words: None,
        input,
        remember,
    }
}

#[tokio::test]
async fn several_calls_wait_and_are_answered_in_any_order() {
    let calls = bashes(&[
        ("c1", "echo one >> order"),
        ("c2", "echo two >> order"),
        ("c3", "echo three >> order"),
    ]);
    let kit = Kit::new(Script::new().then(calls).then(Answer::text("Done.")));
    let mut client = kit.open(kit.ask()).await;
    client.say("go").await;
    let mut wanted = Vec::new();
    for _ in 0..3 {
        wanted.push(client.wanted().await);
    }
    client.permit(&wanted[2], true).await;
    client.permit(&wanted[1], false).await;
    assert_eq!(
        kit.text("project/order"),
        "",
        "a later call overtook one that waits"
    );
    client.permit(&wanted[0], true).await;
    assert_eq!(client.turn_end().await.text, "Done.");
    assert_eq!(kit.text("project/order"), "one\nthree\n");
    assert!(Client::result(&client.told, "c2").contains("not allow"));
    client.quit().await;
}

#[tokio::test]
async fn a_waiting_call_survives_a_kill_and_runs_once() {
    let script = Script::new()
        .then(bash("c1", "echo ran >> runs"))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    for _ in 0..3 {
        let mut client = if kit.model.received().is_empty() {
            let client = kit.open(kit.ask()).await;
            client.say("go").await;
            client
        } else {
            kit.open_again().await
        };
        assert_eq!(client.wanted().await.as_str(), "c1");
        client.agent.kill().await;
        assert_eq!(kit.text("project/runs"), "");
    }
    let mut client = kit.open_again().await;
    let call = client.wanted().await;
    client.permit(&call, true).await;
    // The turn goes on by itself.
    assert_eq!(client.turn_end().await.text, "Done.");
    assert_eq!(kit.text("project/runs"), "ran\n");
    assert_eq!(kit.model.received().len(), 2);
    client.quit().await;
}

#[tokio::test]
async fn words_instead_of_an_answer_after_a_restart_leave_the_call_unrun() {
    let script = Script::new()
        .then(bash("c1", "echo ran >> runs"))
        .then(Answer::text("Something else, then."));
    let (kit, client, _) = asked(script).await;
    client.agent.kill().await;
    let mut client = kit.open_again().await;
    client.wanted().await;
    assert_eq!(
        client.turn("never mind").await.text,
        "Something else, then."
    );
    assert_eq!(kit.text("project/runs"), "");
    client.quit().await;
}

#[tokio::test]
async fn a_lasting_answer_is_written_down_and_asked_no_more() {
    let script = Script::new()
        .then(bash("c1", "touch a"))
        .then(bash("c2", "touch b"))
        .then(Answer::text("Done."))
        .then(bash("c3", "touch c"))
        .then(Answer::text("Done again."));
    let (kit, mut client, call) = asked(script).await;
    client.send(permit(call, None, Some(Lifetime::User))).await;
    // `touch b` is covered by the same rule, or asked about: the rule names the command.
    let end = loop {
        match client.next().await.unwrap() {
            Event::TurnEnded(end) => break end,
            Event::PermissionWanted(wanted) => client.permit(&wanted.call, true).await,
            _ => {}
        }
    };
    assert_eq!(end.text, "Done.");
    let settings = kit.text("home/.dormouse/settings.toml");
    assert!(settings.contains("Bash(touch"), "{settings}");
    client.quit().await;
}

#[tokio::test]
async fn a_person_may_change_the_input() {
    let script = Script::new()
        .then(bash("c1", "echo wrong >> runs"))
        .then(Answer::text("Done."));
    let (kit, mut client, call) = asked(script).await;
    let input = json!({ "command": "echo right >> runs" });
    client.send(permit(call, Some(input), None)).await;
    client.turn_end().await;
    assert_eq!(kit.text("project/runs"), "right\n");
    // The model's own bytes stay in its prompt.
    let last = kit.model.received().pop().unwrap();
    let prompt = String::from_utf8(last.body.to_vec()).unwrap();
    assert!(prompt.contains("echo wrong >> runs") && !prompt.contains("echo right >> runs"));
    client.quit().await;
}

#[tokio::test]
async fn a_question_of_the_model_waits_for_its_answer_also_after_a_kill() {
    let questions = json!({ "questions": [{ "question": "Tabs or spaces?", "header": "Indent",
        "options": [{ "label": "Tabs", "description": "t" }, { "label": "Spaces", "description": "s" }],
        "multiSelect": false }] });
    let script = Script::new()
        .then(Answer::call("q1", ASK_USER, &questions))
        .then(Answer::text("Thanks."));
    let kit = Kit::new(script);
    let mut client = kit.open(kit.ask()).await;
    client.say("format it").await;
    let asked = |event: &Event| match event {
        Event::QuestionWanted(wanted) => Some(wanted.clone()),
        _ => None,
    };
    let wanted = client.until(asked).await;
    assert_eq!(wanted.questions, questions["questions"]);
    client.agent.kill().await;
    let mut client = kit.open_again().await;
    let wanted = client.until(asked).await;
    let answers = Answers::from([("Tabs or spaces?".to_owned(), "Tabs".to_owned())]);
    client
        .send(Command::Answer {
            call: wanted.call.clone(),
            answers,
        })
        .await;
    assert_eq!(client.turn_end().await.text, "Thanks.");
    client.quit().await;
}
