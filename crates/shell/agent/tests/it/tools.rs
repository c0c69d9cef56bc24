//! Rules of single tools, as a model meets them.

use crate::kit::{Client, Kit};
use dormouse_agent::{AgentAsk, Mode};
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

fn all(kit: &Kit) -> AgentAsk {
    AgentAsk {
        mode: Mode::All,
        ..kit.ask()
    }
}

#[tokio::test]
async fn a_file_is_edited_only_after_it_was_read() {
    let edit = json!({ "file_path": "notes.txt", "old_string": "seven", "new_string": "eight" });
    let script = Script::new()
        .then(Answer::call("c1", "Edit", &edit))
        .then(Answer::call(
            "c2",
            "Read",
            &json!({ "file_path": "notes.txt" }),
        ))
        .then(Answer::call("c3", "Edit", &edit))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    kit.put("project/notes.txt", "There are seven nuts.\n");
    let mut client = kit.open(all(&kit)).await;
    client.turn("Make it eight.").await;
    let told = client.quit().await;
    let refused = Client::result(&told, "c1");
    assert!(refused.contains("was not read yet"), "{refused}");
    assert_eq!(kit.text("project/notes.txt"), "There are eight nuts.\n");
}

#[tokio::test]
async fn the_web_is_searched_by_the_users_command_and_private_addresses_are_refused() {
    let script = Script::new()
        .then(Answer::call(
            "c1",
            "WebSearch",
            &json!({ "query": "dormice" }),
        ))
        .then(Answer::call(
            "c2",
            "WebFetch",
            &json!({ "url": "http://127.0.0.1:9/", "prompt": "What is there?" }),
        ))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    kit.settings("simple = true\nweb.search_command = \"echo found:\"\n");
    let mut client = kit.open(all(&kit)).await;
    client.turn("Look it up.").await;
    let told = client.quit().await;
    let found = Client::result(&told, "c1");
    assert!(found.contains("found: dormice"), "{found}");
    let refused = Client::result(&told, "c2");
    assert!(refused.contains("a loopback address"), "{refused}");
}
