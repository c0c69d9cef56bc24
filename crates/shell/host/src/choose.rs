//! The session that a person means.
//!
//! # Model
//! A session is named by a file, by its id or the beginning of it, by `latest`, or not at all: then
//! the newest one of the working directory is meant. Ids are looked for in the folders where
//! Dormouse, Claude Code, Codex and pi keep their sessions, under the variables with which those
//! move them ([`AgentFolders`]).
//!
//! # Not here
//! Reading the session ([`crate::transcripts`]). Naming files that are no sessions.

use crate::error::HostError;
use crate::host::{Host, user_home};
use dormouse_store::{FoundLog, Line, LogFile, ProjectFolder, discover, slug};
use dormouse_system::System;
use std::path::{Path, PathBuf};

/// Name for the newest session of all.
const LATEST: &str = "latest";
/// Standard input as a file; a pipe on it is read to its end.
const STANDARD_INPUT: &str = "/dev/stdin";
/// Rollouts of Codex that are opened at most to find one of the working directory: they lie in
/// folders by day, and their directory is named inside.
const LOOKED_INTO: usize = 200;

/// A session that was found for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionChosen {
    /// File of the transcript.
    pub file: PathBuf,
    /// The way it was found, if the name was not its path.
    pub by: Option<ChosenBy>,
}

/// Way in which a session was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The newest one of the working directory.
    Here,
    /// The newest one of all.
    Latest,
    /// The only one whose id begins so.
    Id,
}

/// Folders in which agents keep their sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFolders {
    dormouse: PathBuf,
    claude: Vec<PathBuf>,
    codex: Vec<PathBuf>,
    pi: Vec<PathBuf>,
}

impl AgentFolders {
    fn of(system: &System, dormouse: PathBuf) -> Self {
        let home = user_home(system);
        let below = |path: &str| home.as_ref().map(|home| home.join(path));
        // Each agent's own variable replaces its usual folder.
        let moved = |name: &str| system.env.var(name).filter(|value| !value.is_empty());
        let base = |name: &str, usual: &[&str]| match moved(name) {
            Some(folder) => vec![PathBuf::from(folder)],
            None => usual.iter().filter_map(|path| below(path)).collect(),
        };
        let with = |bases: Vec<PathBuf>, names: &[&str]| {
            let each = bases.iter().flat_map(|base| {
                let named = names.iter().map(|name| base.join(name));
                named.collect::<Vec<_>>()
            });
            each.collect()
        };
        Self {
            dormouse,
            claude: with(
                base("CLAUDE_CONFIG_DIR", &[".claude", ".config/claude"]),
                &["projects"],
            ),
            codex: with(
                base("CODEX_HOME", &[".codex"]),
                &["sessions", "archived_sessions"],
            ),
            pi: with(base("PI_CODING_AGENT_DIR", &[".pi/agent"]), &["sessions"]),
        }
    }

    /// Name of the agent that keeps its sessions where this file lies.
    pub fn agent_of(&self, file: &Path) -> Option<&'static str> {
        let below = |folders: &[PathBuf]| folders.iter().any(|folder| file.starts_with(folder));
        match file {
            _ if file.starts_with(&self.dormouse) => Some("dormouse"),
            _ if below(&self.claude) => Some("claude-code"),
            _ if below(&self.codex) => Some("codex"),
            _ if below(&self.pi) => Some("pi"),
            _ => None,
        }
    }

    /// All of them, whether they exist or not.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.dormouse)
            .chain(&self.claude)
            .chain(&self.codex)
            .chain(&self.pi)
            .map(PathBuf::as_path)
    }
}

impl SessionChosen {
    /// The file that a name means by itself, if it is one: a path, or `-` for standard input.
    pub fn file(system: &System, name: &Path) -> Option<Self> {
        let chosen = |file: PathBuf| Some(Self { file, by: None });
        if name == Path::new("-") {
            return chosen(PathBuf::from(STANDARD_INPUT));
        }
        let is_path = name.components().count() > 1 || name.extension().is_some();
        if is_path || system.files.metadata(name).is_ok() {
            return chosen(name.to_owned());
        }
        None
    }
}

impl Host {
    /// Folders in which agents keep their sessions on this machine.
    pub fn agent_folders(&self) -> AgentFolders {
        AgentFolders::of(self.system(), self.sessions_folder())
    }

    /// The session that is meant by a name; without one the newest of the working directory.
    ///
    /// # Errors
    /// When there is none, or the name fits several.
    pub fn choose(&self, name: Option<&Path>) -> Result<SessionChosen, HostError> {
        let Some(name) = name else {
            return self.newest_here();
        };
        if let Some(file) = SessionChosen::file(self.system(), name) {
            return Ok(file);
        }
        let logs = self.all_sessions();
        let chosen = |log: &FoundLog, by| SessionChosen {
            file: log.path.clone(),
            by: Some(by),
        };
        let text = name.to_string_lossy();
        if text == LATEST {
            let newest = logs.iter().max_by_key(|log| log.modified);
            let newest = newest.ok_or(HostError::NoSessions)?;
            return Ok(chosen(newest, ChosenBy::Latest));
        }
        let fits = |log: &&FoundLog| ids(log.session.as_str()).any(|id| id.starts_with(&*text));
        let found: Vec<&FoundLog> = logs.iter().filter(fits).collect();
        let exact = found
            .iter()
            .find(|log| ids(log.session.as_str()).any(|id| id == text));
        match (found.as_slice(), exact) {
            ([one], _) => Ok(chosen(one, ChosenBy::Id)),
            // The whole id of one session may be the beginning of another's.
            (_, Some(exact)) => Ok(chosen(exact, ChosenBy::Id)),
            ([], _) => Err(HostError::NoSession(text.into_owned())),
            (many, _) => Err(HostError::AmbiguousSession {
                name: text.into_owned(),
                many: many.iter().map(|log| log.session.to_string()).collect(),
            }),
        }
    }

    /// Sessions of all agents, without the transcripts of sub-agents, in the order of their paths.
    fn all_sessions(&self) -> Vec<FoundLog> {
        let folders = self.agent_folders();
        // Most machines have one or two of the agents: a folder that is not there is no fault.
        let found = folders
            .all()
            .filter_map(|folder| discover(&*self.system().files, folder).ok());
        let logs = found.flat_map(|found| found.logs);
        logs.filter(|log| log.agent.is_none()).collect()
    }

    /// The newest session of the working directory, of any agent.
    fn newest_here(&self) -> Result<SessionChosen, HostError> {
        let mut found = self.sessions_here()?;
        found.retain(|log| log.agent.is_none());
        let newest = found.iter().max_by_key(|log| log.modified);
        let here = || HostError::NoSessionHere(self.places().current_dir.clone());
        let newest = newest.ok_or_else(here)?;
        Ok(SessionChosen {
            file: newest.path.clone(),
            by: Some(ChosenBy::Here),
        })
    }

    /// Sessions of the working directory, of any agent, with the transcripts of their sub-agents; of
    /// Codex, whose sessions lie by day, the newest one.
    pub(crate) fn sessions_here(&self) -> Result<Vec<FoundLog>, HostError> {
        let system = self.system();
        let here = self.places().current_dir.clone();
        // Agents name the folder by the path they were started with, which may contain links.
        let real = system.files.real_path(&here).unwrap_or(here.clone());
        let mut found: Vec<FoundLog> = Vec::new();
        let folders = self.agent_folders();
        let root = &self.places().project.root;
        let mut own: Vec<PathBuf> = Vec::new();
        for directory in [&real, root] {
            let folder = ProjectFolder::find(&*system.files, &self.places().home, directory);
            own.extend(folder?.map(|folder| folder.path().to_owned()));
        }
        for directory in [&here, &real] {
            let claude = folders.claude.iter().map(|all| all.join(slug(directory)));
            let pi = folders.pi.iter().map(|all| all.join(pi_folder(directory)));
            own.extend(claude.chain(pi));
        }
        own.sort();
        own.dedup();
        for folder in &own {
            found.extend(
                discover(&*system.files, folder)
                    .into_iter()
                    .flat_map(|found| found.logs),
            );
        }
        found.extend(self.newest_rollout(&folders.codex, &[&here, &real]));
        Ok(found)
    }

    /// The newest rollout of Codex whose header names one of the directories.
    fn newest_rollout(&self, folders: &[PathBuf], here: &[&PathBuf]) -> Option<FoundLog> {
        let files = &*self.system().files;
        let found = folders
            .iter()
            .filter_map(|folder| discover(files, folder).ok());
        let mut logs: Vec<FoundLog> = found.flat_map(|found| found.logs).collect();
        logs.sort_by_key(|log| std::cmp::Reverse(log.modified));
        let mut newest = logs.into_iter().take(LOOKED_INTO);
        newest.find(|log| {
            let directory = LogFile::open(files, &log.path)
                .ok()
                .and_then(|log| header_directory(&log));
            directory.is_some_and(|directory| here.contains(&&directory))
        })
    }
}

/// The working directory that the first line of a rollout names.
fn header_directory(log: &LogFile) -> Option<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Header {
        cwd: Option<String>,
        payload: Option<Payload>,
    }
    #[derive(serde::Deserialize)]
    struct Payload {
        cwd: Option<String>,
    }
    let first = log.lines().ok()?.next()?.ok()?;
    let Line::Text { bytes, .. } = first else {
        return None;
    };
    let header: Header = serde_json::from_slice(&bytes).ok()?;
    let cwd = header.payload.and_then(|payload| payload.cwd);
    cwd.or(header.cwd).map(PathBuf::from)
}

/// Names by which a session can be called: its file's, and the id at the end of that where an agent
/// puts the time before it (`rollout-2026-01-01T10-00-00-<id>`, `<time>_<id>`).
fn ids(stem: &str) -> impl Iterator<Item = &str> {
    /// Characters of a UUID with its hyphens.
    const UUID: usize = 36;
    let uuid = stem.len().checked_sub(UUID).and_then(|at| stem.get(at..));
    let is_uuid = |text: &&str| text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let behind = stem.rsplit_once('_').map(|(_, id)| id);
    let short = uuid.filter(is_uuid).or(behind);
    std::iter::once(stem).chain(short.filter(move |id| *id != stem))
}

/// The folder that pi names after a working directory.
fn pi_folder(directory: &Path) -> String {
    let text = directory.to_string_lossy();
    let plain = text.trim_start_matches(['/', '\\']);
    format!("--{}--", plain.replace(['/', '\\', ':'], "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_session_can_be_called_by_its_file_or_by_the_id_in_it() {
        let id = "0b7d1c52-4f0e-4c7e-9a39-6d2f0c5e8a11";
        let called = |stem: &str| ids(stem).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(called(id), [id]);
        let rollout = format!("rollout-2026-01-01T10-00-00-{id}");
        assert_eq!(called(&rollout), [rollout.as_str(), id]);
        assert_eq!(called("1767262_abc"), ["1767262_abc", "abc"]);
        assert_eq!(called("short"), ["short"]);
        assert_eq!(called("ünïcödé"), ["ünïcödé"]);
    }

    #[test]
    fn pi_names_its_folders_after_the_path() {
        assert_eq!(pi_folder(Path::new("/home/me/app")), "--home-me-app--");
    }
}
