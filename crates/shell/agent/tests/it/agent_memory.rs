//! Memory and model of a sort of sub-agent.

use crate::kit::{Client, Kit, MODEL};
use crate::metered::{Metered, Sent, call};
use dormouse_agent::AgentAsk;
use dormouse_core::settings::Trust;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

/// A kit with memory on, whose project has a definition with this front matter.
fn kit(front: &str) -> Kit {
    let kit = Kit::with_settings(Script::no_request(), "");
    kit.with_memory("extract = false\n");
    kit.put(
        "home/.dormouse/agents/squirrel.md",
        &format!("---\nname: squirrel\ndescription: Counts nuts.\n{front}---\nYou count nuts.\n"),
    );
    kit
}

fn is_squirrel(sent: &Sent) -> bool {
    sent.body["system"].to_string().contains("You count nuts.")
}

fn tools(sent: &Sent) -> Vec<String> {
    let tools = sent.body["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.collect()
}

/// A session whose sub-agent saves a memory and is asked again later.
fn provider() -> std::sync::Arc<Metered> {
    Metered::new(|sent, _| {
        let text = sent.body["messages"].to_string();
        if is_squirrel(sent) {
            if text.contains("Save it.") && !text.contains("tool_use_id") {
                let input = json!({ "command": "create", "path": "/memories/MEMORY.md", "file_text": "- NUTS-ARE-IN-THE-OAK\n" });
                return Answer::blocks(vec![call("s1", "Memory", &input)]);
            }
            return Answer::text("Seven.");
        }
        if text.contains("Seven.") {
            return Answer::text("Over.");
        }
        let word = if text.contains("first") {
            "Save it."
        } else {
            "Count."
        };
        let input = json!({ "description": "count", "prompt": word, "subagent_type": "squirrel" });
        Answer::blocks(vec![call("c1", "Agent", &input)])
    })
}

async fn run(kit: &Kit, provider: &std::sync::Arc<Metered>, words: &str) -> Client {
    let mut client = kit
        .open(AgentAsk {
            one_shot: true,
            ..provider.ask(kit)
        })
        .await;
    assert_eq!(client.turn(words).await.text, "Over.");
    client
}

#[tokio::test]
async fn each_scope_has_a_place_of_its_own_and_comes_back_whole() {
    for (scope, place) in [
        ("user", "home/.dormouse/agent-memory/squirrel/MEMORY.md"),
        (
            "project",
            "project/.dormouse/agent-memory/squirrel/MEMORY.md",
        ),
        (
            "local",
            "project/.dormouse/agent-memory-local/squirrel/MEMORY.md",
        ),
    ] {
        let kit = kit(&format!("memory: {scope}\ntools: Read\n"));
        kit.host().set_trust(None, Trust::Trusted).unwrap();
        let provider = provider();
        run(&kit, &provider, "first").await.quit().await;
        assert!(kit.text(place).contains("NUTS-ARE-IN-THE-OAK"), "{scope}");
        let ignored = kit.path("project/.dormouse/agent-memory-local/.gitignore");
        assert_eq!(ignored.exists(), scope == "local");
        run(&kit, &provider, "second").await.quit().await;
        let sent = provider.sent();
        let squirrel = sent.iter().rfind(|sent| is_squirrel(sent)).unwrap();
        assert!(
            squirrel.body.to_string().contains("NUTS-ARE-IN-THE-OAK"),
            "{scope}"
        );
        // The memory's own tool is there although the definition does not list it; that for sessions
        // and memories of others is not.
        assert_eq!(tools(squirrel), ["Read", "Memory"], "{scope}");
        // The session itself knows nothing of it.
        let lead = sent.iter().rfind(|sent| !is_squirrel(sent)).unwrap();
        assert!(
            !lead.body["system"].to_string().contains("NUTS-ARE"),
            "{scope}"
        );
    }
}

#[tokio::test]
async fn memory_in_a_folder_that_is_not_trusted_is_neither_read_nor_written() {
    let kit = kit("memory: project\n");
    let place = "project/.dormouse/agent-memory/squirrel/MEMORY.md";
    kit.put(place, "- HOSTILE-WORDS\n");
    let provider = provider();
    run(&kit, &provider, "first").await.quit().await;
    assert!(provider.sent_with("HOSTILE-WORDS").is_empty());
    assert_eq!(kit.text(place), "- HOSTILE-WORDS\n");
    for sent in provider.sent().iter().filter(|sent| is_squirrel(sent)) {
        assert!(!tools(sent).contains(&"Memory".to_owned()));
    }
}

#[tokio::test]
async fn an_agent_without_memory_has_none_of_the_sessions() {
    let kit = kit("");
    kit.put("memory/MEMORY.md", "- SECRET-OF-THE-SESSION\n");
    let provider = provider();
    run(&kit, &provider, "second").await.quit().await;
    for sent in provider.sent() {
        let knows = sent.body.to_string().contains("SECRET-OF-THE-SESSION");
        assert_eq!(knows, !is_squirrel(&sent));
    }
}

#[tokio::test]
async fn a_definition_names_the_model() {
    for (front, model) in [
        ("model: claude-opus-4-6\n", "claude-opus-4-6"),
        ("model: inherit\n", MODEL),
        ("model: sonnet\n", MODEL),
        ("", MODEL),
    ] {
        let kit = kit(front);
        let provider = provider();
        run(&kit, &provider, "second").await.quit().await;
        for sent in provider.sent() {
            let expected = if is_squirrel(&sent) { model } else { MODEL };
            assert_eq!(sent.body["model"], expected, "{front}");
        }
    }
}
