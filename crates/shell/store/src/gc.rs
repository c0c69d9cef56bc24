//! What nothing refers to any more.
//!
//! # Model
//! A session's folder holds blobs, long tool results and notes beside its log. A [`Survey`] says
//! what lies in a project's folder and which of those names occur in which log; [`plan`] is a pure
//! function of it and returns what can go, with the reason, and what is left alone; [`collect`]
//! removes it.
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
//! Which projects are looked at, and telling the user.

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

/// Further folders that go when the log is gone.
const WITH_THE_LOG: [&str; 1] = ["session-memory"];

/// Files younger than this are left alone, in milliseconds.
const GRACE: u64 = 60 * 60 * 1_000;

/// A file that may be garbage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it lies.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// The session in whose folder it lies.
    pub session: Option<SessionId>,
    /// Whether a log has to name it; otherwise it only goes with the log.
    pub named: bool,
    /// A write left it behind when it was interrupted.
    pub temporary: bool,
    /// Its length.
    pub bytes: u64,
    /// When it last changed.
    pub modified: Millis,
}

/// What a log says about files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogNames {
    /// The names of candidates that occur in it.
    pub names: HashSet<String>,
    /// Other sessions that its manifests name.
    pub parents: BTreeSet<SessionId>,
    /// Somebody is writing to it.
    pub in_use: bool,
    /// All of it was read.
    pub whole: bool,
}

/// What lies in a project's folder.
#[derive(Debug, Default)]
pub struct Survey {
    /// What may be garbage.
    pub candidates: Vec<Candidate>,
    /// The logs by session; those of its sub-agents are added to the session's own.
    pub logs: BTreeMap<SessionId, LogNames>,
    /// Sessions whose own log is there; sub-agents' logs do not count.
    pub with_log: BTreeSet<SessionId>,
    /// What could not be looked at.
    pub refused: Vec<FileError>,
    /// Held until the survey is dropped, so that nobody begins to write meanwhile.
    locks: Vec<LockGuard>,
}

/// Why a file can go.
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
    /// Where it lies.
    pub path: PathBuf,
    /// The session in whose folder it lies.
    pub session: Option<SessionId>,
    /// Its length.
    pub bytes: u64,
    /// Why it can go.
    pub why: Why,
}

/// Why a session with something to remove is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftAlone {
    /// It is open for writing, or a fork of it is.
    InUse,
    /// A log in the project cannot be read to its end.
    Unreadable,
}

/// What can go, and what is left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcPlan {
    /// What can go.
    pub garbage: Vec<Garbage>,
    /// Sessions left alone though something in them looks like garbage.
    pub left: BTreeMap<SessionId, LeftAlone>,
}

/// A file that was not removed.
#[derive(Debug)]
pub struct NotRemoved {
    /// The file.
    pub garbage: Garbage,
    /// Why not.
    pub error: FileError,
}

/// Decides what can go. Pure: the survey says all there is to know.
pub fn plan(survey: &Survey, now: Millis) -> GcPlan {
    let referrers = referrers(survey);
    let unreadable = survey.logs.values().any(|log| !log.whole) || !survey.refused.is_empty();
    let mut plan = GcPlan::default();
    for candidate in &survey.candidates {
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
        let left = match (in_use, unreadable) {
            (true, _) => Some(LeftAlone::InUse),
            (false, true) => Some(LeftAlone::Unreadable),
            (false, false) => None,
        };
        match (left, &candidate.session) {
            (Some(left), Some(session)) => {
                plan.left.insert(session.clone(), left);
            }
            // Whose temporary file it is, nobody can tell.
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
            if referrers.entry(session).or_default().insert(log) {
                let parents = survey.logs.get(session).into_iter();
                waiting.extend(parents.flat_map(|log| &log.parents));
            }
        }
    }
    referrers
}

/// Looks at a project's folder. With `hold`, every log that can be locked stays locked as long as
/// the survey lives.
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
        // A log inside a session's folder counts for that session, whatever it is called.
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

/// The session in whose folder something lies, if it lies in one.
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
        // A name we cannot have given cannot be looked for either.
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

/// Whether somebody writes to a log, and the lock if it is to be held.
fn usage(files: &dyn Files, log: &Path, hold: bool) -> (bool, Option<LockGuard>) {
    // Looking must not leave lock files behind where there were none.
    if !hold && files.metadata(&lock_path(log)).is_err() {
        return (false, None);
    }
    match files.lock_exclusive(log) {
        Ok(Some(guard)) => (false, hold.then_some(guard)),
        // Whoever may not be asked counts as busy.
        Ok(None) | Err(_) => (true, None),
    }
}

/// Bytes that names of ours consist of.
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
/// an escape, and at the end a full stop may be one of the sentence: both readings are given.
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

/// Removes what a plan lists, and the folders that are empty then. The survey of the plan must
/// have held the locks. Gives back what could not be removed.
pub fn collect(files: &dyn Files, held: &Survey, plan: &GcPlan) -> Vec<NotRemoved> {
    let mut failed = Vec::new();
    let mut folders = BTreeSet::new();
    for garbage in &plan.garbage {
        match files.remove_file(&garbage.path) {
            Ok(()) => folders.extend(folders_of(held, garbage)),
            Err(error) if error.not_found() => {}
            Err(error) => failed.push(NotRemoved {
                garbage: garbage.clone(),
                error,
            }),
        }
    }
    // The longest path first: a folder is empty only when those in it are gone.
    for folder in folders.into_iter().rev() {
        if files.list(folder).is_ok_and(|entries| entries.is_empty()) {
            // An empty folder that stays does no harm.
            drop(files.remove_dir(folder));
        }
    }
    failed
}

/// The folders that may be empty without a file: its own, and the session's if its log is gone.
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
