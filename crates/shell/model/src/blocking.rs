//! Long computations beside the async workers.
//!
//! # Model
//! Work on many bytes goes to the runtime's blocking pool; work on few is done in place. Dropping
//! the future drops work that has not begun. Work that has begun runs to its end, because a thread
//! cannot be stopped, and its result is dropped: it does no IO, so it has no effect.
//!
//! # Not here
//! The work itself: conversion ([`crate::openai`]) and reading of long answers (`attempt`).

use tokio::task::JoinHandle;

/// Bytes of JSON that take about a millisecond to convert or read (5 ms a MiB in a release build).
/// Longer work would hold up the other sessions of the worker.
pub(crate) const LONG: usize = 256 * 1024;

/// Does work on so many bytes, in place or on the blocking pool.
pub(crate) async fn run<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Clone + Send + 'static,
) -> T {
    if bytes < LONG {
        return work();
    }
    let mut task = AbortOnDrop(tokio::task::spawn_blocking(work.clone()));
    match (&mut task.0).await {
        Ok(value) => value,
        // A runtime that shuts down drops what has not begun. A panic is repeated where the caller
        // sees it.
        Err(_) => work(),
    }
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
