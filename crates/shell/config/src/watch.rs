//! Keeping settings up to date while their files change.
//!
//! # Model
//! One thread owns everything. The operating system's notices and the wish to stop come to it
//! through one channel. After a notice that may concern the settings it waits for silence (an
//! editor writes in several steps), loads again, and publishes an [`Update`] if anything differs.
//!
//! Directories are watched, not files, because editors replace files; for a directory that is not
//! there, the nearest one above it is watched until it appears. A file that is a link is watched
//! where it lies as well.
//!
//! # Invariants
//! - Watches are set before loading, so a change in between is not lost.
//! - Each published value differs from the one before.
//! - Our own reading makes no notice that is followed.
//!
//! # Not here
//! Reading itself: [`crate::Loader`].

use crate::load::{Loaded, Loader};
use dormouse_core::settings::changed;
use dormouse_system::{FileKind, Files};
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Multiple of the silence after which a load no longer waits for it. A program that writes without
/// pause would otherwise put the load off for ever; ten silences are about a second.
const PATIENCE: u32 = 10;

/// Loads in a row while the files to watch keep changing. Two suffice for a file that appears; a
/// bound, because files that come and go must not keep the thread busy for ever.
const ROUNDS: usize = 4;

/// A change that was published to followers.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Everything that is in force now.
    pub loaded: Arc<Loaded>,
    /// Keys of the settings whose values differ from before; empty if only models, trust or issues
    /// do.
    pub changed: Vec<String>,
}

/// Reason that files cannot be watched. Settings then stay as they were loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The operating system gives no notices.
    #[error("failed to watch the settings files")]
    Start(#[source] notify::Error),
    /// No thread can be started.
    #[error("failed to start the thread that watches the settings files")]
    Thread(#[source] std::io::Error),
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct SettingsWatcher {
    current: Arc<RwLock<Arc<Loaded>>>,
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Message {
    Notice(notify::Result<Event>),
    Stop,
}

impl SettingsWatcher {
    /// Starts watching. `first` is the result of an earlier load; changes since then are the first
    /// update. `silence` is the time files must be left alone before they are read (100 ms suits
    /// editors).
    pub fn start(
        loader: Loader,
        first: Arc<Loaded>,
        silence: Duration,
    ) -> Result<(Self, Receiver<Update>), WatchError> {
        let (messages, inbox) = channel();
        let (updates, published) = channel();
        let notices = messages.clone();
        let watcher = notify::recommended_watcher(move |notice| {
            // The receiver is gone: the watcher is being dropped.
            drop(notices.send(Message::Notice(notice)));
        })
        .map_err(WatchError::Start)?;
        let current = Arc::new(RwLock::new(Arc::clone(&first)));
        let worker = Worker {
            loader,
            watcher,
            watched: BTreeMap::new(),
            current: Arc::clone(&current),
            last: first,
            updates,
            silence,
        };
        let thread = thread::Builder::new()
            .name("settings".to_owned())
            .spawn(move || worker.run(&inbox))
            .map_err(WatchError::Thread)?;
        let watcher = Self {
            current,
            messages,
            thread: Some(thread),
        };
        Ok((watcher, published))
    }

    /// Everything that is in force now.
    pub fn current(&self) -> Arc<Loaded> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for SettingsWatcher {
    fn drop(&mut self) {
        // If the thread has ended there is nothing to stop.
        drop(self.messages.send(Message::Stop));
        if let Some(thread) = self.thread.take() {
            // Its panic, if any, was reported where it happened.
            drop(thread.join());
        }
    }
}

/// Next step of the worker.
#[derive(PartialEq, Eq)]
enum Next {
    Load,
    Stop,
}

struct Worker {
    loader: Loader,
    watcher: RecommendedWatcher,
    /// Directories with the names in them that lead to settings.
    watched: BTreeMap<PathBuf, BTreeSet<OsString>>,
    current: Arc<RwLock<Arc<Loaded>>>,
    last: Arc<Loaded>,
    updates: Sender<Update>,
    silence: Duration,
}

impl Worker {
    fn run(mut self, inbox: &Receiver<Message>) {
        loop {
            self.load();
            if self.wait(inbox) == Next::Stop {
                return;
            }
        }
    }

    /// Waits for a notice that concerns the settings, and then for silence.
    fn wait(&self, inbox: &Receiver<Message>) -> Next {
        loop {
            match inbox.recv() {
                Ok(Message::Notice(notice)) if self.concerns_us(&notice) => break,
                Ok(Message::Notice(_)) => {}
                Ok(Message::Stop) | Err(_) => return Next::Stop,
            }
        }
        let clock = &self.loader.system().clock;
        let start = clock.ticks();
        while clock.ticks().since(start) < self.silence.saturating_mul(PATIENCE) {
            match inbox.recv_timeout(self.silence) {
                Ok(Message::Notice(_)) => {}
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return Next::Stop,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        Next::Load
    }

    fn concerns_us(&self, notice: &notify::Result<Event>) -> bool {
        // An error means that notices may be missing; then a load is right.
        let Ok(event) = notice else { return true };
        // Reads are notices too: following our own would never end.
        if let EventKind::Access(access) = event.kind
            && access != AccessKind::Close(AccessMode::Write)
        {
            return false;
        }
        // Only names are compared: the directory may come back under its real path.
        let ours = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| self.watched.values().any(|names| names.contains(name)))
        };
        event.need_rescan()
            || event.paths.is_empty()
            || event.paths.iter().any(ours)
            || event
                .paths
                .iter()
                .any(|path| self.watched.contains_key(path))
    }

    /// Sets watches, loads and publishes, again if loading showed other files to watch.
    fn load(&mut self) {
        for _ in 0..ROUNDS {
            let before = self.watched.clone();
            self.watch();
            let loaded = Arc::new(self.loader.reload(&self.last));
            self.publish(loaded);
            // Loading may have named another model file, whose folder is not watched yet.
            self.watch();
            if self.watched == before {
                return;
            }
        }
    }

    fn publish(&mut self, loaded: Arc<Loaded>) {
        // Editors touch files without changing them; followers should not replan for that.
        if loaded == self.last {
            return;
        }
        let changed = changed(&self.last.settings, &loaded.settings);
        self.last = Arc::clone(&loaded);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&loaded);
        // A caller that dropped the receiver follows by `current` alone.
        drop(self.updates.send(Update { loaded, changed }));
    }

    /// Sets the watches that the sources need now, and removes all others.
    fn watch(&mut self) {
        let files = Arc::clone(&self.loader.system().files);
        let wanted = wanted(
            &*files,
            self.last.sources.iter().map(|source| source.path.as_path()),
        );
        for directory in self
            .watched
            .keys()
            .filter(|&directory| !wanted.contains_key(directory))
        {
            // It may be gone already, and its watch with it.
            drop(self.watcher.unwatch(directory));
        }
        // Also those watched already: a directory may have been replaced by another of its name.
        // One that cannot be watched now is tried again at the next notice.
        self.watched = wanted
            .into_iter()
            .filter(|(directory, _)| {
                let watching = self.watcher.watch(directory, RecursiveMode::NonRecursive);
                watching.is_ok()
            })
            .collect();
    }
}

/// For each directory to watch, the names in it that lead to one of the targets.
fn wanted<'a>(
    files: &dyn Files,
    targets: impl Iterator<Item = &'a Path>,
) -> BTreeMap<PathBuf, BTreeSet<OsString>> {
    let mut wanted: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
    for target in targets {
        // A linked file changes where it lies, and only that directory gets a notice.
        let linked = files.real_path(target).ok();
        for target in [Some(target), linked.as_deref()].into_iter().flatten() {
            let is_directory = |path: &&Path| {
                let found = files.metadata(path);
                found.is_ok_and(|found| found.kind == FileKind::Directory)
            };
            // A folder that does not exist cannot be watched; the nearest one above tells when it
            // appears.
            let existing = target.ancestors().skip(1).find(is_directory);
            let Some(directory) = existing else { continue };
            let below = target.strip_prefix(directory).ok();
            let name = below.and_then(|below| below.components().next());
            if let Some(name) = name {
                let names = wanted.entry(directory.to_owned()).or_default();
                names.insert(name.as_os_str().to_owned());
            }
        }
    }
    wanted
}
