//! The small loop: a request, its tools, the next request.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::ports::{Companion, ToolCall};
use crate::session::Session;
use dormouse_context::breaker::{Allowed, Breaker};
use dormouse_context::compaction::{Outcome, Request, Scope};
use dormouse_context::layers::Moment;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Body, Message, Trigger};
use dormouse_model::{ModelError, Response, StopReason};
use std::sync::Arc;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    /// The last answer.
    pub response: Box<Response>,
    /// Requests it took.
    pub requests: usize,
}

/// A turn with its companion, who learns of its end however it ends: also when the turn fails, or
/// is dropped by a user who does not want to wait.
struct Accompanied(Arc<dyn Companion>);

impl Drop for Accompanied {
    fn drop(&mut self) {
        self.0.on_end();
    }
}

impl Session {
    /// One turn: the user says something, the model works until it has nothing more to call.
    ///
    /// # Errors
    /// When the model does not answer, the window is full, or the log cannot be written. Whatever
    /// was appended before stays; the turn can be gone on with.
    pub async fn turn(&mut self, content: Vec<Block>) -> Result<TurnEnd, EngineError> {
        let prompt = words_of(&content);
        let accompanied = Accompanied(Arc::clone(&self.ports.companion));
        let injections = accompanied.0.on_prompt(&prompt, self.seen()).await;
        self.append(Body::Message(Message::user(content)))?;
        self.inject(injections)?;
        self.go_on().await
    }

    /// Goes on with what is there: after an interruption, or after records were appended by hand.
    ///
    /// # Errors
    /// As [`Session::turn`].
    pub async fn go_on(&mut self) -> Result<TurnEnd, EngineError> {
        self.recovered = false;
        for requests in 1..=self.config.most_requests {
            let response = self.step().await?;
            let calls = calls_of(&response);
            if calls.is_empty() {
                self.tidy(Moment::TurnEnd).await?;
                return Ok(TurnEnd {
                    response: Box::new(response),
                    requests,
                });
            }
            let mut outputs = Vec::with_capacity(calls.len());
            for call in &calls {
                let output = self.ports.tools.run(call.clone()).await;
                outputs.push((call.tool.clone(), output));
            }
            self.results(&outputs)?;
            let seen = self.seen();
            let injections = self.ports.companion.on_results(&calls, seen).await;
            self.inject(injections)?;
        }
        Err(EngineError::TooManyRequests(self.config.most_requests))
    }

    /// One request, with whatever must be done to the prompt before it.
    ///
    /// # Errors
    /// As [`Session::turn`].
    pub async fn step(&mut self) -> Result<Response, EngineError> {
        loop {
            let tidied = self.tidy(Moment::BeforeRequest).await?;
            self.edit_cache()?;
            match self.request(tidied.relief, tidied.notes_due).await {
                Err(EngineError::Model(error)) if is_too_long(&error) && !self.recovered => {
                    self.recovered = true;
                    self.tell(Notice::TooLong);
                    if !self.shorten().await? {
                        return Err(error.into());
                    }
                }
                other => return other,
            }
        }
    }

    /// The end of a turn that was driven step by step.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn end_turn(&mut self) -> Result<(), EngineError> {
        self.recovered = false;
        self.tidy(Moment::TurnEnd).await?;
        Ok(())
    }

    /// Appends what the user's side says without asking the model.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn say(&mut self, message: Message) -> Result<(), EngineError> {
        self.append(Body::Message(message))?;
        Ok(())
    }

    /// The provider refused the prompt: compact now, if that is allowed at all.
    async fn shorten(&mut self) -> Result<bool, EngineError> {
        let never = !self.settings.policy.recovers();
        let breaker = Breaker::of(self.conversation.state());
        let allowed = breaker.allows(self.settings.layers.compact.breaker);
        if never || !self.settings.thresholds.auto_compact || allowed == Allowed::Nothing {
            return Ok(false);
        }
        let request = Request {
            trigger: Trigger::Reactive,
            scope: Scope::All,
            instructions: Vec::new(),
            allowed,
        };
        let outcome = self.run_compaction(request, None).await?;
        Ok(matches!(outcome, Outcome::Compacted { .. }))
    }
}

pub(crate) fn is_too_long(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::PromptTooLong { .. }
            | ModelError::AnswerTooLong { .. }
            | ModelError::RequestTooLarge(_)
    )
}

/// What the user says in words.
fn words_of(content: &[Block]) -> String {
    let texts = content
        .iter()
        .filter(|block| block.kind() == BlockKind::Text);
    let texts: Vec<String> = texts.filter_map(Block::readable_text).collect();
    texts.join("\n")
}

/// Calls that want an answer. A call that a limit cut off is not among them.
pub(crate) fn calls_of(response: &Response) -> Vec<ToolCall> {
    if matches!(response.stop_reason, StopReason::Refusal(_)) {
        return Vec::new();
    }
    let calls = response
        .blocks
        .iter()
        .filter(|block| block.kind() == BlockKind::ToolUse);
    calls
        .filter_map(|block| {
            Some(ToolCall {
                id: block.call()?.clone(),
                tool: block.tool()?.to_owned(),
                block: block.clone(),
            })
        })
        .collect()
}
