//! The port to a session's log: asynchronous, so that a store may be slow or remote.
//!
//! # Not here
//! Formats and files of logs: `dormouse-store`.

use dormouse_core::id::Seq;
use dormouse_core::record::{Batch, Record};
use dormouse_drive::{LogStart, Recorded};
use dormouse_store::{AppendError, ReadError, SessionLog};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

/// Future of one operation on a store.
pub type StoreFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A session's log. Appends come one at a time, reads may run beside them.
pub trait LogStore: fmt::Debug + Send + Sync {
    /// Appends a batch if its expected head is still the log's: all of it or nothing. It is on
    /// disk when the future ends, if the batch says so.
    fn append(&self, batch: Batch) -> StoreFuture<Result<(), AppendError>>;

    /// Reads every record, oldest first; undo and rewind need them.
    fn read(&self) -> StoreFuture<Result<Vec<Record>, ReadError>>;

    /// Reads the records behind a number.
    fn read_after(&self, seq: Seq) -> StoreFuture<Result<Vec<Record>, ReadError>>;

    /// The log as it is: its head, and its live part.
    fn start(&self) -> StoreFuture<Result<LogStart, ReadError>>;
}

/// The log of a fork: it keeps no records. A fork that held its parent's log would keep it locked
/// after the parent has closed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoLog;

impl LogStore for NoLog {
    fn append(&self, _: Batch) -> StoreFuture<Result<(), AppendError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn read(&self) -> StoreFuture<Result<Vec<Record>, ReadError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn read_after(&self, _: Seq) -> StoreFuture<Result<Vec<Record>, ReadError>> {
        self.read()
    }

    fn start(&self) -> StoreFuture<Result<LogStart, ReadError>> {
        Box::pin(std::future::ready(Ok(LogStart::default())))
    }
}

/// A synchronous log behind the port. Its work is done on the blocking pool, so that no sync and
/// no large write holds up the conversations of a worker.
#[derive(Debug)]
pub struct BlockingLog<L>(Arc<Mutex<L>>);

impl<L: SessionLog + Send + 'static> BlockingLog<L> {
    /// Puts a log behind the port.
    pub fn new(log: L) -> Self {
        Self(Arc::new(Mutex::new(log)))
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut L) -> T + Send + 'static,
    ) -> StoreFuture<T> {
        let log = Arc::clone(&self.0);
        let task = tokio::task::spawn_blocking(move || {
            work(&mut log.lock().unwrap_or_else(PoisonError::into_inner))
        });
        Box::pin(async move {
            match task.await {
                Ok(done) => done,
                // The runtime only drops blocking work that has not begun, when it shuts down:
                // nothing is left to be told.
                Err(_) => std::future::pending().await,
            }
        })
    }
}

impl<L: SessionLog + Send + 'static> LogStore for BlockingLog<L> {
    fn append(&self, batch: Batch) -> StoreFuture<Result<(), AppendError>> {
        self.run(move |log| log.append_batch(&batch))
    }

    fn read(&self) -> StoreFuture<Result<Vec<Record>, ReadError>> {
        self.run(|log| Ok(log.read()?.records))
    }

    fn read_after(&self, seq: Seq) -> StoreFuture<Result<Vec<Record>, ReadError>> {
        self.run(move |log| log.records_after(seq))
    }

    fn start(&self) -> StoreFuture<Result<LogStart, ReadError>> {
        self.run(|log| start(log))
    }
}

fn start(log: &dyn SessionLog) -> Result<LogStart, ReadError> {
    // A new log: there is nothing to resume, and a read of an empty file would be an error.
    let Some(head) = log.head() else {
        return Ok(LogStart::default());
    };
    let head = (head.id.clone(), head.seq);
    let resumed = log.resume()?;
    Ok(LogStart {
        head: Some(head),
        len: log.len(),
        since_carrier: log.bytes_since_checkpoint(),
        recorded: Recorded {
            carrier: resumed.carrier,
            kept: resumed.kept,
            tail: resumed.tail,
            prefix: None,
        },
    })
}
