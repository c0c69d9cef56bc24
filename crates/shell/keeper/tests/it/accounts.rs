//! Usage of extractions in the log of the session they were made from.

use crate::extraction::{SAID, extract, extractor, rule};
use crate::faults::{faults, then_all};
use crate::kit::{Kit, calls, used, write};
use dormouse_core::id::MessageId;
use dormouse_core::record::{Body, Purpose};
use dormouse_core::usage::TokenUsage;
use dormouse_engine::Session;
use dormouse_keeper::extraction::By;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

/// An answer of the fork with an id that the conversation's model does not use.
fn numbered(answer: Answer, id: &str, tokens: u64) -> Answer {
    let id = MessageId::from(id);
    answer
        .using(used(tokens))
        .with(|response| response.id = id.clone())
}

/// A first answer that calls a tool.
fn writes_rule(kit: &Kit) -> Answer {
    let call = calls(&[write(&kit.path("memory/linter.md"), &rule())]);
    numbered(call, "fork-1", 100)
}

/// Responses of forks in the log, and in the folded totals.
async fn forks(session: &Session) -> [Vec<(String, TokenUsage)>; 2] {
    let records = session.records().await.unwrap();
    let logged = records.iter().filter_map(|record| match &record.body {
        Body::Usage(report) if report.purpose == Purpose::Fork => {
            Some((report.message.clone()?.to_string(), report.usage))
        }
        _ => None,
    });
    let totals = session.conversation().state().totals.recent.iter();
    let folded = totals
        .map(|recent| (recent.message.to_string(), recent.usage))
        .filter(|(id, _)| id.starts_with("fork-"));
    [logged.collect(), folded.collect()]
}

/// The same list in the log and in the totals.
fn both(expected: &[(&str, u64)]) -> [Vec<(String, TokenUsage)>; 2] {
    let list = || {
        let all = expected.iter();
        all.map(|(id, tokens)| ((*id).to_owned(), used(*tokens)))
            .collect()
    };
    [list(), list()]
}

#[tokio::test]
async fn every_answer_of_a_fork_is_in_the_log_and_in_the_totals_once() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    let last = numbered(Answer::text("Nothing more."), "fork-2", 20);
    kit.fork
        .plays(Script::new().then(writes_rule(&kit)).then(last));
    let extracted = extract(&kit, &mut session).await;
    kit.fork.finish();
    assert_eq!(extracted.by, By::Model);
    assert_eq!((extracted.usage, extracted.reports.len()), (used(120), 2));
    let expected = both(&[("fork-1", 100), ("fork-2", 20)]);
    assert_eq!(forks(&session).await, expected);
    let text = serde_json::to_string(&extracted).unwrap();
    assert!(!text.contains("fork-1"), "reports are for the log: {text}");
    // A later turn and a restart change nothing.
    kit.say(&mut session, "Thank you very much.", "Sure.").await;
    session.close().await.unwrap();
    assert_eq!(forks(&kit.open().await).await, expected);
    assert_eq!(kit.keeper.budget.today().tokens, 120);
}

#[tokio::test]
async fn a_fork_that_fails_is_paid_for_too() {
    for (name, fault) in faults() {
        let kit = Kit::new();
        let mut session = kit.open().await;
        kit.say(&mut session, SAID, "I will.").await;
        let first = writes_rule(&kit);
        let fault = fault
            .into_iter()
            .map(|answer| numbered(answer, "fork-2", 20));
        kit.fork.plays(then_all(Script::new().then(first), fault));
        let extracted = extract(&kit, &mut session).await;
        kit.fork.finish();
        let answered: &[_] = match name {
            "time-out" | "error status" | "truncated stream" => &[("fork-1", 100)],
            _ => &[("fork-1", 100), ("fork-2", 20)],
        };
        assert_eq!(forks(&session).await, both(answered), "{name}");
        assert_eq!(extracted.reports.len(), answered.len(), "{name}");
    }
}

#[tokio::test]
async fn a_fork_without_a_result_is_paid_for_too() {
    let kit = Kit::new();
    // Recall would write its index beside.
    kit.set(&["recall=off"]);
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    std::fs::remove_dir_all(kit.path("memory")).unwrap();
    let (_, fault) = faults().remove(0);
    kit.fork
        .plays(then_all(Script::new().then(writes_rule(&kit)), fault));
    let mut extractor = extractor(&kit);
    extractor.after_turn(&mut session, true).await.unwrap();
    assert_eq!(extractor.finish(&mut session).await.unwrap(), []);
    let facts = &session.conversation().state().facts;
    assert!(facts.contains_key("extract.failed"), "{facts:?}");
    assert_eq!(forks(&session).await, both(&[("fork-1", 100)]));
}

#[tokio::test(start_paused = true)]
async fn a_fork_that_leaving_ends_is_paid_for_as_far_as_it_got() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.say(&mut session, SAID, "I will.").await;
    let look = calls(&[("Glob", json!({"pattern": "*.md"}))]);
    let script = Script::new().then(numbered(look, "fork-1", 100));
    kit.fork.plays(script.then(Answer::Silence));
    let mut extractor = extractor(&kit);
    extractor.after_turn(&mut session, true).await.unwrap();
    assert_eq!(extractor.finish(&mut session).await.unwrap(), []);
    assert_eq!(forks(&session).await, both(&[("fork-1", 100)]));
}
