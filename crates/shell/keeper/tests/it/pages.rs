//! Prompts around a session's memory as pages: recall, the selector, extraction and a dream.
//!
//! The pages are files in `snapshots/`; `INSTA_UPDATE=always cargo test -p dormouse-keeper pages`
//! writes them anew.

use crate::dream;
use crate::extraction::{SAID, extract, rule, writes};
use crate::kit::{Kit, Line, settle};
use crate::recall::{QUESTION, deploys, others};
use dormouse_keeper::dreaming::DreamWish;
use dormouse_testkit::page;
use dormouse_testkit_model::{Answer, Script};
use insta::assert_snapshot;
use serde_json::json;

/// Compares with a page in which today's times stand as `NOW`: the files of the test are real and
/// carry the machine's time.
fn compare(name: &str, page: &str) {
    let filters = [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "NOW"),
        (r"Today is \d{4}-\d\d-\d\d", "Today is NOW"),
    ];
    insta::with_settings!({ filters => filters.to_vec() }, { assert_snapshot!(name, page) });
}

/// Page of one request of a model, without the folder of the test.
fn asked(kit: &Kit, line: &Line, request: usize) -> String {
    let root = kit.path("").display().to_string();
    page(&line.asked().remove(request)).replace(root.trim_end_matches('/'), "/root")
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_fits_stands_behind_the_question() {
    let kit = Kit::with(|keeper| keeper.model = None);
    others(&kit);
    kit.remember("deploys.md", &deploys());
    let mut session = kit.open().await;
    kit.say(&mut session, QUESTION, "On Tuesdays.").await;
    compare("recall", &asked(&kit, &kit.talk, 0));
}

#[tokio::test(start_paused = true)]
async fn the_selector_is_asked_about_cards() {
    let kit = Kit::new();
    others(&kit);
    let chosen = json!({ "selected_memories": ["wiki.md"] }).to_string();
    kit.side.plays(Script::new().then(Answer::text(&chosen)));
    let mut session = kit.open().await;
    let vague = "Where do reviews of runbooks happen in the office?";
    kit.work(&mut session, vague, "Grep", &json!({"pattern": "x"}))
        .await;
    settle().await;
    compare("selector_request", &asked(&kit, &kit.side, 0));
    compare("selector_after", &asked(&kit, &kit.talk, 1));
}

#[tokio::test]
async fn extraction_is_asked_for_behind_the_conversation() {
    let kit = Kit::new();
    others(&kit);
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    kit.fork.plays(writes(&kit, &[("linter.md", &rule())]));
    extract(&kit, &mut session).await;
    compare("extraction_request", &asked(&kit, &kit.fork, 0));
    compare("extraction_after_a_write", &asked(&kit, &kit.fork, 1));
}

#[tokio::test]
async fn a_dream_works_on_a_copy() {
    let kit = dream::kit();
    kit.side.plays(dream::writes(&kit, &dream::merge()));
    dream::dream(&kit, DreamWish::default()).await.0.unwrap();
    compare("dream_request", &asked(&kit, &kit.side, 0));
}
