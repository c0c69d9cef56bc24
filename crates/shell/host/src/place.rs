//! The memory directory that a service works on.
//!
//! # Not here
//! The rules of the place: `MemoryLocation` of `dormouse-memdir`.

use crate::agent_memory::AgentMemory;
use crate::error::HostError;
use crate::host::{Host, day, user_home};
use crate::memories::limits;
use crate::remark::Remark;
use dormouse_core::settings::Trust;
use dormouse_guard::paths::check_directory;
use dormouse_memdir::{MemoryDir, MemoryLocation, NoPlace, Skipped, Surroundings};
use dormouse_memory::index::{IndexFacts, IndexPast, Missing, bounded};
use dormouse_memory::journal::JournalEntry;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::Transaction;
use dormouse_system::Access;
use std::path::{Path, PathBuf};

/// The memory directory that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The project's own, which only its user sees.
    Private,
    /// The team's, which lies in the repository.
    Team,
    /// A directory that was named; relative to the working directory.
    Directory(PathBuf),
}

impl Which {
    /// The directory that a door's options mean: a named one first.
    pub fn of(dir: Option<&Path>, team: bool) -> Self {
        match dir {
            Some(dir) => Self::Directory(dir.to_owned()),
            None if team => Self::Team,
            None => Self::Private,
        }
    }
}

/// A directory that was found; it may not exist yet.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    host: &'a Host,
    /// Its path, also where nothing is there yet.
    pub(crate) root: PathBuf,
    access: Access,
    place: Option<MemoryLocation>,
    /// Location whose team memory is meant.
    team_of: Option<MemoryLocation>,
    /// Memory of a sub-agent that is meant.
    agent: Option<AgentMemory>,
}

impl Host {
    /// Finds the directory. Nothing is made.
    pub(crate) fn find(&self, which: &Which) -> Result<Found<'_>, HostError> {
        let found = |root, access, place| Found {
            host: self,
            root,
            access,
            place,
            team_of: None,
            agent: None,
        };
        if let Which::Directory(dir) = which {
            let dir = self.places().current_dir.join(dir);
            // Links are resolved before the check: a link to `/` would pass it otherwise. A
            // directory that does not exist yet has no real path.
            let root = self.system().files.real_path(&dir).unwrap_or(dir);
            check_directory(&root).map_err(HostError::NotForMemory)?;
            return Ok(found(root, Access::Private, None));
        }
        if let (Which::Private, Some(memory)) = (which, &self.agent_memory) {
            return Ok(Found {
                agent: Some(memory.clone()),
                ..found(memory.root(), memory.access(), None)
            });
        }
        let place = self.project_place()?;
        if *which == Which::Private {
            return Ok(found(place.memory.clone(), Access::Private, Some(place)));
        }
        let root = place.team.clone().ok_or(HostError::NoTeamMemory)?;
        // Others put files there: a folder that was only cloned is neither believed nor written to.
        if self.loaded().trust != Trust::Trusted {
            return Err(HostError::TeamUntrusted);
        }
        Ok(Found {
            team_of: Some(place),
            // Meant to be committed: readable as far as the user's umask allows.
            ..found(root, Access::Shared, None)
        })
    }

    /// Location of the memory of the working directory.
    pub(crate) fn project_place(&self) -> Result<MemoryLocation, HostError> {
        // Its task was given in full; memories of the project are the session's.
        if self.sub_agents().is_some() {
            return Err(HostError::Place(NoPlace::SubAgent));
        }
        let places = self.places();
        let home = user_home(self.system());
        let around = Surroundings {
            home: &places.home,
            user_home: home.as_deref(),
            current: &places.current_dir,
        };
        Ok(MemoryLocation::find(
            &self.settings(),
            around,
            &*self.system().files,
        )?)
    }

    /// The team's directory beside a private one, where it exists and its folder is trusted. A
    /// broken one is left out with a remark: it must not block the user's own memory.
    pub(crate) fn trusted_team(&self, beside: &Found<'_>) -> Option<MemoryDir> {
        let place = beside.place()?;
        let dir = self.team_of(place)?;
        if self.loaded().trust == Trust::Trusted {
            return Some(dir);
        }
        self.remark(Remark::TeamUntrusted);
        None
    }

    /// The team's directory of a location, if it exists and can be opened.
    pub(crate) fn team_of(&self, place: &MemoryLocation) -> Option<MemoryDir> {
        match place.look_team(self.system()) {
            Ok(found) => found,
            Err(error) => {
                let path = place.team.clone().unwrap_or_default();
                self.remark(Remark::MemoryLeftOut {
                    path,
                    why: reasons(&error),
                });
                None
            }
        }
    }

    pub(crate) fn remark_skipped(&self, skipped: impl IntoIterator<Item = Skipped>) {
        for Skipped { path, why } in skipped {
            self.remark(Remark::MemoryLeftOut { path, why });
        }
    }
}

/// Error with its causes, in one line.
fn reasons(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}

impl Found<'_> {
    /// The rules that decided about the place; `None` if it was named by an option.
    pub(crate) const fn place(&self) -> Option<&MemoryLocation> {
        self.place.as_ref()
    }

    /// The directory if it exists; reading never makes it.
    pub(crate) fn existing(&self) -> Result<Option<MemoryDir>, HostError> {
        let system = self.host.system();
        if let Some(memory) = &self.agent {
            return Ok(memory.existing(system)?);
        }
        if let Some(place) = &self.team_of {
            return Ok(place.look_team(system)?);
        }
        Ok(MemoryDir::find(system, &self.root, self.access)?)
    }

    /// The directory, made if need be.
    pub(crate) fn open(&mut self) -> Result<MemoryDir, HostError> {
        let system = self.host.system();
        if let Some(memory) = &self.agent {
            return Ok(memory.open(system)?);
        }
        if let Some(place) = &self.team_of {
            return place.open_team(system)?.ok_or(HostError::NoTeamMemory);
        }
        if let Some(place) = &mut self.place {
            place.claim(&*system.files)?;
            // Claiming may move to another folder, if this one belongs to a project of the same
            // name.
            self.root.clone_from(&place.memory);
        }
        Ok(MemoryDir::open(system, &self.root, self.access)?)
    }

    /// Its files; an empty snapshot if it does not exist.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, HostError> {
        let Some(dir) = self.existing()? else {
            return Ok(Snapshot::new());
        };
        let look = dir.look()?;
        self.host.remark_skipped(look.skipped);
        Ok(look.snapshot)
    }

    /// Changes its files, with the index within its limits; the entry of the journal, if anything
    /// changed.
    pub(crate) fn update(
        &mut self,
        mut change: impl FnMut(&Snapshot) -> Result<Transaction, HostError>,
    ) -> Result<Option<JournalEntry>, HostError> {
        let (limits, today) = (limits(&self.host.settings()), day(self.host.now()));
        self.open()?.update(|snapshot| {
            let facts = IndexFacts {
                today,
                limits,
                past: &IndexPast::default(),
                missing: Missing::Keep,
            };
            Ok(bounded(change(snapshot)?, snapshot, &facts))
        })
    }
}
