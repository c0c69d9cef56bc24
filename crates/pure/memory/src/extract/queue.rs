//! One extraction at a time.
//!
//! # Model
//! A context is offered after each query. If nothing runs, it runs. Otherwise it waits, and a newer
//! one takes its place, since that contains the older one's messages. When a run ends, well or not,
//! the one that waits follows. The caller runs the context it is handed and reports its end.
//!
//! # Not here
//! The decision to extract at all ([`super::gate`]); running it (`dormouse-keeper`).

/// State of the queue: at most one context runs and at most one waits.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    running: bool,
    waiting: Option<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            running: false,
            waiting: None,
        }
    }
}

impl<T> Queue<T> {
    /// Idle queue: nothing runs and nothing waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Offers a context; it is handed back if the caller is to run it now.
    #[must_use]
    pub fn offer(&mut self, context: T) -> Option<T> {
        if self.running {
            // The older one is dropped on purpose: its messages are part of the newer one.
            self.waiting = Some(context);
            return None;
        }
        self.running = true;
        Some(context)
    }

    /// Reports the end of a run, well or not, and returns the context to be run next.
    #[must_use]
    pub fn ended(&mut self) -> Option<T> {
        let next = self.waiting.take();
        // Set here and not by the next offer: an offer in between would start a second run.
        self.running = next.is_some();
        next
    }

    /// True while the caller has a context that it has not reported as ended.
    pub const fn is_running(&self) -> bool {
        self.running
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_newest_waits_and_one_run_follows() {
        let mut queue = Queue::new();
        assert_eq!(queue.offer(1), Some(1));
        assert_eq!((queue.offer(2), queue.offer(3)), (None, None));
        assert_eq!(queue.ended(), Some(3));
        assert_eq!(queue.ended(), None);
        assert_eq!(queue.offer(4), Some(4));
        assert_eq!(queue.ended(), None);
        assert!(!queue.is_running());
    }

    proptest! {
        /// At most one runs; the last context offered always runs in the end; order is kept.
        #[test]
        fn nothing_new_is_lost_and_nothing_runs_twice(steps in prop::collection::vec(any::<bool>(), 0..60)) {
            let mut queue = Queue::new();
            let (mut running, mut ran, mut offered) = (0_usize, Vec::new(), 0_u32);
            for offer in steps {
                let started = if offer {
                    offered += 1;
                    queue.offer(offered)
                } else if running > 0 {
                    running -= 1;
                    queue.ended()
                } else {
                    None
                };
                if let Some(context) = started {
                    running += 1;
                    ran.push(context);
                }
                prop_assert!(running <= 1);
                prop_assert_eq!(queue.is_running(), running == 1);
            }
            while running > 0 {
                running -= 1;
                if let Some(context) = queue.ended() {
                    running += 1;
                    ran.push(context);
                }
            }
            prop_assert!(ran.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(ran.last().copied().unwrap_or(0), offered);
        }
    }
}
