//! Garbage collection: files in a project's folder without a reference.
//!
//! # Model
//! A session's folder holds blobs, long tool results and notes beside its log. A [`Survey`] says
//! lists the files of a project's folder and which of their names occur in which log; [`plan`] is a
//! pure function of it and returns the files that can go, with the reason, and the sessions left
//! alone; [`collect`] removes the files.
//!
//! A log refers to a file if the file's name occurs in it: names are hashes, so that reading the
//! text finds every kind of record, also of versions to come and in lines that are torn. A log
//! counts for its own session, for the session in whose folder it lies, and for every session that
//! its manifests name, because a fork lives on its parent's records. Files are kept when in doubt:
//! - A session that is open for writing, or whose fork is, is left alone.
//! - A log that cannot be read to its end keeps everything in its project.
//! - A file younger than an hour may belong to something that is just beginning.
//! - Files with names that are not ours, links and folders of any other name are not looked at.
//!
//! # Not here
//! The choice of projects, and telling the user: the `gc` command.

use crate::discover::{Discovered, discover};
use crate::lines::Line;
use crate::log_file::LogFile;
use dormouse_core::id::SessionId;
use dormouse_core::units::Millis;
use dormouse_system::{
    DirEntry, FileError, FileKind, Files, LockGuard, Metadata, is_temporary, lock_path,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// The folders of a session whose files its log must name.
const NAMED: [&str; 2] = ["blobs", "tool-results"];

/// Further folders that are removed only when the session's log is gone.
const WITH_THE_LOG: [&str; 1] = ["session-memory"];

/// Files younger than this are left alone, in milliseconds. An hour, because a blob is written
/// before the record that names it, perhaps by a session that is only beginning.
const GRACE: u64 = 60 * 60 * 1_000;

/// A file that may be garbage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Path of the file.
    pub path: PathBuf,
    /// File name, the text searched for in the logs.
    pub name: String,
    /// The session in whose folder it lies.
    pub session: Option<SessionId>,
    /// True if a log has to name it; otherwise it only goes with the log.
    pub named: bool,
    /// A write left it behind when it was interrupted.
    pub temporary: bool,
    /// Length in bytes, for the sum shown to the user.
    pub bytes: u64,
    /// Time of the last change, by the file system's clock.
    pub modified: Millis,
}

/// References to files found in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogNames {
    /// The names of candidates that occur in it.
    pub names: HashSet<String>,
    /// Other sessions that its manifests name.
    pub parents: BTreeSet<SessionId>,
    /// True if another process holds the log's lock.
    pub in_use: bool,
    /// True if the log was read to its end; otherwise names may be missing.
    pub whole: bool,
}

/// Contents of a project's folder, as far as the plan needs them.
#[derive(Debug, Default)]
pub struct Survey {
    /// Files that may be garbage.
    pub candidates: Vec<Candidate>,
    /// The logs by session; those of its sub-agents are added to the session's own.
    pub logs: BTreeMap<SessionId, LogNames>,
    /// Sessions whose own log is there; sub-agents' logs do not count.
    pub with_log: BTreeSet<SessionId>,
    /// Folders that could not be listed; a log may hide in them.
    pub refused: Vec<FileError>,
    /// Held until the survey is dropped, so that no session begins to write between plan and
    /// removal.
    locks: Vec<LockGuard>,
}

/// Reason that a file can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// No log names it.
    Unreferenced,
    /// The session's log is gone.
    LogGone,
    /// An interrupted write left it behind.
    Interrupted,
}

/// A file that can go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbage {
    /// Path of the file.
    pub path: PathBuf,
    /// The session in whose folder it lies.
    pub session: Option<SessionId>,
    /// Length in bytes, for the sum shown to the user.
    pub bytes: u64,
    /// The reason, shown to the user.
    pub why: Why,
}

/// Reason that a session with something to remove is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftAlone {
    /// It is open for writing, or a fork of it is.
    InUse,
    /// A log in the project cannot be read to its end.
    Unreadable,
}

/// Decision of [`plan`], before anything is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcPlan {
    /// Files that can go.
    pub garbage: Vec<Garbage>,
    /// Sessions left alone though something in them looks like garbage.
    pub left: BTreeMap<SessionId, LeftAlone>,
}

/// A file that was not removed.
#[derive(Debug)]
pub struct NotRemoved {
    /// The file that is still there.
    pub garbage: Garbage,
    /// The error of the operating system.
    pub error: FileError,
}

/// Decides which files can go. Pure: the survey holds every fact it needs.
pub fn plan(survey: &Survey, now: Millis) -> GcPlan {
    let referrers = referrers(survey);
    // A log or folder that cannot be read may name any of the files.
    let unreadable = survey.logs.values().any(|log| !log.whole) || !survey.refused.is_empty();
    let mut plan = GcPlan::default();
    for candidate in &survey.candidates {
        // A clock set back makes a file look younger and keeps it, which is the safe side.
        if now.since(candidate.modified) < GRACE {
            continue;
        }
        let Some(why) = verdict(survey, &referrers, candidate) else {
            continue;
        };
        let in_use = candidate.session.as_ref().is_some_and(|session| {
            let referring = referrers.get(session).into_iter().flatten();
            referring
                .filter_map(|log| survey.logs.get(*log))
                .any(|log| log.in_use)
        });
        // An unreadable log may name any file of the project, so it protects all of them.
        let left = match (in_use, unreadable) {
            (true, _) => Some(LeftAlone::InUse),
            (false, true) => Some(LeftAlone::Unreadable),
            (false, false) => None,
        };
        match (left, &candidate.session) {
            (Some(left), Some(session)) => {
                plan.left.insert(session.clone(), left);
            }
            // A temporary file in the project's folder itself belongs to no known session: kept,
            // unreported.
            (Some(_), None) => {}
            (None, session) => plan.garbage.push(Garbage {
                path: candidate.path.clone(),
                session: session.clone(),
                bytes: candidate.bytes,
                why,
            }),
        }
    }
    plan
}

fn verdict(
    survey: &Survey,
    referrers: &BTreeMap<&SessionId, BTreeSet<&SessionId>>,
    candidate: &Candidate,
) -> Option<Why> {
    if candidate.temporary {
        return Some(Why::Interrupted);
    }
    let session = candidate.session.as_ref()?;
    let referring = referrers.get(session);
    if !survey.with_log.contains(session) {
        // As long as a fork or a sub-agent names the session, its log may come back.
        return referring.is_none().then_some(Why::LogGone);
    }
    let mut referring = referring.into_iter().flatten();
    let alive = referring.any(|log| {
        let log = survey.logs.get(*log);
        log.is_some_and(|log| log.names.contains(&candidate.name))
    });
    (candidate.named && !alive).then_some(Why::Unreferenced)
}

/// The logs that count for each session: its own, its forks', their forks'.
fn referrers(survey: &Survey) -> BTreeMap<&SessionId, BTreeSet<&SessionId>> {
    let mut referrers: BTreeMap<&SessionId, BTreeSet<&SessionId>> = BTreeMap::new();
    for log in survey.logs.keys() {
        let mut waiting = vec![log];
        while let Some(session) = waiting.pop() {
            // Only on first insertion: forks that name each other would otherwise make a cycle.
            if referrers.entry(session).or_default().insert(log) {
                let parents = survey.logs.get(session).into_iter();
                waiting.extend(parents.flat_map(|log| &log.parents));
            }
        }
    }
    referrers
}

/// Lists a project's folder and reads its logs. With `hold`, every log that can be locked stays
/// locked as long as the survey lives.
///
/// # Errors
/// When the folder itself cannot be listed.
pub fn survey(files: &dyn Files, project: &Path, hold: bool) -> Result<Survey, FileError> {
    let mut survey = Survey::default();
    let Discovered { logs, refused } = discover(files, project)?;
    survey.refused.extend(refused);
    for entry in files.list(project)? {
        let path = project.join(&entry.name);
        if entry.metadata.kind == FileKind::Directory {
            let session = SessionId::new(entry.name.to_string_lossy());
            survey.look_into(files, &path, &session);
        } else if entry.metadata.kind == FileKind::File && is_temporary(&entry.name) {
            survey.add(&path, None, false, entry.metadata);
        }
    }
    let wanted: HashSet<&str> = survey.candidates.iter().map(|c| c.name.as_str()).collect();
    let sessions: HashSet<&str> = survey
        .candidates
        .iter()
        .filter_map(|candidate| candidate.session.as_ref())
        .map(SessionId::as_str)
        .collect();
    let mut found: BTreeMap<SessionId, LogNames> = BTreeMap::new();
    for log in logs {
        let (in_use, guard) = usage(files, &log.path, hold);
        survey.locks.extend(guard);
        let read = read_names(files, &log.path, &wanted, &sessions);
        // A log inside a session's folder counts for that session, also under another name.
        let folder = folder_of(project, &log.path);
        for owner in BTreeSet::from([Some(log.session.clone()), folder])
            .into_iter()
            .flatten()
        {
            let names = found.entry(owner).or_insert(LogNames {
                whole: true,
                ..LogNames::default()
            });
            names.in_use |= in_use;
            names.whole &= read.whole;
            names.names.extend(read.names.iter().cloned());
            names.parents.extend(read.parents.iter().cloned());
        }
        if log.agent.is_none() {
            survey.with_log.insert(log.session);
        }
    }
    survey.logs = found;
    Ok(survey)
}

/// The session in whose folder a path lies, if it lies in one.
fn folder_of(project: &Path, path: &Path) -> Option<SessionId> {
    let mut parts = path.strip_prefix(project).ok()?.iter();
    let first = parts.next()?;
    parts.next()?;
    Some(SessionId::new(first.to_string_lossy()))
}

impl Survey {
    fn look_into(&mut self, files: &dyn Files, folder: &Path, session: &SessionId) {
        let Some(entries) = self.list(files, folder) else {
            return;
        };
        for entry in entries {
            let path = folder.join(&entry.name);
            let name = entry.name.to_string_lossy();
            let named = NAMED.contains(&&*name);
            match entry.metadata.kind {
                FileKind::Directory if named || WITH_THE_LOG.contains(&&*name) => {
                    for file in self.list(files, &path).unwrap_or_default() {
                        if file.metadata.kind == FileKind::File {
                            let path = path.join(&file.name);
                            self.add(&path, Some(session), named, file.metadata);
                        }
                    }
                }
                FileKind::File if is_temporary(&entry.name) => {
                    self.add(&path, Some(session), false, entry.metadata);
                }
                _ => {}
            }
        }
    }

    fn list(&mut self, files: &dyn Files, folder: &Path) -> Option<Vec<DirEntry>> {
        match files.list(folder) {
            Ok(entries) => Some(entries),
            Err(error) => {
                self.refused.push(error);
                None
            }
        }
    }

    fn add(&mut self, path: &Path, session: Option<&SessionId>, named: bool, metadata: Metadata) {
        let Some(name) = path.file_name() else {
            return;
        };
        let temporary = is_temporary(name);
        // A name that Dormouse cannot have given cannot be searched for in the logs either.
        let Some(text) = name.to_str().filter(|text| text.bytes().all(is_name)) else {
            return;
        };
        self.candidates.push(Candidate {
            path: path.to_owned(),
            name: text.to_owned(),
            session: session.cloned(),
            named,
            temporary,
            bytes: metadata.len,
            modified: metadata.modified,
        });
    }
}

/// True if another process writes to a log, and the lock if it is to be held.
fn usage(files: &dyn Files, log: &Path, hold: bool) -> (bool, Option<LockGuard>) {
    // A dry run must not leave lock files behind: without one, no process writes.
    if !hold && files.metadata(&lock_path(log)).is_err() {
        return (false, None);
    }
    match files.lock_exclusive(log) {
        Ok(Some(guard)) => (false, hold.then_some(guard)),
        // A lock that cannot be asked for counts as busy: the session is kept.
        Ok(None) | Err(_) => (true, None),
    }
}

/// Bytes that Dormouse's file names consist of.
const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

fn read_names(
    files: &dyn Files,
    path: &Path,
    wanted: &HashSet<&str>,
    sessions: &HashSet<&str>,
) -> LogNames {
    let mut found = LogNames::default();
    let Ok(log) = LogFile::open_any(files, path) else {
        return found;
    };
    let Ok(lines) = log.lines() else {
        return found;
    };
    for line in lines {
        // An overlong line may hold a name: the log stays not whole, which keeps the files.
        let Ok(Line::Text { bytes, .. }) = line else {
            return found;
        };
        let contains = |text: &str| memchr::memmem::find(&bytes, text.as_bytes()).is_some();
        let manifest = contains("\"ranges\"") || contains("\"lineage\"");
        for name in names(&bytes) {
            if wanted.contains(name) && !found.names.contains(name) {
                found.names.insert(name.to_owned());
            }
            if manifest && sessions.contains(name) {
                found.parents.insert(SessionId::from(name));
            }
        }
    }
    found.whole = true;
    found
}

/// Everything in a line that can be a name. Behind a backslash the first characters may be part of
/// an escape, and at the end a full stop may be one of the sentence: both readings are given, since
/// a missed name would remove a file in use.
fn names(line: &[u8]) -> impl Iterator<Item = &str> {
    let mut at = 0;
    let runs = std::iter::from_fn(move || {
        let start = at + line.get(at..)?.iter().position(|byte| is_name(*byte))?;
        let length = line[start..].iter().position(|byte| !is_name(*byte));
        at = length.map_or(line.len(), |length| start + length);
        let escaped = start > 0 && line[start - 1] == b'\\';
        Some((&line[start..at], escaped))
    });
    runs.flat_map(|(run, escaped)| {
        let starts: &[usize] = match (escaped, run.first()) {
            (false, _) => &[0],
            (true, Some(b'u')) => &[0, 1, 5],
            (true, _) => &[0, 1],
        };
        let tails = starts.iter().filter_map(move |from| run.get(*from..));
        tails.flat_map(|tail| {
            let end = tail
                .iter()
                .rposition(|byte| !matches!(byte, b'.' | b'-' | b'_'))
                .map_or(0, |last| last + 1);
            [tail, &tail[..end]]
        })
    })
    // All bytes of a run are ASCII.
    .filter_map(|name| std::str::from_utf8(name).ok())
}

/// Removes the files of a plan, and the folders that are empty then. The survey of the plan must
/// have held the locks. Returns the files that could not be removed.
pub fn collect(files: &dyn Files, held: &Survey, plan: &GcPlan) -> Vec<NotRemoved> {
    let mut failed = Vec::new();
    let mut folders = BTreeSet::new();
    for garbage in &plan.garbage {
        match files.remove_file(&garbage.path) {
            Ok(()) => folders.extend(folders_of(held, garbage)),
            // Removed meanwhile by another process: the goal is reached.
            Err(error) if error.not_found() => {}
            Err(error) => failed.push(NotRemoved {
                garbage: garbage.clone(),
                error,
            }),
        }
    }
    // The longest path first: a folder becomes empty only when those in it are gone.
    for folder in folders.into_iter().rev() {
        if files.list(folder).is_ok_and(|entries| entries.is_empty()) {
            // An empty folder that stays does no harm, so the error is dropped.
            drop(files.remove_dir(folder));
        }
    }
    failed
}

/// Folders that may be empty once a file is gone: its own, and the session's if its log is gone.
fn folders_of<'a>(held: &Survey, garbage: &'a Garbage) -> Vec<&'a Path> {
    let Some(session) = &garbage.session else {
        return Vec::new();
    };
    let own = garbage.path.parent().into_iter();
    let of_session = own.clone().filter_map(Path::parent);
    let of_session = of_session
        .filter(|folder| !held.with_log.contains(session) && folder.ends_with(session.as_str()));
    let own = own.filter(|folder| !folder.ends_with(session.as_str()));
    own.chain(of_session).collect()
}

#[cfg(test)]
#[path = "gc_tests.rs"]
mod tests;
