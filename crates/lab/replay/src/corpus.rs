//! Ten thousand generated sessions of seven shapes, the same every time.
//!
//! # Model
//! A session is a function of its number. The number gives the shape, the half and the seed. The
//! halves have seeds of their own and the same distributions: a policy is tuned on the *seen* half,
//! and the *unseen* half tells what the tuning is worth elsewhere. Lengths are drawn evenly in the
//! logarithm, as those of real sessions are: many short, few long.
//!
//! # Not here
//! One session of given length and rhythm: [`crate::Scenario`]. Running any: [`crate::run_policy`].

use crate::script::{Input, Script, Step};
use crate::texts::{Call, Dice, closing, prose, remark, request};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::record::Message;
use dormouse_core::units::{Millis, Tokens};
use std::sync::Arc;

/// Number of sessions; any number below it names one. More than any study plays at once, so that each
/// candidate of a policy can be judged by numbers that were never looked at.
pub const SESSIONS: u32 = 10_000;

/// Model of the sessions, unless another is asked for: reads for a tenth of the price of input, and
/// does not bind thinking.
pub const MODEL: &str = "claude-opus-4-6";

/// Course of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Two to fifteen requests, many of them with heavy results.
    Short,
    /// Sixty to two hundred requests.
    Long,
    /// Runs of large results between runs of small ones.
    Bursty,
    /// Results far beyond every limit, whole pages of files, and several of them in one round.
    Huge,
    /// Several calls in most answers.
    Parallel,
    /// Pauses between turns that outlive the cache.
    Idle,
    /// Turns that the user ends while calls are open.
    Interrupted,
}

impl Shape {
    /// All shapes, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Short,
        Self::Long,
        Self::Bursty,
        Self::Huge,
        Self::Parallel,
        Self::Idle,
        Self::Interrupted,
    ];

    /// Name in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Long => "long",
            Self::Bursty => "bursty",
            Self::Huge => "huge",
            Self::Parallel => "parallel",
            Self::Idle => "idle",
            Self::Interrupted => "interrupted",
        }
    }

    /// Fewest and most requests.
    const fn requests(self) -> (u64, u64) {
        match self {
            Self::Short => (2, 15),
            Self::Long => (60, 200),
            Self::Bursty => (20, 80),
            Self::Huge => (5, 30),
            Self::Parallel => (8, 50),
            Self::Idle | Self::Interrupted => (10, 60),
        }
    }
}

/// Part of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Half {
    /// Sessions that a policy may be tuned on.
    Seen,
    /// Sessions that only report.
    Unseen,
}

impl Half {
    /// Name in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Unseen => "unseen",
        }
    }
}

/// A generated session with the numbers that make it again.
#[derive(Clone, Debug)]
pub struct Session {
    /// Seed of the generator; the same number gives the same session.
    pub number: u32,
    /// Course that the session takes: short, long, bursty and so on.
    pub shape: Shape,
    /// The half it belongs to.
    pub half: Half,
    /// Window of its model.
    pub window: Tokens,
    /// Its messages, results and times.
    pub script: Script,
}

/// The session of this number, for a model.
pub fn session(number: u32, model: &str) -> Session {
    let shapes = u32::try_from(Shape::ALL.len()).unwrap_or(1);
    let shape = Shape::ALL[usize::try_from(number % shapes).unwrap_or(0)];
    let half = if (number / shapes).is_multiple_of(2) {
        Half::Seen
    } else {
        Half::Unseen
    };
    // The golden ratio spreads neighbouring numbers; the halves get unrelated streams.
    let stream: u64 = match half {
        Half::Seen => 0x5eed_0001,
        Half::Unseen => 0x0dd5_eed5_0002,
    };
    let seed = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream;
    let mut dice = Dice::new(seed);
    // The first numbers of this generator still show the seed's pattern.
    for _ in 0..16 {
        dice.roll(2);
    }
    // One window in five is a million tokens wide, as the flagships' are.
    let window = if dice.roll(5) == 0 {
        Tokens(1_000_000)
    } else {
        Tokens(200_000)
    };
    let script = Course::new(shape, &mut dice).script(model, &mut dice);
    Session {
        number,
        shape,
        half,
        window,
        script,
    }
}

/// Drawn figures of one session.
struct Course {
    shape: Shape,
    requests: u64,
    /// Requests of a turn, at most.
    turn: u64,
    /// Shortest and longest ordinary result, in bytes.
    results: (u64, u64),
    /// Bytes of system prompt and tools.
    prefix: u64,
    /// Seconds between two requests, at most.
    pause: u64,
}

impl Course {
    fn new(shape: Shape, dice: &mut Dice) -> Self {
        let (fewest, most) = shape.requests();
        // Most results are short; how long the longest are is a matter of the project. Short sessions
        // are those in which heavy results count: nothing is left to pay for forgetting them.
        let results = match shape {
            Shape::Short => (1_000, dice.between(20_000, 100_000)),
            _ => (120, dice.between(4_000, 60_000)),
        };
        Self {
            shape,
            requests: dice.between(fewest, most),
            turn: dice.between(2, 25),
            results,
            prefix: dice.between(12_000, 100_000),
            pause: dice.between(8, 90),
        }
    }

    fn script(&self, model: &str, dice: &mut Dice) -> Script {
        let mut steps: Vec<Step> = Vec::new();
        let mut open: Vec<Call> = Vec::new();
        // Requests left in the present turn, and its number.
        let (mut left, mut turn) = (0, 0);
        // An arbitrary moment in 2026, in milliseconds.
        let mut now = 1_790_000_000_000_i64;
        for at in 0..usize::try_from(self.requests).unwrap_or(0) {
            let mut inputs = Vec::new();
            let interrupted = self.shape == Shape::Interrupted && left > 0 && dice.roll(8) == 0;
            if interrupted {
                // The calls stay without a result; the engine has to answer them.
                open.clear();
                left = 0;
            }
            let burst = at / 8 % 3 == 1;
            let results: Vec<_> = open
                .drain(..)
                .map(|call| {
                    let bytes = self.result_bytes(&call, burst, dice);
                    call.result(dice, bytes)
                })
                .collect();
            if !results.is_empty() {
                inputs.push(Input::Results(results));
            }
            let last = at + 1 == usize::try_from(self.requests).unwrap_or(0);
            let mut pause = 1 + dice.roll(self.pause);
            if left == 0 {
                inputs.push(Input::Message(Message::user(vec![Block::text(&words(
                    turn, dice,
                ))])));
                left = 1 + dice.roll(self.turn);
                turn += 1;
                // People read and think before they write.
                pause += dice.roll(120);
                if self.shape == Shape::Idle && dice.roll(2) == 0 {
                    pause += dice.between(300, 6_000);
                }
            }
            left -= 1;
            let answer = if left == 0 || last {
                vec![Block::text(&closing(at, dice))]
            } else {
                self.calls(at, &mut open, dice)
            };
            now += i64::try_from(pause).unwrap_or(0) * 1_000;
            steps.push(Step {
                at: Millis(now),
                inputs,
                output: Tokens(dice.between(60, 900)),
                answer,
            });
        }
        let bytes = usize::try_from(self.prefix).unwrap_or(0);
        let system = Block::text(&prose(dice, bytes));
        Script {
            steps,
            model: model.into(),
            prefix: Arc::new(RenderedPrefix::new(
                Vec::new(),
                vec![Part::block("system", &system)],
                Vec::new(),
            )),
            permille: 1_000,
            project: "/home/project".to_owned(),
        }
    }

    /// An answer with one or several calls, which it adds to the open ones.
    fn calls(&self, at: usize, open: &mut Vec<Call>, dice: &mut Dice) -> Vec<Block> {
        let several = if self.shape == Shape::Parallel {
            2 + dice.roll(7)
        } else if self.shape == Shape::Huge && dice.roll(3) == 0 {
            // Rounds that no window of 200,000 tokens holds are among these.
            2 + dice.roll(8)
        } else {
            // One answer in six calls two tools at once, in any session.
            1 + u64::from(dice.roll(6) == 0)
        };
        let mut blocks = vec![Block::text(&remark(at, dice))];
        for beside in 0..several {
            // Ids must differ within the session; no answer has a hundred calls.
            let id = at * 100 + usize::try_from(beside).unwrap_or(0);
            let call = Call::new(id, dice);
            blocks.push(call.block());
            open.push(call);
        }
        blocks
    }

    fn result_bytes(&self, call: &Call, burst: bool, dice: &mut Dice) -> usize {
        let (shortest, longest) = self.results;
        let bytes = match self.shape {
            // Tools that read files page them: a page has 25,000 tokens at most.
            Shape::Huge if dice.roll(3) == 0 && call.reads() => dice.between(40_000, 100_000),
            Shape::Huge if dice.roll(3) == 0 => dice.between(60_000, 1_200_000),
            Shape::Bursty if burst => dice.between(12_000, 48_000),
            // Parallel calls share the longest length, or a round would be all of the window.
            Shape::Parallel => dice.between(shortest, longest / 2),
            _ => dice.between(shortest, longest),
        };
        usize::try_from(bytes).unwrap_or(0)
    }
}

/// A message of the user; one in twelve has a paste in it.
fn words(turn: usize, dice: &mut Dice) -> String {
    let mut words = request(turn, dice);
    if dice.roll(12) == 0 {
        let bytes = usize::try_from(dice.between(2_000, 40_000)).unwrap_or(0);
        words.push_str("\n\n");
        words.push_str(&prose(dice, bytes));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_number_gives_the_same_session_every_time() {
        for number in [0, 3, 500, 999] {
            let [a, b] = [0, 1].map(|_| session(number, MODEL));
            assert_eq!(a.script.steps.len(), b.script.steps.len());
            assert_eq!(a.script.tool_bytes(), b.script.tool_bytes());
            assert_eq!((a.shape, a.half, a.window), (b.shape, b.half, b.window));
        }
    }

    #[test]
    fn halves_and_shapes_are_even_and_lengths_are_as_told() {
        let mut counts: BTreeMap<(Half, Shape), u32> = BTreeMap::new();
        for number in 0..140 {
            let session = session(number, MODEL);
            *counts.entry((session.half, session.shape)).or_default() += 1;
            let (fewest, most) = session.shape.requests();
            let requests = session.script.steps.len() as u64;
            assert!((fewest..=most).contains(&requests), "{number}: {requests}");
            assert!(session.script.steps.last().is_some_and(Step::ends_turn));
        }
        assert_eq!(counts.len(), 14);
        assert!(counts.values().all(|count| *count == 10));
    }

    #[test]
    fn interrupted_sessions_leave_calls_open_and_idle_ones_outlive_the_cache() {
        let of = |shape: Shape| {
            let at = Shape::ALL.iter().position(|one| *one == shape).unwrap();
            let numbers = (0..10).map(move |turn| u32::try_from(at + turn * 7).unwrap());
            numbers.map(|number| session(number, MODEL).script)
        };
        let opened = |script: &Script| {
            let calls = script.steps.iter().flat_map(|step| &step.answer);
            calls.filter(|block| block.call().is_some()).count()
        };
        let answered = |script: &Script| {
            let inputs = script.steps.iter().flat_map(|step| &step.inputs);
            inputs
                .map(|input| match input {
                    Input::Results(results) => results.len(),
                    Input::Message(_) => 0,
                })
                .sum::<usize>()
        };
        assert!(of(Shape::Interrupted).any(|script| opened(&script) > answered(&script)));
        assert!(of(Shape::Long).all(|script| opened(&script) == answered(&script)));
        let paused = |script: &Script| {
            let pairs = script.steps.windows(2);
            pairs
                .filter(|pair| pair[1].at.since(pair[0].at) > 300_000)
                .count()
        };
        assert!(of(Shape::Idle).map(|script| paused(&script)).sum::<usize>() > 5);
    }
}
