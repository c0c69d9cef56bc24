//! Answers that a test writes for the provider.

use dormouse_core::block::Block;
use dormouse_core::units::Tokens;
use dormouse_model::{ModelError, Partial, Reply, StopReason};
use dormouse_testkit::blocks::call;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Scripted answer to one request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A complete answer with these blocks.
    Blocks(Vec<Block>),
    /// These blocks, ended by the longest length allowed.
    CutOff(Vec<Block>),
    /// Whatever the simulator's persona says.
    Persona,
    /// These blocks, ended for this reason.
    Stopped(Vec<Block>, StopReason),
    /// These blocks arrive one by one before the rest.
    Streamed(Vec<Block>, Box<Self>),
    /// These pieces of text, by block, before the rest.
    Pieces(Vec<(u32, String)>, Box<Self>),
    /// The stream breaks behind these blocks and the beginning of a text.
    Broken(Vec<Block>, String),
    /// An error instead of an answer.
    Fail(Arc<dyn Fn() -> ModelError + Send + Sync>),
    /// The answer, once the test releases it.
    Held(Arc<Notify>, Box<Self>),
}

impl Answer {
    /// A complete answer of one text.
    pub(crate) fn text(text: &str) -> Self {
        Self::Blocks(vec![Block::text(text)])
    }

    /// A call of a tool.
    pub(crate) fn call(id: &str, tool: &str, input: &Value) -> Self {
        Self::Blocks(vec![call(id, tool, input)])
    }

    /// An error, made anew for each request.
    pub(crate) fn fail(error: impl Fn() -> ModelError + Send + Sync + 'static) -> Self {
        Self::Fail(Arc::new(error))
    }

    /// The prompt is too long, with or without figures.
    pub(crate) fn too_long(figures: Option<(u64, u64)>) -> Self {
        Self::fail(move || ModelError::PromptTooLong {
            tokens: figures.map(|(tokens, _)| Tokens(tokens)),
            limit: figures.map(|(_, limit)| Tokens(limit)),
            reply: said("prompt is too long: the provider's own words"),
        })
    }

    /// The provider does not take the request.
    pub(crate) fn rejected() -> Self {
        Self::fail(|| ModelError::Invalid(said("this form is not taken")))
    }

    /// The stream breaks in the middle of a text.
    pub(crate) fn cut_in_the_middle() -> Self {
        Self::fail(|| ModelError::Broken {
            partial: Box::new(Partial::default()),
            source: Box::new(ModelError::Cut),
        })
    }

    /// The provider has no capacity.
    pub(crate) fn overloaded() -> Self {
        Self::fail(|| ModelError::Overloaded(said("overloaded")))
    }

    /// The same with the pause the server asks for.
    pub(crate) fn busy_for(pause: Duration) -> Self {
        Self::fail(move || {
            ModelError::Overloaded(Box::new(Reply {
                retry_after: Some(pause),
                ..*said("overloaded")
            }))
        })
    }

    /// The same, but only after the word is given.
    pub(crate) fn held(self, word: &Arc<Notify>) -> Self {
        Self::Held(Arc::clone(word), Box::new(self))
    }
}

fn said(message: &str) -> Box<Reply> {
    Box::new(Reply {
        status: Some(400),
        kind: "invalid_request_error".to_owned(),
        message: message.to_owned(),
        ..Reply::default()
    })
}
