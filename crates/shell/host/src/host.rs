//! The host: settings, models, trust and the machine, opened once.
//!
//! # Not here
//! Services on sessions and memories: each in a module of its own.

use crate::agent_memory::AgentMemory;
use crate::error::HostError;
use crate::remark::Remark;
use crate::transcripts::Transcripts;
use dormouse_config::{
    Loaded, Loader, MANAGED_FILE, Places, SettingsWatcher, TrustChange, Update, WatchError,
    set_trust,
};
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::{Settings, Trust, changed};
use dormouse_core::units::Millis;
use dormouse_keeper::SettingsSource;
use dormouse_store::SUB_AGENTS;
use dormouse_system::{Confinement, System};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Silence of the settings files before they are read again: editors write in several
/// steps that lie closer together.
const SILENCE: Duration = Duration::from_millis(100);

/// Everything that a program needs of Dormouse, opened once and shared.
#[derive(Debug)]
pub struct Host {
    system: System,
    loader: Loader,
    /// Settings of the command line, as `key=value`.
    flags: Vec<String>,
    settings: Source,
    remarks: Mutex<Vec<Remark>>,
    /// Remarks that are made only once.
    once: Mutex<Vec<Remark>>,
    /// True if commands can be confined here; tried once, because a trial takes a thread.
    confines: OnceLock<bool>,
    /// Folder for the transcripts of sub-agents, in the host of one; `None` in a session's own.
    sub_agents: Option<PathBuf>,
    /// Memory of the sort of sub-agent that this is the host of.
    pub(crate) agent_memory: Option<AgentMemory>,
}

/// Origin of the settings in force.
#[derive(Clone, Debug)]
enum Source {
    /// Loaded once, for a door that answers one question.
    Once(Arc<Loaded>),
    /// Loaded again whenever a file changes, for a door that lives on.
    Watched(Arc<SettingsWatcher>),
}

impl Host {
    /// Finds the home and the project, and loads settings, models and trust. `flags` are settings
    /// as `key=value`.
    ///
    /// # Errors
    /// When a flag is wrong, or nothing says where the home is.
    pub fn open(system: &System, flags: Vec<String>) -> Result<Self, HostError> {
        Self::open_with(system, Path::new(MANAGED_FILE), flags)
    }

    /// The same with another administrator's file, for tests.
    ///
    /// # Errors
    /// As [`Host::open`].
    pub fn open_with(
        system: &System,
        managed: &Path,
        flags: Vec<String>,
    ) -> Result<Self, HostError> {
        let loader = Loader::new(system, managed, flags.clone())?;
        let loaded = Arc::new(loader.load());
        let issues = loaded.issues.len();
        let host = Self {
            system: system.clone(),
            loader,
            flags,
            // Most programs answer one question; only those that live on pay for a watcher.
            settings: Source::Once(loaded),
            remarks: Mutex::default(),
            once: Mutex::default(),
            confines: OnceLock::new(),
            sub_agents: None,
            agent_memory: None,
        };
        if issues > 0 {
            host.remark(Remark::SettingsIssues { count: issues });
        }
        Ok(host)
    }

    /// The same host for the sub-agents of a session. Their transcripts lie in the session's folder,
    /// those of their own sub-agents beside them; they have no part in the project's memory.
    ///
    /// `folder` is another folder to work in, such as a worktree of the project: settings and trust
    /// stay those of the project.
    ///
    /// # Errors
    /// When the session's folder cannot be named.
    pub fn for_sub_agents(
        &self,
        session: &SessionId,
        folder: Option<&Path>,
    ) -> Result<Self, HostError> {
        let transcripts = match &self.sub_agents {
            Some(transcripts) => transcripts.clone(),
            None => self.session_folder(session)?.join(SUB_AGENTS),
        };
        let loader = match folder {
            Some(folder) => self.loader.working_in(folder),
            None => self.loader.clone(),
        };
        Ok(Self {
            system: self.system.clone(),
            loader,
            flags: self.flags.clone(),
            settings: self.settings.clone(),
            remarks: Mutex::default(),
            once: Mutex::default(),
            confines: self.confines.clone(),
            sub_agents: Some(transcripts),
            agent_memory: None,
        })
    }

    /// Folder of the transcripts, if this is the host of a sub-agent.
    pub(crate) fn sub_agents(&self) -> Option<&Path> {
        self.sub_agents.as_deref()
    }

    /// True if a command can be confined to its folders and without a network. An incomplete
    /// sandbox is none here: the user is asked instead.
    pub(crate) fn confines(&self) -> bool {
        let tried = || self.system.commands.confinement() == Confinement::Full;
        *self.confines.get_or_init(tried)
    }

    /// Follows changes of the settings files from now on. Each update is received once; services
    /// use the newest settings whether it is received or not.
    ///
    /// # Errors
    /// When the operating system gives no notices; the settings then stay as they were loaded.
    pub fn watch(&mut self) -> Result<Receiver<Update>, WatchError> {
        // The watcher begins with the settings in force: no change is reported for a first load.
        let first = self.loaded();
        let (watcher, updates) = SettingsWatcher::start(self.loader.clone(), first, SILENCE)?;
        self.settings = Source::Watched(Arc::new(watcher));
        Ok(updates)
    }

    /// Settings of the command line, as `key=value`.
    pub(crate) fn flags(&self) -> &[String] {
        &self.flags
    }

    /// The machine that everything works on.
    pub const fn system(&self) -> &System {
        &self.system
    }

    /// The home, the project and the working directory.
    pub fn places(&self) -> &Places {
        self.loader.places()
    }

    /// Everything that was loaded: settings, models, trust, files, issues.
    pub fn loaded(&self) -> Arc<Loaded> {
        match &self.settings {
            Source::Once(loaded) => Arc::clone(loaded),
            Source::Watched(watcher) => watcher.current(),
        }
    }

    /// The settings as the files say them now, for the answer to a change of one of them.
    pub(crate) fn reload(&self) -> Loaded {
        self.loader.reload(&self.loaded())
    }

    /// The settings in force now; later changes do not show in them.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.loaded().settings)
    }

    /// The settings in force whenever they are asked for, for sessions and keepers.
    pub fn settings_source(&self) -> SettingsSource {
        match &self.settings {
            Source::Once(loaded) => {
                let settings = Arc::clone(&loaded.settings);
                Arc::new(move || Arc::clone(&settings))
            }
            Source::Watched(watcher) => {
                let watcher = Arc::clone(watcher);
                Arc::new(move || Arc::clone(&watcher.current().settings))
            }
        }
    }

    /// Models and prices in force, those of the user's file included.
    pub fn models(&self) -> Arc<ModelTable> {
        Arc::clone(&self.loaded().models)
    }

    /// Transcripts, with the models of the settings.
    pub fn transcripts(&self) -> Transcripts {
        Transcripts::new(&self.system, self.models())
    }

    /// The time by the machine's clock.
    pub fn now(&self) -> Millis {
        self.system.clock.now()
    }

    /// The day that a person means: `2027-03-15`, `tomorrow`, `in two weeks`; of several days the
    /// last. `None` if the text is no date, or more than one.
    pub fn day_meant(&self, text: &str) -> Option<jiff::civil::Date> {
        let text = text.trim();
        if let Ok(day) = text.parse() {
            return Some(day);
        }
        match dormouse_text::dates::dates(text, day(self.now())).as_slice() {
            // The whole text, so that a stray word is not silently dropped.
            [date] if date.range == (0..text.len()) => Some(date.days.last),
            _ => None,
        }
    }

    /// Remarks since they were last taken, oldest first: facts beside a result that a person wants
    /// to know. They are kept also when a service fails.
    pub fn take_remarks(&self) -> Vec<Remark> {
        // A thread that panicked cannot have left half a remark: the list is used as it is.
        std::mem::take(&mut *self.remarks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn remark(&self, remark: Remark) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        remarks.push(remark);
    }

    /// Remarks something at most once, for services that are asked again and again.
    pub(crate) fn remark_once(&self, remark: Remark) {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        if !once.contains(&remark) {
            once.push(remark.clone());
            self.remark(remark);
        }
    }

    /// Trusts a folder, or takes the trust back; the working directory's if none is named.
    ///
    /// # Errors
    /// When the folder cannot be trusted, or the list cannot be written.
    pub fn set_trust(&self, folder: Option<&Path>, trust: Trust) -> Result<Trusted, HostError> {
        let places = self.places();
        let folder = folder.unwrap_or(&places.current_dir);
        let before = self.loaded();
        let TrustChange {
            folder,
            changed: is_new,
        } = set_trust(&*self.system.files, places, folder, trust)?;
        // Loaded again at once, so that the answer can name the settings that changed by it.
        let after = self.reload();
        let keys = changed(&before.settings, &after.settings);
        let values = keys.iter().filter_map(|key| after.settings.entry(key));
        Ok(Trusted {
            folder: folder.to_string_lossy().into_owned(),
            trusted: trust == Trust::Trusted,
            changed: is_new,
            values: values
                .map(|entry| (entry.key.clone(), entry.shown()))
                .collect(),
            settings: keys,
        })
    }
}

/// A change of trust and what it changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trusted {
    /// The project's folder, without links.
    pub folder: String,
    /// State after the change.
    pub trusted: bool,
    /// Unset if the folder was in this state already.
    pub changed: bool,
    /// Keys of the settings whose values differ since.
    pub settings: Vec<String>,
    /// Their values now, as they are shown.
    #[serde(skip)]
    pub values: Vec<(String, String)>,
}

/// The day of a moment, in universal time: machines of a team agree on it.
pub(crate) fn day(now: Millis) -> jiff::civil::Date {
    // Moments beyond what calendars hold become the epoch; no clock shows them.
    let at = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// The user's home, if the environment names one.
pub(crate) fn user_home(system: &System) -> Option<PathBuf> {
    system.env.home_dir()
}
