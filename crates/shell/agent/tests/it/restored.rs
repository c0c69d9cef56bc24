//! Everything that a compaction shows again: one session with all of it, and a table of what must be
//! in the prompt behind the compaction, how often.

use crate::crew;
use crate::kit::{Client, summary};
use dormouse_agent::protocol::CompactPart;
use dormouse_agent::{AgentAsk, Command, Event, Mode};
use dormouse_core::settings::Trust;
use dormouse_testkit::SHELL_SERVER;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn read(id: &str, file: &str) -> Answer {
    Answer::call(id, "Read", &json!({ "file_path": file }))
}

/// Parts of the prompt behind a compaction, by a word that only they have, and how often it stands
/// there.
const TABLE: [(&str, &str, usize); 16] = [
    ("a file that was read", "CONTENT-OF-NOTES", 1),
    ("the newest content of it", "AS-IT-IS-NOW", 1),
    (
        "an instruction file, which the model has read as well",
        "WORDS-OF-CLAUDE",
        1,
    ),
    ("an instruction file that changed", "CHANGED-WORDS", 1),
    ("a skill that was loaded", "BODY-OF-TIDES", 1),
    ("its line in the listing", "- tides: Reads tides.", 1),
    (
        "the line of one that came later",
        "- winds: Reads winds.",
        1,
    ),
    ("the plan", "Move the HERON.", 1),
    ("a to-do", "[under way] Count the EGGS", 1),
    ("an agent at work", "count nuts", 1),
    ("a command at work", "command bash_1", 1),
    ("the listing of sub-agents", "- counter: Counts things.", 1),
    ("the listing of a server", "Tools of the server shell", 1),
    ("the words of the server", "> Ask me for echoes.", 1),
    ("the input of a tool that was looked up", "input_schema", 1),
    ("the words of a hook", "WORDS-OF-HOOK", 1),
];

#[tokio::test]
async fn everything_comes_back_once() {
    let long = "The reeds are high and the water is low. ".repeat(600);
    let todos = json!({ "todos": [
        { "content": "Count the EGGS", "status": "in_progress", "activeForm": "Counting" },
    ]});
    let session = Script::new()
        .then(Answer::call(
            "c1",
            "ExitPlanMode",
            &json!({ "plan": "Move the HERON." }),
        ))
        .then(read("c2", "notes.txt"))
        .then(read("c3", "CLAUDE.md"))
        .then(Answer::call("c4", "Skill", &json!({ "skill": "tides" })))
        .then(Answer::call("c5", "TodoWrite", &todos))
        .then(crew::task("c6", &json!({ "run_in_background": true })))
        .then(Answer::call(
            "c7",
            "Bash",
            &json!({ "command": "sleep 300", "run_in_background": true }),
        ))
        .then(Answer::call(
            "c8",
            "ToolSearch",
            &json!({ "query": "select:mcp__shell__echo" }),
        ))
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(summary())
        .then(Answer::text("Going on."));
    let agents = Script::new().then(crate::kit::bash("s1", "sleep 300"));
    let (kit, ask, _) = crew::kit(session, agents);
    kit.put("server.sh", SHELL_SERVER);
    let (server, made) = (kit.path("server.sh"), kit.path("started"));
    kit.settings(&format!(
        "notes = false\nextract = false\ndream = false\nrecall = false\n[mcp_servers.shell]\ncommand = \"/bin/bash\"\nargs = ['{}', '{}']\n",
        server.display(),
        made.display(),
    ));
    kit.put("project/notes.txt", "CONTENT-OF-NOTES\n");
    kit.put("project/CLAUDE.md", "WORDS-OF-CLAUDE\n");
    let skill = |name: &str| {
        format!(
            "---\ndescription: Reads {name}.\n---\nBODY-OF-{}\n",
            name.to_uppercase()
        )
    };
    kit.put("home/.dormouse/skills/tides/SKILL.md", &skill("tides"));
    kit.put(
        "home/.dormouse/agents/counter.md",
        "---\nname: counter\ndescription: Counts things.\n---\nYou count.\n",
    );
    let context = json!({ "hookSpecificOutput": {
        "hookEventName": "SessionStart", "additionalContext": "WORDS-OF-HOOK",
    }});
    kit.hooks(&json!({ "SessionStart": [{
        "matcher": "compact",
        "hooks": [{ "type": "command", "command": format!("echo '{context}'") }],
    }]}));
    kit.host().set_trust(None, Trust::Trusted).unwrap();
    let mut client = kit
        .open(AgentAsk {
            mode: Mode::Plan,
            ..ask
        })
        .await;
    client
        .until(|event| match event {
            Event::ServerChanged(facts) if facts.status == "connected" => Some(()),
            _ => None,
        })
        .await;
    client.say("Look at all of it.").await;
    let call = client.wanted().await;
    let mode = Mode::All;
    client.send(Command::SetMode { mode }).await;
    client.permit(&call, true).await;
    client.turn_end().await;
    kit.put("home/.dormouse/skills/winds/SKILL.md", &skill("winds"));
    kit.put("project/CLAUDE.md", "WORDS-OF-CLAUDE\nCHANGED-WORDS\n");
    kit.put("project/notes.txt", "CONTENT-OF-NOTES AS-IT-IS-NOW\n");
    client.turn("And more.").await;
    client.turn("Thanks.").await;
    let end = client.turn("/compact").await;
    assert_eq!(end.end, "answered", "{end:?}");
    client.turn("Go on.").await;
    client.quit().await;
    let received = kit.model.received();
    let body: Value = serde_json::from_slice(&received.last().unwrap().body).unwrap();
    let sent = body["messages"].to_string();
    let found = TABLE.map(|(part, word, _)| (part, word, sent.matches(word).count()));
    assert_eq!(found, TABLE, "{sent}");
}

#[tokio::test]
async fn nothing_is_shown_of_a_session_that_has_nothing() {
    let long = "The reeds are high and the water is low. ".repeat(600);
    let script = Script::new()
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(summary())
        .then(Answer::text("On."));
    let kit = crate::kit::Kit::new(script);
    let mut client = kit.open(kit.ask()).await;
    for words in ["One.", "Two.", "/compact", "Three."] {
        client.turn(words).await;
    }
    client.quit().await;
    let received = kit.model.received();
    let sent = String::from_utf8_lossy(&received.last().unwrap().body);
    for tag in [
        "<restored",
        "<plan",
        "<todos",
        "<background-agents",
        "<hook-output",
    ] {
        assert!(!sent.contains(tag), "{tag}: {sent}");
    }
    // The folder and the date were told at the beginning, which is gone.
    assert_eq!(sent.matches("Working folder: ").count(), 1, "{sent}");
}

/// A session of four turns, and the texts of its last request after a compaction of a part.
async fn partly(part: CompactPart, instructions: Option<&str>) -> (Vec<String>, String) {
    let long = "The reeds are high and the water is low. ".repeat(600);
    let mut script = Script::new();
    for name in ["ALPHA", "BETA", "GAMMA", "DELTA"] {
        script = script.then(Answer::text(&format!("{name}. {long}")));
    }
    let script = script.then(summary()).then(Answer::text("On."));
    let kit = crate::kit::Kit::new(script);
    let mut client = kit.open(kit.ask()).await;
    for words in ["Say one.", "Say two.", "Say three.", "Say four."] {
        client.turn(words).await;
    }
    let command = Command::Compact {
        instructions: instructions.map(str::to_owned),
        part: Some(part),
    };
    assert_eq!(client.done(command).await, None);
    client.turn("Go on.").await;
    let told: Vec<dormouse_agent::Told> = Client::quit(client).await;
    let compacted = told
        .iter()
        .any(|told| matches!(told.event, Event::LayerActed { .. }));
    assert!(compacted, "{told:?}");
    let bodies: Vec<String> = kit
        .model
        .received()
        .iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    let kept = bodies.last().unwrap();
    let whole = |name: &&str| {
        kept.contains(&format!(
            "{name}. The reeds are high and the water is low. The reeds"
        ))
    };
    let names = ["ALPHA", "BETA", "GAMMA", "DELTA"];
    let names = names.iter().filter(|name| whole(name));
    (
        names.map(|name| (*name).to_owned()).collect(),
        bodies.join("\n"),
    )
}

#[tokio::test]
async fn a_part_of_the_conversation_is_compacted_and_the_rest_stays() {
    // Messages: a prompt and an answer each. What follows the fourth is summarised.
    let (kept, _) = partly(CompactPart::From(4), None).await;
    assert_eq!(kept, ["ALPHA", "BETA"]);
    let (kept, asked) = partly(CompactPart::UpTo(5), Some("Mind the KINGFISHER.")).await;
    assert_eq!(kept, ["GAMMA", "DELTA"]);
    assert!(asked.contains("Mind the KINGFISHER."));
}

#[tokio::test]
async fn a_message_that_is_not_there_is_named() {
    let kit = crate::kit::Kit::new(Script::new().then(Answer::text("One.")));
    let mut client = kit.open(kit.ask()).await;
    client.turn("one").await;
    let command = Command::Compact {
        instructions: None,
        part: Some(CompactPart::From(99)),
    };
    let why = client.done(command).await.unwrap();
    assert!(why.contains("99"), "{why}");
    let end = client.turn("/compact up-to 77").await;
    assert_eq!(end.end, "failed");
    assert!(end.why.unwrap().contains("77"));
    client.quit().await;
}
