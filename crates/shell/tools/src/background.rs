//! Blocking work as a future.
//!
//! The tools wait for disks and programs. Each call therefore runs on a thread of its own, and its
//! future only hands over the result, so that no thread of the caller's runtime stands still.
//! Dropping the future does not stop the thread: a search ends at its own time limit.

use dormouse_context::offload::ToolOutput;
use dormouse_core::id::CallId;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// Runs `work` on a thread of its own. If the thread does not start or dies, the result says so.
pub(crate) fn on_thread(
    call: CallId,
    work: impl FnOnce() -> ToolOutput + Send + 'static,
) -> Running {
    let meeting = Arc::new(Mutex::new(Meeting::default()));
    let deliver = Delivery {
        meeting: Arc::clone(&meeting),
        call,
    };
    let spawned = thread::Builder::new()
        .name("tool".to_owned())
        .spawn(move || deliver.hand_over(work()));
    // A thread that did not start dropped the delivery, which then reported the failure.
    drop(spawned);
    Running { meeting }
}

/// Slot in which the thread and the future meet.
#[derive(Debug, Default)]
struct Meeting {
    output: Option<ToolOutput>,
    waker: Option<Waker>,
}

/// Thread's end of the slot; dropping it delivers, so that a panic is a result, too.
struct Delivery {
    meeting: Arc<Mutex<Meeting>>,
    call: CallId,
}

impl Delivery {
    fn hand_over(self, output: ToolOutput) {
        locked(&self.meeting).output = Some(output);
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let mut meeting = locked(&self.meeting);
        meeting.output.get_or_insert_with(|| ToolOutput {
            is_error: true,
            ..ToolOutput::text(self.call.clone(), "The tool stopped without a result.")
        });
        if let Some(waker) = meeting.waker.take() {
            // Released before waking: the caller may poll at once and needs the lock.
            drop(meeting);
            waker.wake();
        }
    }
}

/// Caller's end of the slot.
#[derive(Debug)]
pub(crate) struct Running {
    meeting: Arc<Mutex<Meeting>>,
}

impl Future for Running {
    type Output = ToolOutput;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ToolOutput> {
        let mut meeting = locked(&self.meeting);
        if let Some(output) = meeting.output.take() {
            return Poll::Ready(output);
        }
        // Stored under the lock that delivery takes, so no wake-up is lost in between.
        meeting.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

fn locked(meeting: &Mutex<Meeting>) -> MutexGuard<'_, Meeting> {
    meeting.lock().unwrap_or_else(PoisonError::into_inner)
}
