//! Memory of a sort of sub-agent: a directory of its own, apart from the memory of the project.
//!
//! # Model
//! A definition names the scope: the user's everywhere, the project's with the code, or this machine's for the
//! project. Working trees of a repository share the directory. The agent is shown its whole index and
//! changes it by the tool for memory, whose guard and journal watch over every write as in any memory
//! directory. Nothing is recalled into its conversation, and nothing drawn from it.
//!
//! # Not here
//! The conversation of the sub-agent: `dormouse-agent`.

use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::settings::{Trust, keys};
use dormouse_memdir::{MemdirError, MemoryDir, Repository};
use dormouse_system::{Access, System};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Folder of such memories in the home, and in the folder of a project.
const FOLDER: &str = "agent-memory";
/// Folder of those that stay on this machine.
const LOCAL_FOLDER: &str = "agent-memory-local";
/// Folder of a project's own files.
const PROJECT: &str = ".dormouse";

/// Reach of an agent's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryScope {
    /// All projects of the user.
    User,
    /// One project, committed with it.
    Project,
    /// One project on this machine, never committed.
    Local,
}

impl FromStr for MemoryScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "user" => Ok(Self::User),
            "project" => Ok(Self::Project),
            "local" => Ok(Self::Local),
            _ => Err(format!(
                "`memory` is `{text}`; it has to be user, project or local"
            )),
        }
    }
}

impl MemoryScope {
    /// Words to the agent about how general its memories have to be.
    const fn words(self) -> &'static str {
        match self {
            Self::User => {
                "This memory is yours in all projects of the user: keep only what holds in every one of them, and name no file or decision of a single project."
            }
            Self::Project => {
                "This memory is yours in this project alone and is committed with it: keep what everyone who works on the project may know, and nothing about the user."
            }
            Self::Local => {
                "This memory is yours in this project on this machine alone: details of the machine and of the user's own setup belong here."
            }
        }
    }
}

/// Memory directory of a sub-agent.
#[derive(Clone, Debug)]
pub(crate) struct AgentMemory {
    /// Folder that is trusted to be no link; nothing below it is followed out of it.
    base: PathBuf,
    way: PathBuf,
    scope: MemoryScope,
}

impl AgentMemory {
    pub(crate) fn root(&self) -> PathBuf {
        self.base.join(&self.way)
    }

    pub(crate) const fn access(&self) -> Access {
        match self.scope {
            // Meant to be committed: readable as far as the user's umask allows.
            MemoryScope::Project => Access::Shared,
            MemoryScope::User | MemoryScope::Local => Access::Private,
        }
    }

    /// Words behind the section about memory.
    pub(crate) const fn words(&self) -> &'static str {
        self.scope.words()
    }

    pub(crate) fn existing(&self, system: &System) -> Result<Option<MemoryDir>, MemdirError> {
        MemoryDir::find_below(system, &self.base, &self.way, self.access())
    }

    pub(crate) fn open(&self, system: &System) -> Result<MemoryDir, MemdirError> {
        let dir = MemoryDir::open_below(system, &self.base, &self.way, self.access())?;
        if self.scope == MemoryScope::Local
            && let Some(folder) = self.root().parent()
        {
            let ignore = folder.join(".gitignore");
            if system.files.metadata(&ignore).is_err() {
                // Without it git shows the folder as new, which is no reason to lose a memory.
                let _kept = system.files.replace(&ignore, b"*\n", Access::Private);
            }
        }
        Ok(dir)
    }
}

impl Host {
    /// The same host with the memory of one sort of sub-agent. Without one where memory is off, and where
    /// the project is not trusted and the memory would lie in it.
    #[must_use]
    pub fn with_agent_memory(mut self, agent: &str, scope: MemoryScope) -> Self {
        self.agent_memory = self.agent_memory_of(agent, scope);
        self
    }

    fn agent_memory_of(&self, agent: &str, scope: MemoryScope) -> Option<AgentMemory> {
        let settings = self.settings();
        if !settings.switch(keys::MEMORY).is_on() {
            return None;
        }
        // Not every file system takes a colon.
        let agent = agent.replace(':', "-");
        let places = self.places();
        let (base, folder) = match scope {
            MemoryScope::User => (places.home.clone(), PathBuf::from(FOLDER)),
            MemoryScope::Local if settings.get(keys::MEMORY_REMOTE) => {
                let directory = settings.get(keys::MEMORY_REMOTE_DIRECTORY)?;
                (PathBuf::from(directory), PathBuf::from(LOCAL_FOLDER))
            }
            MemoryScope::Project | MemoryScope::Local => {
                let local = scope == MemoryScope::Local;
                let folder = if local { LOCAL_FOLDER } else { FOLDER };
                let folder = Path::new(PROJECT).join(folder);
                (self.repository_root(), folder)
            }
        };
        let in_project = base.starts_with(self.repository_root()) && scope != MemoryScope::User;
        if in_project && self.loaded().trust != Trust::Trusted {
            let folder = base.join(folder);
            // Others may have put the files there.
            if self.system().files.metadata(&folder).is_ok() {
                self.remark_once(Remark::AgentsUntrusted { folder });
            }
            return None;
        }
        Some(AgentMemory {
            base,
            way: folder.join(agent),
            scope,
        })
    }

    /// Root that all working trees of the repository share; the project's own without a repository.
    fn repository_root(&self) -> PathBuf {
        let root = &self.places().project.real_root;
        let found = Repository::around(&*self.system().files, root);
        let found = found.ok().flatten();
        found.map_or_else(|| root.clone(), |found| found.root)
    }
}
