//! Forks: agents that begin with the conversation's history, measured with the simulator's cache.

use crate::kit::{Client, Kit};
use crate::metered::{Metered, Sent, call};
use dormouse_agent::protocol::TaskState;
use dormouse_agent::{AgentAsk, Command, Event, Resume};
use dormouse_core::block::Block;
use dormouse_core::fragment::{Speaker, recognise};
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Words that only requests of forks have.
const FORK: &str = "You are a fork of this agent";

fn fork(id: &str, task: &str) -> Block {
    let input = json!({ "description": task, "prompt": task, "subagent_type": "fork" });
    call(id, "Agent", &input)
}

fn kit() -> Kit {
    Kit::new(Script::no_request())
}

fn is_fork(sent: &Sent) -> bool {
    sent.body.to_string().contains(FORK)
}

/// Waits for the turn whose answer is this.
async fn answered(client: &mut Client, words: &str) {
    while client.turn_end().await.text != words {}
}

/// Id of the agent that a call started.
fn id_of(client: &Client, call: &str) -> String {
    let result = Client::result(&client.told, call);
    let word = result
        .split_whitespace()
        .find(|word| word.starts_with("agent-"));
    word.unwrap().to_owned()
}

#[tokio::test]
async fn forks_of_one_response_share_every_byte_but_the_directive() {
    let provider = Metered::new(|sent, number| match number {
        1 => Answer::text("Understood."),
        2 => Answer::blocks(vec![
            Block::text("I look at both sides."),
            call(
                "c0",
                "Bash",
                &json!({ "command": "echo A-REAL-$((40 + 2))" }),
            ),
            fork("c1", "Look at the LEFT side."),
            fork("c2", "Look at the RIGHT side."),
        ]),
        _ if is_fork(sent) && sent.last_text().contains("LEFT") => Answer::text("Left is fine."),
        _ if is_fork(sent) => Answer::text("Right is fine."),
        _ => {
            let body = sent.body.to_string();
            let both = body.contains("Left is fine.") && body.contains("Right is fine.");
            Answer::text(if both { "Both." } else { "I wait." })
        }
    });
    let kit = kit();
    let mut client = kit.open(provider.ask(&kit)).await;
    client
        .turn(&"The larder has many shelves. ".repeat(400))
        .await;
    client.say("Look at both sides of the larder.").await;
    answered(&mut client, "Both.").await;
    client.quit().await;

    let sent = provider.sent();
    let parent = &sent[1];
    let forks = provider.sent_with(FORK);
    assert_eq!(forks.len(), 2);
    for fork in &forks {
        for part in ["tools", "system", "model", "max_tokens"] {
            assert_eq!(fork.body[part], parent.body[part], "{part}");
        }
        let (messages, before) = (fork.messages(), parent.messages());
        assert_eq!(messages[..before.len()], before[..]);
        let answer = messages[before.len()].clone();
        assert_eq!(answer["role"], "assistant");
        assert_eq!(answer["content"].as_array().unwrap().len(), 4);
        // One message of the user's side: the same result for every call, then the directive.
        assert_eq!(messages.len(), before.len() + 2);
        let last = messages.last().unwrap()["content"].as_array().unwrap();
        assert_eq!(last.len(), 4);
        let results: Vec<&Value> = last[..3].iter().map(|block| &block["content"]).collect();
        assert!(
            results.iter().all(|result| *result == results[0]),
            "{results:?}"
        );
        assert!(!fork.body.to_string().contains("A-REAL-42"));
        // Everything up to the last marker of the agent above is read from the cache.
        let marked = parent.marked().get();
        assert!(marked > 4_000, "{marked}");
        let read = fork.usage.cache_read.get();
        assert!(read * 100 >= marked * 99, "{read} of {marked}");
    }
    let without_directive = |fork: &Sent| {
        let mut messages = fork.messages();
        let last = messages.last_mut().unwrap()["content"].as_array_mut();
        last.unwrap().pop();
        messages
    };
    assert_eq!(without_directive(&forks[0]), without_directive(&forks[1]));
    // Money of the second: it writes no more than the first did.
    let written = |fork: &Sent| (fork.marked() - fork.usage.cache_read).get();
    assert!(written(&forks[1]) <= written(&forks[0]) + 8, "{forks:?}");
    for fork in &forks {
        let words = fork.last_text();
        let spans = recognise(&words);
        assert!(
            spans.iter().all(|span| span.speaker != Speaker::User),
            "{words}"
        );
    }
}

#[tokio::test]
async fn siblings_wait_until_the_first_response_has_begun_and_no_longer() {
    let provider = Metered::new(|sent, number| match number {
        1 => Answer::blocks(vec![fork("c1", "ONE."), fork("c2", "TWO.")]),
        // The first one of them is never answered.
        _ if is_fork(sent) && number <= 3 => Answer::Silence,
        _ if is_fork(sent) => Answer::text("Done."),
        _ => Answer::text("I wait."),
    });
    let kit = kit();
    let mut client = kit.open(provider.ask(&kit)).await;
    client.turn("go").await;
    while provider.sent_with(FORK).is_empty() {
        tokio::task::yield_now().await;
    }
    // Far more steps than a request takes.
    for _ in 0..2_000 {
        tokio::task::yield_now().await;
    }
    let first = provider.sent_with(FORK);
    assert_eq!(first.len(), 1);
    let one = first[0].last_text().contains("ONE.");
    let id = id_of(&client, if one { "c1" } else { "c2" });
    // A first fork that is stopped does not hold the others up.
    assert_eq!(client.done(Command::KillTask { task: id }).await, None);
    while provider.sent_with(FORK).len() < 2 {
        tokio::task::yield_now().await;
    }
    client.quit().await;
}

#[tokio::test]
async fn a_sibling_does_not_wait_for_the_end_of_the_first() {
    let provider = Metered::new(|sent, number| match number {
        1 => Answer::blocks(vec![fork("c1", "ONE."), fork("c2", "TWO.")]),
        _ if is_fork(sent) => {
            let input = json!({ "command": "sleep 300" });
            Answer::blocks(vec![call(&format!("s{number}"), "Bash", &input)])
        }
        _ => Answer::text("I wait."),
    });
    let kit = kit();
    let mut client = kit.open(provider.ask(&kit)).await;
    client.turn("go").await;
    while provider.sent_with(FORK).len() < 2 {
        tokio::task::yield_now().await;
    }
    let told = client.quit().await;
    let ended = |event: &Event| matches!(event, Event::TaskChanged { state: TaskState::Ended, task, .. } if task.starts_with("agent-"));
    assert_eq!(told.iter().filter(|told| ended(&told.event)).count(), 2);
}

#[tokio::test]
async fn a_fork_may_not_fork_but_may_have_other_agents() {
    let provider = Metered::new(|sent, _| {
        let body = sent.body["messages"].to_string();
        if sent.body["system"]
            .to_string()
            .contains("You are a sub-agent")
        {
            return Answer::text("Seven nuts.");
        }
        match (is_fork(sent), body) {
            (false, body) if body.contains("Fine, seven.") => Answer::text("Over."),
            (false, body) if body.contains("in the background") => Answer::text("I wait."),
            (false, _) => Answer::blocks(vec![fork("c1", "Count the nuts.")]),
            (true, body) if body.contains("Seven nuts.") => Answer::text("Fine, seven."),
            (true, body) if body.contains("a fork may not fork") => {
                let input = json!({ "description": "count", "prompt": "Count." });
                Answer::blocks(vec![call("s2", "Agent", &input)])
            }
            (true, _) => Answer::blocks(vec![fork("s1", "Count for me.")]),
        }
    });
    let kit = kit();
    let mut client = kit.open(provider.ask(&kit)).await;
    client.say("go").await;
    answered(&mut client, "Over.").await;
    client.quit().await;
    assert_eq!(provider.sent_with("a fork may not fork").len(), 2);
}

#[tokio::test]
async fn a_fork_goes_on_by_its_id_after_a_restart_and_is_still_a_fork() {
    let provider = Metered::new(|sent, _| {
        let body = sent.body["messages"].to_string();
        match (is_fork(sent), body) {
            (false, body)
                if body.contains("AGAIN-PLEASE") && body.contains("a fork may not fork") =>
            {
                Answer::text("Over.")
            }
            (false, body) if body.contains("AGAIN-PLEASE") => {
                let id = sent.messages().iter().find_map(|message| {
                    let text = message.to_string();
                    let at = text.find("agent-")?;
                    Some(text[at..at + 18].to_owned())
                });
                let input = json!({ "description": "again", "prompt": "Once more.", "resume": id });
                Answer::blocks(vec![call("c2", "Agent", &input)])
            }
            (false, body) if body.contains("Eleven.") => Answer::text("Thanks."),
            (false, body) if body.contains("in the background") => Answer::text("I wait."),
            (false, _) => Answer::blocks(vec![fork("c1", "Count the nuts.")]),
            (true, body) if body.contains("a fork may not fork") => {
                Answer::text("I heard: a fork may not fork.")
            }
            (true, body) if body.contains("Once more.") => {
                Answer::blocks(vec![fork("s1", "Count for me.")])
            }
            (true, _) => Answer::text("Eleven."),
        }
    });
    let kit = kit();
    let mut client = kit.open(provider.ask(&kit)).await;
    client.say("THE-FIRST-WORDS").await;
    answered(&mut client, "Thanks.").await;
    client.quit().await;
    let again = AgentAsk {
        resume: Resume::Newest,
        ..provider.ask(&kit)
    };
    let mut client = kit.open(again).await;
    client.say("AGAIN-PLEASE").await;
    answered(&mut client, "Over.").await;
    client.quit().await;
    let resumed = provider.sent_with("Once more.");
    let resumed: Vec<&Sent> = resumed.iter().filter(|sent| is_fork(sent)).collect();
    assert!(!resumed.is_empty());
    for sent in resumed {
        let body = sent.body.to_string();
        assert!(body.contains("THE-FIRST-WORDS") && body.contains("Eleven."));
        assert!(!body.contains("AGAIN-PLEASE"));
    }
}

#[tokio::test]
async fn a_fork_stays_in_the_folder_that_its_history_is_about() {
    let provider = Metered::new(|_, number| {
        let input = json!({ "description": "d", "prompt": "p", "subagent_type": "fork", "isolation": "worktree" });
        match number {
            1 => Answer::blocks(vec![call("c1", "Agent", &input)]),
            _ => Answer::text("Over."),
        }
    });
    let kit = kit();
    let mut client = kit.open(provider.ask(&kit)).await;
    assert_eq!(client.turn("go").await.text, "Over.");
    let told = client.quit().await;
    assert!(Client::result(&told, "c1").contains("leave `isolation` out"));
    assert_eq!(provider.sent_with(FORK).len(), 0);
}

#[tokio::test]
async fn a_run_of_one_answer_waits_for_its_fork() {
    let provider = Metered::new(|sent, _| match (is_fork(sent), sent.body.to_string()) {
        (true, _) => Answer::text("Three."),
        (false, body) if body.contains("Three.") => Answer::text("Over."),
        (false, _) => Answer::blocks(vec![fork("c1", "Count.")]),
    });
    let kit = kit();
    let mut client = kit
        .open(AgentAsk {
            one_shot: true,
            ..provider.ask(&kit)
        })
        .await;
    assert_eq!(client.turn("go").await.text, "Over.");
    let told = client.quit().await;
    assert!(Client::result(&told, "c1").contains("Three."));
}
