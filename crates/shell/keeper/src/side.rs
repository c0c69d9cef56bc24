//! Side task that belongs to no conversation: a small agent with a prompt and tools of its own.
//!
//! # Model
//! It is a session like any other, with its log in memory: the same driver, the same layers and
//! retries, so that a long task stays inside its window. Only the effects of its tools and its
//! usage outlive it. Dropping its future cancels it.
//!
//! # Not here
//! The directive of the task ([`crate::dreaming`], [`crate::extraction`]), and its tools
//! (`dormouse-tools`).

use dormouse_context::compaction::RestoredPart;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Totals;
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{
    Asker, BlockingLog, EngineError, NoCompanion, NoHooks, Notice, Ports, Restorer, Session,
    SessionConfig, SessionPlace, ToolHost,
};
use dormouse_model::{Params, Response, StopReason};
use dormouse_store::{MemoryBlobs, MemoryLog};
use dormouse_system::{MemoryFiles, System};
use serde_json::Value;
use std::sync::Arc;

/// Most tokens of one answer: enough for a long memory file in one call.
const MOST_OUTPUT: Tokens = Tokens(16_000);

/// Parts of a side task.
#[derive(Debug)]
pub struct SideTask<'a> {
    /// Asker, metered by the caller.
    pub asker: Arc<dyn Asker>,
    /// Name of the model.
    pub model: &'a str,
    /// Table of models and prices.
    pub models: &'a Arc<ModelTable>,
    /// Settings of the layers, fixed for the task.
    pub settings: &'a Arc<Settings>,
    /// System prompt of the task.
    pub system_prompt: &'a str,
    /// Definitions of its tools.
    pub definitions: Vec<Value>,
    /// Host that runs its tools.
    pub tools: Arc<dyn ToolHost>,
    /// Most requests of the task.
    pub requests: usize,
}

/// Answer of a side task.
#[derive(Clone, Debug, PartialEq)]
pub struct SideAnswer {
    /// Text of its last answer.
    pub text: String,
    /// Tokens of all responses.
    pub usage: TokenUsage,
    /// Number of responses, summaries of compactions included.
    pub requests: usize,
}

/// Failure of a side task, with its usage until then.
#[derive(Debug, thiserror::Error)]
#[error("the side task failed after {requests} requests")]
pub struct SideFailure {
    /// Cause of the failure.
    #[source]
    pub source: SideFault,
    /// Tokens used until then.
    pub usage: TokenUsage,
    /// Number of requests that were answered.
    pub requests: usize,
}

/// Cause of a side task's failure.
#[derive(Debug, thiserror::Error)]
pub enum SideFault {
    /// Error of the engine: the model did not answer, or the task took too many requests.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Last answer that is none.
    #[error(transparent)]
    Answer(#[from] NoAnswer),
}

/// Answer that arrived but does not end the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// Refusal by the model.
    #[error("the model refused")]
    Refused,
    /// Answer cut off by a limit.
    #[error("the model's answer was cut off")]
    CutOff,
    /// Empty answer before any work was done.
    #[error("the model's answer was empty")]
    Empty,
}

impl NoAnswer {
    /// Checks the last answer of a task that took so many requests. After work was done, an answer
    /// without words is the usual end.
    pub(crate) fn check(response: &Response, requests: usize) -> Result<(), Self> {
        match &response.stop_reason {
            StopReason::Refusal(_) => Err(Self::Refused),
            StopReason::MaxTokens | StopReason::WindowExceeded => Err(Self::CutOff),
            _ if response.blocks.is_empty() && requests <= 1 => Err(Self::Empty),
            _ => Ok(()),
        }
    }
}

/// Restorer without parts: after a compaction the task reads again what it needs.
#[derive(Debug)]
struct NothingToRestore;

impl Restorer for NothingToRestore {
    fn restore(&self, _: &[String]) -> Vec<RestoredPart> {
        Vec::new()
    }
}

impl SideTask<'_> {
    /// Runs it with one directive until it calls no tool any more.
    ///
    /// # Errors
    /// When the model does not answer, will not, or it takes too many requests.
    pub async fn run(
        self,
        system: &System,
        directive: &str,
        notices: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<SideAnswer, SideFailure> {
        let models = Arc::clone(self.models);
        let opened = self.open(system, notices).await;
        let mut session = opened.map_err(|source| SideFailure {
            source: source.into(),
            usage: TokenUsage::default(),
            requests: 0,
        })?;
        let ended = session.turn(vec![Block::text(directive)]).await;
        // The folded state, not the log: a turn that fails does not wait for its last records.
        let (usage, requests) = used(&session.conversation().state().totals, &models);
        let ended = ended.map_err(SideFault::from).and_then(|end| {
            NoAnswer::check(&end.response, end.requests)?;
            Ok(end)
        });
        match ended {
            Ok(end) => {
                let texts: Vec<String> = end
                    .response
                    .blocks
                    .iter()
                    .filter_map(Block::readable_text)
                    .collect();
                let text = texts.join("\n");
                Ok(SideAnswer {
                    text,
                    usage,
                    requests,
                })
            }
            Err(source) => Err(SideFailure {
                source,
                usage,
                requests,
            }),
        }
    }

    async fn open(
        self,
        system: &System,
        notices: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Session, EngineError> {
        let session = SessionId::new(format!("side-{}", system.ids.fresh()));
        let settings = Arc::clone(self.settings);
        let unfit = |error: serde_json::Error| EngineError::Params(error.to_string());
        let params = Params::new(self.model, MOST_OUTPUT).map_err(unfit)?;
        let tools: Result<Vec<Part>, _> = self.definitions.iter().map(Part::tool).collect();
        let prompt = Part::block("side task", &Block::text(self.system_prompt));
        let prefix = RenderedPrefix::new(tools.map_err(unfit)?, vec![prompt], Vec::new());
        let ports = Ports {
            // Files of the layers stay in memory with the rest of the session.
            system: System {
                files: Arc::new(MemoryFiles::default()),
                ..system.clone()
            },
            log: Arc::new(BlockingLog::new(MemoryLog::new(session.clone()))),
            blobs: Arc::new(MemoryBlobs::default()),
            asker: self.asker,
            tools: self.tools,
            hooks: Arc::new(NoHooks),
            restorer: Arc::new(NothingToRestore),
            companion: Arc::new(NoCompanion),
            settings: Arc::new(move || Arc::clone(&settings)),
            notices: Arc::new(notices),
        };
        let place = SessionPlace {
            session,
            log: "/side/log.jsonl".into(),
            folder: "/side/session".into(),
            home: "/side".into(),
            project: String::new(),
        };
        let models = Arc::clone(self.models);
        let config = SessionConfig {
            most_requests: self.requests,
            // An answer that was cut off is a failed task: its caller has a way without a model.
            continuations: 0,
            ..SessionConfig::new(self.model, models, params, Arc::new(prefix))
        };
        Ok(Session::open(ports, place, config).await?.0)
    }
}

/// Tokens and number of a session's responses.
fn used(totals: &Totals, models: &ModelTable) -> (TokenUsage, usize) {
    let sums = totals.sums(models).into_values();
    sums.fold((TokenUsage::default(), 0), |(mut usage, count), sum| {
        usage += sum.usage;
        let responses = usize::try_from(sum.responses).unwrap_or(usize::MAX);
        (usage, responses.saturating_add(count))
    })
}
