//! Time, environment and ids that a test decides, and the bundle with all handles.

use super::commands::ScriptedCommands;
use super::files::MemoryFiles;
use super::processes::MemoryProcesses;
use super::sandbox::ScriptedSandbox;
use crate::system::System;
use crate::world::{Clock, Environment, EnvironmentError, Ids, Ticks};
use dormouse_core::units::Millis;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// 2026-01-01T00:00:00Z: recent enough to look real, round enough to be recognised.
const START: Millis = Millis(1_767_225_600_000);

/// A clock that stands still until it is moved. Clones show the same time.
#[derive(Clone, Debug)]
pub struct ManualClock {
    hands: Arc<Mutex<Hands>>,
}

#[derive(Debug)]
struct Hands {
    wall: Millis,
    elapsed: Duration,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn new(now: Millis) -> Self {
        Self {
            hands: Arc::new(Mutex::new(Hands {
                wall: now,
                elapsed: Duration::ZERO,
            })),
        }
    }

    /// Lets time pass, for the wall clock and the ticks alike.
    pub fn advance(&self, by: Duration) {
        let mut hands = locked(&self.hands);
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        // Time passes for both clocks; only `set` moves the wall clock alone.
        hands.wall = Millis(hands.wall.0.saturating_add(millis));
        hands.elapsed = hands.elapsed.saturating_add(by);
    }

    /// Sets the wall clock, also backwards, as an administrator or a time server would.
    /// The ticks do not notice.
    pub fn set(&self, now: Millis) {
        locked(&self.hands).wall = now;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new(START)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Millis {
        locked(&self.hands).wall
    }

    fn ticks(&self) -> Ticks {
        Ticks::new(locked(&self.hands).elapsed)
    }
}

/// An environment with only the variables a test sets. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MapEnvironment {
    inner: Arc<Mutex<Variables>>,
}

#[derive(Debug, Default)]
struct Variables {
    vars: BTreeMap<String, OsString>,
    home: Option<PathBuf>,
    current: Option<PathBuf>,
}

impl MapEnvironment {
    /// Sets a variable for all clones.
    pub fn set(&self, name: impl Into<String>, value: impl Into<OsString>) {
        locked(&self.inner).vars.insert(name.into(), value.into());
    }

    /// Removes a variable for all clones.
    pub fn unset(&self, name: &str) {
        locked(&self.inner).vars.remove(name);
    }

    /// Sets the home directory, or takes it away.
    pub fn set_home(&self, home: Option<PathBuf>) {
        locked(&self.inner).home = home;
    }

    /// Sets the working directory, or takes it away as if it had been removed.
    pub fn set_current_dir(&self, current: Option<PathBuf>) {
        locked(&self.inner).current = current;
    }
}

impl Environment for MapEnvironment {
    fn var(&self, name: &str) -> Option<OsString> {
        locked(&self.inner).vars.get(name).cloned()
    }

    fn home_dir(&self) -> Option<PathBuf> {
        locked(&self.inner).home.clone()
    }

    fn current_dir(&self) -> Result<PathBuf, EnvironmentError> {
        locked(&self.inner)
            .current
            .clone()
            .ok_or_else(|| EnvironmentError::CurrentDir(io::ErrorKind::NotFound.into()))
    }
}

/// Ids that are the same in every run. Clones continue one sequence.
#[derive(Clone, Debug)]
pub struct SequentialIds {
    seed: u32,
    made: Arc<AtomicU64>,
}

impl SequentialIds {
    /// A sequence of its own for every seed.
    pub fn new(seed: u32) -> Self {
        Self {
            seed,
            made: Arc::default(),
        }
    }
}

impl Default for SequentialIds {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Ids for SequentialIds {
    fn fresh(&self) -> String {
        // One millisecond per id keeps them in order; the seed stands where chance would.
        let count = self.made.fetch_add(1, Ordering::Relaxed);
        let millis = u64::try_from(START.0).unwrap_or(0).saturating_add(count);
        let [a, b, c, d] = self.seed.to_be_bytes();
        let chance = [0, 0, 0, 0, 0, 0, a, b, c, d];
        uuid::Builder::from_unix_timestamp_millis(millis, &chance)
            .into_uuid()
            .to_string()
    }
}

/// A whole machine in memory, with the handles that steer it.
#[derive(Clone, Debug)]
pub struct MemorySystem {
    /// Its disk, with faults and crashes.
    pub files: MemoryFiles,
    /// Its clock; file times come from it too.
    pub clock: ManualClock,
    /// Its environment: home `/home/dormouse`, working directory `/project`.
    pub env: MapEnvironment,
    /// Its ids, the same in every run.
    pub ids: SequentialIds,
    /// Its processes, which a test starts and ends.
    pub processes: MemoryProcesses,
    /// Its programs, which answer by script.
    pub sandbox: ScriptedSandbox,
    /// Its command lines, which answer by script.
    pub commands: ScriptedCommands,
}

impl MemorySystem {
    /// A machine with an empty disk.
    pub fn new() -> Self {
        let clock = ManualClock::default();
        let env = MapEnvironment::default();
        env.set_home(Some("/home/dormouse".into()));
        env.set_current_dir(Some("/project".into()));
        let files = MemoryFiles::new(Arc::new(clock.clone()));
        Self {
            commands: ScriptedCommands::new(files.clone()),
            files,
            clock,
            env,
            ids: SequentialIds::default(),
            processes: MemoryProcesses::new(),
            sandbox: ScriptedSandbox::default(),
        }
    }

    /// The bundle that the code under test gets.
    pub fn system(&self) -> System {
        System {
            files: Arc::new(self.files.clone()),
            clock: Arc::new(self.clock.clone()),
            env: Arc::new(self.env.clone()),
            ids: Arc::new(self.ids.clone()),
            processes: Arc::new(self.processes.clone()),
            sandbox: Arc::new(self.sandbox.clone()),
            commands: Arc::new(self.commands.clone()),
        }
    }
}

impl Default for MemorySystem {
    fn default() -> Self {
        Self::new()
    }
}

/// The guard, also after a panic: a test that failed while holding a lock should not make the next
/// assertion panic too.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_only_when_told_and_the_ticks_ignore_a_jump() {
        let clock = ManualClock::default();
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00.000Z");
        let before = clock.ticks();
        clock.advance(Duration::from_secs(2));
        clock.set(Millis(5));
        assert_eq!(clock.now(), Millis(5));
        assert_eq!(clock.ticks().since(before), Duration::from_secs(2));
        assert_eq!(before.since(clock.ticks()), Duration::ZERO);
    }

    #[test]
    fn ids_repeat_with_the_seed_and_differ_without() {
        let three = |seed| {
            let ids = SequentialIds::new(seed);
            [ids.fresh(), ids.fresh(), ids.clone().fresh()]
        };
        assert_eq!(three(1), three(1));
        assert_ne!(three(1)[0], three(2)[0]);
        assert!(three(1).is_sorted_by(|a, b| a < b));
        let id = uuid::Uuid::parse_str(&three(7)[0]).unwrap();
        assert_eq!(
            (id.get_version_num(), id.get_variant()),
            (7, uuid::Variant::RFC4122)
        );
    }

    #[test]
    fn the_environment_holds_what_was_put_in() {
        let env = MapEnvironment::default();
        env.set("DORMOUSE_HOME", "/d");
        assert_eq!(env.text("DORMOUSE_HOME").as_deref(), Some("/d"));
        env.unset("DORMOUSE_HOME");
        assert_eq!(env.text("DORMOUSE_HOME"), None);
        assert!(env.current_dir().is_err());
        assert_eq!(env.home_dir(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_not_unicode_is_no_text() {
        use std::os::unix::ffi::OsStringExt as _;
        let env = MapEnvironment::default();
        let value = OsString::from_vec(vec![b'/', 0xff]);
        env.set("DORMOUSE_HOME", value.clone());
        assert_eq!(env.text("DORMOUSE_HOME"), None);
        assert_eq!(env.var("DORMOUSE_HOME"), Some(value));
    }

    #[test]
    fn the_levers_move_the_bundle() {
        let memory = MemorySystem::new();
        let system = memory.system();
        memory.clock.advance(Duration::from_millis(1));
        memory.files.put("/project/a", "x");
        assert_eq!(system.clock.now(), memory.clock.now());
        assert_eq!(system.files.read("/project/a".as_ref(), 9).unwrap(), "x");
        assert_ne!(system.ids.fresh(), memory.ids.fresh());
    }
}
