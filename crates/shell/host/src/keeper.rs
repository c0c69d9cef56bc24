//! The keeper of a project's memory, for work that needs more than the directory.
//!
//! # Not here
//! Reading and changing memories by hand: `memories`, which need no model and no budget.

use crate::error::HostError;
use crate::host::{Host, user_home};
use crate::place::Which;
use dormouse_core::settings::{Trust, keys};
use dormouse_keeper::budget::Budget;
use dormouse_keeper::client::{NoModel, configured};
use dormouse_keeper::{Keeper, KeeperPlaces, TeamMemory};
use dormouse_memdir::MemoryLocation;
use dormouse_store::ProjectFolder;
use std::path::PathBuf;
use std::sync::Arc;

/// A keeper, and the reason if it has no model.
#[derive(Debug)]
pub struct OpenedKeeper {
    /// The keeper, shared by everything around a session.
    pub keeper: Arc<Keeper>,
    /// The setting that is missing for a model; without a model the keeper works by rules.
    pub no_model: Option<NoModel>,
}

impl Host {
    /// Opens a memory directory with everything around it; the directory is made if need be.
    ///
    /// # Errors
    /// When memory is off, or the directory cannot be made.
    pub fn keeper(&self, which: &Which) -> Result<OpenedKeeper, HostError> {
        let memory = self.find(which)?.open()?;
        let loaded = self.loaded();
        // Both from one load: a reload between them could give a model without its price.
        let (settings, models) = (Arc::clone(&loaded.settings), Arc::clone(&loaded.models));
        let (model, no_model) = match configured(self.system(), &settings, &models) {
            Ok(model) => (Some(model), None),
            Err(why) => (None, Some(why)),
        };
        let places = self.places();
        let system = self.system();
        let team = match self.project_place() {
            Ok(place) => self.team(&place, loaded.trust),
            // The project has no memory: a directory named by the user has no team beside it.
            Err(_) => None,
        };
        let keeper = Keeper {
            budget: Budget::new(system, &places.home),
            system: system.clone(),
            settings: self.settings_source(),
            models,
            memory,
            team,
            places: KeeperPlaces {
                home: places.home.clone(),
                user_home: user_home(system),
                project_root: places.project.root.clone(),
                working_dir: places.current_dir.clone(),
                transcripts: self.transcript_folders()?,
            },
            model,
        };
        Ok(OpenedKeeper {
            keeper: Arc::new(keeper),
            no_model,
        })
    }

    /// Folders with transcripts of this project, Dormouse's and Claude Code's, those that exist.
    pub(crate) fn transcript_folders(&self) -> Result<Vec<PathBuf>, HostError> {
        let places = self.places();
        let files = &*self.system().files;
        let root = &places.project.real_root;
        let own = ProjectFolder::find(files, &places.home, root)?;
        let own = own.map(|folder| folder.path().to_owned());
        let claude = self.claude_home();
        // Claude Code names a project's folder by the slug of its path.
        let claude = claude.map(|home| home.join("projects").join(dormouse_store::slug(root)));
        let mut folders: Vec<PathBuf> = own.into_iter().chain(claude).collect();
        // Folders that do not exist would each be an error in every search.
        folders.retain(|folder| files.metadata(folder).is_ok());
        Ok(folders)
    }

    /// Home of Claude Code, by the settings or below the user's home.
    pub(crate) fn claude_home(&self) -> Option<PathBuf> {
        let user_home = user_home(self.system());
        match self.settings().get(keys::MEMORY_CLAUDE_HOME) {
            Some(text) => Some(match (text.strip_prefix("~/"), user_home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(text),
            }),
            None => Some(user_home?.join(".claude")),
        }
    }

    /// The team's memory, if a member has begun it. An untrusted one is passed on with a mark, for
    /// the keeper to decide.
    fn team(&self, place: &MemoryLocation, trust: Trust) -> Option<TeamMemory> {
        let dir = self.team_of(place)?;
        let env = &self.system().env;
        // The name under which the user commits, since team memory is committed, too.
        let author = env.text("GIT_AUTHOR_NAME").or_else(|| env.text("USER"));
        Some(TeamMemory {
            dir,
            trusted: trust == Trust::Trusted,
            author: author.unwrap_or_else(|| "unknown".to_owned()),
        })
    }
}
