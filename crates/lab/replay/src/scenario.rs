//! Generated sessions: of any length, and the same every time.
//!
//! A scenario imitates the measured ones: a user who asks for something every so many steps, and an
//! agent that reads, searches, runs and edits, with tool output of a given length. The texts name
//! files, commands, exit codes and numbers, so that fidelity can be measured on them too.
//!
//! # Not here
//! Running one: [`crate::run_policy`].

use crate::script::{Input, Script, Step};
use crate::texts::{Call, Dice, closing, prose, remark, request};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::record::Message;
use dormouse_core::units::{Millis, Tokens};
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

impl Scenario {
    /// The script of this scenario; the same every time.
    pub fn script(&self) -> Script {
        // Any seed but zero would do; zero stays zero in this generator.
        let mut dice = Dice::new(0x9e37_79b9_7f4a_7c15);
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
