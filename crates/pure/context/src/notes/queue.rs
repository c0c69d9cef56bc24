//! Serialisation of updates: one at a time.
//!
//! A request that arrives during an update waits, and replaces any that waited before: the latest
//! covers everything that an earlier one could have noted.

/// Updates of one session's notes. `T` is the input of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Updates<T> {
    /// No update is running.
    #[default]
    Idle,
    /// An update is running.
    Running {
        /// Latest request since it started.
        waiting: Option<T>,
    },
}

impl<T> Updates<T> {
    /// Requests an update. Returned if it is to be started now; otherwise it waits, in place of any
    /// that waited before.
    #[must_use = "an update that is given back must be started"]
    pub fn request(&mut self, update: T) -> Option<T> {
        match self {
            Self::Idle => {
                *self = Self::Running { waiting: None };
                Some(update)
            }
            Self::Running { waiting } => {
                *waiting = Some(update);
                None
            }
        }
    }

    /// Reports that the running update has ended, successfully or not. Returns the one to start
    /// next.
    #[must_use = "an update that is given back must be started"]
    pub fn finished(&mut self) -> Option<T> {
        let next = match self {
            Self::Idle => None,
            Self::Running { waiting } => waiting.take(),
        };
        if next.is_none() {
            *self = Self::Idle;
        }
        next
    }

    /// Whether an update is running now.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a simple model: a list of everything requested since the last start.
        #[test]
        fn the_latest_request_wins(steps in prop::collection::vec(any::<bool>(), 0..40)) {
            let mut updates = Updates::Idle;
            let mut running = None;
            let mut since_start: Vec<usize> = Vec::new();
            for (number, is_request) in steps.into_iter().enumerate() {
                let started = if is_request {
                    since_start.push(number);
                    updates.request(number)
                } else {
                    running = None;
                    updates.finished()
                };
                if let Some(started) = started {
                    prop_assert_eq!(running, None, "two at a time");
                    prop_assert_eq!(Some(&started), since_start.last());
                    running = Some(started);
                    since_start.clear();
                }
                prop_assert_eq!(updates.is_running(), running.is_some());
                prop_assert!(running.is_some() || since_start.is_empty(), "one was forgotten");
            }
        }
    }
}
