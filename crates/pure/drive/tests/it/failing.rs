//! Logs that cannot be written any more, from any append on.

use crate::script::{Given, SETTINGS, session};
use crate::stores::Failing;
use crate::world::{Pending, World};
use dormouse_drive::{Command, DriveError, Notice};

fn started(world: &World) -> usize {
    world.model.requests() + world.runs.values().sum::<usize>()
}

/// Plays the session; counts requests and tool runs at the time the failure became known.
fn run(world: &mut World, given: &mut Given) -> usize {
    world.take();
    let mut before = None;
    for turn in session() {
        turn.play(world, given);
        let stopped = world.driver.snapshot().stopped.is_some();
        if stopped && before.is_none() {
            before = Some(started(world));
        }
    }
    before.unwrap_or_default()
}

#[test]
fn nothing_is_sent_or_run_behind_a_failed_append() {
    let mut tried = 0;
    for left in 0.. {
        let mut world = World::new(Box::new(Failing::after(left)), SETTINGS, 1);
        let mut given = Given::default();
        let before = run(&mut world, &mut given);
        if world.driver.snapshot().stopped.is_none() {
            break;
        }
        tried += 1;
        assert_eq!(started(&world), before, "append {left}");
        let told = |notice: &&Notice| matches!(notice, Notice::Stopped { .. });
        assert_eq!(
            world.notices.iter().filter(told).count(),
            1,
            "append {left}"
        );
        for (id, prompt, _) in &given.0 {
            let replies = world.replies.get(id).map_or(0, Vec::len);
            assert_eq!(replies, 1, "append {left}: {prompt}");
        }
        let last = world.give(Command::SettleNotes);
        assert!(matches!(world.reply(last), Err(DriveError::Log(_))));
        assert_eq!(world.driver.wake_at(), None, "append {left}");
        let asks = |pending: &&(String, _, Pending)| matches!(pending.2, Pending::Ask(_));
        assert_eq!(world.pending.iter().filter(asks).count(), 0);
    }
    assert!(tried > 100, "{tried} appends were tried");
}
