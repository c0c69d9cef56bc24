//! Order of effects: what the driver withholds until something else has ended.

use crate::model::Answer;
use crate::stores::InMemory;
use crate::tools::{calls, config};
use crate::world::World;
use dormouse_context::policy::Economic;
use dormouse_core::record::{Body, Record, StateChange};
use dormouse_core::units::Tokens;
use dormouse_drive::{Config, When};
use dormouse_testkit::conversation::prose;
use std::sync::Arc;

fn world() -> World {
    let mut world = World::new(Box::new(InMemory::new()), &["notes=off"], 3);
    world.take();
    world.settle();
    world
}

/// Names of the effects under way, in the order of their emission.
fn under_way(world: &World) -> Vec<&str> {
    world.pending.iter().map(|(name, ..)| &**name).collect()
}

/// A request that leaves before its record is stored would be unknown after a crash, and billed.
#[test]
fn a_request_leaves_when_its_record_is_stored() {
    let mut world = world();
    world.held = vec!["append", "ask"];
    world.prompt("One.", When::Queue);
    world.settle();
    let mut appends = 0;
    while !under_way(&world).iter().any(|name| name.starts_with("ask")) {
        assert_eq!(under_way(&world), ["append"], "nothing but one append");
        world.step(0);
        world.settle();
        appends += 1;
        assert!(appends < 10, "the request never leaves");
    }
    let stored = world.store.records();
    let is_request = |record: &Record| matches!(record.body, Body::Request(_));
    assert!(stored.iter().any(is_request));
}

/// A tool that writes beside one that reads the same file would make its result a matter of luck.
#[test]
fn a_writing_call_starts_when_the_reading_ones_have_ended() {
    let mut world = world();
    let round = vec![
        calls("call_1", "Read", 10),
        calls("call_2", "Grep", 10),
        calls("call_3", "Write", 10),
        calls("call_4", "Read", 10),
    ];
    world
        .model
        .script([Answer::calls(round), Answer::text("Done.")]);
    world.held = vec!["tool"];
    world.prompt("Go.", When::Queue);
    world.settle();
    assert_eq!(under_way(&world).len(), 2, "both reading calls: {world:?}");
    world.step(0);
    world.settle();
    assert_eq!(under_way(&world).len(), 1, "one reading call is left");
    world.step(0);
    world.settle();
    assert_eq!(under_way(&world).len(), 1, "the writing call alone");
    assert!(under_way(&world)[0].contains("call_3"));
    world.held.clear();
    world.settle();
    assert_eq!(world.runs.len(), 4);
}

/// Without the record a resumed session would begin with another aim and compact at another time.
#[test]
fn the_aim_of_the_economic_policy_is_recorded_when_it_changes() {
    let config = Config {
        policy: Some(Arc::new(Economic)),
        window: Some(Tokens(200_000)),
        ..config()
    };
    let store = Box::new(InMemory::new());
    let mut world = World::with(config, store, &["notes=off"], 3);
    world.take();
    for number in 0..12 {
        let answer = Answer::text(&prose(number, 12_000));
        world.model.script([answer]);
        world.prompt(&format!("Question {number}."), When::Queue);
        world.settle();
    }
    let records = world.store.records();
    let aims: Vec<u64> = records
        .iter()
        .filter_map(|record| match &record.body {
            Body::State(StateChange::Fact { name, value }) if name == "economy.aim" => {
                value.as_u64()
            }
            _ => None,
        })
        .collect();
    assert!(!aims.is_empty(), "no aim in {} records", records.len());
    assert!(
        aims.windows(2).all(|two| two[0] != two[1]),
        "recorded without a change: {aims:?}"
    );
}

/// A prompt that arrives while texts are saved moves the head of the log; a clearing planned for the
/// old head would be a rewrite of a view that no longer is.
#[test]
fn a_clearing_whose_head_has_moved_is_planned_anew() {
    let mut world = world();
    let rounds = (0..9).map(|number| {
        let id = format!("call_{number}");
        Answer::calls(vec![calls(&id, "Read", 7_000)])
    });
    let rounds: Vec<Answer> = rounds.chain([Answer::text("Done.")]).collect();
    world.model.script(rounds);
    world.prompt("Go.", When::Queue);
    world.settle();
    // The cache has lapsed, so that clearing costs nothing.
    world.now.0 += 2 * 60 * 60 * 1_000;
    world.held = vec!["save"];
    world.prompt("Back again.", When::Queue);
    world.settle();
    assert_eq!(under_way(&world), ["save"], "the texts of old results");
    world.prompt("And another thing.", When::Queue);
    world.held.push("ask");
    world.settle();
    world.end_one("save");
    world.settle();
    assert_eq!(under_way(&world), ["save"], "selected anew, not cleared");
}
