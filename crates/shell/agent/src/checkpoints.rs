//! Contents of files before tools change them, and going back.
//!
//! # Not here
//! The plan of a rewind: `dormouse_context::checkpoints`.

use crate::agent::AgentError;
use crate::prefix::{self, Words};
use crate::services;
use bytes::Bytes;
use dormouse_context::checkpoints::{
    FileChange, FileNote, FileRestore, RestoreStep, RewindPoint, before_last_rewind, points,
    restores,
};
use dormouse_core::hash::Hash;
use dormouse_core::id::{CallId, Seq, SessionId};
use dormouse_core::record::{FoldedState, Record};
use dormouse_core::show;
use dormouse_drive::RunsAll;
use dormouse_engine::{EngineError, NoHooks, NoTools, Recorder, Session};
use dormouse_host::{Host, HostError, Resume, SessionAsk};
use dormouse_store::{Blobs as _, FileBlobs};
use dormouse_system::{Access, Files, OptionalFile as _};
use dormouse_tools::Changes;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Most bytes of a file that is looked at to go back; tools change none that is larger.
const LARGEST: u64 = 64 << 20;

/// Part of the work that goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RewindPart {
    /// The conversation; files stay as they are.
    Conversation,
    /// Files that tools changed since; the conversation stays.
    Files,
    /// The conversation and the files together.
    #[default]
    Both,
}

/// Copies of files for one session. The recorder is set once the session is open.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    blobs: FileBlobs,
    recorder: OnceLock<Recorder>,
}

impl Checkpoints {
    pub(crate) fn new(blobs: FileBlobs) -> Self {
        Self {
            blobs,
            recorder: OnceLock::new(),
        }
    }

    pub(crate) fn attach(&self, recorder: Recorder) {
        // Attached once, by the session that the tools belong to.
        let _before = self.recorder.set(recorder);
    }

    fn note(&self, path: &Path, note: &FileNote) -> Result<(), String> {
        let recorder = self.recorder.get().ok_or("the session is not open yet")?;
        let change = note.record(&path.to_string_lossy());
        recorder.record(change).map_err(|error| error.to_string())
    }
}

impl Changes for Checkpoints {
    fn before(
        &self,
        _: &CallId,
        path: &Path,
        content: Option<&Bytes>,
        after: &Bytes,
    ) -> Result<(), String> {
        let before = content.map(|content| self.blobs.put(content)).transpose();
        let before = before.map_err(|error| show::chain(&error))?;
        let hash = Some(Hash::of(after));
        let change = FileChange {
            before,
            after: hash,
            rewind: None,
        };
        self.note(
            path,
            &FileNote {
                hash,
                change: Some(change),
            },
        )
    }

    fn read(&self, path: &Path, hash: Hash) {
        let note = FileNote {
            hash: Some(hash),
            change: None,
        };
        if let Some(recorder) = self.recorder.get() {
            recorder.send(note.record(&path.to_string_lossy()));
        }
    }
}

/// File of a rewind, and its fate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRewound {
    /// Path of the file.
    pub path: String,
    /// `restored`, `removed`, `same` or `refused`.
    pub done: &'static str,
    /// Reason for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Files as a rewind to a moment would leave them, in the order of their paths.
pub(crate) fn look(files: &dyn Files, records: &[Record], after: Seq) -> Vec<FileRewound> {
    let plan = restores(records, after);
    plan.iter().map(|file| judged(files, file).0).collect()
}

/// Files that a conversation has read, as its state has them.
pub(crate) fn files_read(state: &FoldedState) -> impl Iterator<Item = (PathBuf, Hash)> + '_ {
    state.read_files.iter().filter_map(|(path, detail)| {
        let note: FileNote = serde_json::from_value(detail.clone()).ok()?;
        Some((PathBuf::from(path), note.hash?))
    })
}

/// Judges a file, and returns its present content where that may be replaced.
fn judged(files: &dyn Files, file: &FileRestore) -> (FileRewound, Option<Bytes>) {
    let rewound = |done, why| FileRewound {
        path: file.path.clone(),
        done,
        why,
    };
    let now = match files.read(Path::new(&file.path), LARGEST).optional() {
        Ok(now) => now,
        Err(error) => return (rewound("refused", Some(show::chain(&error))), None),
    };
    match file.step(now.as_ref().map(|now| Hash::of(now))) {
        RestoreStep::Same => (rewound("same", None), None),
        RestoreStep::Restore if file.content.is_none() => (rewound("removed", None), now),
        RestoreStep::Restore => (rewound("restored", None), now),
        RestoreStep::Refuse => {
            let why = "it changed after the agent's last change".to_owned();
            (rewound("refused", Some(why)), None)
        }
    }
}

/// Gives files the content they had at a moment. Every change is recorded before it is made.
pub(crate) async fn restore_files(
    session: &mut Session,
    host: &Host,
    blobs: &FileBlobs,
    records: &[Record],
    after: Seq,
) -> Result<Vec<FileRewound>, EngineError> {
    let system = host.system().clone();
    let name = system.ids.fresh();
    let mut all = Vec::new();
    for file in restores(records, after) {
        let (mut rewound, now) = judged(&*system.files, &file);
        if !matches!(rewound.done, "restored" | "removed") {
            all.push(rewound);
            continue;
        }
        let kept = now.as_ref().map(|now| blobs.put(now)).transpose();
        let content = file.content.map(|hash| blobs.get(&hash)).transpose();
        let (kept, content) = (
            kept.map_err(|error| show::chain(&error)),
            content.map_err(|error| show::chain(&error)),
        );
        match (kept, content) {
            (Ok(before), Ok(content)) => {
                // Without a hash: the model has to read the file again.
                let note = FileNote {
                    hash: None,
                    change: Some(FileChange {
                        before,
                        after: file.content,
                        rewind: Some(name.clone()),
                    }),
                };
                session.note(note.record(&file.path)).await?;
                let path = PathBuf::from(&file.path);
                let written = match &content {
                    Some(content) => put(&*system.files, &path, content),
                    None => system.files.remove_file(&path),
                };
                if let Err(error) = written {
                    rewound.done = "refused";
                    rewound.why = Some(show::chain(&error));
                }
            }
            (Err(why), _) | (_, Err(why)) => {
                rewound.done = "refused";
                rewound.why = Some(why);
            }
        }
        all.push(rewound);
    }
    Ok(all)
}

fn put(files: &dyn Files, path: &Path, content: &Bytes) -> Result<(), dormouse_system::FileError> {
    if let Some(folder) = path.parent() {
        files.create_dir_all(folder, Access::Shared)?;
    }
    files.replace(path, content, Access::Shared)
}

/// Blobs of a session, shared by its tools and by a rewind.
pub(crate) fn blobs(host: &Host, folder: &Path) -> FileBlobs {
    FileBlobs::new(Arc::clone(&host.system().files), folder)
}

/// A rewind of a session that no agent has open.
#[derive(Clone, Debug)]
pub struct RewindAsk {
    /// Session by id, beginning of it, file or `latest`; the newest of the project if it is `None`.
    pub session: Option<String>,
    /// Number of the prompt to go back before; `None` undoes the newest rewind of files.
    pub to: Option<usize>,
    /// Part that goes back.
    pub part: RewindPart,
    /// Only say what would happen.
    pub dry_run: bool,
}

/// Outcome of a rewind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rewound {
    /// Session that went back.
    pub session: String,
    /// True if nothing was changed on purpose.
    pub dry_run: bool,
    /// Prompt before which the conversation ends now; none if it stays.
    pub conversation: Option<String>,
    /// Files and their fates.
    pub files: Vec<FileRewound>,
}

/// Reason why a session does not go back.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// The session cannot be found, opened or written.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// There is no session in the project.
    #[error("this project has no session")]
    NoSession,
    /// The session has no prompt of this number.
    #[error("the session has {count} points to go back to, not {number}")]
    NoPoint {
        /// Number that was asked for.
        number: usize,
        /// Points that there are.
        count: usize,
    },
    /// The last change of files was no rewind.
    #[error("no rewind of files to undo: the last change of a file was a tool's, or there is none")]
    NothingToUndo,
}

impl From<HostError> for RewindError {
    fn from(error: HostError) -> Self {
        Self::Agent(error.into())
    }
}

impl From<EngineError> for RewindError {
    fn from(error: EngineError) -> Self {
        Self::Agent(error.into())
    }
}

/// Points of a session to go back to, oldest first, with its id.
///
/// # Errors
/// When the session cannot be found or read.
pub fn rewind_points(
    host: &Host,
    session: Option<&str>,
) -> Result<(String, Vec<RewindPoint>), RewindError> {
    let (id, records) = records(host, session)?;
    Ok((id.as_str().to_owned(), points(&records)))
}

fn records(host: &Host, session: Option<&str>) -> Result<(SessionId, Vec<Record>), RewindError> {
    let wish = session.map_or(Resume::Newest, |name| Resume::Named(name.to_owned()));
    let id = host.resumed(&wish)?.ok_or(RewindError::NoSession)?;
    let file = host.session_folder(&id)?.with_extension("jsonl");
    let read = host.transcripts().read(&file)?;
    Ok((id, read.records))
}

/// Takes a session that no agent has open back to a point, or undoes the newest rewind of files.
///
/// # Errors
/// When there is no such session or point, or the log cannot be written.
pub async fn rewind(host: &Arc<Host>, ask: &RewindAsk) -> Result<Rewound, RewindError> {
    let (id, records) = records(host, ask.session.as_deref())?;
    let point = match ask.to {
        None => None,
        Some(number) => {
            let mut all = points(&records);
            let count = all.len();
            let at = number.checked_sub(1).filter(|at| *at < count);
            Some(all.swap_remove(at.ok_or(RewindError::NoPoint { number, count })?))
        }
    };
    let after = match &point {
        Some(point) => point.after,
        None => before_last_rewind(&records).ok_or(RewindError::NothingToUndo)?,
    };
    let files = point.is_none() || ask.part != RewindPart::Conversation;
    let back = point.filter(|_| ask.part != RewindPart::Files);
    let mut rewound = Rewound {
        session: id.as_str().to_owned(),
        dry_run: ask.dry_run,
        conversation: back.as_ref().map(|point| point.words.clone()),
        files: Vec::new(),
    };
    if ask.dry_run {
        if files {
            rewound.files = look(&*host.system().files, &records, after);
        }
        return Ok(rewound);
    }
    let folder = host.session_folder(&id)?;
    // The usual prefix: another one would be recorded as a break of the cache.
    let texts = host.session_texts()?;
    let toolset = services::toolset(host, texts.memory.is_some());
    let prefix = prefix::render(
        &texts,
        toolset,
        &host.permissions().rules,
        &Words::default(),
    )
    .map_err(AgentError::from)?;
    let opened = host.open_session(SessionAsk {
        session: Some(id),
        prefix,
        tools: Arc::new(NoTools),
        model: None,
        companion: None,
        judge: Arc::new(RunsAll),
        most_requests: 0,
        budget: None,
        hooks: Arc::new(NoHooks),
        restorer: None,
        notices: Arc::new(|_| {}),
    });
    let mut session = opened.await?.session;
    if let Some(point) = &back {
        session.rewind(&point.to).await?;
    }
    if files {
        let blobs = blobs(host, &folder);
        rewound.files = restore_files(&mut session, host, &blobs, &records, after).await?;
    }
    session.close().await?;
    Ok(rewound)
}
