//! A home, a project and memories on a real disk, with a clock that stands.

use dormouse_core::units::Millis;
use dormouse_host::Host;
use dormouse_system::{
    Access, Clock as _, Files as _, ManualClock, MapEnvironment, RealClock, RealFiles,
    SequentialIds, System,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Numbers that look like chance and are the same in every run.
#[derive(Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        // The constants of Knuth's linear congruential generator; its high bits are good enough.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

#[derive(Debug)]
pub(crate) struct Kit {
    root: TempDir,
    pub(crate) clock: ManualClock,
}

impl Kit {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "project/.git"] {
            let folder = root.path().join(folder);
            RealFiles.create_dir_all(&folder, Access::Private).unwrap();
        }
        let clock = ManualClock::new(RealClock::new().now());
        // Files written from now on are old enough for their stamps to be believed.
        clock.advance(Duration::from_hours(1));
        Self { root, clock }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A file below the root, changed so many days ago.
    pub(crate) fn put(&self, name: &str, text: &str, days: u64) {
        let path = self.path(name);
        let parent = path.parent().unwrap();
        RealFiles.create_dir_all(parent, Access::Private).unwrap();
        let age = i64::try_from(days).unwrap() * 24 * 3_600_000;
        let at = Millis(self.clock.now().0 - age);
        let text = text.as_bytes();
        RealFiles
            .replace_dated(&path, text, Access::Private, at)
            .unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        RealFiles.remove_file(&self.path(name)).unwrap();
    }

    /// A machine in the project, as a new process finds it.
    pub(crate) fn system(&self) -> System {
        let home = self.path("home");
        let env = MapEnvironment::default();
        env.set_home(Some(home));
        env.set_current_dir(Some(self.path("project")));
        env.set("DORMOUSE_MEMORY_DIR", self.path("memory"));
        System {
            clock: Arc::new(self.clock.clone()),
            ids: Arc::new(SequentialIds::default()),
            env: Arc::new(env),
            ..System::real()
        }
    }

    pub(crate) fn host(&self) -> Host {
        let managed = self.path("managed.toml");
        Host::open_with(&self.system(), &managed, Vec::new()).unwrap()
    }

    /// Everything below the root: names, bytes, and the times at which files and folders changed.
    pub(crate) fn listing(&self) -> Vec<(PathBuf, Vec<u8>, i64)> {
        let mut listing = Vec::new();
        let mut folders = vec![self.root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            listing.push((folder.clone(), Vec::new(), changed(&folder)));
            for entry in RealFiles.list(&folder).unwrap() {
                let path = folder.join(&entry.name);
                if entry.metadata.kind == dormouse_system::FileKind::Directory {
                    folders.push(path);
                } else {
                    let bytes = RealFiles.read(&path, 1 << 30).unwrap().to_vec();
                    let at = changed(&path);
                    listing.push((path, bytes, at));
                }
            }
        }
        listing.sort();
        listing
    }
}

fn changed(path: &Path) -> i64 {
    RealFiles.metadata(path).unwrap().modified.0
}
