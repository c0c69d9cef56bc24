//! Answers of a model: events while it writes, and the whole response at the end.
//!
//! # Model
//! A stream of [`Event`]s ends in [`Event::Done`] with the complete [`Response`], or in an error.
//! The events are for showing; the response is what is kept. Its blocks are canonical bytes, made
//! once from the stream, ready for the log and for every later request.
//!
//! # Responsibilities
//! Types without a provider in them. What only one provider sends is carried as raw JSON.
//!
//! # Not here
//! Making these types of a wire (`anthropic`, `openai`), and reading the raw extras (`features`).

use crate::limits::RateLimits;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One step of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The provider accepted the request. Its prompt is in the cache from now on.
    MessageStart {
        /// The response's id.
        id: MessageId,
        /// The model that answers.
        model: Arc<str>,
        /// Usage of the prompt, as far as known.
        usage: TokenUsage,
    },
    /// A block begins.
    BlockStart {
        /// Its place in the answer.
        index: u32,
        /// Its kind.
        kind: BlockKind,
        /// The block as it is announced, such as a tool call with its name and no input yet.
        head: RawJson,
    },
    /// A block grows.
    Delta {
        /// Its place in the answer.
        index: u32,
        /// Its growth.
        delta: Delta,
    },
    /// A block is complete.
    BlockStop {
        /// Its place in the answer.
        index: u32,
        /// The block; `None` where a limit cut it off and nothing valid can be made of it.
        block: Option<Block>,
    },
    /// Usage so far.
    Usage(TokenUsage),
    /// Why the model stopped.
    Stop(StopReason),
    /// The provider is alive and has nothing to say.
    Ping,
    /// Something this version does not know, carried as it came.
    Extra {
        /// The provider's name for it.
        name: String,
        /// Its data.
        data: RawJson,
    },
    /// The answer is complete. The last event.
    Done(Box<Response>),
}

/// Growth of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Reasoning.
    Thinking(String),
    /// The signature of reasoning.
    Signature(String),
    /// A piece of a tool call's input; only the whole is JSON.
    InputJson(String),
    /// A citation.
    Citation(RawJson),
    /// Anything else.
    Other(RawJson),
}

/// Notice of another attempt, told by the session that makes it. No [`Event`] of a model: a client
/// makes one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retrying {
    /// Number of the attempt that is to come; the first retry is 2.
    pub attempt: u32,
    /// The pause before it.
    pub after: Duration,
    /// The error and its causes in one line.
    pub because: String,
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It wants tools to be run.
    ToolUse,
    /// The answer reached the longest length asked for.
    MaxTokens,
    /// It wrote one of the stop sequences.
    StopSequence(Option<String>),
    /// The window is full.
    WindowExceeded,
    /// The provider paused a turn of its own tools; sending the same again goes on.
    PauseTurn,
    /// The provider compacted the conversation.
    Compaction,
    /// It will not answer.
    Refusal(Refusal),
    /// A reason this version does not know.
    Other(Arc<str>),
}

impl StopReason {
    /// Whether a limit ended the answer, so that its last block may be incomplete.
    pub const fn is_cut_off(&self) -> bool {
        matches!(
            self,
            Self::MaxTokens | Self::WindowExceeded | Self::Refusal(_)
        )
    }

    /// The reason of this name, the inverse of [`Self::as_str`]. Details that stand beside the name
    /// (the sequence, the words of a refusal) are empty.
    pub fn parse(name: &str) -> Self {
        match name {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "stop_sequence" => Self::StopSequence(None),
            "model_context_window_exceeded" => Self::WindowExceeded,
            "pause_turn" => Self::PauseTurn,
            "compaction" => Self::Compaction,
            "refusal" => Self::Refusal(Refusal::default()),
            other => Self::Other(Arc::from(other)),
        }
    }

    /// The name on the Messages wire, which is also the one in logs.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence(_) => "stop_sequence",
            Self::WindowExceeded => "model_context_window_exceeded",
            Self::PauseTurn => "pause_turn",
            Self::Compaction => "compaction",
            Self::Refusal(_) => "refusal",
            Self::Other(name) => name,
        }
    }
}

/// The provider's account of a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The provider's category, such as `cyber`.
    pub category: Option<String>,
    /// Its words.
    pub explanation: Option<String>,
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The provider's id of it.
    pub id: MessageId,
    /// The model that answered.
    pub model: Arc<str>,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Tool calls whose input a limit cut off. They are no part of the answer.
    pub cut_off: Vec<Unfinished>,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// Usage of the answer itself: the tokens that the conversation holds.
    pub usage: TokenUsage,
    /// Usage that is billed. More than `usage` where the provider sampled more than once.
    pub billed: TokenUsage,
    /// Reports that only some providers make.
    pub extras: Extras,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
    /// Remainder of the account's limits.
    pub rate_limits: RateLimits,
    /// Oddities that the caller should know of although the answer is there.
    pub warnings: Vec<Warning>,
}

impl Response {
    /// An answer with nothing remarkable about it: complete, billed for what it used.
    pub fn new(id: MessageId, model: &str, blocks: Vec<Block>, usage: TokenUsage) -> Self {
        let calls = blocks
            .iter()
            .any(|block| block.kind() == BlockKind::ToolUse);
        Self {
            id,
            model: model.into(),
            blocks,
            cut_off: Vec::new(),
            stop_reason: if calls {
                StopReason::ToolUse
            } else {
                StopReason::EndTurn
            },
            usage,
            billed: usage,
            extras: Extras::default(),
            request_id: None,
            rate_limits: RateLimits::default(),
            warnings: Vec::new(),
        }
    }
}

/// Reports of the provider, as they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `context_management`: the edits the provider made.
    pub context_management: Option<RawJson>,
    /// `diagnostics`: why less was read from the cache than was there. JSON `null` when asked for
    /// and nothing is to be reported.
    pub diagnostics: Option<RawJson>,
    /// `input_transformations`: thinking the provider dropped.
    pub input_transformations: Option<RawJson>,
    /// `container` of the provider's own tools.
    pub container: Option<RawJson>,
}

/// An oddity that does not spoil the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The server counted far fewer tokens than the prompt has: it cut off the front without
    /// saying so.
    PromptTruncated {
        /// Tokens that the server says it read.
        reported: Tokens,
        /// Tokens that the prompt is estimated to hold.
        estimated: Tokens,
    },
    /// Content that the provider's wire cannot carry was left out of the prompt.
    Omitted {
        /// `type` of the block or tool.
        what: String,
        /// Times it was left out.
        count: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PromptTruncated {
                reported,
                estimated,
            } => write!(
                f,
                "the server read {reported} tokens of a prompt of about {estimated}: it cut off \
                 the beginning"
            ),
            Self::Omitted { what, count } => {
                write!(f, "{count} × `{what}` cannot be sent to this provider")
            }
        }
    }
}

/// A block that did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The block as it was announced.
    pub head: RawJson,
    /// The text, reasoning or piece of input that had arrived.
    pub received: String,
}

/// The part of an answer that had arrived when its stream broke.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Partial {
    /// The response's id.
    pub id: Option<MessageId>,
    /// The model that was answering.
    pub model: Option<Arc<str>>,
    /// Complete blocks.
    pub blocks: Vec<Block>,
    /// Blocks that had begun.
    pub unfinished: Vec<Unfinished>,
    /// Usage, as far as the provider had said. It is billed all the same.
    pub usage: TokenUsage,
}

impl Partial {
    /// Blocks that may stand in the conversation: the complete ones in order, then unfinished text.
    /// Reasoning without its signature and calls without their whole input are left out, because
    /// providers refuse the first and a tool cannot run on the second.
    pub fn keepable(&self) -> Vec<Block> {
        let texts = self.unfinished.iter().filter_map(Unfinished::to_text);
        self.blocks.iter().cloned().chain(texts).collect()
    }
}

impl Unfinished {
    fn to_text(&self) -> Option<Block> {
        let announced = Block::parse(self.head.bytes()).ok()?;
        // A blank text block makes providers refuse every later request with it.
        let is_kept = announced.kind() == BlockKind::Text && !self.received.trim().is_empty();
        is_kept.then(|| Block::text(&self.received))
    }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
