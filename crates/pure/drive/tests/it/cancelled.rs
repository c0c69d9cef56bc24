//! Cancels and late outcomes: an effect that was given up never ends the work that replaced it.

use crate::check;
use crate::model::Answer;
use crate::script::Given;
use crate::stores::InMemory;
use crate::tools::calls;
use crate::world::World;
use dormouse_ask::{Failure, FailureKind};
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, LONGEST_LINE, Purpose};
use dormouse_core::usage::TokenUsage;
use dormouse_drive::{
    Command, CompactWish, DriveError, EffectOutcome, ForkLimits, Input, Reply, StreamEvent, When,
};
use dormouse_testkit::conversation::prose;

fn world(settings: &[&str]) -> World {
    let mut world = World::new(Box::new(InMemory::new()), settings, 3);
    world.take();
    world.settle();
    world
}

/// Conversation that is long enough to be compacted.
fn talked(settings: &[&str]) -> World {
    let mut world = world(settings);
    for number in 0..6 {
        world.model.script([Answer::text(&prose(number, 4_000))]);
        world.prompt(&format!("Question {number}."), When::Queue);
        world.settle();
    }
    world
}

fn compact() -> Command {
    Command::Compact(CompactWish::default())
}

fn sound(world: &World) {
    check::everything(world, &Given::default());
}

fn usage(world: &World, purpose: Purpose) -> usize {
    let records = world.store.records();
    let of_purpose = records
        .iter()
        .filter(|record| matches!(&record.body, Body::Usage(report) if report.purpose == purpose));
    of_purpose.count()
}

#[test]
fn a_late_summary_of_a_cancelled_compaction_is_paid_for_and_not_used() {
    let mut world = talked(&["notes=off"]);
    world.held = vec!["ask Compaction"];
    let first = world.give(compact());
    world.settle();
    world.tell(Input::Cancel);
    let second = world.give(compact());
    world.settle();
    assert!(matches!(world.reply(first), Err(DriveError::Cancelled)));
    let requests = world.pending.len();
    assert_eq!(
        requests, 2,
        "the request that was given up, and the new one"
    );
    // The stop reaches the first request too late: its whole answer arrives.
    let (_, id, pending) = world.pending.remove(0);
    let crate::world::Pending::Ask(ask) = pending else {
        panic!("a request was held");
    };
    let end = ask.end();
    world.billed += crate::model::billed(&end);
    world.tell(Input::Ended(id, Box::new(EffectOutcome::Answered(end))));
    let goes_on = world.pending.iter().any(|(name, ..)| name == "restore");
    assert!(!goes_on, "its own answer is on its way");
    world.held.clear();
    world.settle();
    assert!(matches!(world.reply(second), Ok(Reply::Compacted(_))));
    assert_eq!(usage(&world, Purpose::Compaction), 2);
    sound(&world);
}

#[test]
fn hooks_of_a_cancelled_compaction_do_not_answer_for_the_next() {
    let mut world = talked(&["notes=off"]);
    world.held = vec!["hooks"];
    world.give(compact());
    world.settle();
    world.tell(Input::Cancel);
    let second = world.give(compact());
    world.settle();
    assert_eq!(world.pending.len(), 2);
    world.step(0);
    assert!(
        !world
            .pending
            .iter()
            .any(|(name, ..)| name.starts_with("ask"))
    );
    world.held.clear();
    world.settle();
    assert!(matches!(world.reply(second), Ok(Reply::Compacted(_))));
    sound(&world);
}

#[test]
fn a_compaction_that_was_cancelled_no_longer_waits_for_the_notes() {
    let mut world = talked(&["notes.start=100000"]);
    world.held = vec!["ask Notes"];
    world.settings = crate::tools::settings(&["notes.start=1000"]);
    world.tell(Input::Settings(std::sync::Arc::clone(&world.settings)));
    world.prompt("Write notes.", When::Queue);
    world.settle();
    assert!(world.driver.snapshot().writes_notes);
    let first = world.give(compact());
    world.end("append");
    world.end("hooks");
    world.tell(Input::Cancel);
    let second = world.give(compact());
    world.held.clear();
    world.settle();
    assert!(matches!(world.reply(first), Err(DriveError::Cancelled)));
    assert!(matches!(world.reply(second), Ok(Reply::Compacted(_))));
    sound(&world);
}

#[test]
fn a_cancelled_fork_does_not_answer_for_the_next() {
    let mut world = talked(&["notes=off"]);
    world.held = vec!["child"];
    let fork = || Command::Fork {
        directive: "Look into it.".to_owned(),
        limits: ForkLimits { requests: 2 },
    };
    let first = world.give(fork());
    world.tell(Input::Cancel);
    let second = world.give(fork());
    world.step(0);
    assert!(matches!(world.reply(first), Err(DriveError::Cancelled)));
    assert!(!world.replies.contains_key(&second));
    world.held.clear();
    world.settle();
    assert!(matches!(world.reply(second), Ok(Reply::Forked(_))));
    sound(&world);
}

#[test]
fn a_cancel_during_a_pause_ends_the_turn_at_once() {
    let mut world = world(&["notes=off"]);
    world
        .model
        .script([Answer::Overloaded, Answer::text("Yes.")]);
    let prompt = world.prompt("Are you there?", When::Queue);
    while world.driver.wake_at().is_none() {
        world.step(0);
    }
    world.tell(Input::Cancel);
    world.end("append");
    assert!(matches!(world.reply(prompt), Err(DriveError::Cancelled)));
    assert_eq!(world.driver.wake_at(), None);
    assert_eq!(world.model.bodies.len(), 1);
    sound(&world);
}

#[test]
fn a_steering_prompt_without_a_round_of_calls_becomes_a_turn_of_its_own() {
    let mut world = world(&["notes=off"]);
    world
        .model
        .script([Answer::text("First."), Answer::text("Second.")]);
    world.held = vec!["ask"];
    let first = world.prompt("One.", When::Queue);
    world.settle();
    let second = world.prompt("Two.", When::Steer);
    world.held.clear();
    world.settle();
    assert!(matches!(world.reply(first), Ok(Reply::TurnEnded { .. })));
    assert!(matches!(world.reply(second), Ok(Reply::TurnEnded { .. })));
    assert_eq!(world.model.bodies.len(), 2);
    sound(&world);
}

#[test]
fn prompts_that_wait_survive_a_kill_and_are_said_once() {
    let mut world = world(&["notes=off"]);
    world.held = vec!["ask"];
    let mut given = Given::default();
    for (text, when) in [
        ("One.", When::Queue),
        ("Two.", When::Steer),
        ("Three.", When::Queue),
    ] {
        let id = world.prompt(text, when);
        given.0.push((id, text.to_owned(), 0));
        world.settle();
    }
    world.kill(false);
    world.held.clear();
    world.settle();
    assert_eq!(
        world.model.bodies.len(),
        1,
        "a restart sends nothing by itself"
    );
    world.give(Command::GoOn);
    world.settle();
    check::everything(&world, &given);
    assert_eq!(world.model.bodies.len(), 2, "one answer to all three");
    let body = String::from_utf8_lossy(&world.model.bodies[1]);
    for text in ["One.", "Two.", "Three."] {
        assert_eq!(body.matches(text).count(), 1, "{text} in {body}");
    }
}

#[test]
fn a_call_that_a_person_allows_behind_a_cancel_is_not_run() {
    let mut world = world(&["notes=off"]);
    let deploy = calls("call_1", "Deploy", 10);
    world.model.script([Answer::calls(vec![deploy])]);
    world.held = vec!["person"];
    let prompt = world.prompt("Deploy.", When::Queue);
    world.settle();
    world.tell(Input::Cancel);
    let (_, id, _) = world.pending.remove(0);
    let said = EffectOutcome::PersonSaid {
        allowed: true,
        words: None,
        input: None,
    };
    world.tell(Input::Ended(id, Box::new(said)));
    world.settle();
    assert!(matches!(world.reply(prompt), Err(DriveError::Cancelled)));
    assert!(world.runs.is_empty());
    sound(&world);
}

#[test]
fn results_with_files_are_in_the_log_before_the_step_behind_them() {
    let mut world = world(&["notes=off", "offload.limit.Bash=1000"]);
    let call = calls("call_1", "Bash", 10);
    world
        .model
        .script([Answer::calls(vec![call]), Answer::text("Fine.")]);
    world.say("Go.");
    world.give(Command::Step);
    world.settle();
    let output = ToolOutput::text("call_1".into(), prose(1, 3_000));
    let results = world.give(Command::Results(vec![("Bash".to_owned(), output)]));
    let step = world.give(Command::Step);
    world.settle();
    assert!(matches!(world.reply(results), Ok(Reply::Done)));
    assert!(matches!(world.reply(step), Ok(Reply::Answered(_))));
    sound(&world);
    let body = world.model.bodies.last().unwrap();
    let body = String::from_utf8_lossy(body);
    assert!(body.contains("tool-results"), "the preview was sent");
}

#[test]
fn a_tool_that_a_person_allowed_is_not_run_again_after_a_kill() {
    let mut world = world(&["notes=off"]);
    let deploy = calls("call_1", "Deploy", 10);
    world.model.script([Answer::calls(vec![deploy])]);
    world.held = vec!["person"];
    world.prompt("Deploy.", When::Queue);
    world.settle();
    world.held = vec!["append"];
    let (_, id, _) = world.pending.remove(0);
    let said = EffectOutcome::PersonSaid {
        allowed: true,
        words: None,
        input: None,
    };
    world.tell(Input::Ended(id, Box::new(said)));
    world.settle();
    assert!(world.runs.is_empty(), "the word is not stored yet");
    world.end("append");
    assert_eq!(world.runs.len(), 1);
    world.kill(false);
    world.held.clear();
    world.settle();
    assert_eq!(world.runs.values().sum::<usize>(), 1);
}

#[test]
fn an_answer_that_ends_before_its_first_block_is_paid_for() {
    let mut world = world(&["notes=off"]);
    world.model.script([Answer::Breaks(Vec::new(), "")]);
    world.prompt("Go.", When::Queue);
    world.settle();
    sound(&world);
}

#[test]
fn a_late_answer_of_a_failed_turn_does_not_answer_the_next() {
    let mut world = world(&["notes=off"]);
    world.held = vec!["ask"];
    let first = world.prompt("One.", When::Queue);
    world.settle();
    let (_, id, _) = &world.pending[0];
    let id = *id;
    let began = StreamEvent::Began {
        id: "msg_long".into(),
        model: crate::model::MODEL.into(),
        usage: TokenUsage::default(),
    };
    world.tell(Input::Stream(id, began));
    let long = Block::text(&"x".repeat(LONGEST_LINE));
    world.tell(Input::Stream(id, StreamEvent::Block(long)));
    assert!(matches!(world.reply(first), Err(DriveError::Record(_))));
    let second = world.prompt("Two.", When::Queue);
    world.settle();
    assert_eq!(world.pending.len(), 2, "the old request and the new one");
    while world.pending.len() == 2 {
        world.step(0);
    }
    assert!(!world.replies.contains_key(&second));
    world.held.clear();
    world.settle();
    assert!(matches!(world.reply(second), Ok(Reply::TurnEnded { .. })));
    sound(&world);
}

/// A client that reports no content with its failure must not have the answer asked for anew: the
/// block is in the log and may be on a screen. The driver lets the model go on behind it.
#[test]
fn a_failure_behind_a_stored_block_is_not_tried_again() {
    let mut world = world(&["notes=off"]);
    world.held = vec!["ask"];
    world.prompt("One.", When::Queue);
    world.settle();
    let (_, id, _) = &world.pending[0];
    let id = *id;
    let began = StreamEvent::Began {
        id: "msg_broken".into(),
        model: crate::model::MODEL.into(),
        usage: TokenUsage::default(),
    };
    world.tell(Input::Stream(id, began));
    let block = Block::text("Half of it.");
    world.tell(Input::Stream(id, StreamEvent::Block(block)));
    world.settle();
    let failure = Failure::new(FailureKind::Connection, true, "connection reset");
    world.tell(Input::Ended(
        id,
        Box::new(EffectOutcome::Answered(Err(failure))),
    ));
    world.settle();
    let next = String::from_utf8_lossy(&world.model.bodies[1]);
    assert!(next.contains("Half of it."), "continued, not asked anew");
}
