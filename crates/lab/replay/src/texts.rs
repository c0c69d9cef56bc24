//! Texts of generated sessions: requests, remarks, calls and their output.
//!
//! They name files, commands, exit codes and numbers, so that fidelity can be measured on them too.
//!
//! # Not here
//! The course of a session: [`crate::Scenario`], [`crate::corpus`].

use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Words that tool output is made of: plain ASCII, so that bytes per token are those of code.
const WORDS: [&str; 16] = [
    "entry", "parser", "index", "buffer", "handle", "token", "stream", "cursor", "record",
    "offset", "branch", "module", "config", "result", "signal", "vector",
];

/// A small generator (xorshift); quality does not matter, sameness does.
pub(crate) struct Dice(u64);

impl Dice {
    /// A generator that starts from this seed. Zero stays zero in it and is replaced.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(if seed == 0 { 1 } else { seed })
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides.max(1)
    }

    /// A number between two bounds, drawn evenly in the logarithm.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "lengths of generated texts, far below the limits"
    )]
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        // A million steps: finer than any length that is drawn.
        let share = self.roll(1_000_001) as f64 / 1e6;
        let (least, most) = (least.max(1) as f64, most.max(1) as f64);
        (least * (most / least).powf(share)).round() as u64
    }

    pub(crate) fn word(&mut self) -> &'static str {
        let at = usize::try_from(self.roll(WORDS.len() as u64)).unwrap_or(0);
        WORDS[at]
    }

    pub(crate) fn path(&mut self) -> String {
        format!("src/{}/{}_{}.rs", self.word(), self.word(), self.roll(40))
    }
}

pub(crate) struct Call {
    id: CallId,
    tool: &'static str,
    input: Value,
    path: String,
}

impl Call {
    pub(crate) fn new(at: usize, dice: &mut Dice) -> Self {
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

    /// True if it reads a file.
    pub(crate) fn reads(&self) -> bool {
        self.tool == "Read"
    }

    pub(crate) fn block(&self) -> Block {
        let value = json!({
            "type": "tool_use", "id": self.id.as_str(), "name": self.tool, "input": self.input,
        });
        Block::from_value(&value).unwrap_or_else(|_| Block::text("a call"))
    }

    pub(crate) fn result(self, dice: &mut Dice, bytes: usize) -> (String, ToolOutput) {
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

pub(crate) fn request(turn: usize, dice: &mut Dice) -> String {
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

pub(crate) fn remark(at: usize, dice: &mut Dice) -> String {
    format!(
        "Step {at}: the {} depends on the {}, so I look at {} next.",
        dice.word(),
        dice.word(),
        dice.path()
    )
}

pub(crate) fn closing(at: usize, dice: &mut Dice) -> String {
    format!(
        "Done after step {at}. I decided to keep the {} in {} because the {} would otherwise be \
         read twice. {}",
        dice.word(),
        dice.path(),
        dice.word(),
        prose(dice, 600)
    )
}

pub(crate) fn prose(dice: &mut Dice, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(dice.word());
        text.push(if dice.roll(9) == 0 { '.' } else { ' ' });
    }
    text
}
