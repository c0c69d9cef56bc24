//! Cost of one round of the driver, by the length of the conversation.
//!
//! `cargo bench -p dormouse-drive` opens conversations of 1,000 and of 100,000 messages, gives one
//! prompt, and carries the request, its answer and their records through the driver. The body of a
//! request has to be copied and grows with the conversation; it is measured separately, and the
//! remainder has to be independent of the length.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark fails by panicking, reads the clock and prints its figures"
)]
#![expect(
    dead_code,
    reason = "shares the scripted model and the configuration of the tests"
)]

#[path = "../tests/it/model.rs"]
mod model;
#[path = "../tests/it/tools.rs"]
mod tools;

use dormouse_core::block::Block;
use dormouse_core::record::Message;
use dormouse_core::units::{Millis, Tokens};
use dormouse_drive::{Command, CommandId, Config, Driver, Effect, Input, LogStart};
use dormouse_drive::{EffectOutcome, NoHookPoints, Recorded, Work};
use dormouse_testkit::conversation::{Shape, session};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Fixed time of all inputs, so that runs are comparable; any value works.
const NOW: Millis = Millis(1_800_000_000_000);

/// Window larger than any real one, so that no layer acts.
const ROOM: Tokens = Tokens(100_000_000);

/// Rounds measured at each length: enough for a stable median, and odd, so that it is a sample.
const ROUNDS: u64 = 201;

/// Driver that has just resumed a log of this many messages, with room for all of them.
fn resumed(messages: usize) -> Driver {
    let shape = Shape {
        messages,
        result_chars: 20,
        text_chars: 20,
    };
    let records = session(shape).records().to_vec();
    let last = records.last().unwrap();
    let start = LogStart {
        head: Some((last.id.clone(), last.seq)),
        recorded: Recorded {
            tail: records,
            ..Recorded::default()
        },
        ..LogStart::default()
    };
    let mut config = Config {
        hooks: Arc::new(NoHookPoints),
        turn_facts: false,
        budget: None,
        recall: false,
        window: Some(ROOM),
        ..tools::config()
    };
    config.capabilities.window = ROOM;
    let settings = tools::settings(&["notes=off"]);
    Driver::open(config, settings, start, NOW).unwrap().0
}

/// Times of one round.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// Planning the request and joining its body.
    request: Duration,
    /// Lower bound of the above: copying the blocks of the conversation one by one.
    copy: Duration,
    /// Everything else: the message, the records, the answer.
    rest: Duration,
}

/// One user message and its answer.
fn round(driver: &mut Driver, model: &mut model::Model, number: u64) -> Times {
    let now = Millis(NOW.0 + number.cast_signed() * 1_000);
    let mut times = Times::default();
    let step = Input::Command(CommandId(2 * number + 1), Box::new(Command::Step));
    let say = Input::Command(CommandId(2 * number), Box::new(say(number)));
    let mut inputs = vec![step, say];
    loop {
        let start = Instant::now();
        let is_step = matches!(inputs.last(), Some(Input::Command(_, command)) if matches!(**command, Command::Step));
        if let Some(input) = inputs.pop() {
            driver.handle(now, input);
        }
        let effect = driver.poll();
        *(if is_step {
            &mut times.request
        } else {
            &mut times.rest
        }) += start.elapsed();
        match effect {
            Some(Effect::Do(id, Work::Append(_))) => {
                inputs.push(Input::Ended(id, Box::new(EffectOutcome::Appended(Ok(())))));
            }
            Some(Effect::Do(id, Work::Save(_))) => {
                inputs.push(Input::Ended(id, Box::new(EffectOutcome::Saved(Ok(())))));
            }
            Some(Effect::Do(id, Work::Ask(ask))) => {
                times.copy += copy(driver, ask.request.body.len());
                let end = EffectOutcome::Answered(model.ask(&ask).end());
                inputs.push(Input::Ended(id, Box::new(end)));
            }
            Some(Effect::Do(_, other)) => panic!("unexpected work: {other:?}"),
            None if inputs.is_empty() => return times,
            Some(_) | None => {}
        }
    }
}

fn copy(driver: &Driver, len: usize) -> Duration {
    let start = Instant::now();
    let mut body = Vec::with_capacity(len);
    for segment in driver.conversation().view().segments().iter() {
        body.extend_from_slice(segment.block.bytes());
    }
    let took = start.elapsed();
    drop(std::hint::black_box(body));
    took
}

fn say(number: u64) -> Command {
    Command::Say(Message::user(vec![Block::text(&format!(
        "Question {number}."
    ))]))
}

fn medians(messages: usize) -> Times {
    let mut driver = resumed(messages);
    let mut model = model::Model::default();
    let rounds = (1..=ROUNDS).map(|number| {
        model.bodies.clear();
        round(&mut driver, &mut model, number)
    });
    let rounds: Vec<Times> = rounds.collect();
    let median = |time: fn(&Times) -> Duration| {
        let mut times: Vec<Duration> = rounds.iter().map(time).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    Times {
        request: median(|times| times.request),
        copy: median(|times| times.copy),
        rest: median(|times| times.rest),
    }
}

fn main() {
    for messages in [1_000, 10_000, 100_000] {
        let Times {
            request,
            copy,
            rest,
        } = medians(messages);
        println!(
            "{messages:>7} messages: {rest:?} for the records and the answer; {request:?} for the request, \
             whose blocks alone take {copy:?} to copy"
        );
    }
}
