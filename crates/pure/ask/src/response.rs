//! Answers of a model: events while it writes, and the whole response at the end.
//!
//! # Model
//! A stream of [`Event`]s ends in [`Event::Done`] with the complete [`Response`], or in an error.
//! Events are for display; the response is what is recorded. Its blocks are canonical bytes, made
//! once from the stream, ready for the log and for every later request.
//!
//! # Responsibilities
//! Types independent of a provider. Parts that only one provider sends are carried as raw JSON.
//!
//! # Not here
//! Conversion from a wire format (`dormouse-model`), and parsing of the raw extras (`features`).

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
    /// Request accepted by the provider. Its prompt is in the cache from here on.
    MessageStart {
        /// Message id of the response.
        id: MessageId,
        /// Model that answers; may differ from the requested alias.
        model: Arc<str>,
        /// Usage of the prompt, as far as known.
        usage: TokenUsage,
    },
    /// Beginning of a block.
    BlockStart {
        /// Position in the answer.
        index: u32,
        /// Kind of the block.
        kind: BlockKind,
        /// Block as announced, such as a tool call with its name and no input yet.
        head: RawJson,
    },
    /// Growth of a block.
    Delta {
        /// Position in the answer.
        index: u32,
        /// Piece that was added.
        delta: Delta,
    },
    /// End of a block.
    BlockStop {
        /// Position in the answer.
        index: u32,
        /// Complete block; `None` where a limit cut it off and no valid block can be made of it.
        block: Option<Block>,
    },
    /// Usage so far; replaces earlier figures.
    Usage(TokenUsage),
    /// Reason why the model stopped.
    Stop(StopReason),
    /// Sign of life without content; resets idle timeouts.
    Ping,
    /// Event that this version does not know, as raw JSON.
    Extra {
        /// Name of the event, as sent.
        name: String,
        /// Data of the event.
        data: RawJson,
    },
    /// Complete response. Always the last event.
    Done(Box<Response>),
}

/// Growth of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// Piece of the answer's text.
    Text(String),
    /// Piece of the model's reasoning.
    Thinking(String),
    /// Signature of a reasoning block.
    Signature(String),
    /// Piece of a tool call's input; only the whole is JSON.
    InputJson(String),
    /// Citation inside a text block.
    Citation(RawJson),
    /// Growth of a kind that this version does not know.
    Other(RawJson),
}

/// Announcement of another attempt, made by the session. Not an [`Event`] of a model: a client
/// makes one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retrying {
    /// Number of the coming attempt; the first retry is 2.
    pub attempt: u32,
    /// Pause before that attempt.
    pub after: Duration,
    /// Error and its causes in one line.
    pub because: String,
}

/// Reason why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Model finished its answer.
    EndTurn,
    /// Model waits for the results of its tool calls.
    ToolUse,
    /// Answer reached the request's `max_tokens`.
    MaxTokens,
    /// Model wrote one of the stop sequences.
    StopSequence(Option<String>),
    /// Prompt and answer together filled the window.
    WindowExceeded,
    /// Provider paused a turn with its own tools; the same prompt continues it.
    PauseTurn,
    /// Provider compacted the conversation and stopped.
    Compaction,
    /// Model or provider refused to answer.
    Refusal(Refusal),
    /// Reason that this version does not know.
    Other(Arc<str>),
}

impl StopReason {
    /// True if the answer was cut off, so that its last block may be incomplete.
    pub const fn is_cut_off(&self) -> bool {
        // A refusal can stop the model in the middle of a block.
        matches!(
            self,
            Self::MaxTokens | Self::WindowExceeded | Self::Refusal(_)
        )
    }

    /// Reason with this name, the inverse of [`Self::as_str`]. Details beside the name (the
    /// sequence, the explanation of a refusal) are empty.
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

    /// Name in the Messages API, also used in logs.
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

/// Details of a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// Category given by the provider, such as `cyber`.
    pub category: Option<String>,
    /// Explanation given by the provider.
    pub explanation: Option<String>,
}

/// Complete answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Message id given by the provider.
    pub id: MessageId,
    /// Model that answered; usage is priced by it.
    pub model: Arc<str>,
    /// Content blocks in order.
    pub blocks: Vec<Block>,
    /// Tool calls whose input a limit cut off. Not part of the blocks: they cannot be run or sent
    /// back.
    pub cut_off: Vec<Unfinished>,
    /// Reason why the answer ended.
    pub stop_reason: StopReason,
    /// Usage of the answer itself: prompt and answer tokens that the conversation now contains.
    pub usage: TokenUsage,
    /// Usage that is billed. More than `usage` where the provider sampled more than once.
    pub billed: TokenUsage,
    /// Reports that only some providers make.
    pub extras: Extras,
    /// Request id of the provider, for its support.
    pub request_id: Option<String>,
    /// Rate limits after this request.
    pub rate_limits: RateLimits,
    /// Irregularities that do not invalidate the answer.
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

/// Reports of the provider, as raw JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `context_management`: edits that the provider made.
    pub context_management: Option<RawJson>,
    /// `diagnostics`: cause of a cache miss. JSON `null` when requested and nothing is to be
    /// reported.
    pub diagnostics: Option<RawJson>,
    /// `input_transformations`: thinking that the provider dropped.
    pub input_transformations: Option<RawJson>,
    /// `container`: state of the provider's own tools.
    pub container: Option<RawJson>,
}

/// Irregularity that does not invalidate the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Prompt truncated by the server without an error: it counted far fewer tokens than were sent.
    /// Local servers with a small window do this.
    PromptTruncated {
        /// Tokens that the server reports to have read.
        reported: Tokens,
        /// Tokens of the prompt by estimate.
        estimated: Tokens,
    },
    /// Content left out of the prompt because the wire format cannot carry it.
    Omitted {
        /// `type` of the block or tool.
        what: String,
        /// Number of blocks or tools left out.
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

/// Block that did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Block as it was announced.
    pub head: RawJson,
    /// Text, reasoning or piece of input that had arrived.
    pub received: String,
}

/// Part of an answer that had arrived when its stream broke.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Partial {
    /// Message id, if it had arrived.
    pub id: Option<MessageId>,
    /// Model that was answering, if known.
    pub model: Option<Arc<str>>,
    /// Blocks that were complete.
    pub blocks: Vec<Block>,
    /// Blocks that had begun and not ended.
    pub unfinished: Vec<Unfinished>,
    /// Usage as far as reported; it is billed although the answer is incomplete.
    pub usage: TokenUsage,
}

impl Partial {
    /// Blocks that may enter the conversation: the complete ones in order, then unfinished text.
    /// Reasoning without its signature and calls without their whole input are left out: providers
    /// reject the former, and tools cannot run on the latter.
    pub fn keepable(&self) -> Vec<Block> {
        let texts = self.unfinished.iter().filter_map(Unfinished::to_text);
        self.blocks.iter().cloned().chain(texts).collect()
    }
}

impl Unfinished {
    fn to_text(&self) -> Option<Block> {
        let announced = Block::parse(self.head.bytes()).ok()?;
        // Providers reject every later request that contains a blank text block.
        let is_kept = announced.kind() == BlockKind::Text && !self.received.trim().is_empty();
        is_kept.then(|| Block::text(&self.received))
    }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
