//! The fork runner: a side task on the conversation's own bytes.
//!
//! The first call shares everything up to the directive with the conversation, so that it reads
//! the cache. If the fork may use tools, a small loop answers its calls; nothing of it is written
//! to the parent's log, and the parent's state is only copied.

use crate::error::EngineError;
use crate::ports::{Asker, Purpose, ToolHost};
use crate::session::Session;
use crate::turn::calls_of;
use dormouse_context::fork::Fork;
use dormouse_core::block::Block;
use dormouse_core::usage::TokenUsage;
use dormouse_model::{Request, Response};
use std::borrow::Cow;
use std::sync::Arc;

/// What a fork may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkLimits {
    /// Requests at most.
    pub requests: usize,
}

/// What became of a fork.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkAnswer {
    /// The last answer.
    pub response: Box<Response>,
    /// What all its requests used.
    pub usage: TokenUsage,
    /// Requests it took.
    pub requests: usize,
}

/// A fork that has not run yet. It owns what it needs, so that it can run beside the session.
#[derive(Debug)]
pub struct ForkRun {
    fork: Fork,
    asker: Arc<dyn Asker>,
    betas: Vec<Cow<'static, str>>,
}

impl ForkRun {
    /// The same fork, asking through something that wraps the conversation's own asker: to count
    /// what it uses, or to stop it.
    #[must_use]
    pub fn asking_through(self, wrap: impl FnOnce(Arc<dyn Asker>) -> Arc<dyn Asker>) -> Self {
        Self {
            asker: wrap(self.asker),
            ..self
        }
    }

    /// Runs it: requests and tools until nothing is called any more, or the limit is reached. Its
    /// tools are its own; without any, a call ends it.
    ///
    /// # Errors
    /// When the model does not answer.
    pub async fn run(
        self,
        tools: Option<&dyn ToolHost>,
        limits: ForkLimits,
    ) -> Result<ForkAnswer, EngineError> {
        let Self {
            mut fork,
            asker,
            betas,
        } = self;
        let mut usage = TokenUsage::default();
        let mut requests = 0;
        loop {
            requests += 1;
            let request = Request::streamed(fork.body()).with_betas(&betas);
            let response = asker.ask(Purpose::Fork, request).finish().await?;
            usage += response.usage;
            let calls = calls_of(&response);
            let last = calls.is_empty() || requests >= limits.requests;
            let Some(tools) = tools.filter(|_| !last) else {
                return Ok(ForkAnswer {
                    response: Box::new(response),
                    usage,
                    requests,
                });
            };
            let mut results: Vec<Block> = Vec::with_capacity(calls.len());
            for call in calls {
                results.push(tools.run(call).await.whole());
            }
            fork = fork.answered(&response.blocks, results);
        }
    }
}

impl Session {
    /// A fork of the conversation as it is now, to be run when and where the caller likes.
    pub fn fork_run(&self, directive: &str) -> ForkRun {
        let moment = (self.now(), self.ttls());
        let fork = Fork::new(
            &self.conversation,
            &self.ledger,
            &self.config.prefix,
            &self.params,
            directive,
            moment,
        );
        ForkRun {
            fork,
            asker: Arc::clone(&self.ports.asker),
            betas: self.betas(),
        }
    }

    /// Runs a side task and waits for it.
    ///
    /// # Errors
    /// When the model does not answer.
    pub async fn fork(
        &self,
        directive: &str,
        tools: Option<&dyn ToolHost>,
        limits: ForkLimits,
    ) -> Result<ForkAnswer, EngineError> {
        self.fork_run(directive).run(tools, limits).await
    }
}
