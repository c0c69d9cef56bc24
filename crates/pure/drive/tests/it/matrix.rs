//! Every effect of a long session as the point of a cancel or a kill.

use crate::check;
use crate::model::Answer;
use crate::script::{Given, SETTINGS, Turn, session};
use crate::stores::{InFiles, InMemory, Late, Store};
use crate::world::{Blow, World};
use dormouse_core::record::{Body, Record};
use dormouse_drive::Notice;

/// Turns played after the one with the fault; one shows whether the session is still usable.
const AFTERWARDS: usize = 1;

fn run(store: Box<dyn Store>, seed: u64, blow: Option<(usize, Blow)>) -> (World, Given) {
    let mut world = World::new(store, SETTINGS, seed);
    let mut given = Given::default();
    world.blow = blow;
    world.take();
    let mut left = usize::MAX;
    for turn in session() {
        turn.play(&mut world, &mut given);
        if blow.is_some() && world.blow.is_none() {
            left = left.min(AFTERWARDS + 1) - 1;
        }
        if left == 0 {
            break;
        }
    }
    let last = Turn::new("The last word.", vec![Answer::text("Yes.")]);
    last.play(&mut world, &mut given);
    (world, given)
}

fn count(records: &[Record], is: impl Fn(&Body) -> bool) -> usize {
    records.iter().filter(|record| is(&record.body)).count()
}

#[test]
fn every_layer_acts_in_the_session() {
    let (world, given) = run(Box::new(InMemory::new()), 1, None);
    check::everything(&world, &given);
    let records = world.store.records();
    let has = |is: fn(&Body) -> bool| count(&records, is);
    assert!(has(|body| matches!(body, Body::Request(_))) >= 40);
    assert!(has(|body| matches!(body, Body::Cleared(_))) >= 1);
    assert!(has(|body| matches!(body, Body::Notes(_))) >= 1);
    assert!(has(|body| matches!(body, Body::Boundary(_))) >= 2);
    assert!(has(|body| matches!(body, Body::Replacement(_))) >= 2);
    let told = |is: fn(&Notice) -> bool| world.notices.iter().any(is);
    assert!(told(|notice| matches!(notice, Notice::Retrying(_))));
    assert!(told(|notice| matches!(notice, Notice::Interrupted { .. })));
    assert!(told(|notice| matches!(notice, Notice::Continued { .. })));
    assert!(told(|notice| matches!(notice, Notice::TooLong)));
}

/// Injects the fault after every `step`-th effect, beginning with `first`.
fn strike(store: fn() -> Box<dyn Store>, blow: Blow, (first, step): (usize, usize)) {
    let (whole, _) = run(store(), 1, None);
    let mut broken = Vec::new();
    for at in (first..=whole.handed).step_by(step) {
        let seed = 1 + (at % 5) as u64;
        let result = std::panic::catch_unwind(|| {
            let (world, given) = run(store(), seed, Some((at, blow)));
            check::everything(&world, &given);
        });
        if result.is_err() {
            broken.push((at, seed));
        }
    }
    assert_eq!(
        broken,
        [],
        "effects and seeds at which {blow:?} breaks something"
    );
}

fn memory() -> Box<dyn Store> {
    Box::new(InMemory::new())
}

fn files() -> Box<dyn Store> {
    Box::new(InFiles::new())
}

fn late() -> Box<dyn Store> {
    Box::new(Late(InMemory::new()))
}

#[test]
fn a_late_store_takes_a_cancel_behind_every_second_effect() {
    strike(late, Blow::Cancel, (1, 2));
}

#[test]
fn a_late_store_takes_a_kill_behind_every_second_effect() {
    strike(late, Blow::Kill, (2, 2));
}

#[test]
fn a_cancel_behind_any_effect_leaves_a_sound_log() {
    strike(memory, Blow::Cancel, (1, 1));
}

#[test]
fn a_kill_behind_any_effect_leaves_a_sound_log() {
    strike(memory, Blow::Kill, (1, 1));
}

#[test]
fn a_kill_with_a_batch_written_behind_any_effect_leaves_a_sound_log() {
    strike(memory, Blow::KillWritten, (1, 1));
}

#[test]
fn a_file_takes_a_cancel_behind_every_third_effect() {
    strike(files, Blow::Cancel, (1, 3));
}

#[test]
fn a_file_takes_a_kill_behind_every_third_effect() {
    strike(files, Blow::Kill, (2, 3));
}

#[test]
fn a_file_takes_a_kill_with_a_batch_written_behind_every_third_effect() {
    strike(files, Blow::KillWritten, (3, 3));
}
