//! One update at a time.
//!
//! While an update runs, a newer request waits for it, and the latest one wins: it has seen
//! everything an earlier one could have noted.

/// The updates of one session's notes. `T` is what an update needs to know when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Updates<T> {
    /// None is running.
    #[default]
    Idle,
    /// One is running.
    Running {
        /// The latest request that came since.
        waiting: Option<T>,
    },
}

impl<T> Updates<T> {
    /// Asks for an update. It is given back if it is to be started now; otherwise it waits, in the
    /// place of any that waited before.
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

    /// Tells that the running update has ended, well or not. Gives the one to be started next.
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

    /// Whether an update is running.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the obvious model: a list of everything requested since the last start.
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
