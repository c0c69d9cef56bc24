//! Stand-ins for the ports of a session: a log that can be held up, a companion that a test
//! scripts, tools that hang.

use dormouse_core::id::Seq;
use dormouse_core::record::{Batch, Record};
use dormouse_engine::{
    Companion, HookFuture, Injection, LogStore, Seen, StoreFuture, ToolCall, ToolFuture,
};
use dormouse_store::{AppendError, ReadError};
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, Semaphore, watch};

/// Predicate that picks records.
type Fits = fn(&Record) -> bool;

/// A log that counts its batches and may be slow.
#[derive(Debug)]
pub(crate) struct WatchedLog {
    inner: Arc<dyn LogStore>,
    /// Records and sync of each batch that was stored.
    batches: watch::Sender<Vec<(Vec<Record>, bool)>>,
    /// One permit per batch; none are needed while it is closed.
    gate: Mutex<Option<Arc<Semaphore>>>,
    /// Batches with such a record are refused.
    refused: Mutex<Option<Fits>>,
}

impl WatchedLog {
    pub(crate) fn new(inner: Arc<dyn LogStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            batches: watch::Sender::default(),
            gate: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    /// From now on every batch waits for a permit of the semaphore returned.
    pub(crate) fn hold(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        *self.gate.lock().unwrap() = Some(Arc::clone(&gate));
        gate
    }

    /// From now on batches with a record that fits are refused.
    pub(crate) fn refuse(&self, fits: Fits) {
        *self.refused.lock().unwrap() = Some(fits);
    }

    /// Batches that were stored: records and sync.
    pub(crate) fn batches(&self) -> Vec<(Vec<Record>, bool)> {
        self.batches.borrow().clone()
    }

    /// Waits until a record is stored that fits.
    pub(crate) async fn stored(&self, fits: impl Fn(&Record) -> bool) {
        let mut batches = self.batches.subscribe();
        let all = |batches: &Vec<(Vec<Record>, bool)>| {
            let mut records = batches.iter().flat_map(|(records, _)| records);
            records.any(&fits)
        };
        batches.wait_for(all).await.unwrap();
    }
}

impl LogStore for WatchedLog {
    fn append(&self, batch: Batch) -> StoreFuture<Result<(), AppendError>> {
        let gate = self.gate.lock().unwrap().clone();
        let inner = Arc::clone(&self.inner);
        let batches = self.batches.clone();
        let refused = *self.refused.lock().unwrap();
        Box::pin(async move {
            if let Some(gate) = gate {
                gate.acquire().await.unwrap().forget();
            }
            if refused.is_some_and(|fits| batch.records.iter().any(fits)) {
                return Err(AppendError::HeadMoved {
                    expected: batch.expected,
                    found: None,
                });
            }
            let stored = (batch.records.clone(), batch.sync);
            inner.append(batch).await?;
            batches.send_modify(|batches| batches.push(stored));
            Ok(())
        })
    }

    fn read(&self) -> StoreFuture<Result<Vec<Record>, ReadError>> {
        self.inner.read()
    }

    fn read_after(&self, seq: Seq) -> StoreFuture<Result<Vec<Record>, ReadError>> {
        self.inner.read_after(seq)
    }

    fn start(&self) -> StoreFuture<Result<dormouse_drive::LogStart, ReadError>> {
        self.inner.start()
    }
}

/// A companion that gives what a test wrote, or never answers.
#[derive(Debug, Default)]
pub(crate) struct Recaller {
    /// Fragments for the next prompts, first come first served.
    pub(crate) prepared: Mutex<Vec<Vec<Injection>>>,
    /// True if recall never ends, so that the timeout must.
    pub(crate) hangs: bool,
    /// Memories that were known as shown, at each prompt.
    pub(crate) seen: Mutex<Vec<Seen>>,
    pub(crate) asked: Arc<Notify>,
}

impl Companion for Recaller {
    fn on_prompt(&self, _: &str, seen: Seen) -> HookFuture<Vec<Injection>> {
        self.seen.lock().unwrap().push(seen);
        self.asked.notify_one();
        if self.hangs {
            return Box::pin(std::future::pending());
        }
        let mut prepared = self.prepared.lock().unwrap();
        let next = if prepared.is_empty() {
            Vec::new()
        } else {
            prepared.remove(0)
        };
        Box::pin(std::future::ready(next))
    }

    fn on_results(&self, _: &[ToolCall], _: Seen) -> HookFuture<Vec<Injection>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn on_end(&self) {}
}

/// The calls that were started, and those that never end.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    started: Mutex<Vec<String>>,
    hanging: Mutex<Vec<String>>,
    /// Told when a call hangs.
    pub(crate) hangs: Arc<Notify>,
}

impl Runs {
    /// The tool never returns.
    pub(crate) fn hang(&self, tool: &str) {
        self.hanging.lock().unwrap().push(tool.to_owned());
    }

    /// The tool returns again.
    pub(crate) fn release(&self, tool: &str) {
        self.hanging.lock().unwrap().retain(|known| known != tool);
    }

    /// Ids of the calls that were started, in order.
    pub(crate) fn started(&self) -> Vec<String> {
        self.started.lock().unwrap().clone()
    }

    /// Takes note of a call; a future if it hangs.
    pub(crate) fn start(&self, call: &ToolCall) -> Option<ToolFuture> {
        self.started.lock().unwrap().push(call.id.to_string());
        let hangs = self.hanging.lock().unwrap().contains(&call.tool);
        hangs.then(|| {
            self.hangs.notify_one();
            Box::pin(std::future::pending()) as ToolFuture
        })
    }
}
