//! Session in which every layer acts.

use crate::model::Answer;
use crate::tools::calls;
use crate::world::World;
use dormouse_ask::StopReason;
use dormouse_core::block::Block;
use dormouse_drive::{CommandId, When};
use dormouse_testkit::conversation::prose;

/// Two hours in milliseconds: longer than any cache entry lives, so that idle clearing acts.
const IDLE: u64 = 2 * 60 * 60 * 1_000;

/// Settings under which notes, clearing and offloading act early.
pub(crate) const SETTINGS: &[&str] = &[
    "microcompact.idle.keep=1",
    "notes.start=4000",
    "notes.growth=3000",
    "offload.limit.Bash=4000",
    "offload.turn_limit=12000",
];

/// One turn of the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) prompt: String,
    pub(crate) answers: Vec<Answer>,
    /// Time that passes before it.
    pub(crate) pause: u64,
    /// Prompts given while it runs.
    pub(crate) meanwhile: Vec<(&'static str, When)>,
}

/// Prompts that were given, with their commands and the number of kills before them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(pub(crate) Vec<(CommandId, String, usize)>);

impl Turn {
    pub(crate) fn new(prompt: &str, answers: Vec<Answer>) -> Self {
        Self {
            prompt: prompt.to_owned(),
            answers,
            ..Self::default()
        }
    }

    /// Plays the turn until nothing is pending.
    pub(crate) fn play(&self, world: &mut World, given: &mut Given) {
        world.model.script(self.answers.clone());
        world.now = world.now.after(self.pause);
        let mut give = |world: &mut World, text: &str, when| {
            let kills = world.kills;
            let id = world.prompt(text, when);
            given.0.push((id, text.to_owned(), kills));
        };
        give(world, &self.prompt, When::Queue);
        for (text, when) in &self.meanwhile {
            give(world, text, *when);
        }
        world.settle();
    }
}

/// Round of calls: tool and result length in characters for each.
fn round(turn: usize, number: usize, tools: &[(&str, usize)]) -> Answer {
    let mut blocks = vec![Block::text(&format!("Round {number} of turn {turn}."))];
    for (at, (tool, chars)) in tools.iter().enumerate() {
        blocks.push(calls(&format!("call_{turn}_{number}_{at}"), tool, *chars));
    }
    Answer::calls(blocks)
}

/// Turns with about forty requests in total.
pub(crate) fn session() -> Vec<Turn> {
    let read = ("Read", 1_500);
    let grep = ("Grep", 900);
    let done = || Answer::text("That is done.");
    let mut turns = vec![
        Turn::new("Hello.", vec![Answer::text("Hello to you.")]),
        Turn::new(
            "Read two files, then remember.",
            vec![round(1, 0, &[read, read]), done()],
        ),
        Turn::new(
            "Change something.",
            vec![
                round(2, 0, &[("Bash", 200), ("Bash", 200), read]),
                round(2, 1, &[read, ("Bash", 100), grep]).whole(),
                done(),
            ],
        ),
        Turn::new(
            "Make a long listing.",
            vec![
                round(3, 0, &[("Bash", 6_000), grep]),
                round(3, 1, &[("Grep", 7_000), ("Grep", 7_500)]),
                done().whole(),
            ],
        ),
        Turn::new(
            "The provider is busy.",
            vec![Answer::Overloaded, round(4, 0, &[grep]), done()],
        ),
        Turn::new(
            "The stream breaks.",
            vec![
                Answer::Breaks(vec![Block::text("First part.")], "and half of the sec"),
                Answer::text("The rest."),
            ],
        ),
        Turn::new(
            "The stream breaks behind a call.",
            vec![
                Answer::Breaks(vec![calls("call_6_0_0", "Grep", 300)], "then I wou"),
                done(),
            ],
        ),
        Turn::new(
            "A long answer.",
            vec![
                Answer::Streamed(vec![Block::text(&prose(7, 2_000))], StopReason::MaxTokens),
                Answer::text("The end of it."),
            ],
        ),
        Turn::new(
            "Deploy it.",
            vec![
                round(8, 0, &[("Deploy", 100), grep, ("Format", 10)]),
                round(8, 1, &[("Bash", 50)]),
                done(),
            ],
        ),
        Turn {
            pause: IDLE,
            ..Turn::new("Back again.", vec![round(9, 0, &[read, grep]), done()])
        },
        Turn {
            meanwhile: vec![("Also this.", When::Steer), ("And then that.", When::Queue)],
            ..Turn::new(
                "Work on, and remember.",
                vec![round(10, 0, &[grep, read]), round(10, 1, &[grep]), done()],
            )
        },
    ];
    for turn in 11..14 {
        let rounds = (0..4).map(|number| round(turn, number, &[("Grep", 5_200), ("Read", 3_000)]));
        let answers = rounds.chain([done()]).collect();
        turns.push(Turn::new(&format!("Search a lot, {turn}."), answers));
    }
    turns.push(Turn::new("Too long.", vec![Answer::TooLong, done()]));
    turns.push(Turn::new("Goodbye.", vec![Answer::text("Goodbye.")]));
    turns
}
