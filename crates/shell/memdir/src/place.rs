//! Where memory lies.
//!
//! # Model
//! Settings, the home directories and the working directory in; a [`Place`] out, or the reason why
//! there is none. Nothing is made: [`Place::claim`] does that, when something is about to be written.
//!
//! The private memory of a project lies in the project's folder below Dormouse's home, where
//! the project is the canonical root of its repository ([`Repository`]), so that all working trees
//! share it. Only settings that no project can make lead it elsewhere.
//!
//! # Not here
//! What is in the directory ([`crate::MemoryDir`]); whether a folder's team memory may be trusted.

use crate::dir::MemoryDir;
use crate::error::MemdirError;
use crate::git::Repository;
use dormouse_core::settings::{MemoryLayout, Settings, Switch, keys};
use dormouse_core::show::expand_home;
use dormouse_guard::paths::{DirectoryRefusal, check_directory};
use dormouse_store::{LayoutError, ProjectFolder, slug, unique_slug};
use dormouse_system::{Access, FileError, Files, System};
use std::path::{Path, PathBuf};

/// The folder of memories in a project's folder.
const FOLDER: &str = "memory";
/// Team memory in a repository, if the user does not say otherwise.
const TEAM: &str = ".dormouse/team-memory";
/// Names longer than this are cut in the other tool's layout.
const LONGEST_SLUG: usize = 200;

/// What the answer depends on besides settings.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Dormouse's home.
    pub home: &'a Path,
    /// The user's home, for `~/`.
    pub user_home: Option<&'a Path>,
    /// The working directory.
    pub current: &'a Path,
}

/// Where memory lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The private memory.
    pub memory: PathBuf,
    /// The memory shared by the people of the project.
    pub team: Option<PathBuf>,
    /// What the memory belongs to: the canonical root of the repository, or the working directory.
    pub project_root: PathBuf,
    /// What decided.
    pub why: Why,
    /// Dormouse's home, where the project's folder is still to be claimed.
    claim_in: Option<PathBuf>,
}

/// What decided where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// `memory.directory`.
    Setting,
    /// `memory.remote_directory`, because this is a remote run.
    Remote,
    /// `memory.layout` is the other tool's.
    ClaudeLayout,
    /// The project's folder below Dormouse's home.
    Project,
}

/// Why there is no memory here.
#[derive(Debug, thiserror::Error)]
pub enum NoPlace {
    /// It is switched off.
    #[error("memory is switched off (setting `{because}`)")]
    Off {
        /// The setting that says so.
        because: &'static str,
    },
    /// A remote run without a directory.
    #[error(
        "this is a remote run and no directory for its memory is set; set `memory.remote_directory` or DORMOUSE_REMOTE_MEMORY_DIR to keep memory"
    )]
    Remote,
    /// The directory of a setting may not be used.
    #[error("the setting `{setting}` cannot be used")]
    Refused {
        /// The setting.
        setting: &'static str,
        /// Why.
        #[source]
        why: DirectoryRefusal,
    },
    /// `~/` without a home.
    #[error(
        "`{path}` (setting `{setting}`) begins with `~/`, but no home directory is known; give an absolute path"
    )]
    NoHome {
        /// The setting.
        setting: &'static str,
        /// Its value.
        path: String,
    },
    /// The disk does not say.
    #[error("failed to find out where memory lies")]
    Files(#[from] FileError),
    /// The directory cannot be opened.
    #[error(transparent)]
    Memdir(#[from] MemdirError),
    /// The project's folder is out of reach.
    #[error("failed to find the project's folder")]
    Folder(#[from] LayoutError),
}

impl Place {
    /// Where the memory of the working directory lies. Nothing is made.
    pub fn find(
        settings: &Settings,
        around: Surroundings<'_>,
        files: &dyn Files,
    ) -> Result<Self, NoPlace> {
        if let Switch::Off { because } = settings.switch(keys::MEMORY) {
            return Err(NoPlace::Off { because });
        }
        let current = files.real_path(around.current)?;
        let repository = Repository::around(files, &current)?;
        let worktree = repository.as_ref().map(|found| found.worktree.clone());
        let project_root = repository.map_or(current, |found| found.root);
        let team = team(settings, around, worktree.as_deref())?;
        let mut place = Self {
            memory: PathBuf::new(),
            team,
            project_root,
            why: Why::Project,
            claim_in: None,
        };
        if settings.get(keys::MEMORY_REMOTE) {
            let directory = settings.get(keys::MEMORY_REMOTE_DIRECTORY);
            let directory = directory.ok_or(NoPlace::Remote)?;
            place.memory = directory_of("memory.remote_directory", &directory, around)?;
            place.why = Why::Remote;
        } else if let Some(directory) = settings.get(keys::MEMORY_DIRECTORY) {
            place.memory = directory_of("memory.directory", &directory, around)?;
            place.why = Why::Setting;
        } else if settings.get(keys::MEMORY_LAYOUT) == MemoryLayout::Claude {
            place.memory = claude_directory(settings, around, &place.project_root)?;
            place.why = Why::ClaudeLayout;
        } else {
            place.memory = project_folder(files, around.home, &place.project_root)?.join(FOLDER);
            place.claim_in = Some(around.home.to_owned());
        }
        Ok(place)
    }

    /// Opens the private memory, and makes it if need be.
    pub fn open(&mut self, system: &System) -> Result<MemoryDir, NoPlace> {
        self.claim(&*system.files)?;
        Ok(MemoryDir::open(system, &self.memory, Access::Private)?)
    }

    /// Opens the private memory if there is any; nothing is made.
    pub fn look(&self, system: &System) -> Result<Option<MemoryDir>, NoPlace> {
        Ok(MemoryDir::find(system, &self.memory, Access::Private)?)
    }

    /// Opens the team's memory if there is any; nothing is made.
    pub fn look_team(&self, system: &System) -> Result<Option<MemoryDir>, NoPlace> {
        match &self.team {
            Some(team) => Ok(MemoryDir::find(system, team, Access::Shared)?),
            None => Ok(None),
        }
    }

    /// Makes the project's folder this project's, if that is where the memory lies. Two projects
    /// whose names look alike then have different folders for good.
    pub fn claim(&mut self, files: &dyn Files) -> Result<(), NoPlace> {
        if let Some(home) = &self.claim_in {
            let folder = ProjectFolder::prepare(files, home, &self.project_root)?;
            self.memory = folder.path().join(FOLDER);
            self.claim_in = None;
        }
        Ok(())
    }
}

/// The project's folder, also if nobody has made it yet.
fn project_folder(files: &dyn Files, home: &Path, root: &Path) -> Result<PathBuf, NoPlace> {
    if let Some(folder) = ProjectFolder::find(files, home, root)? {
        return Ok(folder.path().to_owned());
    }
    let projects = home.join("projects");
    let plain = projects.join(slug(root));
    let taken = ProjectFolder::is_claimed(files, &plain)?;
    Ok(if taken {
        projects.join(unique_slug(root))
    } else {
        plain
    })
}

fn team(
    settings: &Settings,
    around: Surroundings<'_>,
    worktree: Option<&Path>,
) -> Result<Option<PathBuf>, NoPlace> {
    if !settings.switch(keys::TEAM).is_on() {
        return Ok(None);
    }
    match settings.get(keys::TEAM_DIRECTORY) {
        Some(directory) => directory_of("team.directory", &directory, around).map(Some),
        None => Ok(worktree.map(|top| top.join(TEAM))),
    }
}

fn claude_directory(
    settings: &Settings,
    around: Surroundings<'_>,
    root: &Path,
) -> Result<PathBuf, NoPlace> {
    let setting = "memory.claude_home";
    let home = settings.get(keys::MEMORY_CLAUDE_HOME);
    let home = directory_of(setting, home.as_deref().unwrap_or("~/.claude"), around)?;
    Ok(home.join("projects").join(claude_slug(root)).join(FOLDER))
}

/// The name the other tool gives to a project: it replaces UTF-16 units, not characters, and knows
/// no letters but those of ASCII.
fn claude_slug(root: &Path) -> String {
    let text = root.to_string_lossy();
    let mut name = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            name.push(character);
        } else {
            name.extend(std::iter::repeat_n('-', character.len_utf16()));
        }
    }
    if name.len() <= LONGEST_SLUG {
        return name;
    }
    unique_slug(Path::new(&name))
}

/// The directory that a setting names.
fn directory_of(
    setting: &'static str,
    text: &str,
    around: Surroundings<'_>,
) -> Result<PathBuf, NoPlace> {
    if text.starts_with("~/") && around.user_home.is_none() {
        let path = text.to_owned();
        return Err(NoPlace::NoHome { setting, path });
    }
    let path = expand_home(text, around.user_home);
    check_directory(&path).map_err(|why| NoPlace::Refused { setting, why })?;
    Ok(path)
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
