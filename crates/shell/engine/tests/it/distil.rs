//! Layer 1, second form: answered results become shorter, file first, and stay so for ever.

use crate::kit::{Kit, RESULTS, check, prompt, prompt_text, prose, turn};
use crate::provider::Answer;
use dormouse_context::policy::Economic;
use dormouse_context::undo::UndoError;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Record};
use dormouse_engine::{CompactWish, EngineError, Notice, Purpose, Session};
use dormouse_system::{Fault, Files as _, Operation};
use dormouse_testkit::blocks::call;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// Text of about 7,000 tokens, below the limit of layer 1, with one line that the answer names.
fn output() -> String {
    let mut text = String::new();
    for line in 0..350 {
        text.push_str(&prose(line, 70).replace('\n', " "));
        text.push('\n');
        if line == 200 {
            text.push_str("the value of QUOTA_LIMIT_77 is 48151\n");
        }
    }
    text
}

/// Words beyond the shortest prefix that the provider caches.
fn long_question() -> String {
    prose(999, 8_000)
}

fn kit() -> Kit {
    let mut kit = Kit::new();
    kit.config.policy = Some(Arc::new(Economic));
    kit.config.window = None;
    kit.tools.returns("Bash", output());
    kit
}

/// One turn: the model runs a command and answers.
async fn runs(kit: &Kit, session: &mut Session, id: &str) {
    let asked = call(id, "Bash", &json!({ "command": format!("make {id}") }));
    kit.provider
        .next(Purpose::Turn, Answer::Blocks(vec![asked]));
    kit.provider
        .next(Purpose::Turn, Answer::text("QUOTA_LIMIT_77 matters."));
    turn(session, &long_question()).await;
    check(session);
}

async fn distillations(session: &Session) -> Vec<Record> {
    let records = session.records().await.unwrap();
    let is = |record: &Record| matches!(record.body, Body::Distilled(_));
    records.into_iter().filter(is).collect()
}

#[tokio::test]
async fn an_answered_result_is_shorter_from_then_on() {
    let kit = kit();
    let mut session = kit.open().await;
    runs(&kit, &mut session, "first").await;
    let whole = kit.provider.sent().pop().unwrap();
    assert!(!whole.contains("It was shown whole") && whole.contains("QUOTA_LIMIT_77 is"));
    let distilled = distillations(&session).await;
    let Body::Distilled(record) = &distilled[0].body else {
        panic!("no distillation");
    };
    let file = record.blocks[0].file.clone().unwrap();
    let saved = kit
        .machine
        .files
        .read(&Path::new(RESULTS).join(file), u64::MAX)
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&saved), output());
    // The line that the answer named is in the prompt, and little else.
    let text = prompt_text(&session);
    assert!(text.contains("QUOTA_LIMIT_77 is 48151"));
    assert!(text.len() < 14_000, "{}", text.len());
    assert_eq!(kit.told(|n| matches!(n, Notice::Distilled { .. })), 1);
    let before = prompt(&session);
    turn(&mut session, "Go on.").await;
    assert!(prompt(&session)[..before.len()] == before[..]);
    drop(session);
    let (_, resumed) = kit.killed().await;
    assert!(resumed[..before.len()] == before[..]);
}

#[tokio::test]
async fn undo_passes_over_a_distillation() {
    let kit = kit();
    let mut session = kit.open().await;
    runs(&kit, &mut session, "first").await;
    let undone = session.undo(None).await;
    let nothing = matches!(undone, Err(EngineError::Undo(UndoError::NothingToUndo)));
    assert!(nothing, "{undone:?}");
    kit.talk_until(&mut session, 14_000).await;
    let before = prompt(&session);
    session.compact(CompactWish::default()).await.unwrap();
    assert_eq!(session.undo(None).await.unwrap(), 1);
    assert!(prompt(&session) == before);
}

#[tokio::test]
async fn on_a_full_disk_the_result_stays_whole_and_a_resume_distils_it() {
    let kit = kit();
    let mut session = kit.open().await;
    let full = Fault::fail(ErrorKind::StorageFull).on(Operation::Write);
    kit.machine.files.inject(full.at(RESULTS).lasting());
    runs(&kit, &mut session, "first").await;
    assert_eq!(distillations(&session).await, []);
    assert!(prompt_text(&session).len() > 28_000);
    assert_eq!(kit.told(|n| matches!(n, Notice::NotSaved { .. })), 1);
    kit.machine.files.clear_faults();
    drop(session);
    // The choice stands in the log: it is carried out as if nothing had happened.
    let mut session = kit.open().await;
    turn(&mut session, "Go on.").await;
    assert_eq!(distillations(&session).await.len(), 1);
    assert!(prompt_text(&session).len() < 15_000);
    assert_eq!(kit.told(|n| matches!(n, Notice::NotDistilled { .. })), 0);
}

#[tokio::test]
async fn a_result_whose_answer_was_cut_off_is_kept_and_counted() {
    let kit = kit();
    let mut session = kit.open().await;
    let asked = call("first", "Bash", &json!({ "command": "make first" }));
    kit.provider
        .next(Purpose::Turn, Answer::Blocks(vec![asked]));
    let begun = vec![Block::text("It says that")];
    kit.provider.next(Purpose::Turn, Answer::CutOff(begun));
    kit.provider
        .next(Purpose::Turn, Answer::text("all is well."));
    turn(&mut session, &long_question()).await;
    turn(&mut session, "And on.").await;
    assert_eq!(kit.told(|n| matches!(n, Notice::NotDistilled { .. })), 1);
    assert_eq!(distillations(&session).await, []);
    assert!(prompt_text(&session).len() > 28_000);
    // Sent whole a second time, it is marked.
    let sent = kit.provider.sent_for(Purpose::Turn);
    let marked = |at: usize| {
        let json = sent[at].json();
        let messages = json["messages"].as_array().unwrap().iter();
        let blocks = messages.flat_map(|message| message["content"].as_array().unwrap());
        let blocks: Vec<&Value> = blocks.collect();
        let result = blocks
            .iter()
            .position(|block| block["type"] == "tool_result");
        let marker = blocks
            .iter()
            .rposition(|block| !block["cache_control"].is_null());
        marker >= result
    };
    assert_eq!([marked(1), marked(2)], [false, true]);
}

#[tokio::test]
async fn files_errors_and_other_tools_stay_whole() {
    let kit = kit();
    kit.tools.returns("Read", output());
    kit.tools.returns("Other", output());
    let mut session = kit.open().await;
    for (id, tool, input) in [
        ("read", "Read", json!({ "file_path": "/src/a.rs" })),
        ("cat", "Bash", json!({ "command": "cat src/a.rs" })),
        (
            "back",
            "Bash",
            json!({ "command": format!("grep x {RESULTS}/a.txt") }),
        ),
        ("other", "Other", json!({ "x": 1 })),
    ] {
        let asked = call(id, tool, &input);
        kit.provider
            .next(Purpose::Turn, Answer::Blocks(vec![asked]));
        kit.provider.next(Purpose::Turn, Answer::text("Seen."));
        session
            .turn(vec![Block::text(&long_question())])
            .await
            .unwrap();
        assert_eq!(distillations(&session).await, [], "{id}");
    }
}

#[tokio::test]
async fn the_setting_switches_it_off() {
    let kit = kit();
    kit.set(&["notes=off", "distil=off"]);
    let mut session = kit.open().await;
    runs(&kit, &mut session, "first").await;
    assert_eq!(distillations(&session).await, []);
}

/// A command that is run again teaches the next session of the project, through a kill as well.
#[tokio::test]
async fn a_project_remembers_which_results_were_fetched_again() {
    let kit = kit();
    let mut session = kit.open().await;
    let untaught = session.conversation().distil_book().again("Bash");
    for _ in 0..3 {
        runs(&kit, &mut session, "first").await;
    }
    let learnt = session.conversation().distil_book().again("Bash");
    assert!(learnt > untaught, "{learnt}");
    session.close().await.unwrap();
    kit.machine
        .files
        .remove_file(crate::kit::LOG.as_ref())
        .unwrap();
    let next = kit.open().await;
    let begins = next.conversation().distil_book().again("Bash");
    assert!((begins - learnt).abs() < 1e-9, "{begins}, not {learnt}");
    assert!(next.conversation().distil_book().again("Grep") < begins);
    // The log has it: opening the session again does not ask the project a second time.
    drop(next);
    let lessons = "/home/dormouse/projects/p/economy.json".as_ref();
    kit.machine.files.remove_file(lessons).unwrap();
    let resumed = kit.open().await;
    let begins_again = resumed.conversation().distil_book().again("Bash");
    assert!((begins_again - begins).abs() < 1e-9);
    check(&resumed);
}
