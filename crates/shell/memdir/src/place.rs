//! Location of memory.
//!
//! # Model
//! Settings, the home directories and the working directory in; a [`MemoryLocation`] out, or the reason why
//! there is none. Nothing is created: [`MemoryLocation::claim`] does that, before the first write.
//!
//! The private memory of a project lies in the project's folder below Dormouse's home, where
//! the project is the canonical root of its repository ([`Repository`]), so that all working trees
//! share it. Only settings that no project can make lead it elsewhere.
//!
//! # Not here
//! The content of the directory ([`crate::MemoryDir`]); trust in a folder's team memory
//! (`dormouse_memory::team`).

use crate::dir::MemoryDir;
use crate::error::MemdirError;
use crate::git::Repository;
use dormouse_core::settings::{MemoryLayout, Settings, Switch, keys};
use dormouse_core::show::expand_home;
use dormouse_guard::paths::{DirectoryRefusal, check_directory};
use dormouse_store::{LayoutError, ProjectFolder, slug, unique_slug};
use dormouse_system::{Access, FileError, Files, System};
use std::path::{Path, PathBuf};

/// Folder of memories in a project's folder.
const FOLDER: &str = "memory";
/// Team memory in a repository, unless `team.directory` names another. Inside the repository, so
/// that it is committed with the code.
const TEAM: &str = ".dormouse/team-memory";
/// Longest name in Claude Code's layout; longer ones are cut there, so they must be here.
const LONGEST_SLUG: usize = 200;

/// Facts besides settings that decide the location.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Dormouse's home directory, absolute.
    pub home: &'a Path,
    /// User's home, for `~/`; `None` if unknown.
    pub user_home: Option<&'a Path>,
    /// Working directory of the session.
    pub current: &'a Path,
}

/// Directories of private and team memory, and the reason for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLocation {
    /// Private memory of the user.
    pub memory: PathBuf,
    /// Memory shared by the people of the project.
    pub team: Option<PathBuf>,
    /// Working tree that the team's memory lies in, unless a setting of the user names its place.
    /// Others write to the tree, so that no link in it is followed.
    team_in: Option<PathBuf>,
    /// Root that the memory belongs to: the canonical one of the repository, or the working
    /// directory.
    pub project_root: PathBuf,
    /// Setting or rule that decided.
    pub why: Why,
    /// Dormouse's home, if the project's folder there is still to be claimed.
    claim_in: Option<PathBuf>,
}

/// Setting or rule that decided on the location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Setting `memory.directory`, which wins over layouts.
    Setting,
    /// Setting `memory.remote_directory`, because this is a remote run.
    Remote,
    /// Setting `memory.layout`, which names Claude Code's.
    ClaudeLayout,
    /// Default: the project's folder below Dormouse's home.
    Project,
}

/// Reason why there is no memory here.
#[derive(Debug, thiserror::Error)]
pub enum NoPlace {
    /// Switched off by a setting.
    #[error("memory is switched off (setting `{because}`)")]
    Off {
        /// Name of that setting.
        because: &'static str,
    },
    /// Sub-agent of a session.
    #[error("a sub-agent has no part in the project's memory")]
    SubAgent,
    /// Remote run without a directory for memory.
    #[error(
        "this is a remote run and no directory for its memory is set; set `memory.remote_directory` or DORMOUSE_REMOTE_MEMORY_DIR to keep memory"
    )]
    Remote,
    /// Directory of a setting that may not be used.
    #[error("the setting `{setting}` cannot be used")]
    Refused {
        /// Name of the setting.
        setting: &'static str,
        /// Reason of the guard.
        #[source]
        why: DirectoryRefusal,
    },
    /// Path with `~/`, but no known home.
    #[error(
        "`{path}` (setting `{setting}`) begins with `~/`, but no home directory is known; give an absolute path"
    )]
    NoHome {
        /// Name of the setting.
        setting: &'static str,
        /// Value of the setting.
        path: String,
    },
    /// File system error while looking.
    #[error("failed to find out where memory lies")]
    Files(#[from] FileError),
    /// Directory that cannot be opened.
    #[error(transparent)]
    Memdir(#[from] MemdirError),
    /// Project folder that cannot be found or made.
    #[error("failed to find the project's folder")]
    Folder(#[from] LayoutError),
}

impl MemoryLocation {
    /// Location of the working directory's memory. Nothing is created.
    pub fn find(
        settings: &Settings,
        around: Surroundings<'_>,
        files: &dyn Files,
    ) -> Result<Self, NoPlace> {
        if let Switch::Off { because } = settings.switch(keys::MEMORY) {
            return Err(NoPlace::Off { because });
        }
        // Without links: two paths to one project must share its memory.
        let current = files.real_path(around.current)?;
        let repository = Repository::around(files, &current)?;
        let worktree = repository.as_ref().map(|found| found.worktree.clone());
        let project_root = repository.map_or(current, |found| found.root);
        let team = team(settings, around, worktree.as_deref())?;
        let named = settings.get(keys::TEAM_DIRECTORY).is_some();
        let team_in = worktree.filter(|_| team.is_some() && !named);
        let mut place = Self {
            memory: PathBuf::new(),
            team,
            team_in,
            project_root,
            why: Why::Project,
            claim_in: None,
        };
        // Before all others: a remote run keeps memory in this directory or not at all.
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

    /// Opens the private memory, and creates it if need be.
    pub fn open(&mut self, system: &System) -> Result<MemoryDir, NoPlace> {
        self.claim(&*system.files)?;
        Ok(MemoryDir::open(system, &self.memory, Access::Private)?)
    }

    /// Opens the private memory if there is any; creates nothing.
    pub fn look(&self, system: &System) -> Result<Option<MemoryDir>, NoPlace> {
        Ok(MemoryDir::find(system, &self.memory, Access::Private)?)
    }

    /// Opens the team's memory if there is any; creates nothing.
    pub fn look_team(&self, system: &System) -> Result<Option<MemoryDir>, NoPlace> {
        let (way, access) = (Path::new(TEAM), Access::Shared);
        Ok(match (&self.team, &self.team_in) {
            (Some(_), Some(tree)) => MemoryDir::find_below(system, tree, way, access)?,
            (Some(team), None) => MemoryDir::find(system, team, access)?,
            (None, _) => None,
        })
    }

    /// Opens the team's memory, and creates it if need be; `None` where there can be none.
    pub fn open_team(&self, system: &System) -> Result<Option<MemoryDir>, NoPlace> {
        let (way, access) = (Path::new(TEAM), Access::Shared);
        Ok(match (&self.team, &self.team_in) {
            (Some(_), Some(tree)) => Some(MemoryDir::open_below(system, tree, way, access)?),
            (Some(team), None) => Some(MemoryDir::open(system, team, access)?),
            (None, _) => None,
        })
    }

    /// Claims the project's folder for this project, if the memory lies there. Two projects whose
    /// names look alike then have different folders for good.
    pub fn claim(&mut self, files: &dyn Files) -> Result<(), NoPlace> {
        if let Some(home) = &self.claim_in {
            let folder = ProjectFolder::prepare(files, home, &self.project_root)?;
            self.memory = folder.path().join(FOLDER);
            self.claim_in = None;
        }
        Ok(())
    }
}

/// Project's folder, existing or not.
fn project_folder(files: &dyn Files, home: &Path, root: &Path) -> Result<PathBuf, NoPlace> {
    if let Some(folder) = ProjectFolder::find(files, home, root)? {
        return Ok(folder.path().to_owned());
    }
    let projects = home.join("projects");
    let plain = projects.join(slug(root));
    // Slugs of two paths may be equal; the one that claimed the folder first keeps it.
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

/// Name that Claude Code gives to a project: it replaces UTF-16 units, not characters, and keeps no
/// letters but those of ASCII.
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

/// Directory that a setting names.
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
