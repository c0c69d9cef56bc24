//! Hooks in a turn: tables of answers and what becomes of a prompt, a call, a result, an end.

use crate::check;
use crate::model::Answer;
use crate::script::Given;
use crate::stores::InMemory;
use crate::tools::calls;
use crate::world::World;
use dormouse_core::record::{Body, StateChange};
use dormouse_drive::{DriveError, HookAnswer, HookVerdict, Input, Reply, When};
use serde_json::json;

fn world(hooks: &[(&'static str, HookAnswer)]) -> World {
    let mut world = World::new(Box::new(InMemory::new()), &["notes=off"], 1);
    world.hooks = hooks.iter().cloned().collect();
    world
}

fn blocked(why: &str) -> HookAnswer {
    HookAnswer {
        blocked: Some(why.to_owned()),
        ..HookAnswer::default()
    }
}

fn verdict(verdict: HookVerdict) -> HookAnswer {
    HookAnswer {
        verdict: Some(verdict),
        ..HookAnswer::default()
    }
}

fn last_body(world: &World) -> String {
    String::from_utf8_lossy(world.model.bodies.last().unwrap()).into_owned()
}

#[test]
fn a_turn_passes_its_hooks_in_order() {
    let mut world = world(&[]);
    let call = calls("call_1", "Bash", 10);
    world
        .model
        .script([Answer::calls(vec![call]), Answer::text("Done.")]);
    let turn = world.prompt("Go.", When::Queue);
    world.settle();
    assert!(matches!(world.reply(turn), Ok(Reply::TurnEnded { .. })));
    assert_eq!(world.hooked, ["prompt", "call", "result", "stop"]);
    check::everything(&world, &Given::default());
}

#[test]
fn answers_about_a_call_meet_the_rules() {
    let deny = || verdict(HookVerdict::Deny("No.".to_owned()));
    let ask = || verdict(HookVerdict::Ask("Sure?".to_owned()));
    let allow = || verdict(HookVerdict::Allow);
    let stop = || HookAnswer {
        stop: Some("Enough.".to_owned()),
        ..HookAnswer::default()
    };
    // Tool, answer, whether it runs, words in the next prompt. The person allows calls ending in 0;
    // the rules ask about Deploy and refuse Format.
    let table: [(&str, &str, HookAnswer, bool, &str); 10] = [
        ("call_0", "Bash", HookAnswer::default(), true, "Output of"),
        ("call_0", "Bash", deny(), false, "No."),
        ("call_0", "Bash", blocked("Blocked."), false, "Blocked."),
        ("call_0", "Bash", ask(), true, "Output of"),
        ("call_1", "Bash", ask(), false, "did not allow"),
        (
            "call_1",
            "Deploy",
            HookAnswer::default(),
            false,
            "did not allow",
        ),
        ("call_1", "Deploy", allow(), true, "Output of"),
        ("call_1", "Deploy", deny(), false, "No."),
        // A hook does not lift a rule that refuses.
        (
            "call_0",
            "Format",
            allow(),
            false,
            "Formatting is not allowed.",
        ),
        (
            "call_0",
            "Format",
            ask(),
            false,
            "Formatting is not allowed.",
        ),
    ];
    for (id, tool, answer, runs, words) in table {
        let name = format!("{id} {tool} {answer:?}");
        let mut world = world(&[("call", answer)]);
        world.model.script([
            Answer::calls(vec![calls(id, tool, 10)]),
            Answer::text("Done."),
        ]);
        world.prompt("Go.", When::Queue);
        world.settle();
        assert_eq!(!world.runs.is_empty(), runs, "{name}");
        assert!(last_body(&world).contains(words), "{name}");
        check::everything(&world, &Given::default());
    }
    let mut world = world(&[("call", stop())]);
    world
        .model
        .script([Answer::calls(vec![calls("call_0", "Bash", 10)])]);
    let turn = world.prompt("Go.", When::Queue);
    world.settle();
    let stopped = world.reply(turn);
    assert!(matches!(stopped, Err(DriveError::StoppedByHook(why)) if why == "Enough."));
    assert!(world.runs.is_empty());
}

#[test]
fn a_changed_input_runs_and_the_view_keeps_the_models_bytes() {
    let changed = HookAnswer {
        input: Some(json!({ "chars": 77 })),
        ..HookAnswer::default()
    };
    let output = HookAnswer {
        output: Some("[hidden]".to_owned()),
        context: vec!["Mind the gap.".to_owned()],
        ..HookAnswer::default()
    };
    let mut world = world(&[("call", changed), ("result", output)]);
    let call = calls("call_1", "Bash", 10);
    world
        .model
        .script([Answer::calls(vec![call]), Answer::text("Done.")]);
    world.prompt("Go.", When::Queue);
    world.settle();
    let body = last_body(&world);
    assert!(
        body.contains("\"chars\":10") && !body.contains("\"chars\":77"),
        "{body}"
    );
    assert!(
        body.contains("[hidden]") && body.contains("Mind the gap."),
        "{body}"
    );
    assert!(!body.contains("Output of call_1"), "{body}");
    let records = world.store.records();
    let fact = |wanted: &str, part: &str| {
        records.iter().any(|record| match &record.body {
            Body::State(StateChange::Fact { name, value }) => {
                name == wanted && value.to_string().contains(part)
            }
            _ => false,
        })
    };
    assert!(fact("input/call_1", "77") && fact("ran/call_1", "Output of call_1"));
}

#[test]
fn a_result_that_hooks_look_at_survives_a_kill() {
    let mut world = world(&[]);
    let call = calls("call_1", "Bash", 10);
    world
        .model
        .script([Answer::calls(vec![call]), Answer::text("Done.")]);
    world.held = vec!["hooks result"];
    world.prompt("Go.", When::Queue);
    world.settle();
    world.kill(false);
    world.held.clear();
    world.settle();
    assert_eq!(world.runs.values().sum::<usize>(), 1);
    world.give(dormouse_drive::Command::GoOn);
    world.settle();
    assert!(last_body(&world).contains("Output of call_1"));
    assert_eq!(world.runs.values().sum::<usize>(), 1);
    check::everything(&world, &Given::default());
}

#[test]
fn a_blocked_prompt_is_no_message_and_a_cancelled_one_is() {
    let mut world = world(&[("prompt", blocked("Not on Sundays."))]);
    let turn = world.prompt("Work!", When::Queue);
    world.settle();
    let refused = world.reply(turn);
    assert!(matches!(refused, Err(DriveError::StoppedByHook(why)) if why == "Not on Sundays."));
    assert!(world.model.bodies.is_empty());
    let said = |world: &World| {
        let records = world.store.records();
        let messages = records
            .iter()
            .filter(|record| matches!(record.body, Body::Message(_)));
        messages.count()
    };
    assert_eq!(said(&world), 0);
    world.hooks.clear();
    world.held = vec!["hooks prompt"];
    let turn = world.prompt("Work!", When::Queue);
    world.settle();
    world.tell(Input::Cancel);
    world.held.clear();
    world.settle();
    assert!(matches!(world.reply(turn), Err(DriveError::Cancelled)));
    assert_eq!(said(&world), 1);
}

#[test]
fn an_end_is_blocked_a_bounded_number_of_times() {
    let mut world = world(&[("stop", blocked("The tests fail."))]);
    world.model.script((0..9).map(|_| Answer::text("Done.")));
    let turn = world.prompt("Finish.", When::Queue);
    world.settle();
    let ended = world.reply(turn);
    assert!(
        matches!(ended, Ok(Reply::TurnEnded { requests: 9, .. })),
        "{ended:?}"
    );
    let stops = world.hooked.iter().filter(|moment| **moment == "stop");
    assert_eq!(stops.count(), 8);
    assert!(last_body(&world).contains("The tests fail."));
}
