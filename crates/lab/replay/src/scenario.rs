//! Generated sessions: of any length, and the same every time.
//!
//! A scenario imitates the measured ones: a user who asks for something every so many steps, and an
//! agent that reads, searches, runs and edits, with tool output of a given length. The texts name
//! files, commands, exit codes and numbers, so that fidelity can be measured on them too.
//!
//! # Not here
//! Running one: [`crate::run_policy`].

use crate::script::{Input, Script, Step};
use dormouse_context::offload::ToolOutput;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::record::Message;
use dormouse_core::units::{Millis, Tokens};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// Size and rhythm of a generated session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Number of requests to the model.
    pub steps: usize,
    /// Bytes of tool output in all.
    pub tool_bytes: usize,
    /// Steps between two messages of the user.
    pub steps_per_turn: usize,
    /// Bytes of system prompt and tools.
    pub prefix_bytes: usize,
    /// Seconds between two requests.
    pub pause: u64,
    /// Name of the model, for prices and window.
    pub model: String,
}

impl Default for Scenario {
    /// The session of the comparison with other agents: 150 steps, 3 MB of tool output.
    fn default() -> Self {
        Self {
            steps: 150,
            tool_bytes: 3_000_000,
            steps_per_turn: 12,
            prefix_bytes: 64_000,
            pause: 20,
            model: "claude-opus-4-6".to_owned(),
        }
    }
}

/// Words that tool output is made of: plain ASCII, so that bytes per token are those of code.
const WORDS: [&str; 16] = [
    "entry", "parser", "index", "buffer", "handle", "token", "stream", "cursor", "record",
    "offset", "branch", "module", "config", "result", "signal", "vector",
];

impl Scenario {
    /// The script of this scenario; the same every time.
    pub fn script(&self) -> Script {
        // Any seed but zero would do; zero stays zero in this generator.
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let calls = self
            .steps
            .saturating_sub(self.steps / self.steps_per_turn.max(1))
            .max(1);
        // Spread evenly, so that the total is met whatever the number of steps.
        let per_result = self.tool_bytes / calls;
        let mut steps: Vec<Step> = Vec::with_capacity(self.steps);
        let mut open: Option<Call> = None;
        for at in 0..self.steps {
            let mut inputs = Vec::new();
            if let Some(call) = open.take() {
                inputs.push(Input::Results(vec![call.result(&mut dice, per_result)]));
            }
            let begins = at % self.steps_per_turn == 0;
            // The last step ends its turn, or the session would stop with an open call.
            let ends = (at + 1) % self.steps_per_turn == 0 || at + 1 == self.steps;
            if begins {
                let words = request(at / self.steps_per_turn, &mut dice);
                inputs.push(Input::Message(Message::user(vec![Block::text(&words)])));
            }
            let answer = if ends {
                vec![Block::text(&closing(at, &mut dice))]
            } else {
                let call = Call::new(at, &mut dice);
                let blocks = vec![Block::text(&remark(at, &mut dice)), call.block()];
                open = Some(call);
                blocks
            };
            // In milliseconds, from an arbitrary moment in 2026.
            let pause = i64::try_from(self.pause).unwrap_or(0) * 1_000;
            steps.push(Step {
                at: Millis(1_790_000_000_000 + i64::try_from(at).unwrap_or(0) * pause),
                inputs,
                output: Tokens(120 + dice.roll(200)),
                answer,
            });
        }
        let system = Block::text(&prose(&mut dice, self.prefix_bytes));
        Script {
            steps,
            model: self.model.as_str().into(),
            prefix: Arc::new(RenderedPrefix::new(
                Vec::new(),
                vec![Part::block("system", &system)],
                Vec::new(),
            )),
            permille: 1_000,
            project: "/home/project".to_owned(),
        }
    }
}

/// A small generator (xorshift); quality does not matter, sameness does.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides.max(1)
    }

    fn word(&mut self) -> &'static str {
        let at = usize::try_from(self.roll(WORDS.len() as u64)).unwrap_or(0);
        WORDS[at]
    }

    fn path(&mut self) -> String {
        format!("src/{}/{}_{}.rs", self.word(), self.word(), self.roll(40))
    }
}

struct Call {
    id: CallId,
    tool: &'static str,
    input: Value,
    path: String,
}

impl Call {
    fn new(at: usize, dice: &mut Dice) -> Self {
        let path = dice.path();
        let (tool, input) = match dice.roll(4) {
            // Half of the calls read files, as in the sessions it imitates.
            0 | 1 => (
                "Read",
                json!({ "file_path": format!("/home/project/{path}") }),
            ),
            2 => {
                let command = format!("cargo test -p {} {}_{}", dice.word(), dice.word(), at);
                (
                    "Bash",
                    json!({ "command": command, "description": "run a test" }),
                )
            }
            _ => (
                "Grep",
                json!({ "pattern": dice.word(), "path": "/home/project/src" }),
            ),
        };
        Self {
            id: CallId::new(format!("toolu_{at:05}")),
            tool,
            input,
            path,
        }
    }

    fn block(&self) -> Block {
        let value = json!({
            "type": "tool_use", "id": self.id.as_str(), "name": self.tool, "input": self.input,
        });
        Block::from_value(&value).unwrap_or_else(|_| Block::text("a call"))
    }

    fn result(self, dice: &mut Dice, bytes: usize) -> (String, ToolOutput) {
        let mut text = String::with_capacity(bytes + 64);
        let mut line = 0;
        // One command in four fails, so that exit codes and errors are there to be remembered.
        let failed = self.tool == "Bash" && dice.roll(4) == 0;
        if failed {
            let code = 1 + dice.roll(3);
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "Exit code {code}\nerror: {} failed in {}",
                dice.word(),
                self.path
            );
        }
        while text.len() < bytes {
            line += 1;
            let _ = writeln!(
                text,
                "{line:>6}\t{} {} = {}({}, {});",
                dice.word(),
                dice.word(),
                dice.word(),
                dice.roll(9_999),
                dice.word()
            );
        }
        // Every word is ASCII, so any byte is a boundary.
        text.truncate(bytes.max(1));
        let mut output = ToolOutput::text(self.id, text);
        output.is_error = failed;
        (self.tool.to_owned(), output)
    }
}

fn request(turn: usize, dice: &mut Dice) -> String {
    format!(
        "Task {}: please make the {} in {} keep at most {} entries, and never touch {}. \
         The port must stay {}.",
        turn + 1,
        dice.word(),
        dice.path(),
        100 + dice.roll(9_000),
        dice.path(),
        2_000 + dice.roll(60_000)
    )
}

fn remark(at: usize, dice: &mut Dice) -> String {
    format!(
        "Step {at}: the {} depends on the {}, so I look at {} next.",
        dice.word(),
        dice.word(),
        dice.path()
    )
}

fn closing(at: usize, dice: &mut Dice) -> String {
    format!(
        "Done after step {at}. I decided to keep the {} in {} because the {} would otherwise be \
         read twice. {}",
        dice.word(),
        dice.path(),
        dice.word(),
        prose(dice, 600)
    )
}

fn prose(dice: &mut Dice, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(dice.word());
        text.push(if dice.roll(9) == 0 { '.' } else { ' ' });
    }
    text
}
