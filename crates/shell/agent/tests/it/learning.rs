//! Layer 5 through the agent: a fork of the conversation draws memories after each answer.

use crate::kit::{Client, Kit, MODEL};
use dormouse_agent::{AgentAsk, Command, Mode, Resume};
use dormouse_core::record::Body;
use dormouse_engine::{Asker, Purpose};
use dormouse_model::{Capabilities, Model as _, ModelError, Request, ResponseStream};
use dormouse_testkit_model::{Answer, Script, ScriptedModel};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

const RULE: &str = "Always run the migrations before the integration tests.";

/// A provider with a script for the conversation and another for its forks, so that both may ask in
/// any order.
#[derive(Debug, Default)]
struct Provider {
    turns: Mutex<VecDeque<Answer>>,
    forks: Mutex<VecDeque<Answer>>,
    sent: Mutex<Vec<(Purpose, Value)>>,
}

impl Provider {
    fn sent(&self, purpose: Purpose) -> Vec<Value> {
        let sent = self.sent.lock().unwrap();
        let bodies = sent.iter().filter(|(for_what, _)| *for_what == purpose);
        bodies.map(|(_, body)| body.clone()).collect()
    }
}

impl Asker for Provider {
    fn capabilities(&self, _: &str) -> Capabilities {
        ScriptedModel::new(Script::new()).capabilities(MODEL)
    }

    fn ask(&self, purpose: Purpose, request: Request) -> ResponseStream {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        self.sent.lock().unwrap().push((purpose, body));
        let answers = match purpose {
            Purpose::Fork => &self.forks,
            _ => &self.turns,
        };
        let answer = answers.lock().unwrap().pop_front();
        let answer = answer.unwrap_or_else(|| Answer::text("Nothing."));
        ScriptedModel::new(Script::new().then(answer)).stream(request)
    }
}

/// A kit with a memory of its own and a model for the background, and its provider.
struct Scene {
    kit: Kit,
    provider: Arc<Provider>,
}

impl Scene {
    fn new(more: &str, forks: impl IntoIterator<Item = Answer>) -> Self {
        let kit = Kit::new(Script::new());
        // Only looked at: requests go to the provider of the test.
        let key = format!("key-{}", std::process::id());
        kit.with_memory(&format!(
            "notes = false\nmodel = \"{MODEL}\"\nanthropic.api_key = \"{key}\"\n{more}"
        ));
        let provider = Provider {
            forks: Mutex::new(forks.into_iter().collect()),
            ..Provider::default()
        };
        Self {
            kit,
            provider: Arc::new(provider),
        }
    }

    async fn open(&self, resume: Resume) -> Client {
        let asker: Arc<dyn Asker> = Arc::clone(&self.provider) as _;
        let ask = AgentAsk {
            resume,
            model: Some((MODEL.to_owned(), asker)),
            mode: Mode::All,
            ..self.kit.ask()
        };
        self.kit.open(ask).await
    }

    /// Talks until each of these was answered, and leaves.
    async fn talk(&self, words: &[&str]) {
        let mut client = self.open(Resume::New).await;
        for words in words {
            let end = client.turn(words).await;
            assert!(end.is_answered(), "{end:?}");
        }
        client.leave(false).await;
    }

    /// A call by which a fork saves the rule.
    fn saves_the_rule(&self) -> Answer {
        let path = self.kit.path("memory/migrations.md");
        let text = format!(
            "---\nname: migrations\ndescription: {RULE}\ntype: feedback\nsource: \"{RULE}\"\n---\n\n{RULE}\n"
        );
        let input = json!({ "file_path": path, "content": text });
        Answer::call("w1", "Write", &input)
    }
}

fn without_marks(body: &Value) -> String {
    // Marks of the cache may stand elsewhere; the words may not differ.
    let text = body["messages"].to_string();
    text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
}

#[tokio::test]
async fn a_fork_has_the_tools_and_the_bytes_of_the_conversation() {
    let scene = Scene::new("", []);
    scene.talk(&[RULE]).await;
    let (turn, fork) = (
        scene.provider.sent(Purpose::Turn).remove(0),
        scene.provider.sent(Purpose::Fork).remove(0),
    );
    assert_eq!(
        (&fork["system"], &fork["tools"]),
        (&turn["system"], &turn["tools"])
    );
    let (turn, fork) = (without_marks(&turn), without_marks(&fork));
    let shared = turn.strip_suffix("]").unwrap();
    assert!(fork.starts_with(shared), "{turn}\n{fork}");
}

#[tokio::test]
async fn a_memory_of_the_users_words_is_saved_and_later_forks_look_at_later_words_only() {
    let scene = Scene::new("", []);
    let answers = [Answer::text("Nothing."), scene.saves_the_rule()];
    scene.provider.forks.lock().unwrap().extend(answers);
    scene.talk(&[RULE]).await;
    // The first fork has dealt with the rule: in the second it has no source any more.
    let mut client = scene.open(Resume::Newest).await;
    client.turn("Thank you very much for that.").await;
    client.leave(false).await;
    assert!(scene.provider.sent(Purpose::Fork).len() >= 2);
    assert_eq!(scene.kit.text("memory/migrations.md"), "");

    let scene = Scene::new("", []);
    let save = scene.saves_the_rule();
    scene.provider.forks.lock().unwrap().push_back(save);
    scene.talk(&[RULE]).await;
    assert!(scene.kit.text("memory/migrations.md").contains(RULE));
}

#[tokio::test]
async fn every_second_turn_is_looked_at_where_the_user_wants_it_so() {
    for (every, forks) in [(1, 4), (2, 2), (4, 1)] {
        let scene = Scene::new(&format!("extract.every = {every}\n"), []);
        let mut client = scene.open(Resume::New).await;
        for part in 0..4 {
            client.turn(&format!("We keep part {part} of it.")).await;
            // The fork has asked before the next turn begins, or its turn would be one of two.
            while scene.provider.sent(Purpose::Fork).len() < (part + 1) / every {
                tokio::task::yield_now().await;
            }
        }
        client.leave(false).await;
        assert_eq!(scene.provider.sent(Purpose::Fork).len(), forks, "{every}");
    }
}

#[tokio::test]
async fn a_fork_that_fails_disturbs_no_turn_and_rules_keep_plain_words() {
    let broken = || Answer::fault(|| ModelError::Permission(Box::default()));
    let scene = Scene::new("", [broken(), broken(), broken()]);
    scene.talk(&[RULE, "Thank you very much."]).await;
    assert!(scene.kit.text("memory/MEMORY.md").contains("migrations"));
}

#[tokio::test]
async fn a_rule_that_a_summary_repeats_is_no_echo() {
    let broken = Answer::fault(|| ModelError::Permission(Box::default()));
    let scene = Scene::new("extract.every = 3\n", [broken]);
    let long = "The reeds are high and the water is low. ".repeat(1_500);
    let answers = [Answer::text(&long), Answer::text(&long)];
    scene.provider.turns.lock().unwrap().extend(answers);
    let mut client = scene.open(Resume::New).await;
    client.turn(RULE).await;
    client.turn("Go on.").await;
    let compact = Command::Compact {
        instructions: None,
        part: None,
    };
    assert_eq!(client.done(compact).await, None);
    client.turn("Thank you very much.").await;
    let session = client.session();
    client.leave(false).await;
    // The summary has the words of the user, and stands behind them.
    let records = scene.kit.records(&session);
    let repeated = records.iter().any(|record| match &record.body {
        Body::Boundary(boundary) => boundary.text.join("\n").contains(RULE),
        _ => false,
    });
    assert!(repeated);
    assert!(scene.kit.text("memory/MEMORY.md").contains("migrations"));
}
