//! Work that a hook hands over.
//!
//! # Model
//! A file a task, in the spool of the home. A hook writes it whole or not at all and goes; a detached
//! process takes the lock, works the files off, and removes each when it is done. A task during which
//! the process dies is tried again by the next one, a few times. Names are fresh, so that no task
//! overwrites another.
//!
//! # Not here
//! The tasks themselves (`study`); starting the process: the door.

use super::surroundings::Surroundings;
use super::{GuestAnswer, GuestEvent};
use crate::error::HostError;
use crate::host::Host;
use dormouse_core::units::Millis;
use dormouse_keeper::recaller::Library;
use dormouse_system::{Access, LockGuard, OptionalFile as _, System};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Folder of the spool, in the home.
const FOLDER: &str = "spool";
/// Most bytes of a task.
const MOST_BYTES: u64 = 64 * 1024;
/// Attempts at a task. One that ends the process three times would end it always.
const MOST_ATTEMPTS: u32 = 3;
/// Most tasks that wait. More means that no process can work them off; what is lost with one is found
/// by the next, because memories are drawn from the last point on.
const MOST_TASKS: usize = 1_000;

/// Work for a detached process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum SpoolTask {
    /// Bring the index of memory up to date.
    Refresh,
    /// Write the evidence of a conversation down before it is compacted.
    Evidence {
        /// Transcript of the session.
        transcript: PathBuf,
    },
    /// Draw memories from a session, and dream if it is time.
    Learn {
        /// Transcript of the session.
        transcript: PathBuf,
        /// Set at the end of the session.
        over: bool,
    },
}

/// Task in the spool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spooled {
    /// Folder of the project that it belongs to.
    pub folder: PathBuf,
    /// Session that it belongs to; empty for none.
    #[serde(default)]
    pub session: String,
    /// Work that is to be done.
    #[serde(flatten)]
    pub task: SpoolTask,
    /// Time at which it was handed over.
    #[serde(default)]
    pub at: Millis,
    /// Settings of the process that handed it over; none in tasks of earlier versions.
    #[serde(default)]
    surroundings: Option<Surroundings>,
    /// Times that it was tried and failed.
    #[serde(default)]
    attempts: u32,
    /// File that it lies in.
    #[serde(skip)]
    file: PathBuf,
}

impl Spooled {
    /// Opens the host that the task is to be worked off with: in its folder, with the settings about
    /// memory of the process that handed it over.
    ///
    /// # Errors
    /// As [`Host::open`].
    pub fn host(&self, system: &System, flags: &[String]) -> Result<Host, HostError> {
        let own = self.surroundings.clone();
        let own = own.unwrap_or_default();
        Host::open(&own.system(system, &self.folder), own.flags(flags))
    }
}

impl Host {
    /// Hands work over, if memory is on and there is a transcript to work on.
    pub(super) fn hand_over(
        &self,
        event: &GuestEvent,
        task: impl FnOnce(PathBuf) -> SpoolTask,
    ) -> Result<GuestAnswer, HostError> {
        let mut answer = GuestAnswer::default();
        match self.project_place() {
            Ok(_) => {}
            Err(error) if error.is_off() => return Ok(answer),
            Err(error) => return Err(error),
        }
        if let Some(transcript) = event.transcript(&self.places().project.root) {
            self.spool(&event.session_id, task(transcript))?;
            answer.work = true;
        }
        Ok(answer)
    }

    /// Hands a refresh of the index over where one is due.
    pub(super) fn spool_refresh(&self, library: &Library) -> Result<bool, HostError> {
        let due = library.wants_refresher();
        if due {
            self.spool("", SpoolTask::Refresh)?;
        }
        Ok(due)
    }

    fn spool(&self, session: &str, task: SpoolTask) -> Result<(), HostError> {
        let folder = self.spool_folder();
        let files = &self.system().files;
        files.create_dir_all(&folder, Access::Private)?;
        // The time first: names sort by age.
        let name = format!("{:015}-{}.json", self.now().0, self.system().ids.fresh());
        self.write(&Spooled {
            folder: self.places().current_dir.clone(),
            session: session.to_owned(),
            task,
            at: self.now(),
            surroundings: Some(Surroundings::of(self)),
            attempts: 0,
            file: folder.join(name),
        })
    }

    fn write(&self, spooled: &Spooled) -> Result<(), HostError> {
        let bytes = serde_json::to_vec(spooled).unwrap_or_default();
        let files = &self.system().files;
        Ok(files.replace(&spooled.file, &bytes, Access::Private)?)
    }

    fn spool_folder(&self) -> PathBuf {
        self.places().home.join(FOLDER)
    }

    /// The right to work the spool off; `None` while another process has it.
    ///
    /// # Errors
    /// When the home cannot be written to.
    pub fn spool_lock(&self) -> Result<Option<LockGuard>, HostError> {
        let folder = self.spool_folder();
        self.system()
            .files
            .create_dir_all(&folder, Access::Private)?;
        Ok(self.system().files.lock_exclusive(&folder.join("work"))?)
    }

    /// Tasks that wait, oldest first. Files that are none are removed.
    ///
    /// # Errors
    /// When the spool cannot be listed.
    pub fn spooled(&self) -> Result<Vec<Spooled>, HostError> {
        let folder = self.spool_folder();
        let files = &self.system().files;
        let listed = files.list(&folder).optional()?.unwrap_or_default();
        let names = listed.into_iter().map(|entry| folder.join(entry.name));
        let mut names: Vec<PathBuf> = names.filter(|path| is_task(path)).collect();
        names.sort();
        let mut tasks = Vec::new();
        for (number, file) in names.into_iter().rev().enumerate() {
            let bytes = files.read(&file, MOST_BYTES).unwrap_or_default();
            match serde_json::from_slice::<Spooled>(&bytes) {
                Ok(task) if task.attempts < MOST_ATTEMPTS && number < MOST_TASKS => {
                    tasks.push(Spooled { file, ..task });
                }
                _ => files.remove_file(&file)?,
            }
        }
        tasks.reverse();
        Ok(tasks)
    }

    /// Notes that a task is begun, so that one that ends the process is not tried for ever.
    ///
    /// # Errors
    /// When the spool cannot be written to.
    pub fn begin_spooled(&self, task: &Spooled) -> Result<(), HostError> {
        self.write(&Spooled {
            attempts: task.attempts + 1,
            ..task.clone()
        })
    }

    /// Removes a task that was worked off.
    ///
    /// # Errors
    /// When its file cannot be removed.
    pub fn end_spooled(&self, task: &Spooled) -> Result<(), HostError> {
        Ok(self.system().files.remove_file(&task.file)?)
    }
}

fn is_task(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "json")
}
