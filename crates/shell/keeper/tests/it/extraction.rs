//! Memories are drawn from a conversation, and judged one by one.

use crate::kit::{Kit, calls, fragments, safe, topic, write};
use crate::recall::{QUESTION, deploys, others};
use dormouse_core::id::Seq;
use dormouse_core::record::{Body, StateChange};
use dormouse_engine::Session;
use dormouse_keeper::extraction::{By, CURSOR, Extracted, Extractor, RunKind};
use dormouse_memory::extract::gate::{Decision, Skip};
use dormouse_memory::topic::{Kind, Topic};
use dormouse_memory::trust::{Speaker, Trust};
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

pub(crate) const SAID: &str = "Always run the linter before a commit.";

pub(crate) fn rule() -> String {
    topic(
        "feedback",
        "linter",
        "Always run the linter before a commit",
        "trust: external\nsource: \"run the linter\"\n",
        "Always run the linter before a commit.",
    )
}

pub(crate) fn extractor(kit: &Kit) -> Extractor {
    Extractor::new(Arc::clone(&kit.keeper), RunKind::default(), Vec::new())
}

/// Lets the fork write some files and end.
pub(crate) fn writes(kit: &Kit, files: &[(&str, &str)]) -> Script {
    let all: Vec<_> = files
        .iter()
        .map(|(name, text)| write(&kit.path("memory").join(name), text))
        .collect();
    Script::new()
        .then(calls(&all))
        .then(Answer::text("Nothing more."))
}

/// Extracts after a turn, and waits for it.
pub(crate) async fn extract(kit: &Kit, session: &mut Session) -> Extracted {
    let mut extractor = extractor(kit);
    let decision = extractor.after_turn(session, true).await.unwrap();
    assert_eq!(decision, Decision::Run);
    let mut all = extractor.finish(session).await.unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

pub(crate) fn cursor(session: &Session) -> Option<u64> {
    let cursors = &session.conversation().state().cursors;
    cursors.get(CURSOR).map(|seq| seq.get())
}

pub(crate) fn inbox(kit: &Kit) -> Vec<String> {
    let items = kit.keeper.memory.inbox().unwrap().items;
    let paths = items.iter().map(|item| item.proposal.path.to_string());
    paths.collect()
}

/// Results of the fork's calls, as it got them.
pub(crate) fn told(kit: &Kit) -> String {
    let last = kit.fork.asked().pop().unwrap();
    last["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .to_string()
}

#[tokio::test]
async fn what_the_user_said_is_saved_with_origin_and_trust_found_by_code() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    kit.fork.plays(writes(
        &kit,
        &[("linter.md", &rule()), ("MEMORY.md", "mine")],
    ));
    let extracted = extract(&kit, &mut session).await;
    kit.fork.finish();
    assert_eq!(extracted.by, By::Model);
    assert_eq!(
        extracted.notice().as_deref(),
        Some("Memory saved: linter.md"),
        "the index is not named"
    );
    let saved = Topic::read(&kit.text("memory/linter.md"));
    assert_eq!(
        (saved.kind, saved.trust),
        (Some(Kind::Feedback), Some(Trust::User))
    );
    let origin = saved.origin.unwrap();
    assert_eq!(
        (origin.session.as_deref(), origin.speaker),
        (Some("s"), Speaker::User)
    );
    let records = session.records().await.unwrap();
    let source = origin.message.unwrap();
    assert!(records.iter().any(|record| record.id.as_str() == source));
    assert!(!kit.text("memory/linter.md").contains("source:"));
    assert!(kit.text("memory/MEMORY.md").contains("(linter.md)"));
    let history = kit.keeper.memory.history().unwrap();
    assert_eq!(history.entries.len(), 1);
    let noted = session.records().await.unwrap().into_iter().any(|record| {
        matches!(record.body, Body::State(StateChange::MemorySaved { detail })
            if detail == json!({"author": "extractor", "files": ["linter.md"]}))
    });
    assert!(noted, "the log says what was saved");
    assert!(told(&kit).contains("Saved: linter.md"), "{}", told(&kit));
}

#[tokio::test]
async fn the_forks_first_request_shares_the_conversations_bytes() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    kit.fork.plays(Script::new().then(Answer::text("Nothing.")));
    extract(&kit, &mut session).await;
    let (talk, fork) = (kit.talk.asked().remove(0), kit.fork.asked().remove(0));
    assert_eq!(
        (&fork["system"], &fork["tools"]),
        (&talk["system"], &talk["tools"])
    );
    let plain = |body: &serde_json::Value| {
        // Cache marks may stand elsewhere; the words may not differ.
        let text = body["messages"].to_string();
        text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
    };
    let (talk, fork) = (plain(&talk), plain(&fork));
    let shared = talk.strip_suffix("]").unwrap();
    assert!(fork.starts_with(shared), "{talk}\n{fork}");
    assert!(fork.contains("You now keep the memory of this project"));
}

#[tokio::test]
async fn what_a_tool_said_waits_for_approval() {
    let kit = Kit::new();
    kit.tools.returns(
        "Bash",
        "The staging database listens on port 6543 these days.",
    );
    let mut session = kit.open().await;
    kit.work(
        &mut session,
        "Look at the ports",
        "Bash",
        &json!({"command": "ports"}),
    )
    .await;
    let fact = topic(
        "reference",
        "staging database",
        "The staging database listens on port 6543",
        "trust: user\n",
        "The staging database listens on port 6543 these days.",
    );
    kit.fork.plays(writes(&kit, &[("staging.md", &fact)]));
    let extracted = extract(&kit, &mut session).await;
    assert_eq!(extracted.written.waiting, [safe("staging.md")]);
    assert_eq!(
        extracted.notice().as_deref(),
        Some("1 memory waits for approval")
    );
    assert_eq!(kit.text("memory/staging.md"), "");
    assert_eq!(inbox(&kit), ["staging.md"]);
    let item = kit.keeper.memory.inbox().unwrap().items.remove(0);
    assert_eq!(item.proposal.trust, Trust::ToolOutput);
    assert!(told(&kit).contains("waits for the user's approval"));
}

#[tokio::test]
async fn everything_waits_where_the_user_wants_to_be_asked() {
    for setting in ["memory.review=all", "memory.consent=ask"] {
        let kit = Kit::new();
        kit.set(&[setting]);
        let mut session = kit.open().await;
        kit.say(&mut session, SAID, "I will.").await;
        kit.fork.plays(writes(&kit, &[("linter.md", &rule())]));
        let extracted = extract(&kit, &mut session).await;
        assert_eq!(extracted.written.saved, [], "{setting}");
        assert_eq!(inbox(&kit), ["linter.md"], "{setting}");
    }
}

#[tokio::test]
async fn an_echo_of_what_was_recalled_is_refused_and_the_model_is_told() {
    let kit = Kit::new();
    kit.set(&["budget.background_day=5"]);
    others(&kit);
    kit.remember("deploys.md", &deploys());
    kit.side
        .plays(Script::new().then(Answer::text("{\"selected_memories\": []}")));
    let mut session = kit.open().await;
    // The clock stands still, so recall comes in time on a slow machine too.
    tokio::time::pause();
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    tokio::time::resume();
    assert_eq!(fragments(&session).await.len(), 1);
    let echo = topic(
        "project",
        "ledger",
        "The ledger closes before the billing service is deployed to production",
        "",
        "We deploy the billing service to production on Tuesdays at nine, after the ledger closes.",
    );
    kit.fork.plays(
        Script::new()
            .on(
                Expect::Contains("These were recalled".to_owned()),
                calls(&[write(&kit.path("memory/ledger.md"), &echo)]),
            )
            .then(Answer::text("Then not.")),
    );
    let extracted = extract(&kit, &mut session).await;
    assert_eq!(extracted.written.saved, []);
    assert_eq!(extracted.written.refused.len(), 1, "{extracted:?}");
    assert_eq!(extracted.notice(), None);
    assert!(told(&kit).contains("not saved"), "{}", told(&kit));
    assert!(told(&kit).contains("\"is_error\":true"));
}

#[tokio::test]
async fn what_nobody_said_what_is_secret_and_what_is_private_is_refused() {
    // Taken apart, so that no scanner takes it for a real one.
    let key = concat!("gh", "p_16C7e42F292c6912E7710c838347Ae178B4a");
    for (said, text) in [
        (SAID, "The user lives in Bergen and has two cats."),
        (
            "Remember that the deploy key is the one I pasted.",
            &format!("The deploy key is {key}."),
        ),
        (
            "<private>My daughter is called Mira.</private> Please go on.",
            "The user's daughter is called Mira.",
        ),
    ] {
        let kit = Kit::new();
        let mut session = kit.open().await;
        kit.say(&mut session, said, "Fine.").await;
        let file = topic("user", "about the user", text, "", text);
        kit.fork.plays(writes(&kit, &[("about.md", &file)]));
        let extracted = extract(&kit, &mut session).await;
        assert_eq!(extracted.written.refused.len(), 1, "{said}");
        assert_eq!(kit.memories().len(), 0, "{said}");
        assert_eq!(inbox(&kit), Vec::<String>::new());
        let told = told(&kit);
        assert!(told.contains("\"is_error\":true"), "{told}");
        // The answer to the refused write does not repeat the secret, nor does the notice.
        assert!(!told.contains(key) && !format!("{:?}", extracted.written).contains(key));
    }
}

#[tokio::test]
async fn private_words_are_not_kept_by_the_rules_either() {
    let kit = Kit::with(|keeper| keeper.model = None);
    let mut session = kit.open().await;
    kit.say(
        &mut session,
        "<private>Remember that my daughter is called Mira.</private> Always run the linter before a commit.",
        "Fine.",
    )
    .await;
    let extracted = extract(&kit, &mut session).await;
    assert_eq!(extracted.by, By::Rules("no model is set up".to_owned()));
    assert_eq!(extracted.written.saved.len(), 1);
    assert!(!format!("{:?}", kit.memories()).contains("Mira"));
}

#[tokio::test]
async fn paths_that_are_no_memories_are_denied() {
    let kit = Kit::new();
    kit.remember("pinned/mine.md", "Mine.\n");
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    let at = |name: &str| write(&kit.path(name), &rule());
    kit.fork.plays(
        Script::new()
            .then(calls(&[
                at("project/notes.md"),
                at("memory/../project/notes.md"),
                at("memory/pinned/mine.md"),
                at("memory/pinned/new.md"),
                at("memory/.journal/journal.jsonl"),
                at("memory/.inbox/x.json"),
                at("memory/.consolidate-lock"),
                at("memory/MEMORY.md"),
                write("linter.md".as_ref(), &rule()),
                write("/etc/linter.md".as_ref(), &rule()),
                ("Bash", json!({"command": "rm -rf ."})),
                ("Task", json!({"prompt": "go"})),
                ("mcp__db__query", json!({})),
            ]))
            .then(Answer::text("So be it.")),
    );
    let extracted = extract(&kit, &mut session).await;
    assert_eq!(kit.text("project/notes.md"), "");
    assert_eq!(kit.text("memory/pinned/mine.md"), "Mine.\n");
    assert_eq!(kit.text("memory/pinned/new.md"), "");
    let saved: Vec<String> = extracted
        .written
        .saved
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(saved.iter().all(|name| name == "linter.md"), "{saved:?}");
    let denied = extracted.denied.join("\n");
    for name in [
        "project/notes.md",
        "/etc/linter.md",
        "rm -rf",
        "Task",
        "mcp__db__query",
    ] {
        assert!(denied.contains(name), "{name} in {denied}");
    }
    let facts = &session.conversation().state().facts;
    assert!(facts.contains_key("extract.denied"), "{facts:?}");
    let history = kit.keeper.memory.history().unwrap().entries;
    assert!(history.len() <= 1, "{history:?}");
}

#[tokio::test(start_paused = true)]
async fn each_circumstance_has_its_decision() {
    let kit = Kit::new();
    let set = |pairs: &[&str]| kit.set(&[&["extract.exit_wait=0s"], pairs].concat());
    set(&[]);
    let mut session = kit.open().await;
    let decide = async |kind: RunKind, session: &mut Session, finished: bool| {
        let mut extractor = Extractor::new(Arc::clone(&kit.keeper), kind, Vec::new());
        let decision = extractor.after_turn(session, finished).await.unwrap();
        // Only the decision matters here: an extraction that was started is ended at once.
        assert_eq!(extractor.finish(session).await.unwrap(), []);
        decision
    };
    let main = RunKind::default();
    let skip = Decision::Skip;
    assert_eq!(decide(main, &mut session, true).await, skip(Skip::Nothing));
    kit.say(&mut session, SAID, "I will.").await;
    for setting in ["extract=off", "memory=off", "memory.consent=off"] {
        set(&[setting]);
        assert_eq!(
            decide(main, &mut session, true).await,
            skip(Skip::Off),
            "{setting}"
        );
    }
    set(&["memory.remote=on"]);
    assert_eq!(decide(main, &mut session, true).await, skip(Skip::Remote));
    set(&[]);
    let sub = RunKind {
        sub_agent: true,
        ..main
    };
    assert_eq!(decide(sub, &mut session, true).await, skip(Skip::SubAgent));
    let once = RunKind {
        one_shot: true,
        ..main
    };
    assert_eq!(decide(once, &mut session, true).await, skip(Skip::OneShot));
    set(&["extract.one_shot=on", "budget.background_day=0"]);
    assert_eq!(decide(once, &mut session, true).await, Decision::Run);
    set(&[]);
    assert_eq!(
        decide(main, &mut session, false).await,
        skip(Skip::Unfinished)
    );
    set(&["extract.every=2"]);
    assert_eq!(decide(main, &mut session, true).await, skip(Skip::TooSoon));
    assert_eq!(cursor(&session), None, "none of these moves the cursor");
    kit.say(&mut session, "Thank you very much.", "Sure.").await;
    assert_eq!(decide(main, &mut session, true).await, Decision::Run);
    // Ended at once, each kept what the user had said plainly: one memory, and the index.
    assert_eq!((kit.memories().len(), kit.fork.asked().len()), (2, 0));
}

#[tokio::test]
async fn the_cursor_moves_on_success_and_when_the_agent_wrote_itself() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    kit.fork.plays(Script::new().then(Answer::text("Nothing.")));
    let extracted = extract(&kit, &mut session).await;
    let first = cursor(&session).unwrap();
    assert_eq!(extracted.until.map(Seq::get), Some(first));
    let mut again = extractor(&kit);
    let decision = again.after_turn(&mut session, true).await.unwrap();
    assert_eq!(decision, Decision::Skip(Skip::Nothing));

    let path = kit.path("memory/own.md");
    let input = json!({"file_path": path, "content": "x"});
    kit.work(&mut session, "Note this down please", "Write", &input)
        .await;
    let decision = again.after_turn(&mut session, true).await.unwrap();
    assert_eq!(decision, Decision::Skip(Skip::DirectWrite));
    assert!(cursor(&session).unwrap() > first);
    let decision = again.after_turn(&mut session, true).await.unwrap();
    assert_eq!(decision, Decision::Skip(Skip::Nothing));
}

#[tokio::test]
async fn only_messages_behind_the_cursor_are_a_source() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    kit.fork.plays(Script::new().then(Answer::text("Nothing.")));
    extract(&kit, &mut session).await;
    kit.say(&mut session, "Thank you very much.", "Sure.").await;
    kit.fork.plays(writes(&kit, &[("linter.md", &rule())]));
    let extracted = extract(&kit, &mut session).await;
    assert_eq!(extracted.written.refused.len(), 1, "{extracted:?}");
    assert_eq!(kit.memories().len(), 0);
}

#[tokio::test]
async fn shared_facts_go_to_the_teams_memory_with_their_author() {
    for trusted in [true, false] {
        let kit = Kit::with_team(trusted);
        let mut session = kit.open().await;
        let said = "The release freeze begins on 2026-12-10 because of the audit.";
        kit.say(&mut session, said, "Noted.").await;
        let fact = topic("project", "release freeze", said, "", said);
        kit.fork.plays(writes(&kit, &[("freeze.md", &fact)]));
        let extracted = extract(&kit, &mut session).await;
        assert_eq!(
            extracted.written.saved,
            [safe("freeze.md")],
            "{extracted:?}"
        );
        let (team, own) = (kit.text("team/freeze.md"), kit.text("memory/freeze.md"));
        assert_eq!((team.is_empty(), own.is_empty()), (!trusted, trusted));
        assert_eq!(
            Topic::read(&team).author.as_deref(),
            trusted.then_some("ann")
        );
    }
}

#[tokio::test]
async fn a_memory_of_the_users_own_is_changed_where_it_lies() {
    let kit = Kit::with_team(true);
    let old = "The release freeze begins on 2026-12-10 because of the audit.";
    kit.remember(
        "freeze.md",
        &topic(
            "project",
            "release freeze",
            "When the release freeze is",
            "",
            old,
        ),
    );
    let mut session = kit.open().await;
    kit.set(&["recall=off"]);
    kit.say(
        &mut session,
        "The release freeze ends on 2026-12-20.",
        "Noted.",
    )
    .await;
    let edit = json!({
        "file_path": kit.path("memory/freeze.md"),
        "old_string": "of the audit.\n",
        "new_string": "of the audit.\nThe release freeze ends on 2026-12-20.\n",
    });
    kit.fork.plays(
        Script::new()
            .then(calls(&[("Edit", edit)]))
            .then(Answer::text("Done.")),
    );
    let extracted = extract(&kit, &mut session).await;
    assert_eq!(
        extracted.written.saved,
        [safe("freeze.md")],
        "{extracted:?}"
    );
    assert!(kit.text("memory/freeze.md").contains("ends on 2026-12-20"));
    assert_eq!(kit.text("team/freeze.md"), "");
}
