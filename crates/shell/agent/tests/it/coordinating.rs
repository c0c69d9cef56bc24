//! Coordinator mode: the session's agent delegates, its workers work.

use crate::kit::{Client, Kit};
use crate::metered::{Metered, Sent, call};
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

fn tools(sent: &Sent) -> Vec<String> {
    let tools = sent.body["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.collect()
}

fn is_worker(sent: &Sent) -> bool {
    sent.body["system"]
        .to_string()
        .contains("You are a sub-agent")
}

#[tokio::test]
async fn a_coordinator_has_no_tool_that_changes_something_and_its_workers_have() {
    let provider = Metered::new(|sent, _| {
        let text = sent.body["messages"].to_string();
        let touch = |id: &str, file: &str| {
            let input = json!({ "command": format!("touch {file}") });
            Answer::blocks(vec![call(id, "Bash", &input)])
        };
        if is_worker(sent) {
            return if text.contains("tool_use_id") {
                Answer::text("Made.")
            } else {
                touch("s1", "by-a-worker")
            };
        }
        match text.matches("tool_use_id").count() {
            // A tool that is not offered is refused as well.
            0 => touch("c1", "by-the-coordinator"),
            1 => {
                let input = json!({ "description": "make", "prompt": "Make it." });
                Answer::blocks(vec![call("c2", "Agent", &input)])
            }
            _ => Answer::text("Over."),
        }
    });
    let kit = Kit::with_settings(
        Script::no_request(),
        "simple = true\nagents.coordinator = true\n",
    );
    let mut client = kit.open(provider.ask(&kit)).await;
    assert_eq!(client.turn("go").await.text, "Over.");
    let told = client.quit().await;
    assert!(Client::result(&told, "c1").contains("Not allowed"));
    assert!(Client::result(&told, "c2").contains("Made."));
    assert!(kit.path("project/by-a-worker").exists());
    assert!(!kit.path("project/by-the-coordinator").exists());
    let sent = provider.sent();
    let lead = sent.iter().find(|sent| !is_worker(sent)).unwrap();
    assert_eq!(
        tools(lead),
        [
            "Read",
            "TodoWrite",
            "AskUserQuestion",
            "Agent",
            "SendMessage",
            "Skill",
            "EnterPlanMode",
            "ExitPlanMode",
        ]
    );
    assert!(lead.body["system"].to_string().contains("You coordinate"));
    let worker = sent.iter().find(|sent| is_worker(sent)).unwrap();
    for tool in ["Bash", "Edit", "Write", "Agent"] {
        assert!(tools(worker).iter().any(|name| name == tool), "{tool}");
    }
    assert!(!worker.body["system"].to_string().contains("You coordinate"));
}
