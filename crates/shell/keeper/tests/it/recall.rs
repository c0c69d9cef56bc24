//! Memories come into a conversation. The clock stands still, so that recall comes in time however
//! slow the machine is.

use crate::kit::{Kit, fragments, surfaced, topic, turn};
use dormouse_context::compaction::CompactionOutcome;
use dormouse_engine::CompactWish;
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const QUESTION: &str = "When do we deploy the billing service to production?";
const DAY: Duration = Duration::from_hours(24);

pub(crate) fn deploys() -> String {
    topic(
        "project",
        "billing deploys",
        "Billing service deploys to production happen on Tuesdays at nine",
        "",
        "We deploy the billing service to production on Tuesdays at nine, after the ledger closes.",
    )
}

/// A directory of memories about other things, so that words weigh what they weigh.
pub(crate) fn others(kit: &Kit) {
    for (file, text) in [
        ("editor.md", "The user edits with Helix and dislikes mice"),
        ("review.md", "Reviews go to Cleo before they are merged"),
        (
            "wiki.md",
            "Runbooks are in the operations wiki under Handbook",
        ),
        ("style.md", "Commit messages are written in plain English"),
        ("holiday.md", "The office in Oslo closes for Easter week"),
    ] {
        kit.remember(file, &topic("reference", text, text, "", text));
    }
}

fn kit() -> Kit {
    let kit = Kit::with(|keeper| keeper.model = None);
    others(&kit);
    kit.remember("deploys.md", &deploys());
    kit
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_fits_goes_in_with_the_prompt_and_is_recorded_as_it_was_sent() {
    let kit = kit();
    let mut session = kit.open().await;
    let script = Script::new().on(
        Expect::Contains("after the ledger closes".to_owned()),
        Answer::text("On Tuesdays."),
    );
    kit.talk.plays(script);
    turn(&mut session, QUESTION).await;
    kit.talk.finish();
    let shown = fragments(&session).await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].starts_with("<system-reminder>"), "{shown:?}");
    assert!(shown[0].contains("Memory (saved today): "), "{shown:?}");
    assert_eq!(surfaced(&session), ["deploys.md"]);
    // The log has exactly the text that was sent.
    let sent = kit.talk.asked().remove(0).to_string();
    assert!(sent.contains(&serde_json::to_string(&shown[0]).unwrap()));
}

#[tokio::test(start_paused = true)]
async fn it_goes_in_once_also_after_a_restart_and_again_after_a_compaction() {
    let kit = kit();
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    kit.say(&mut session, QUESTION, "On Tuesdays, still.").await;
    assert_eq!(fragments(&session).await.len(), 1);
    drop(session);
    let mut session = kit.open().await;
    let long = dormouse_testkit::conversation::prose(1, 8_000);
    kit.say(&mut session, QUESTION, &long).await;
    assert_eq!(
        fragments(&session).await.len(),
        1,
        "a restart forgets nothing"
    );
    kit.talk.plays(Script::new().then(Answer::text(
        "<summary>\n1. Primary request and intent: when the billing service is deployed.\n</summary>",
    )));
    let outcome = session.compact(CompactWish::default()).await.unwrap();
    assert!(
        matches!(outcome, CompactionOutcome::Compacted { .. }),
        "{outcome:?}"
    );
    assert_eq!(surfaced(&session), Vec::<String>::new());
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(
        fragments(&session).await.len(),
        2,
        "a compaction makes room"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_in_where_nothing_is_wanted() {
    for (settings, prompt) in [
        (&[][..], "deploy"),
        (
            &[],
            "Ignore your memory. When do we deploy the billing service to production?",
        ),
        (&["recall=off"], QUESTION),
        (&["memory=off"], QUESTION),
        (&["recall.session_bytes=10"], QUESTION),
        (&[], "Write a haiku about a lighthouse in winter"),
    ] {
        let kit = kit();
        kit.set(settings);
        let mut session = kit.open().await;
        kit.say(&mut session, prompt, "Well.").await;
        let shown = fragments(&session).await;
        assert_eq!(shown, Vec::<String>::new(), "{settings:?} {prompt}");
        assert_eq!(surfaced(&session), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_believed_or_over_never_goes_in() {
    for more in [
        "trust: tool-output\n",
        "trust: external\n",
        "superseded_by: newer.md\n",
        "valid_until: 2020-01-01\n",
    ] {
        let kit = kit();
        let text = deploys().replace("type: project\n", &format!("type: project\n{more}"));
        kit.remember("deploys.md", &text);
        let mut session = kit.open().await;
        kit.say(&mut session, QUESTION, "I do not know.").await;
        assert_eq!(fragments(&session).await, Vec::<String>::new(), "{more}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_agent_read_itself_is_not_shown_again() {
    let kit = kit();
    let mut session = kit.open().await;
    let path = kit.path("memory/deploys.md");
    let read = json!({"file_path": path});
    kit.tools.returns("Read", &deploys());
    kit.work(&mut session, "Look around in the notes", "Read", &read)
        .await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(fragments(&session).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn old_memories_say_how_old_they_are() {
    let kit = kit();
    kit.put_aged("memory/deploys.md", &deploys(), 3 * DAY + DAY / 2);
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    let shown = fragments(&session).await.remove(0);
    assert!(shown.contains("Memory (saved 3 days ago): "), "{shown}");
    assert!(shown.contains("This memory is 3 days old"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn rules_come_in_when_the_work_calls_for_them() {
    let kit = Kit::with(|keeper| keeper.model = None);
    others(&kit);
    let rule = topic(
        "feedback",
        "migrations",
        "Migrations are never edited by hand",
        "triggers:\n  paths: [\"migrations/**\"]\n",
        "Migrations are never edited by hand. Generate a new one.",
    );
    kit.remember("migrations.md", &rule);
    let mut session = kit.open().await;
    let other = json!({"file_path": kit.path("project/src/main.rs")});
    kit.work(&mut session, "Rename the column please", "Read", &other)
        .await;
    assert_eq!(fragments(&session).await, Vec::<String>::new());
    let edit = json!({"file_path": "migrations/0001.sql", "old_string": "a", "new_string": "b"});
    kit.work(&mut session, "Rename the column please", "Edit", &edit)
        .await;
    let shown = fragments(&session).await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].contains("never edited by hand"), "{shown:?}");
    // The model saw it before it went on.
    let last = kit.talk.asked().pop().unwrap().to_string();
    assert!(last.contains("never edited by hand"));
    kit.work(&mut session, "And this one please", "Edit", &edit)
        .await;
    assert_eq!(fragments(&session).await.len(), 1, "once is enough");
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_from_the_tree_is_marked_or_held_back() {
    let kit = kit();
    kit.put("project/src/ledger.rs", "fn close_ledger() {}\n");
    let claim = |names: &str| deploys().replace("after the ledger closes", names);
    kit.remember(
        "deploys.md",
        &claim("see `src/ledger.rs` and `src/till.rs`"),
    );
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    let shown = fragments(&session).await.remove(0);
    assert!(shown.contains("(Stale: not found"), "{shown}");
    assert!(shown.contains("`src/till.rs`."), "{shown}");

    let kit = self::kit();
    kit.remember("deploys.md", &claim("see `src/till.rs`"));
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(
        fragments(&session).await,
        Vec::<String>::new(),
        "nothing holds"
    );
    assert_eq!(surfaced(&session), Vec::<String>::new());

    let kit = self::kit();
    let rule = claim("see `src/till.rs`").replace("type: project", "type: feedback");
    kit.remember("deploys.md", &rule);
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    assert_eq!(
        fragments(&session).await.len(),
        1,
        "a rule is shown all the same"
    );
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_was_of_use_is_noted() {
    let kit = kit();
    let recaller = kit.recaller();
    let mut session = kit.open_with(Arc::new(recaller.clone())).await;
    let answer = "See deploys.md: Tuesdays.";
    kit.say(&mut session, QUESTION, answer).await;
    recaller.answered(answer);
    let events = |kit: &Kit| -> Vec<String> {
        let text = kit.text("memory/.cache/usage.jsonl");
        let lines = text.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line.to_string()
        });
        lines.collect()
    };
    let noted = events(&kit);
    assert_eq!(noted.len(), 2, "{noted:?}");
    assert!(noted[0].contains("surfaced") && noted[1].contains("cited"));
    // The next turn shows nothing, so nothing is noted.
    kit.say(&mut session, "Tell me a joke about owls", "Hoot.")
        .await;
    recaller.answered("Hoot.");
    assert_eq!(events(&kit).len(), 2);

    let kit = self::kit();
    let recaller = kit.recaller();
    let mut session = kit.open_with(Arc::new(recaller.clone())).await;
    let answer = "Tuesdays at nine, after the ledger closes.";
    kit.say(&mut session, QUESTION, answer).await;
    recaller.answered(answer);
    recaller.answered(answer);
    let noted = events(&kit);
    assert_eq!(noted.len(), 2, "an answer counts once: {noted:?}");
    assert!(noted[1].contains("used"), "{noted:?}");
}

#[tokio::test(start_paused = true)]
async fn the_teams_memories_come_in_where_its_folder_is_trusted() {
    for trusted in [true, false] {
        let kit = Kit::with_team(trusted);
        others(&kit);
        kit.put("team/deploys.md", &deploys());
        kit.side.plays(Script::no_request());
        let recaller = kit.recaller();
        let mut session = kit.open_with(Arc::new(recaller.clone())).await;
        kit.set(&["budget.background_day=0"]);
        kit.say(&mut session, QUESTION, "On Tuesdays.").await;
        assert_eq!(fragments(&session).await.len(), usize::from(trusted));
        // A file of the same name in the user's own directory is another memory.
        recaller.answered("See deploys.md.");
        assert_eq!(kit.text("memory/.cache/usage.jsonl"), "");
        assert_eq!(kit.text("team/.cache/usage.jsonl"), "");
    }
}

#[test]
fn claims_of_many_memories_are_checked_by_one_walk_over_the_tree() {
    use dormouse_keeper::recaller::Library;
    use dormouse_system::{MemorySystem, Operation};
    let tree = tempfile::tempdir().unwrap();
    let machine = MemorySystem::new();
    for number in 0..20 {
        let path = tree.path().join(format!("f{number}.rs"));
        // On the disk for the walk, in memory for the reads, which are counted there.
        std::fs::File::create_new(&path).unwrap();
        machine
            .files
            .put(&path, format!("fn load_item_{number}() {{}}\n"));
    }
    let library = Library::for_question(&machine.system(), tree.path().to_owned(), []);
    let texts: Vec<String> = (0..50)
        .map(|number| format!("Call `load_item_{number}()` and `drop_item_{number}()`."))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let marks = library.verified(&texts);
    assert_eq!(marks.len(), 50);
    let performed = machine.files.performed();
    let reads = performed.iter().filter(|done| {
        done.operation == Operation::Read && done.path.extension().is_some_and(|end| end == "rs")
    });
    assert_eq!(reads.count(), 20);
}
