//! Records of tools and companions, while the engine moves.

use crate::execute::Outgoing;
use dormouse_core::record::{StateChange, UsageReport};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Time until a record must be stored: a busy disk takes a second, and a tool that waits for longer
/// would look dead.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reason why a change of state is not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session's log does not take records now")]
pub struct NotRecorded;

/// Sends changes of state to the log of a session. Clones send to the same log.
#[derive(Clone, Debug)]
pub struct Recorder(pub(crate) UnboundedSender<Outgoing>);

impl Recorder {
    /// Records a change without waiting; lost if the session has ended.
    pub fn send(&self, change: StateChange) {
        self.0.send(Outgoing::Note(change, None)).ok();
    }

    /// Records the usage of requests without waiting; lost if the session has ended.
    pub fn account(&self, reports: Vec<UsageReport>) {
        self.0.send(Outgoing::Account(reports)).ok();
    }

    /// Records a change and waits on this thread until it is stored. Must not be called on the thread
    /// that drives the session.
    ///
    /// # Errors
    /// When the log cannot be written, or the session does not move.
    pub fn record(&self, change: StateChange) -> Result<(), NotRecorded> {
        let (waits, stored) = mpsc::channel();
        self.0
            .send(Outgoing::Note(change, Some(waits)))
            .map_err(|_| NotRecorded)?;
        match stored.recv_timeout(PATIENCE) {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(NotRecorded),
        }
    }
}
