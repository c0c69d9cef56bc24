//! Running a fork: the same engine around a child driver.
//!
//! # Not here
//! The public face of forks: [`crate::ForkRun`].

use crate::engine::Engine;
use crate::execute::Executor;
use crate::ports::{NoCompanion, NoHooks, NoTools, Restorer};
use crate::setup::Ports;
use crate::store::NoLog;
use crate::subscribe::Subscribers;
use dormouse_context::compaction::RestoredPart;
use dormouse_drive::{CommandId, DriveError, Driver, ForkReport, Reply, ToolHost};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A fork is never compacted, so there is nothing to restore.
#[derive(Debug)]
struct NothingToRestore;

impl Restorer for NothingToRestore {
    fn restore(&self, _: &[String]) -> Vec<RestoredPart> {
        Vec::new()
    }
}

/// Runs a child to its end, with tools of its own.
pub(crate) async fn run_child(
    driver: Driver,
    parent: &Ports,
    tools: Option<Arc<dyn ToolHost>>,
) -> ForkReport {
    let ports = Ports {
        system: parent.system.clone(),
        log: Arc::new(NoLog),
        blobs: Arc::clone(&parent.blobs),
        asker: Arc::clone(&parent.asker),
        tools: tools.unwrap_or_else(|| Arc::new(NoTools)),
        hooks: Arc::new(NoHooks),
        restorer: Arc::new(NothingToRestore),
        companion: Arc::new(NoCompanion),
        settings: Arc::clone(&parent.settings),
        notices: Arc::new(|_| {}),
    };
    run(driver, ports).await.0
}

/// Runs a driver whose command has begun, and returns its report with the engine behind it.
pub(crate) async fn run(driver: Driver, ports: Ports) -> (ForkReport, Engine) {
    let (outgoing, incoming) = mpsc::unbounded_channel();
    let executor = Executor {
        place: driver.config().place.clone(),
        home: std::path::PathBuf::new(),
        ports: Arc::new(ports),
        outgoing,
        subscribers: Subscribers::default(),
        child_tools: None,
    };
    let mut engine = Engine::new(driver, executor, incoming);
    // The fork's turn began when it was made, and without an input the loop has nothing to do.
    engine.tell(dormouse_drive::Input::Wake);
    let answer = match engine.reply(CommandId::default()).await {
        Some(Ok(Reply::TurnEnded { response, .. })) => Ok(response),
        // Any other reply, or none, means that the child ended without an answer.
        Some(Ok(_)) | None => Err(DriveError::Cancelled),
        Some(Err(error)) => Err(error),
    };
    let report = ForkReport {
        answer,
        usage: engine.driver().usage().to_vec(),
    };
    (report, engine)
}
