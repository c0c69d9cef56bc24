//! Commands that a person types: files of the user's and the project's, and the agent's own.

use crate::kit::{Client, Kit, bash, summary};
use dormouse_agent::{AgentAsk, Event};
use dormouse_core::settings::Trust;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Text blocks of the last message of a request.
fn last_texts(kit: &Kit) -> Vec<String> {
    let received = kit.model.received();
    let body: Value = serde_json::from_slice(&received.last().unwrap().body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let content = messages.last().unwrap()["content"].as_array().unwrap();
    let texts = content.iter().filter_map(|block| block["text"].as_str());
    texts.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_command_puts_its_words_before_those_of_the_user() {
    let script = Script::new()
        .then(Answer::text("Reviewed."))
        .then(Answer::text("Committed."))
        .then(Answer::text("Mine."));
    let kit = Kit::new(script);
    kit.put(
        "project/.claude/commands/review.md",
        "---\ndescription: Reviews a change\nargument-hint: \"[number] [branch]\"\n---\nReview change $1 on $2. All: $ARGUMENTS\n",
    );
    kit.put("project/.claude/commands/git/commit.md", "Commit it.\n");
    kit.put("project/.dormouse/commands/mine.md", "The project's own.\n");
    kit.put("home/.dormouse/commands/mine.md", "The user's.\n");
    kit.host().set_trust(None, Trust::Trusted).unwrap();
    let mut client = kit.open(kit.ask()).await;
    let commands = client.agent.opened.commands.clone();
    let review = commands.iter().find(|one| one.name == "review").unwrap();
    assert_eq!(review.description, "Reviews a change");
    assert_eq!(review.hint.as_deref(), Some("[number] [branch]"));
    let names: Vec<&str> = commands.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["clear", "compact", "git:commit", "mine", "review"]);

    client.turn("/review 12 'the main one'").await;
    let texts = last_texts(&kit);
    let words = texts.last().unwrap();
    assert_eq!(words, "/review 12 'the main one'");
    let before = &texts[texts.len() - 2];
    assert!(before.starts_with("<system-reminder>"), "{before}");
    assert!(
        before.contains("Review change 12 on the main one. All: 12 'the main one'"),
        "{before}"
    );
    client.turn("/git:commit").await;
    assert!(last_texts(&kit).join("\n").contains("Commit it."));
    client.turn("/mine").await;
    let texts = last_texts(&kit).join("\n");
    assert!(texts.contains("The project's own.") && !texts.contains("The user's."));
    // The user's words in the log are the typed line alone.
    let told = client.quit().await;
    let said: Vec<String> = told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Said { content, .. } => content.last()?.readable_text(),
            _ => None,
        })
        .collect();
    assert!(said.contains(&"/git:commit".to_owned()), "{said:?}");
}

#[tokio::test]
async fn an_unknown_command_is_refused_without_a_request() {
    let script = Script::new()
        .then(Answer::text("A folder."))
        .then(Answer::text("A file."));
    let kit = Kit::new(script);
    kit.put("home/.dormouse/commands/review.md", "Review.\n");
    let mut client = kit.open(kit.ask()).await;
    let end = client.turn("/revue 12").await;
    assert_eq!(end.end, "command");
    let why = end.why.unwrap();
    for word in ["`/revue`", "/compact", "/review"] {
        assert!(why.contains(word), "{why}");
    }
    assert_eq!(kit.model.received().len(), 0);
    // Paths are words.
    assert_eq!(client.turn("/tmp is full").await.text, "A folder.");
    assert_eq!(client.turn("/etc/hosts is wrong").await.text, "A file.");
    client.quit().await;
}

#[tokio::test]
async fn calls_that_a_command_names_run_in_its_turn_only() {
    let script = Script::new()
        .then(bash("c1", "touch inside"))
        .then(Answer::text("Done."))
        .then(bash("c2", "touch after"))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    kit.put(
        "home/.dormouse/commands/make.md",
        "---\nallowed-tools: Bash(touch:*), Nonsense(\n---\nMake it.\n",
    );
    let ask = AgentAsk {
        attended: false,
        ..kit.ask()
    };
    let mut client = kit.open(ask).await;
    client.turn("/make").await;
    client.turn("and again").await;
    let told = client.quit().await;
    assert!(kit.path("project/inside").exists(), "{told:?}");
    assert!(!kit.path("project/after").exists());
    // A rule that cannot be read is named, and the others count.
    let named = told
        .iter()
        .any(|told| matches!(&told.event, Event::Notice { text } if text.contains("Nonsense(")));
    assert!(named, "{told:?}");
}

#[tokio::test]
async fn a_model_runs_no_command_of_the_users_through_a_sub_agent() {
    let task = serde_json::json!({ "description": "x", "prompt": "/make now" });
    let script = Script::new()
        .then(Answer::call("c1", "Agent", &task))
        .then(Answer::text("I am the sub-agent."))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    kit.put("home/.dormouse/commands/make.md", "BODY-OF-MAKE\n");
    let mut client = kit.open(kit.ask()).await;
    client.turn("go").await;
    client.quit().await;
    let sent = kit.model.received();
    let sent = sent.iter().map(|one| String::from_utf8_lossy(&one.body));
    assert!(!sent.collect::<String>().contains("BODY-OF-MAKE"));
}

#[tokio::test]
async fn the_agents_own_commands_end_like_turns() {
    let long = "The heron stands in the reeds and waits for the frog. ".repeat(400);
    let script = Script::new()
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(summary())
        .then(Answer::text("Anew."));
    let kit = Kit::new(script);
    let mut client = kit.open(kit.ask()).await;
    let end = client.turn("/compact").await;
    assert_eq!(end.end, "failed", "{end:?}");
    client.turn("Tell me of the heron.").await;
    client.turn("And more.").await;
    let end = client.turn("/compact keep the frog").await;
    assert_eq!(end.end, "answered", "{end:?}");
    assert!(end.text.starts_with("Compacted: "), "{end:?}");
    let asked = kit.model.received();
    let asked = asked.iter().map(|one| String::from_utf8_lossy(&one.body));
    assert!(asked.collect::<String>().contains("keep the frog"));
    let before = client.session();
    let end = client.turn("/clear").await;
    assert_eq!(end.end, "answered");
    assert_eq!(client.turn("hello").await.text, "Anew.");
    assert!(client.session() != before);
    client.quit().await;
}

#[tokio::test]
async fn a_command_of_the_user_comes_back_after_a_compaction() {
    let long = "The heron stands in the reeds and waits for the frog. ".repeat(400);
    let script = Script::new()
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(summary())
        .then(Answer::text("On."));
    let kit = Kit::new(script);
    kit.put("home/.dormouse/commands/watch.md", "WATCH-THE $1\n");
    let mut client = kit.open(kit.ask()).await;
    client.turn("/watch heron").await;
    client.turn("And more.").await;
    client.turn("/compact").await;
    client.turn("Go on.").await;
    let _told: Vec<dormouse_agent::Told> = Client::quit(client).await;
    let received = kit.model.received();
    let last = String::from_utf8_lossy(&received.last().unwrap().body);
    assert_eq!(last.matches("WATCH-THE heron").count(), 1, "{last}");
}
