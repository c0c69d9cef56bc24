//! A session without its policy: messages, times and answers.
//!
//! # Model
//! A [`Script`] is a list of steps. Each has the user's side before a request, and the answer that
//! came. A recorded client's own context management (compactions, summaries) is left out: policies
//! are compared on exactly that. Content the client sent and did not log is padding, in the place
//! where it appeared.
//!
//! # Not here
//! Sending anything: see [`crate::PolicyRun`].

use crate::fit::Fit;
use crate::recording::{Recording, figures, leaves};
use crate::run::{filler, unlogged};
use dormouse_context::offload::ToolOutput;
use dormouse_context::path::{Leaf, path};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::{CallId, MessageId, RecordId};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, Message, MessageOrigin, Record, Role};
use dormouse_core::units::{Millis, Tokens};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// One item of the user's side.
#[derive(Clone, Debug)]
pub enum Input {
    /// Words, or anything else that is no result.
    Message(Message),
    /// Results of tools, with the tools' names.
    Results(Vec<(String, ToolOutput)>),
}

/// One request and its answer.
#[derive(Clone, Debug)]
pub struct Step {
    /// Time at which it is sent.
    pub at: Millis,
    /// New items on the user's side.
    pub inputs: Vec<Input>,
    /// The model's answer, as recorded.
    pub answer: Vec<Block>,
    /// Tokens of the answer.
    pub output: Tokens,
}

impl Step {
    /// True if the answer calls no tool, so that the turn is over.
    pub fn ends_turn(&self) -> bool {
        !self
            .answer
            .iter()
            .any(|block| block.kind() == BlockKind::ToolUse)
    }
}

/// A session without its policy.
#[derive(Clone, Debug)]
pub struct Script {
    /// Requests with their answers, oldest first.
    pub steps: Vec<Step>,
    /// The model most requests went to.
    pub model: Arc<str>,
    /// System prompt and tools.
    pub prefix: Arc<RenderedPrefix>,
    /// Thousandths by which the provider's counts differ from estimates.
    pub permille: u32,
    /// Folder the session works in; empty if the recording does not name it.
    pub project: String,
}

impl Script {
    /// The script of a recorded session.
    pub fn of(records: &[Record], recording: &Recording, models: &Arc<ModelTable>) -> Self {
        let fit = Fit::new(&recording.turns, models);
        let model = most_used(recording);
        let ratio = models.lookup(&model).info.bytes_per_token.text;
        let padding = unlogged(recording, models, &fit);
        let mut steps = steps(records);
        let turns: HashMap<&MessageId, usize> = (0..)
            .zip(&recording.turns)
            .map(|(at, turn)| (&turn.message, at))
            .collect();
        for (id, step) in &mut steps {
            let Some(at) = turns.get(id).copied() else {
                continue;
            };
            // Padding that appeared with a compaction of the client is a consequence of its policy.
            let tokens = padding[at];
            if tokens > Tokens::ZERO && !recording.turns[at].compacted {
                let text = filler(tokens, ratio, u64::from(fit.permille), at + 1);
                step.inputs.push(Input::Message(Message {
                    origin: MessageOrigin::Meta,
                    ..Message::user(vec![Block::text(&text)])
                }));
            }
        }
        let system = Block::text(&filler(fit.prefix, ratio, u64::from(fit.permille), 0));
        Self {
            steps: steps.into_iter().map(|(_, step)| step).collect(),
            model,
            prefix: Arc::new(RenderedPrefix::new(
                Vec::new(),
                vec![Part::block("system", &system)],
                Vec::new(),
            )),
            permille: fit.permille,
            project: String::new(),
        }
    }

    /// Bytes of all tool output.
    pub fn tool_bytes(&self) -> u64 {
        let results = self.steps.iter().flat_map(|step| &step.inputs);
        results
            .map(|input| match input {
                Input::Message(_) => 0,
                Input::Results(results) => results
                    .iter()
                    .map(|(_, output)| output.text.len() as u64)
                    .sum(),
            })
            .sum()
    }
}

fn most_used(recording: &Recording) -> Arc<str> {
    let mut uses: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for turn in &recording.turns {
        *uses.entry(&turn.model).or_default() += 1;
    }
    // One model for the whole script: a switch would blur the comparison of policies.
    let most = uses.into_iter().max_by_key(|(_, uses)| *uses);
    most.map_or_else(|| "".into(), |(model, _)| Arc::clone(model))
}

/// Puts the messages of the main conversation into steps.
fn steps(records: &[Record]) -> Vec<(MessageId, Step)> {
    let figures = figures(records);
    let mut builder = Builder::default();
    let mut seen: HashSet<&RecordId> = HashSet::new();
    for leaf in leaves(records) {
        for record in path(records, Leaf::Record(leaf)) {
            let Body::Message(message) = &record.body else {
                continue;
            };
            // A summary belongs to the client's policy, not to the session.
            let counts = message.reaches_the_model() && message.origin != MessageOrigin::Summary;
            if !counts || !seen.insert(&record.id) {
                continue;
            }
            match (message.role, message.id.as_ref(), record.at) {
                (Role::Assistant, Some(id), Some(at)) if figures.contains_key(id) => {
                    let output = figures.get(id).map(|usage| usage.output);
                    builder.answer(id, at, output.unwrap_or_default(), &message.content);
                }
                // Without usage the answer is the client's own, such as an error message.
                (Role::Assistant, ..) => {}
                _ => builder.said(message),
            }
        }
    }
    builder.steps
}

#[derive(Default)]
struct Builder {
    steps: Vec<(MessageId, Step)>,
    places: HashMap<MessageId, usize>,
    waiting: Vec<Input>,
    tools: HashMap<CallId, String>,
}

impl Builder {
    fn answer(&mut self, id: &MessageId, at: Millis, output: Tokens, blocks: &[Block]) {
        for block in blocks {
            if let Some((call, tool)) = block.call().zip(block.tool()) {
                self.tools.insert(call.clone(), tool.to_owned());
            }
        }
        // Later lines of the same response carry its further blocks.
        if let Some(at) = self.places.get(id) {
            self.steps[*at].1.answer.extend_from_slice(blocks);
            return;
        }
        let mut inputs = std::mem::take(&mut self.waiting);
        if inputs.is_empty() {
            // The client sent something it did not log; the API refuses a request without a user
            // message.
            inputs.push(Input::Message(Message {
                origin: MessageOrigin::Meta,
                ..Message::user(vec![Block::text("[not logged]")])
            }));
        }
        self.places.insert(id.clone(), self.steps.len());
        self.steps.push((
            id.clone(),
            Step {
                at,
                inputs,
                answer: blocks.to_vec(),
                output,
            },
        ));
    }

    fn said(&mut self, message: &Message) {
        let (results, words): (Vec<Block>, Vec<Block>) = message
            .content
            .iter()
            .cloned()
            .partition(|block| block.kind() == BlockKind::ToolResult);
        if !results.is_empty() {
            let results = results.into_iter().filter_map(|block| {
                let call = block.call()?.clone();
                // A result names only its call; limits and restored files depend on the tool.
                let tool = self.tools.get(&call).cloned().unwrap_or_default();
                Some((tool, ToolOutput::of_block(call, block)))
            });
            self.waiting.push(Input::Results(results.collect()));
        }
        if !words.is_empty() {
            self.waiting.push(Input::Message(Message {
                content: words,
                ..message.clone()
            }));
        }
    }
}
