//! Finding transcripts below a folder.
//!
//! # Model
//! Every `*.jsonl` is one. The transcripts of a session's sub-agents lie in
//! `<session>/subagents/` and belong to that session.
//!
//! # Responsibilities
//! A bounded walk: links are not followed, and the depth is limited. A folder that may not be
//! listed is reported and costs itself alone.
//!
//! # Not here
//! Reading the transcripts found ([`crate::summarise`]) and the folders of a project
//! ([`crate::ProjectFolder`]).

use crate::layout::SUB_AGENTS;
use dormouse_core::id::{AgentId, SessionId};
use dormouse_core::units::Millis;
use dormouse_system::{FileError, FileKind, Files};
use std::path::{Path, PathBuf};

/// Levels below the start: home, projects, project, session, sub-agents, and some to spare. A
/// limit, because a mounted or looping tree must not keep the walk going forever.
const MAX_DEPTH: usize = 8;

/// A transcript that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLog {
    /// Path of the transcript, below the folder that was searched.
    pub path: PathBuf,
    /// The session it belongs to, by its name.
    pub session: SessionId,
    /// The sub-agent whose transcript it is.
    pub agent: Option<AgentId>,
    /// Length in bytes at the time of the walk.
    pub bytes: u64,
    /// Time of the last change, by the file system's clock.
    pub modified: Millis,
}

/// Result of a walk.
#[derive(Debug, Default)]
pub struct Discovered {
    /// The transcripts, in the order of their paths.
    pub logs: Vec<FoundLog>,
    /// Folders that could not be listed.
    pub refused: Vec<FileError>,
}

/// Finds all transcripts below a folder.
///
/// # Errors
/// When the folder itself cannot be listed.
pub fn discover(files: &dyn Files, folder: &Path) -> Result<Discovered, FileError> {
    let mut found = Discovered::default();
    walk(files, folder, 0, &mut found)?;
    // The order of directories differs between file systems; reports must not.
    found.logs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(
    files: &dyn Files,
    folder: &Path,
    depth: usize,
    found: &mut Discovered,
) -> Result<(), FileError> {
    for entry in files.list(folder)? {
        let path = folder.join(&entry.name);
        match entry.metadata.kind {
            // Books of a memory directory have lines of JSON, too; the newest of them would be taken
            // for the session to go on with.
            FileKind::Directory if is_books(&path) => {}
            FileKind::Directory if depth < MAX_DEPTH => {
                // A forbidden folder costs itself alone; failing here would hide every other
                // session.
                if let Err(error) = walk(files, &path, depth + 1, found) {
                    found.refused.push(error);
                }
            }
            FileKind::File if path.extension().is_some_and(|kind| kind == "jsonl") => {
                let (session, agent) = attribution(&path);
                found.logs.push(FoundLog {
                    session,
                    agent,
                    bytes: entry.metadata.len,
                    modified: entry.metadata.modified,
                    path,
                });
            }
            // A link may lead anywhere, also back up; its target is found where it lies.
            FileKind::Directory | FileKind::File | FileKind::Symlink | FileKind::Other => {}
        }
    }
    Ok(())
}

/// True for the hidden folders of a memory directory: caches, journal, inbox.
fn is_books(folder: &Path) -> bool {
    let hidden = folder
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    hidden
        && folder
            .parent()
            .is_some_and(|parent| parent.ends_with("memory"))
}

/// The session and the sub-agent that a path names.
fn attribution(path: &Path) -> (SessionId, Option<AgentId>) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = path
        .parent()
        .filter(|folder| folder.ends_with(SUB_AGENTS))
        .and_then(Path::parent)
        .and_then(Path::file_name);
    match (folder, stem.strip_prefix("agent-")) {
        (Some(session), Some(agent)) => (
            SessionId::new(session.to_string_lossy()),
            Some(AgentId::from(agent)),
        ),
        _ => (SessionId::from(&*stem), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::{Fault, MemoryFiles, Operation};
    use pretty_assertions::assert_eq;
    use std::io::ErrorKind;

    #[test]
    fn transcripts_are_found_and_sub_agents_belong_to_their_session() {
        let files = MemoryFiles::default();
        files.put("/t/p/s1.jsonl", "{}");
        files.put("/t/p/s1/subagents/agent-a1.jsonl", "{}\n");
        files.put("/t/p/s1/blobs/x", "");
        files.put("/t/p/memory/.cache/usage.jsonl", "{}");
        files.put("/t/agent-z.jsonl", "");
        let found = discover(&files, "/t".as_ref()).unwrap();
        let logs: Vec<(&str, Option<&str>, u64)> = found
            .logs
            .iter()
            .map(|log| {
                (
                    log.session.as_str(),
                    log.agent.as_ref().map(AgentId::as_str),
                    log.bytes,
                )
            })
            .collect();
        let expected = [("agent-z", None, 0), ("s1", None, 2), ("s1", Some("a1"), 3)];
        let mut logs = logs;
        logs.sort_unstable();
        assert_eq!(logs, expected);
    }

    #[test]
    fn a_folder_that_cannot_be_listed_costs_itself_alone() {
        let files = MemoryFiles::default();
        files.put("/t/a/x.jsonl", "");
        files.put("/t/b/y.jsonl", "");
        files.inject(
            Fault::fail(ErrorKind::PermissionDenied)
                .on(Operation::List)
                .at("/t/a"),
        );
        let found = discover(&files, "/t".as_ref()).unwrap();
        assert_eq!((found.logs.len(), found.refused.len()), (1, 1));
        assert!(discover(&files, "/none".as_ref()).is_err());
    }
}
