//! Real time, environment and ids.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the place the ban on clock, environment and id functions points to"
)]

use crate::world::{Clock, Environment, EnvironmentError, Ids, Ticks};
use dormouse_core::units::Millis;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// The machine's clock, wall and monotonic.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// A clock whose ticks count from now.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    fn now(&self) -> Millis {
        millis(SystemTime::now())
    }

    fn ticks(&self) -> Ticks {
        Ticks::new(self.start.elapsed())
    }
}

/// A moment of the operating system in our unit; also right before 1970.
pub(super) fn millis(time: SystemTime) -> Millis {
    // A date beyond the range comes from a damaged file, not from a clock.
    let clamp = |millis: u128| i64::try_from(millis).unwrap_or(i64::MAX);
    Millis(match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => clamp(after.as_millis()),
        Err(before) => -clamp(before.duration().as_millis()),
    })
}

/// The inverse of [`millis`]; times the operating system cannot express become its epoch.
pub(super) fn system_time(time: Millis) -> SystemTime {
    let distance = Duration::from_millis(time.0.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    if time.0 < 0 {
        epoch.checked_sub(distance)
    } else {
        epoch.checked_add(distance)
    }
    .unwrap_or(epoch)
}

/// The process's own environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealEnvironment;

impl Environment for RealEnvironment {
    fn var(&self, name: &str) -> Option<OsString> {
        env::var_os(name)
    }

    fn home_dir(&self) -> Option<PathBuf> {
        // An empty `HOME` would make every path under it relative to the current directory.
        env::home_dir().filter(|home| !home.as_os_str().is_empty())
    }

    fn current_dir(&self) -> Result<PathBuf, EnvironmentError> {
        env::current_dir().map_err(EnvironmentError::CurrentDir)
    }
}

/// Random, time-ordered ids (UUID version 7).
#[derive(Clone, Copy, Debug, Default)]
pub struct RealIds;

impl Ids for RealIds {
    fn fresh(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_the_epoch_are_negative() {
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(millis(epoch + Duration::from_millis(1_500)), Millis(1_500));
        assert_eq!(millis(epoch - Duration::from_millis(1_500)), Millis(-1_500));
        for time in [-1_500, 0, 1_767_225_600_123].map(Millis) {
            assert_eq!(millis(system_time(time)), time);
        }
    }

    #[test]
    fn the_clock_runs_in_this_century() {
        let clock = RealClock::default();
        let before = clock.ticks();
        assert!(clock.now() > Millis::parse("2024-01-01T00:00:00Z").unwrap());
        assert!(clock.ticks() >= before);
    }

    #[test]
    fn ids_are_distinct_and_sort_as_they_were_made() {
        let ids: Vec<String> = (0..1_000).map(|_| RealIds.fresh()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert_eq!(uuid::Uuid::parse_str(&ids[0]).unwrap().get_version_num(), 7);
    }

    #[test]
    fn the_test_process_has_an_environment() {
        assert!(RealEnvironment.current_dir().unwrap().is_absolute());
        assert_eq!(RealEnvironment.text("DORMOUSE_THIS_IS_NOT_SET"), None);
    }
}
