//! The small model chooses what goes in with the next tool results.

use crate::faults::{faults, refusal, then_all};
use crate::kit::{Kit, fragments, settle, surfaced, topic, turn, used};
use crate::recall::{QUESTION, deploys, others};
use dormouse_model::{ModelError, Reply};
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::Duration;

/// Names some of the memories a little, none of them enough.
const VAGUE: &str = "Where do reviews of runbooks happen in the office?";

fn kit() -> Kit {
    let kit = Kit::new();
    others(&kit);
    kit
}

fn chosen(names: &[&str]) -> Answer {
    Answer::text(&json!({ "selected_memories": names }).to_string())
}

/// A turn whose model takes its time, so that the small model can be asked again meanwhile.
async fn slow_work(kit: &Kit, session: &mut dormouse_engine::Session, prompt: &str) {
    let call = Answer::call("a", "Grep", &json!({"pattern": "x"}));
    let script = Script::new().then(call).after(Duration::from_secs(5));
    kit.talk.plays(script.then(Answer::text("Done.")));
    turn(session, prompt).await;
    kit.talk.finish();
}

async fn work(kit: &Kit, session: &mut dormouse_engine::Session, prompt: &str) {
    kit.work(session, prompt, "Grep", &json!({"pattern": "x"}))
        .await;
}

#[tokio::test(start_paused = true)]
async fn its_choice_joins_at_the_next_tool_boundary() {
    let kit = kit();
    let script = Script::new().on(
        Expect::that("asks with the candidates", |body| {
            let text = body.to_string();
            body["model"] == "claude-haiku-4-5"
                && body["max_tokens"] == 256
                && text.contains("wiki.md")
                && text.contains("Where do reviews")
        }),
        chosen(&["wiki.md", "nowhere.md"]).using(used(700)),
    );
    kit.side.plays(script);
    let mut session = kit.open().await;
    work(&kit, &mut session, VAGUE).await;
    kit.side.finish();
    let shown = fragments(&session).await;
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].contains("operations wiki"), "{shown:?}");
    assert_eq!(surfaced(&session), ["wiki.md"]);
    let (first, second) = (kit.talk.asked().remove(0), kit.talk.asked().remove(1));
    assert!(!first.to_string().contains("operations wiki"));
    assert!(second.to_string().contains("operations wiki"));
    assert_eq!(kit.keeper.budget.today().tokens, 700, "it is paid for");
}

#[tokio::test(start_paused = true)]
async fn without_a_tool_boundary_it_is_dropped_and_does_not_count_as_shown() {
    let kit = kit();
    kit.side.plays(Script::new().then(chosen(&["wiki.md"])));
    let mut session = kit.open().await;
    kit.say(&mut session, VAGUE, "I do not know.").await;
    settle().await;
    assert_eq!(surfaced(&session), Vec::<String>::new());
    // The next turn asks anew; the old answer is gone.
    kit.side.plays(Script::new().then(chosen(&["review.md"])));
    work(&kit, &mut session, VAGUE).await;
    assert_eq!(surfaced(&session), ["review.md"]);
}

#[tokio::test(start_paused = true)]
async fn whatever_it_answers_the_rankers_picks_stand() {
    let mut answers = faults();
    let more = [
        ("no JSON", Answer::text("I would take wiki.md.")),
        (
            "malformed JSON",
            Answer::text("{\"selected_memories\": [wiki.md]}"),
        ),
        (
            "truncated JSON",
            Answer::text("{\"selected_memories\": [\"wiki"),
        ),
        (
            "wrong shape",
            Answer::text("{\"selected_memories\": \"wiki.md\"}"),
        ),
        (
            "unknown names",
            chosen(&["../../etc/passwd", "nowhere.md", "MEMORY.md"]),
        ),
        ("nothing", chosen(&[])),
        ("another refusal", refusal()),
    ];
    answers.extend(more.map(|(name, answer)| (name, vec![answer])));
    for (name, answers) in answers {
        let kit = kit();
        kit.remember("deploys.md", &deploys());
        kit.side.plays(then_all(Script::new(), answers));
        let mut session = kit.open().await;
        let prompt = format!("{QUESTION} And the runbooks?");
        slow_work(&kit, &mut session, &prompt).await;
        kit.side.finish();
        assert_eq!(surfaced(&session), ["deploys.md"], "{name}");
        assert_eq!(fragments(&session).await.len(), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_tried_again_and_no_other() {
    let busy = |pause: Option<Duration>| {
        Answer::fault(move || {
            ModelError::Overloaded(Box::new(Reply {
                retry_after: pause,
                ..Reply::default()
            }))
        })
    };
    let kit = kit();
    let script = Script::new().then(busy(None)).then(busy(None));
    kit.side
        .plays(script.then(chosen(&["wiki.md"]).using(used(700))));
    let mut session = kit.open().await;
    slow_work(&kit, &mut session, VAGUE).await;
    kit.side.finish();
    assert_eq!(surfaced(&session), ["wiki.md"]);
    assert_eq!(kit.keeper.budget.today().tokens, 700, "it is paid for once");
    // A pause that ends after the selector's time is not waited for; a wrong key stays wrong.
    let denied = Answer::fault(|| ModelError::Authentication(Box::default()));
    for (name, answer) in [
        ("long pause", busy(Some(Duration::from_secs(20)))),
        ("wrong key", denied),
    ] {
        let kit = self::kit();
        kit.side.plays(Script::new().then(answer));
        let mut session = kit.open().await;
        slow_work(&kit, &mut session, VAGUE).await;
        kit.side.finish();
        assert_eq!(surfaced(&session), Vec::<String>::new(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_never_answers_holds_nothing_up() {
    let kit = kit();
    kit.side.plays(Script::new().then(Answer::Silence));
    let mut session = kit.open().await;
    let before = tokio::time::Instant::now();
    work(&kit, &mut session, VAGUE).await;
    assert_eq!(tokio::time::Instant::now(), before, "no time passed");
    assert_eq!(fragments(&session).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_slow_is_not_waited_for_and_its_choice_comes_with_a_later_boundary() {
    let kit = kit();
    let late = Duration::from_secs(5);
    kit.side
        .plays(Script::new().then(chosen(&["wiki.md"])).after(late));
    let mut session = kit.open().await;
    let call = |id: &str| Answer::call(id, "Grep", &json!({"pattern": "x"}));
    let pause = Duration::from_secs(6);
    kit.talk.plays(
        Script::new()
            .then(call("a"))
            .on(
                Expect::that("nothing came yet", |body| {
                    !body.to_string().contains("operations wiki")
                }),
                call("b"),
            )
            .after(pause)
            .on(
                Expect::Contains("operations wiki".to_owned()),
                Answer::text("There."),
            ),
    );
    turn(&mut session, VAGUE).await;
    kit.talk.finish();
    // Later than its time limit is too late.
    let kit = self::kit();
    let (late, pause) = (late * 4, pause * 10);
    kit.side
        .plays(Script::new().then(chosen(&["wiki.md"])).after(late));
    let mut session = kit.open().await;
    kit.talk.plays(
        Script::new()
            .then(call("a"))
            .after(pause)
            .then(Answer::text("There.")),
    );
    turn(&mut session, VAGUE).await;
    assert_eq!(surfaced(&session), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_when_the_days_budget_is_spent_or_nothing_is_left_to_choose() {
    let kit = kit();
    kit.set(&["budget.background_day=0"]);
    kit.side.plays(Script::no_request());
    let mut session = kit.open().await;
    work(&kit, &mut session, VAGUE).await;
    kit.set(&["recall.files=0"]);
    work(&kit, &mut session, VAGUE).await;
    kit.set(&["recall=off"]);
    work(&kit, &mut session, VAGUE).await;
    kit.set(&[]);
    work(&kit, &mut session, "reviews").await;
    assert_eq!(kit.side.asked().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_shown_or_changed_since_it_was_asked_counts() {
    let kit = kit();
    let path = kit.path("memory/wiki.md");
    kit.side.plays(Script::new().then(chosen(&["wiki.md"])));
    let mut session = kit.open().await;
    // The agent reads the file itself before the choice arrives.
    kit.work(&mut session, VAGUE, "Read", &json!({"file_path": path}))
        .await;
    assert_eq!(surfaced(&session), Vec::<String>::new());
    // The file is deleted while the model thinks.
    let kit = self::kit();
    let path = kit.path("memory/wiki.md");
    let files = kit.system.files.clone();
    kit.side.plays(Script::new().on(
        Expect::that("deletes the file", move |_| {
            files.remove_file(&path).is_ok()
        }),
        chosen(&["wiki.md"]),
    ));
    let mut session = kit.open().await;
    work(&kit, &mut session, VAGUE).await;
    kit.side.finish();
    assert_eq!(surfaced(&session), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn both_directories_have_their_choice() {
    let kit = Kit::with_team(true);
    others(&kit);
    for (file, text) in [
        (
            "team/desk.md",
            "The help desk is in the office on the second floor",
        ),
        (
            "team/cafe.md",
            "The coffee machine takes coins and no cards",
        ),
        (
            "team/train.md",
            "The release train leaves on the first Monday",
        ),
    ] {
        kit.put(file, &topic("reference", text, text, "", text));
    }
    kit.side.plays(
        Script::new()
            .on(Expect::Contains("wiki.md".to_owned()), chosen(&["wiki.md"]))
            .on(Expect::Contains("desk.md".to_owned()), chosen(&["desk.md"])),
    );
    let mut session = kit.open().await;
    work(&kit, &mut session, VAGUE).await;
    kit.side.finish();
    assert_eq!(surfaced(&session), ["wiki.md", "desk.md"]);
}
