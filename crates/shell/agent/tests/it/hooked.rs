//! Hooks with the JSON of Claude Code, at every moment of a session.

use crate::kit::{Client, Kit, bash};
use dormouse_agent::protocol::Event;
use dormouse_agent::{AgentAsk, Mode};
use dormouse_core::record::{Body, StateChange};
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn all(kit: &Kit) -> AgentAsk {
    AgentAsk {
        mode: Mode::All,
        ..kit.ask()
    }
}

/// Hooks of one event, for all tools.
fn on(event: &str, command: &str) -> Value {
    json!({ event: [{ "hooks": [{ "type": "command", "command": command }] }] })
}

fn says(value: &Value) -> String {
    format!(
        "cat >> \"$CLAUDE_PROJECT_DIR/in.jsonl\"; echo >> \"$CLAUDE_PROJECT_DIR/in.jsonl\"; echo '{value}'"
    )
}

#[tokio::test]
async fn a_hook_refuses_a_call_and_the_model_is_told_why() {
    let told = Expect::Contains("no deploys on Friday".to_owned());
    let script = Script::new()
        .then(bash("c1", "touch made"))
        .on(told, Answer::text("Monday, then."));
    let kit = Kit::new(script);
    kit.hooks(&on("PreToolUse", "echo 'no deploys on Friday' >&2; exit 2"));
    let mut client = kit.open(all(&kit)).await;
    assert_eq!(client.turn("deploy").await.text, "Monday, then.");
    assert!(!kit.path("project/made").exists());
    client.quit().await;
}

#[tokio::test]
async fn a_matcher_is_the_whole_name_and_hooks_get_the_documented_input() {
    let script = Script::new()
        .then(bash("c1", "echo hello"))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    let write = |file: &str| json!([{ "type": "command", "command": format!("cat > {file}") }]);
    kit.hooks(&json!({
        "PreToolUse": [
            { "matcher": "Ba", "hooks": write("part.json") },
            { "matcher": "Edit|Bash", "hooks": write("pre.json") },
        ],
        "PostToolUse": [{ "matcher": "Bash", "hooks": write("post.json") }],
        "UserPromptSubmit": [{ "hooks": write("prompt.json") }],
        "Stop": [{ "hooks": write("stop.json") }],
        "SessionStart": [{ "matcher": "startup", "hooks": write("start.json") },
            { "matcher": "resume", "hooks": write("resume.json") }],
        "SessionEnd": [{ "hooks": write("end.json") }],
    }));
    let mut client = kit.open(all(&kit)).await;
    let session = client.session();
    client.turn("say hello").await;
    client.quit().await;
    assert!(!kit.path("project/part.json").exists());
    assert!(!kit.path("project/resume.json").exists());
    let read = |name: &str| -> Value {
        serde_json::from_str(&kit.text(&format!("project/{name}.json"))).unwrap()
    };
    for (name, event) in [
        ("pre", "PreToolUse"),
        ("post", "PostToolUse"),
        ("prompt", "UserPromptSubmit"),
        ("stop", "Stop"),
        ("start", "SessionStart"),
        ("end", "SessionEnd"),
    ] {
        let input = read(name);
        assert_eq!(input["hook_event_name"], event);
        assert_eq!(input["session_id"], session.as_str());
        assert_eq!(input["permission_mode"], "bypassPermissions");
        let log = input["transcript_path"].as_str().unwrap();
        assert!(std::path::Path::new(log).exists(), "{log}");
    }
    let pre = read("pre");
    assert_eq!(pre["tool_name"], "Bash");
    assert_eq!(pre["tool_input"]["command"], "echo hello");
    assert_eq!(pre["tool_use_id"], "c1");
    assert_eq!(read("post")["tool_response"]["stdout"], "hello");
    assert_eq!(read("prompt")["prompt"], "say hello");
    let stop = read("stop");
    assert_eq!(stop["stop_hook_active"], false);
    assert_eq!(stop["last_assistant_message"], "Done.");
    assert_eq!(read("start")["source"], "startup");
    // The same session goes on: the other matcher fits.
    let again = kit.open_again().await;
    again.quit().await;
    assert_eq!(read("resume")["source"], "resume");
}

#[tokio::test]
async fn a_changed_input_and_a_changed_result_are_logged_beside_the_originals() {
    let script = Script::new()
        .then(bash("c1", "echo secret"))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    let input = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
        "permissionDecision": "allow", "updatedInput": { "command": "echo plain" } } });
    let output = json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse",
        "updatedToolOutput": "[hidden]", "additionalContext": "It was hidden." } });
    let mut hooks = on("PreToolUse", &says(&input));
    hooks["PostToolUse"] = on("PostToolUse", &says(&output))["PostToolUse"].clone();
    kit.hooks(&hooks);
    // A hook allows what would have been asked about.
    let mut client = kit.open(kit.ask()).await;
    let session = client.session();
    client.turn("go").await;
    assert_eq!(Client::result(&client.told, "c1"), "[hidden]");
    client.quit().await;
    let last = kit.model.received().pop().unwrap();
    let prompt = String::from_utf8(last.body.to_vec()).unwrap();
    assert!(
        prompt.contains("echo secret") && !prompt.contains("echo plain"),
        "{prompt}"
    );
    assert!(prompt.contains("[hidden]") && prompt.contains("It was hidden."));
    let facts: Vec<String> = kit
        .records(&session)
        .iter()
        .filter_map(|record| match &record.body {
            Body::State(StateChange::Fact { name, value }) => Some(format!("{name} {value}")),
            _ => None,
        })
        .collect();
    assert!(
        facts
            .iter()
            .any(|fact| fact.contains("input/c1") && fact.contains("echo plain"))
    );
    assert!(
        facts
            .iter()
            .any(|fact| fact.contains("ran/c1") && fact.contains("plain"))
    );
}

#[tokio::test]
async fn a_blocked_prompt_reaches_neither_model_nor_conversation() {
    let kit = Kit::new(Script::new().then(Answer::text("Fine.")));
    let hook =
        "if grep -q swordfish; then echo 'no secrets, please' >&2; exit 2; fi; echo 'Branch: main'";
    kit.hooks(&on("UserPromptSubmit", hook));
    let mut client = kit.open(kit.ask()).await;
    let end = client.turn("my swordfish is x").await;
    assert_eq!(
        (end.end.as_str(), end.why.as_deref()),
        ("hook", Some("no secrets, please"))
    );
    assert!(kit.model.received().is_empty());
    assert_eq!(client.turn("hello").await.text, "Fine.");
    client.quit().await;
    let prompt = String::from_utf8(kit.model.received()[0].body.to_vec()).unwrap();
    assert!(
        prompt.contains("Branch: main") && !prompt.contains("swordfish"),
        "{prompt}"
    );
}

#[tokio::test]
async fn a_stop_hook_sends_the_model_back_a_bounded_number_of_times() {
    let mut script = Script::new();
    for _ in 0..9 {
        script = script.then(Answer::text("Finished."));
    }
    let kit = Kit::new(script);
    let blocks = json!({ "decision": "block", "reason": "the tests do not pass" });
    kit.hooks(&on("Stop", &says(&blocks)));
    let mut client = kit.open(kit.ask()).await;
    let end = client.turn("finish").await;
    // The first answer and eight more; then it is let go.
    assert_eq!((end.end.as_str(), end.requests), ("answered", 9));
    client.quit().await;
    let inputs = kit.text("project/in.jsonl");
    let active: Vec<bool> = inputs
        .lines()
        .map(|line| {
            let input: Value = serde_json::from_str(line).unwrap();
            input["stop_hook_active"].as_bool().unwrap()
        })
        .collect();
    assert_eq!(active.len(), 8);
    assert!(!active[0] && active[1..].iter().all(|active| *active));
}

#[tokio::test]
async fn a_hook_that_says_continue_false_ends_the_turn() {
    let kit = Kit::new(Script::new().then(bash("c1", "echo hello")));
    let stop = json!({ "continue": false, "stopReason": "enough for today" });
    kit.hooks(&on("PostToolUse", &says(&stop)));
    let mut client = kit.open(all(&kit)).await;
    let end = client.turn("go").await;
    assert_eq!(
        (end.end.as_str(), end.why.as_deref()),
        ("hook", Some("enough for today"))
    );
    assert_eq!(Client::result(&client.told, "c1"), "hello");
    client.quit().await;
}

#[tokio::test]
async fn a_hook_that_hangs_is_stopped_with_the_turn_or_by_its_time() {
    let script = Script::new()
        .then(bash("c1", "echo one"))
        .then(bash("c2", "echo two"))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    let hang = |timeout: f64| {
        json!({ "PreToolUse": [{ "hooks": [
            { "type": "command", "command": "echo > \"$CLAUDE_PROJECT_DIR/hooked\"; exec sleep 1000", "timeout": timeout },
        ] }] })
    };
    kit.hooks(&hang(1_000.0));
    let mut client = kit.open(all(&kit)).await;
    client.say("go").await;
    client
        .until(|event| matches!(event, Event::ToolAsked { .. }).then_some(()))
        .await;
    client.send(dormouse_agent::Command::Interrupt).await;
    assert_eq!(client.turn_end().await.end, "interrupted");
    assert!(Client::result(&client.told, "c1").contains("not run"));
    kit.hooks(&hang(0.05));
    // Its time is over: it decides nothing, and a notice says so.
    assert_eq!(client.turn("again").await.text, "Done.");
    let notice = client.told.iter().any(
        |told| matches!(&told.event, Event::Notice { text } if text.contains("took too long")),
    );
    assert!(notice);
    client.quit().await;
}

/// Inputs that hooks of these events were given, by event.
fn inputs(kit: &Kit) -> Vec<Value> {
    let text = kit.text("project/in.jsonl");
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn a_compaction_tells_hooks_its_summary() {
    let long = "The heron stands in the reeds and waits for the frog. ".repeat(400);
    let summary = "not a summary, so that the compaction goes on without a model";
    let script = Script::new()
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(Answer::text("Short."))
        .then(Answer::text(summary))
        .then(Answer::text(summary));
    let kit = Kit::new(script);
    let keep = |event: &str| on(event, &says(&json!({})))[event].clone();
    kit.hooks(
        &json!({ "PreCompact": keep("PreCompact"), "PostCompact": keep("PostCompact"),
        "SessionStart": keep("SessionStart") }),
    );
    let mut client = kit.open(all(&kit)).await;
    for words in ["Tell me of the heron.", "And more.", "Thanks."] {
        client.turn(words).await;
    }
    let instructions = None;
    let failed = client
        .done(dormouse_agent::Command::Compact {
            instructions,
            part: None,
        })
        .await;
    assert_eq!(failed, None);
    client.quit().await;
    let told = inputs(&kit);
    let names: Vec<(&str, &str)> = told
        .iter()
        .map(|input| {
            let text = |member: &str| input[member].as_str().unwrap_or_default();
            (text("hook_event_name"), text("source"))
        })
        .collect();
    assert_eq!(
        names,
        [
            ("SessionStart", "startup"),
            ("PreCompact", ""),
            ("SessionStart", "compact"),
            ("PostCompact", "")
        ]
    );
    let summary = told[3]["compact_summary"].as_str().unwrap();
    assert!(summary.contains("Tell me of the heron."), "{summary}");
    assert_eq!(told[3]["trigger"], "manual");
}

#[tokio::test]
async fn a_cleared_conversation_begins_anew_and_hooks_are_told() {
    let fresh = Expect::that("nothing of the first conversation", |body| {
        let messages = body["messages"].to_string();
        !messages.contains("heron") && messages.contains("begun by clear")
    });
    let script = Script::new()
        .then(Answer::text("Noted."))
        .on(fresh, Answer::text("I do not know."))
        .then(Answer::text("The heron."));
    let kit = Kit::new(script);
    let start = format!(
        "{}; grep -q clear \"$CLAUDE_PROJECT_DIR/in.jsonl\" && echo begun by clear; true",
        says(&json!({})).replace("; echo '{}'", "")
    );
    let end = says(&json!({}));
    kit.hooks(
        &json!({ "SessionStart": on("SessionStart", &start)["SessionStart"],
        "SessionEnd": on("SessionEnd", &end)["SessionEnd"] }),
    );
    let mut client = kit.open(all(&kit)).await;
    let first = client.session();
    client.turn("The word is heron.").await;
    assert_eq!(client.done(dormouse_agent::Command::Clear).await, None);
    let second = client.session();
    assert_ne!(first, second);
    assert_eq!(client.turn("Which word?").await.text, "I do not know.");
    client.quit().await;
    let told = inputs(&kit);
    let told: Vec<[&str; 3]> = told
        .iter()
        .map(|input| {
            ["session_id", "hook_event_name", "source"]
                .map(|member| input[member].as_str().or(input["reason"].as_str()).unwrap())
        })
        .collect();
    let (one, two) = (first.as_str(), second.as_str());
    assert_eq!(
        told,
        [
            [one, "SessionStart", "startup"],
            [one, "SessionEnd", "clear"],
            [two, "SessionStart", "clear"],
            [two, "SessionEnd", "other"]
        ]
    );
    // The first one can be gone on with.
    let ask = AgentAsk {
        resume: dormouse_agent::Resume::Named(first.to_string()),
        ..all(&kit)
    };
    let mut client = kit.open(ask).await;
    assert_eq!(client.turn("Which word?").await.text, "The heron.");
    client.quit().await;
    kit.model.finish();
}
