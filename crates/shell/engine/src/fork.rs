//! Forks for callers: a side task on the conversation's own bytes, run beside it.
//!
//! # Not here
//! The loop that runs one ([`crate::child`]) and the driver that decides (`dormouse-drive`).

use crate::child;
use crate::error::EngineError;
use crate::ports::{Asker, NoCompanion, NoHooks, NoTools};
use crate::session::Session;
use crate::setup::Ports;
use crate::store::NoLog;
use dormouse_ask::Response;
use dormouse_core::record::UsageReport;
use dormouse_core::usage::TokenUsage;
use dormouse_drive::{DriveError, Driver, ForkLimits, ForkReport, ToolHost};
use std::sync::Arc;

/// Answer and usage of a fork that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkAnswer {
    /// The answer of its last request.
    pub response: Box<Response>,
    /// Usage of all its requests.
    pub usage: TokenUsage,
    /// The same by response, for the log of the parent ([`Session::account`]).
    pub reports: Vec<UsageReport>,
    /// Number of requests it took, each billed.
    pub requests: usize,
}

/// A fork that has not run yet. It owns its driver and ports, so that it can run beside the
/// session.
#[derive(Debug)]
pub struct ForkRun {
    driver: Driver,
    ports: Ports,
}

impl ForkRun {
    /// The same fork, asking through a wrapper of the conversation's own asker: to count its usage,
    /// or to stop it.
    #[must_use]
    pub fn asking_through(mut self, wrap: impl FnOnce(Arc<dyn Asker>) -> Arc<dyn Asker>) -> Self {
        self.ports.asker = wrap(self.ports.asker);
        self
    }

    /// Runs it: requests and tools until nothing is called any more, or the limit is reached. Its
    /// tools are its own; without any, a call ends it.
    ///
    /// # Errors
    /// When the model does not answer.
    pub async fn run(
        self,
        tools: Option<Arc<dyn ToolHost>>,
        limits: ForkLimits,
    ) -> Result<ForkAnswer, EngineError> {
        Box::pin(self.run_counted(tools, limits)).await.0
    }

    /// The same, with the usage of its responses also if it fails: the provider bills them either
    /// way.
    pub async fn run_counted(
        mut self,
        tools: Option<Arc<dyn ToolHost>>,
        limits: ForkLimits,
    ) -> (Result<ForkAnswer, EngineError>, Vec<UsageReport>) {
        // Without tools a call cannot be answered, so a second request would repeat the first.
        let requests = if tools.is_some() { limits.requests } else { 1 };
        self.driver.limit_requests(requests);
        if let Some(tools) = tools {
            self.ports.tools = tools;
        }
        let (report, mut engine) = child::run(self.driver, self.ports).await;
        let usage = report.total();
        let ForkReport {
            answer,
            usage: reports,
        } = report;
        let answer = match answer {
            Ok(response) => Ok(ForkAnswer {
                response,
                requests: reports.len(),
                usage,
                reports: reports.clone(),
            }),
            // The error itself is preferred: the failure in the reply has only its text.
            Err(DriveError::Model(failure)) => Err(match engine.take_model_error() {
                Some(error) => EngineError::Model(error),
                None => EngineError::Unanswered(failure),
            }),
            Err(error) => Err(error.into()),
        };
        (answer, reports)
    }
}

impl Session {
    /// A fork of the conversation as it is now, to be run when and where the caller likes. The
    /// caller records its usage with [`Session::account`].
    pub fn fork_run(&self, directive: &str) -> ForkRun {
        let ports = &self.executor().ports;
        // Unlimited for now: the limit is known when the fork is run.
        let limits = ForkLimits {
            requests: usize::MAX,
        };
        ForkRun {
            driver: self.driver().fork(directive, limits),
            ports: Ports {
                system: ports.system.clone(),
                log: Arc::new(NoLog),
                blobs: Arc::clone(&ports.blobs),
                asker: Arc::clone(&ports.asker),
                tools: Arc::new(NoTools),
                hooks: Arc::new(NoHooks),
                restorer: Arc::clone(&ports.restorer),
                companion: Arc::new(NoCompanion),
                settings: Arc::clone(&ports.settings),
                notices: Arc::new(|_| {}),
            },
        }
    }

    /// Runs a side task, waits for it, and records its usage.
    ///
    /// # Errors
    /// When the model does not answer.
    pub async fn fork(
        &mut self,
        directive: &str,
        tools: Option<Arc<dyn ToolHost>>,
        limits: ForkLimits,
    ) -> Result<ForkAnswer, EngineError> {
        let fork = self.fork_run(directive);
        let (answer, reports) = Box::pin(fork.run_counted(tools, limits)).await;
        self.account(reports).await?;
        answer
    }
}
