//! An answer as it goes on the wire: sealed, counted, and cut to its allowed length.
//!
//! # Not here
//! The choice of the answer ([`crate::simulator`]) and its bytes ([`crate::write`],
//! [`crate::sse`]).

use crate::answer::{AnswerBlock, SimAnswer, StopReason};
use crate::binding::{Bond, ThinkingSeal};
use crate::blocks::{Block, Place, RawObject};
use crate::digest::Digest;
use crate::prompt::ASSISTANT;
use crate::read::MessageJob;
use crate::simulator::Account;
use crate::tokens::Counter;
use serde_json::{Value, json};

/// The blocks of an answer and how it ended.
#[derive(Debug)]
pub(crate) struct Spoken {
    pub(crate) blocks: Vec<Value>,
    pub(crate) stop_reason: StopReason,
    pub(crate) stop_sequence: Option<String>,
    /// All tokens, thinking included.
    pub(crate) tokens: u64,
    pub(crate) thinking_tokens: u64,
}

/// Reason that ends an answer early.
enum End {
    Budget,
    Sequence(String),
}

/// Turns answer blocks into wire blocks, one after the other.
struct Speaker<'a> {
    job: &'a MessageJob,
    account: Digest,
    bond: Bond,
    left: u64,
    spoken: Spoken,
}

impl Spoken {
    pub(crate) fn new(job: &MessageJob, account: &Account, answer: SimAnswer) -> Self {
        // A summary that the provider adds on its own does not count against the answer's limit.
        let added = job
            .compacted
            .as_ref()
            .map_or(0, |compacted| compacted.tokens);
        let budget = job.max_tokens.min(job.room) + added;
        let mut speaker = Speaker {
            job,
            account: account.digest(),
            bond: job.bond,
            left: budget,
            spoken: Self {
                blocks: Vec::with_capacity(answer.content.len()),
                stop_reason: StopReason::EndTurn,
                stop_sequence: None,
                tokens: 0,
                thinking_tokens: 0,
            },
        };
        let calls = answer.content.iter().any(AnswerBlock::is_tool_call);
        let mut end = None;
        for block in answer.content {
            end = speaker.say(block);
            if end.is_some() {
                break;
            }
        }
        let mut spoken = speaker.spoken;
        spoken.stop_reason = match end {
            Some(End::Sequence(sequence)) => {
                spoken.stop_sequence = Some(sequence);
                StopReason::StopSequence
            }
            // The window ended it, not the request's limit: clients compact then instead of asking
            // for more.
            Some(End::Budget) if job.room < job.max_tokens => {
                StopReason::ModelContextWindowExceeded
            }
            Some(End::Budget) => StopReason::MaxTokens,
            None => answer.stop_reason.unwrap_or(if calls {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            }),
        };
        // A recorded answer keeps its figure, whatever its text would count.
        if let Some(tokens) = answer.output_tokens {
            spoken.tokens = tokens;
        }
        spoken
    }
}

impl Speaker<'_> {
    fn say(&mut self, block: AnswerBlock) -> Option<End> {
        match block {
            AnswerBlock::Text { text } => {
                // The sequence first: text behind it was never written and costs nothing.
                let (text, sequence) = self.until_stop_sequence(&text);
                let (text, cut) = fit(text, self.left, &self.job.counter);
                if !text.is_empty() {
                    self.push(json!({"type": "text", "text": text}));
                }
                if cut {
                    Some(End::Budget)
                } else {
                    sequence.map(End::Sequence)
                }
            }
            AnswerBlock::Thinking { thinking } => {
                let (thinking, cut) = fit(&thinking, self.left, &self.job.counter);
                if !thinking.is_empty() {
                    self.think(thinking);
                }
                cut.then_some(End::Budget)
            }
            AnswerBlock::Tool { tool, input, id } => {
                let id = id.unwrap_or_else(|| {
                    let number = self.spoken.blocks.len();
                    // From the prompt, not from the request's number: the same conversation gets
                    // the same ids, also beside other clients.
                    let prompt = self.job.scene.prompt;
                    let digest = prompt.then(b'#', Digest(number as u128));
                    format!("toolu_sim{:021x}", digest.0 >> 44)
                });
                self.push_whole(json!({"type": "tool_use", "id": id, "name": tool, "input": input}))
            }
            AnswerBlock::Recorded { block } => self.push_whole(block),
        }
    }

    fn until_stop_sequence<'t>(&self, text: &'t str) -> (&'t str, Option<String>) {
        let sequences = self.job.stop_sequences.iter();
        let first = sequences
            // An empty one would stop every answer before its first word.
            .filter(|sequence| !sequence.is_empty())
            .filter_map(|sequence| Some((text.find(sequence.as_str())?, sequence)))
            .min();
        match first {
            Some((at, sequence)) => (&text[..at], Some(sequence.clone())),
            None => (text, None),
        }
    }

    fn think(&mut self, thinking: &str) {
        let seal = ThinkingSeal {
            family: self.job.family.clone(),
            account: self.account,
            prefix: self.bond.prefix,
            previous: self.bond.previous,
            tokens: self.job.counter.plain_text(escaped_len(thinking)),
        };
        let shown = if self.job.thinking_omitted {
            ""
        } else {
            thinking
        };
        // The whole block counts as thinking, its frame included.
        let before = self.spoken.tokens;
        self.push(json!({
            "type": "thinking",
            "thinking": shown,
            "signature": seal.to_string(),
        }));
        self.bond.previous = seal.id();
        self.spoken.thinking_tokens += self.spoken.tokens - before;
    }

    /// A block that cannot be cut: it is said whole or not at all.
    fn push_whole(&mut self, block: Value) -> Option<End> {
        let (tokens, _) = measure(&block, &self.job.counter);
        if tokens > self.left {
            return Some(End::Budget);
        }
        self.push(block);
        None
    }

    fn push(&mut self, block: Value) {
        let (tokens, digest) = measure(&block, &self.job.counter);
        // Thinking is bound by its own chain; in the prefix it could never be left out.
        if block["type"] != "thinking" {
            self.bond.follow(ASSISTANT, digest);
        }
        self.left = self.left.saturating_sub(tokens);
        self.spoken.tokens += tokens;
        self.spoken.blocks.push(block);
    }
}

/// Tokens and digest that the block will have when the client sends it back.
pub(crate) fn measure(block: &Value, counter: &Counter) -> (u64, Digest) {
    let text = block.to_string();
    let place = Place::Block {
        message: 0,
        block: 0,
    };
    serde_json::from_str::<RawObject<'_>>(&text)
        .ok()
        .and_then(|members| Block::read(members, place, counter).ok())
        .map_or_else(
            || (counter.plain_text(text.len()), Digest::of(text.as_bytes())),
            |block| (block.tokens, block.digest),
        )
}

fn escaped_len(text: &str) -> usize {
    serde_json::to_string(text).map_or(text.len(), |quoted| quoted.len() - 2)
}

/// As much of a text as fits, and whether something was cut off.
fn fit<'t>(text: &'t str, tokens: u64, counter: &Counter) -> (&'t str, bool) {
    let mut end = counter.text_bytes_in(tokens).min(text.len());
    loop {
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // Escapes make a text longer than its bytes; give way until it fits.
        let over = escaped_len(&text[..end]).saturating_sub(counter.text_bytes_in(tokens));
        if over == 0 || end == 0 {
            return (&text[..end], end < text.len());
        }
        end = end.saturating_sub(over);
    }
}
