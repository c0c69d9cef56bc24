//! Determinism: equal inputs give equal effects, and the order of outcomes does not change the
//! prompt.

use crate::check;
use crate::model::Answer;
use crate::script::{Given, SETTINGS, Turn, session};
use crate::stores::InMemory;
use crate::tools;
use crate::world::{START, World};
use dormouse_drive::{Driver, LogStart};
use proptest::prelude::*;
use serde_json::Value;

fn played(turns: &[Turn], settings: &[&str], seed: u64) -> World {
    let mut world = World::new(Box::new(InMemory::new()), settings, seed);
    world.records = true;
    world.take();
    for turn in turns {
        turn.play(&mut world, &mut Given::default());
    }
    world
}

/// Effects of a fresh driver that receives the inputs of another.
fn replayed(world: &World, settings: &[&str]) -> Vec<String> {
    let settings = tools::settings(settings);
    let opened = Driver::open(tools::config(), settings, LogStart::default(), START);
    let mut driver = opened.unwrap().0;
    let mut trace = Vec::new();
    let take = |driver: &mut Driver, trace: &mut Vec<String>| {
        while let Some(effect) = driver.poll() {
            trace.push(format!("{effect:?}"));
        }
    };
    take(&mut driver, &mut trace);
    for (now, input) in &world.inputs {
        driver.handle(*now, input.clone());
        take(&mut driver, &mut trace);
    }
    trace
}

/// Messages of a request, with the results of one round sorted by their calls: concurrent calls are
/// answered in the order in which they end. Cache markers follow the last block.
fn messages(body: &[u8]) -> Vec<Value> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let mut messages = body["messages"].as_array().unwrap().clone();
    for message in &mut messages {
        let blocks = message["content"].as_array_mut().unwrap();
        for block in &mut *blocks {
            block.as_object_mut().unwrap().remove("cache_control");
        }
        let result = |block: &Value| block["tool_use_id"].as_str().map(str::to_owned);
        let end = blocks
            .iter()
            .take_while(|block| result(block).is_some())
            .count();
        blocks[..end].sort_by_key(result);
    }
    messages
}

fn same_effects(turns: &[Turn], seed: u64) {
    let world = played(turns, SETTINGS, seed);
    let again = replayed(&world, SETTINGS);
    assert_eq!(world.trace.len(), again.len());
    for (at, (first, second)) in world.trace.iter().zip(&again).enumerate() {
        assert!(first == second, "effect {at}:\n{first}\n{second}");
    }
}

#[test]
fn a_replay_of_all_inputs_gives_the_same_effects() {
    same_effects(&session(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_order_of_outcomes_can_be_replayed(seed in any::<u64>(), from in 0_usize..10) {
        same_effects(&session()[from..from + 5], seed);
    }

    #[test]
    fn the_order_of_outcomes_does_not_change_the_prompts(seed in any::<u64>()) {
        // Notes and steering are inserted on arrival; everything else has a fixed place.
        let turns: Vec<Turn> = session()
            .into_iter()
            .filter(|turn| turn.meanwhile.is_empty())
            .collect();
        let settings: Vec<&str> = SETTINGS.iter().copied().chain(["notes=off"]).collect();
        let first = played(&turns, &settings, 1);
        let second = played(&turns, &settings, seed);
        prop_assert_eq!(first.model.bodies.len(), second.model.bodies.len());
        for (at, (one, two)) in first.model.bodies.iter().zip(&second.model.bodies).enumerate() {
            let [one, two] = [one, two].map(|body| messages(body));
            prop_assert!(one == two, "request {}:\n{:#?}\n{:#?}", at, one, two);
        }
        check::log_is_sound(&second);
    }
}

#[test]
fn a_different_answer_is_the_only_thing_that_makes_a_different_prompt() {
    let turns = |answer: &str| {
        vec![
            Turn::new("One.", vec![Answer::text(answer)]),
            Turn::new("Two.", vec![Answer::text("Yes.")]),
        ]
    };
    let bodies = |answer: &str, seed| played(&turns(answer), SETTINGS, seed).model.bodies;
    assert_eq!(bodies("First.", 1), bodies("First.", 2));
    assert_ne!(bodies("First.", 1), bodies("Other.", 1));
}
