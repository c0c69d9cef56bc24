//! Skills in a session: listed, loaded, brought back, and nothing of a stranger's.

use crate::kit::{Client, Kit, bash, summary};
use dormouse_agent::{AgentAsk, Command, open};
use dormouse_core::record::{Body, StateChange};
use dormouse_core::settings::Trust;
use dormouse_host::Remark;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;

fn skill(id: &str, name: &str, args: &str) -> Answer {
    Answer::call(id, "Skill", &json!({ "skill": name, "args": args }))
}

fn put(kit: &Kit, place: &str, name: &str, description: &str, body: &str) {
    kit.put(
        &format!("{place}/skills/{name}/SKILL.md"),
        &format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n"),
    );
}

fn bodies(kit: &Kit) -> Vec<Value> {
    let received = kit.model.received().into_iter();
    let body = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap();
    received.map(|request| body(&request.body)).collect()
}

/// A part of the prompt without the markers of the cache, which move.
fn unmarked(part: &Value) -> Value {
    let mut part = part.clone();
    for one in part.as_array_mut().unwrap() {
        one.as_object_mut().unwrap().remove("cache_control");
    }
    part
}

/// Instructions and listing in front of the conversation.
fn first_message(body: &Value) -> String {
    body["messages"][0].to_string()
}

/// Answers that are long enough to be compacted, and the summary.
fn compacted(script: Script) -> Script {
    let long = "The heron stands in the reeds and waits for the frog. ".repeat(400);
    script
        .then(Answer::text(&long))
        .then(Answer::text(&long))
        .then(summary())
}

async fn compact(client: &mut Client) {
    for words in ["Tell me of the heron.", "And more."] {
        client.turn(words).await;
    }
    let instructions = None;
    assert_eq!(
        client
            .done(Command::Compact {
                instructions,
                part: None
            })
            .await,
        None
    );
}

#[tokio::test]
async fn a_skill_is_listed_and_its_body_comes_on_use() {
    let script = Script::new()
        .then(skill("c1", "tides", "Brest 'two days'"))
        .then(skill("c2", "nothing", ""))
        .then(skill("c3", "secret", ""))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    put(
        &kit,
        "home/.dormouse",
        "tides",
        "Reads tide tables.",
        "BODY-OF-TIDES for $1, $2, in ${CLAUDE_SKILL_DIR}.",
    );
    kit.put(
        "home/.dormouse/skills/secret/SKILL.md",
        "---\ndescription: Mine.\ndisable-model-invocation: true\n---\nBODY-OF-SECRET\n",
    );
    let mut client = kit.open(kit.ask()).await;
    client.turn("go").await;
    let told = client.quit().await;
    let loaded = Client::result(&told, "c1");
    let folder = kit.path("home/.dormouse/skills/tides");
    let words = format!(
        "BODY-OF-TIDES for Brest, two days, in {}.",
        folder.display()
    );
    assert!(loaded.contains(&words), "{loaded}");
    assert!(Client::result(&told, "c2").contains("There is no skill `nothing`: there are tides."));
    assert!(Client::result(&told, "c3").contains("Only the user"));
    let bodies = bodies(&kit);
    let first = first_message(&bodies[0]);
    assert!(first.contains("- tides: Reads tide tables."), "{first}");
    for hidden in ["secret", "BODY-OF-TIDES"] {
        assert!(!first.contains(hidden), "{first}");
    }
}

#[tokio::test]
async fn a_skill_that_appears_is_told_at_the_tail_and_the_prompt_keeps_its_bytes() {
    let script = Script::new()
        .then(Answer::text("One."))
        .then(Answer::text("Two."))
        .then(Answer::text("Three."))
        .then(Answer::text("Four."));
    let kit = Kit::new(script);
    put(&kit, "home/.dormouse", "tides", "Reads tide tables.", "x");
    let mut client = kit.open(kit.ask()).await;
    client.turn("one").await;
    put(&kit, "home/.dormouse", "winds", "Reads wind maps.", "x");
    client.turn("two").await;
    client.quit().await;
    // A resumed session begins with the same bytes, and repeats nothing.
    put(&kit, "home/.dormouse", "waves", "Reads wave charts.", "x");
    let mut client = kit.open_again().await;
    client.turn("three").await;
    client.turn("four").await;
    client.quit().await;
    let bodies = bodies(&kit);
    for body in &bodies {
        for part in ["tools", "system"] {
            assert_eq!(unmarked(&body[part]), unmarked(&bodies[0][part]));
        }
        let first = &body["messages"][0]["content"][0]["text"];
        assert_eq!(*first, bodies[0]["messages"][0]["content"][0]["text"]);
        assert!(first.as_str().unwrap().contains("tides"));
    }
    let last = bodies[3]["messages"].to_string();
    for line in [
        "- tides:",
        "- winds: Reads wind maps.",
        "- waves: Reads wave",
    ] {
        assert_eq!(last.matches(line).count(), 1, "{line}: {last}");
    }
}

#[tokio::test]
async fn the_listing_takes_one_per_cent_of_the_window_at_most() {
    let script = Script::new().then(Answer::text("One."));
    let kit = Kit::new(script);
    let long = "Knows all about the tides of every harbour between here and there. ".repeat(12);
    for n in 0..150 {
        put(&kit, "home/.dormouse", &format!("skill-{n:03}"), &long, "x");
    }
    let mut client = kit.open(kit.ask()).await;
    client.turn("one").await;
    client.quit().await;
    let first = &bodies(&kit)[0]["messages"][0]["content"][0]["text"];
    let first = first.as_str().unwrap();
    // One per cent of 200,000 tokens, of at most six bytes each.
    assert!(first.len() < 12_000, "{}", first.len());
    assert!(
        first.contains("- skill-000") && first.contains("- skill-149"),
        "{first}"
    );
}

#[tokio::test]
async fn loaded_skills_come_back_after_a_compaction_and_a_restart() {
    let script = Script::new()
        .then(skill("c1", "tides", "Brest"))
        .then(skill("c2", "winds", ""))
        .then(Answer::text("Loaded."));
    let script = compacted(script)
        .then(Answer::text("Going on."))
        .then(Answer::text("And on."));
    let kit = Kit::new(script);
    let long = "Look at the table of the harbour, line by line. ".repeat(1_000);
    put(
        &kit,
        "home/.dormouse",
        "tides",
        "Reads tides.",
        "BODY-OF-TIDES for $1.",
    );
    put(
        &kit,
        "home/.dormouse",
        "winds",
        "Reads winds.",
        &format!("BODY-OF-WINDS\n{long}END-OF-WINDS"),
    );
    let mut client = kit.open(kit.ask()).await;
    client.turn("load them").await;
    client.quit().await;
    let mut client = kit.open_again().await;
    compact(&mut client).await;
    client.turn("Go on.").await;
    client.quit().await;
    let mut client = kit.open_again().await;
    client.turn("Go on.").await;
    client.quit().await;
    for body in bodies(&kit).iter().rev().take(2) {
        let text = body["messages"].to_string();
        assert_eq!(
            text.matches("BODY-OF-TIDES for Brest.").count(),
            1,
            "{text}"
        );
        assert_eq!(text.matches("BODY-OF-WINDS").count(), 1, "{text}");
        // Newest first, and each within its limit of 5,000 tokens.
        assert!(
            text.find("BODY-OF-WINDS") < text.find("BODY-OF-TIDES"),
            "{text}"
        );
        assert!(!text.contains("END-OF-WINDS"));
        assert_eq!(text.matches("- tides: Reads tides.").count(), 1, "{text}");
    }
}

#[tokio::test]
async fn calls_that_a_skill_names_run_in_its_turn_only() {
    let script = Script::new()
        .then(bash("c0", "touch before"))
        .then(skill("c1", "maker", ""))
        .then(bash("c2", "touch inside"))
        .then(bash("c3", "mkdir other"))
        .then(Answer::call(
            "c4",
            "Read",
            &json!({ "file_path": "../home/.dormouse/skills/maker/more.md" }),
        ))
        .then(Answer::text("Done."))
        .then(bash("c5", "touch after"))
        .then(Answer::call(
            "c6",
            "Read",
            &json!({ "file_path": "../home/.dormouse/skills/maker/more.md" }),
        ))
        .then(Answer::text("Done."));
    let kit = Kit::new(script);
    kit.put(
        "home/.dormouse/skills/maker/SKILL.md",
        "---\ndescription: Makes.\nallowed-tools: Bash(touch *)\n---\nMake.\n",
    );
    let ask = AgentAsk {
        attended: false,
        ..kit.ask()
    };
    let mut client = kit.open(ask).await;
    kit.put("home/.dormouse/skills/maker/more.md", "DETAILS\n");
    client.turn("go").await;
    client.turn("go").await;
    let told = client.quit().await;
    // Files of the skill are read without a question, though they lie outside the project.
    assert!(Client::result(&told, "c4").contains("DETAILS"), "{told:?}");
    assert!(
        Client::result(&told, "c6").contains("Not allowed"),
        "{told:?}"
    );
    let made = |name: &str| kit.path(&format!("project/{name}")).exists();
    assert_eq!(
        [made("before"), made("inside"), made("other"), made("after")],
        [false, true, false, false]
    );
}

#[tokio::test]
async fn skills_of_a_stranger_are_not_known_before_the_folder_is_trusted() {
    for trusted in [false, true] {
        let script = Script::new()
            .then(skill("c1", "helper", ""))
            .then(Answer::text("Well."));
        let kit = Kit::new(script);
        put(
            &kit,
            "project/.claude",
            "helper",
            "HOSTILE-WORDS",
            "HOSTILE-BODY",
        );
        put(
            &kit,
            "project/.dormouse",
            "other",
            "HOSTILE-WORDS",
            "HOSTILE-BODY",
        );
        kit.put("project/.claude/commands/run.md", "HOSTILE-COMMAND\n");
        if trusted {
            kit.host().set_trust(None, Trust::Trusted).unwrap();
        }
        let host = Arc::new(kit.host());
        let agent = open(Arc::clone(&host), kit.ask()).await.unwrap();
        let mut client = Client::new(agent);
        client.turn("go").await;
        client.turn("/run").await;
        let told = client.quit().await;
        let sent: String = bodies(&kit).iter().map(ToString::to_string).collect();
        assert_eq!(sent.contains("HOSTILE-WORDS"), trusted);
        assert_eq!(sent.contains("HOSTILE-COMMAND"), trusted);
        assert_eq!(
            Client::result(&told, "c1").contains("HOSTILE-BODY"),
            trusted
        );
        let remarks = host.take_remarks();
        let said = remarks
            .iter()
            .filter(|remark| matches!(remark, Remark::SkillsUntrusted { .. }));
        // One a folder, however often it was looked at.
        assert_eq!(said.count(), if trusted { 0 } else { 3 }, "{remarks:?}");
    }
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named_and_the_others_work() {
    let script = Script::new()
        .then(skill("c1", "good", ""))
        .then(Answer::text("Well."));
    let kit = Kit::new(script);
    put(&kit, "home/.dormouse", "good", "Works.", "BODY");
    kit.put(
        "home/.dormouse/skills/empty/SKILL.md",
        "---\nname: empty\n---\n",
    );
    kit.put("home/.dormouse/skills/odd/SKILL.md", "\u{0}\u{1}---\n");
    kit.put("home/.dormouse/skills/none/README.md", "no skill\n");
    kit.put("home/.dormouse/skills/big/SKILL.md", &"x".repeat(300_000));
    let host = Arc::new(kit.host());
    let agent = open(Arc::clone(&host), kit.ask()).await.unwrap();
    let mut client = Client::new(agent);
    client.turn("go").await;
    let told = client.quit().await;
    assert!(Client::result(&told, "c1").contains("BODY"));
    let remarks = host.take_remarks();
    let unread: Vec<String> = remarks
        .iter()
        .filter_map(|remark| match remark {
            Remark::SkillUnread { file, .. } => Some(file.display().to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(unread.len(), 2, "{remarks:?}");
    assert!(
        unread[0].contains("big") && unread[1].contains("empty"),
        "{unread:?}"
    );
}

#[tokio::test]
async fn the_log_names_the_uses() {
    let script = Script::new()
        .then(skill("c1", "tides", "Brest"))
        .then(Answer::text("Well."));
    let kit = Kit::new(script);
    put(&kit, "home/.dormouse", "tides", "Reads tides.", "BODY");
    let mut client = kit.open(kit.ask()).await;
    let session = client.session();
    client.turn("go").await;
    client.quit().await;
    let facts = kit.records(&session).into_iter();
    let uses = facts.filter_map(|record| match record.body {
        Body::State(StateChange::Fact { name, value }) if name == "skills" => Some(value),
        _ => None,
    });
    let uses: Vec<Value> = uses.collect();
    assert_eq!(uses, [json!([{ "name": "tides", "args": "Brest" }])]);
}
