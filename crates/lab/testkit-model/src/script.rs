//! The script: expected requests with their answers.
//!
//! # Not here
//! Playing it: [`crate::ScriptedModel`].

use crate::expect::Expect;
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_model::{
    Extras, ModelError, Partial, RateLimits, Response, StopReason, TokenCount, Unfinished,
};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One expected request with its answer.
#[derive(Debug)]
pub struct Step {
    pub(crate) expect: Expect,
    pub(crate) delay: Duration,
    pub(crate) answer: Answer,
}

/// The answer to a request.
pub enum Answer {
    /// A complete response, shown block by block.
    Response(Box<Response>),
    /// An error instead of an answer. A function, because errors cannot be copied.
    Fault(Arc<dyn Fn() -> ModelError + Send + Sync>),
    /// The answer breaks off after it has begun.
    Break {
        /// Complete blocks that appear before.
        blocks: Vec<Block>,
        /// Beginning of a text block that follows them and does not end; empty for none.
        text: String,
        /// The error that ends the stream.
        fault: Arc<dyn Fn() -> ModelError + Send + Sync>,
    },
    /// No answer ever comes; only a timeout or a cancel ends the wait.
    Silence,
    /// The answer to a count.
    Count(TokenCount),
}

impl Answer {
    /// A response of these blocks; it ends in a call of a tool if one of them is.
    pub fn blocks(blocks: Vec<Block>) -> Self {
        Self::Response(Box::new(response(blocks)))
    }

    /// A response of one text.
    pub fn text(text: &str) -> Self {
        Self::blocks(vec![Block::text(text)])
    }

    /// A response that calls a tool.
    pub fn call(id: &str, tool: &str, input: &Value) -> Self {
        let call = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
        Self::blocks(vec![Block::from_value(&call).expect("a call is a block")])
    }

    /// An error, made anew each time it is played.
    pub fn fault(fault: impl Fn() -> ModelError + Send + Sync + 'static) -> Self {
        Self::Fault(Arc::new(fault))
    }

    /// The answer breaks off after these blocks.
    pub fn break_after(
        blocks: Vec<Block>,
        fault: impl Fn() -> ModelError + Send + Sync + 'static,
    ) -> Self {
        Self::break_inside(blocks, "", fault)
    }

    /// The answer breaks off inside a text block that follows these blocks.
    pub fn break_inside(
        blocks: Vec<Block>,
        text: &str,
        fault: impl Fn() -> ModelError + Send + Sync + 'static,
    ) -> Self {
        Self::Break {
            blocks,
            text: text.to_owned(),
            fault: Arc::new(fault),
        }
    }

    /// The answer to a count: so many tokens.
    pub const fn count(tokens: u64) -> Self {
        Self::Count(TokenCount {
            input: Tokens(tokens),
            before_editing: None,
        })
    }

    /// Changes the response, such as its usage. Does nothing to other answers.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Response)) -> Self {
        if let Self::Response(response) = &mut self {
            change(response);
        }
        self
    }

    /// The response with its usage, billed alike.
    #[must_use]
    pub fn using(self, usage: TokenUsage) -> Self {
        self.with(|response| {
            response.usage = usage;
            response.billed = usage;
        })
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(response) => write!(f, "{:?}", response.blocks),
            Self::Fault(fault) => write!(f, "fault: {}", fault()),
            Self::Break {
                blocks,
                text,
                fault,
            } => write!(f, "{blocks:?} {text:?}, then: {}", fault()),
            Self::Silence => f.write_str("silence"),
            Self::Count(count) => write!(f, "{} tokens", count.input),
        }
    }
}

pub(crate) fn response(blocks: Vec<Block>) -> Response {
    let calls = blocks.iter().any(|block| block.call().is_some());
    Response {
        // The model gives each response its number.
        id: MessageId::from(""),
        model: Arc::from("scripted"),
        blocks,
        cut_off: Vec::new(),
        stop_reason: if calls {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        },
        usage: TokenUsage::default(),
        billed: TokenUsage::default(),
        extras: Extras::default(),
        request_id: None,
        rate_limits: RateLimits::default(),
        warnings: Vec::new(),
    }
}

/// The part of a response that had arrived when it broke off inside `text`.
pub(crate) fn partial(begun: Response, text: String) -> Partial {
    let open = (!text.is_empty()).then(|| Unfinished {
        head: RawJson::from(&Block::text("")),
        received: text,
    });
    Partial {
        id: Some(begun.id),
        model: Some(begun.model),
        blocks: begun.blocks,
        unfinished: open.into_iter().collect(),
        usage: begun.usage,
    }
}

/// The exchanges a test expects, in their order.
#[derive(Debug, Default)]
pub struct Script {
    pub(crate) steps: Vec<Step>,
}

impl Script {
    /// A script in which no request may be made.
    pub fn no_request() -> Self {
        Self::default()
    }

    /// An empty script to add to.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects a request and answers it.
    #[must_use]
    pub fn on(mut self, expect: Expect, answer: Answer) -> Self {
        self.steps.push(Step {
            expect,
            delay: Duration::ZERO,
            answer,
        });
        self
    }

    /// Answers any request, without looking at it.
    #[must_use]
    pub fn then(self, answer: Answer) -> Self {
        self.on(Expect::Anything, answer)
    }

    /// Lets the answer that was added last wait.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.delay = delay;
        }
        self
    }
}
