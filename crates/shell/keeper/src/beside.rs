//! A job that runs beside a session and whose end is waited for more than once.

use tokio::task::{JoinError, JoinHandle};

/// Task whose result stays until it is taken.
#[derive(Debug)]
pub(crate) struct Beside<T> {
    task: JoinHandle<T>,
    ended: Option<Result<T, JoinError>>,
}

impl<T> Beside<T> {
    pub(crate) const fn new(task: JoinHandle<T>) -> Self {
        Self { task, ended: None }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.ended.is_some() || self.task.is_finished()
    }

    /// Waits for the end, and leaves the result where it is. A caller that stops waiting loses
    /// nothing.
    pub(crate) async fn wait(&mut self) {
        if self.ended.is_none() {
            self.ended = Some((&mut self.task).await);
        }
    }

    /// The result; waits for it if need be.
    pub(crate) async fn result(mut self) -> Result<T, JoinError> {
        match self.ended.take() {
            Some(ended) => ended,
            None => self.task.await,
        }
    }

    /// Ends a task that is no blocking one, at its next await.
    pub(crate) fn abort(&self) {
        self.task.abort();
    }
}
