//! Reasons why a service fails.
//!
//! The error of the crate that failed is behind each; doors turn it into text, a hint and an exit
//! code. No message names a command: each door has its own way to say what to do.

use crate::install::InstallError;
use crate::memories::{CredentialIn, NameError};
use dormouse_config::{EditError, LoaderError, TrustError};
use dormouse_core::id::RecordId;
use dormouse_engine::EngineError;
use dormouse_guard::paths::DirectoryRefusal;
use dormouse_keeper::client::NoModel;
use dormouse_keeper::dreaming::DreamError;
use dormouse_memdir::{MemdirError, NoPlace};
use dormouse_memory::write::WriteError;
use dormouse_store::{ConvertError, ForeignFormat, LayoutError, OpenError, ReadError};
use dormouse_system::FileError;
use std::error::Error;
use std::path::PathBuf;

/// Reason why a service fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The settings cannot be loaded at all.
    #[error(transparent)]
    Settings(#[from] LoaderError),
    /// The trust in a folder cannot be changed.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A setting could not be written.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// There is no memory here: switched off, refused, or out of reach.
    #[error(transparent)]
    Place(#[from] NoPlace),
    /// The directory that was named must not hold memories.
    #[error(transparent)]
    NotForMemory(DirectoryRefusal),
    /// The log of a new session cannot be written.
    #[error("the session's log cannot be begun")]
    Begin(#[from] dormouse_store::AppendError),
    /// A directory that was named, for work that needs memories in it, does not exist.
    #[error("there is no memory directory `{}`", .0.display())]
    NoDirectory(PathBuf),
    /// Team memory was asked for where there can be none.
    #[error("this folder has no team memory")]
    NoTeamMemory,
    /// Team memory of a folder that the user does not trust.
    #[error("team memory is neither read nor written while this folder is not trusted")]
    TeamUntrusted,
    /// The memory directory cannot be read or changed.
    #[error(transparent)]
    Memory(#[from] MemdirError),
    /// A name means no memory, or no single one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A change of memories makes no sense.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A text for memory holds a credential. Nothing was written.
    #[error("line {line} of {place} holds a credential ({rule}); nothing was remembered")]
    Credential {
        /// The part of the memory that holds it.
        place: CredentialIn,
        /// Its line, from 1.
        line: usize,
        /// The rule that found it.
        rule: &'static str,
    },
    /// A memory that is to be changed is no text.
    #[error("`{0}` is not UTF-8 text")]
    NotText(String),
    /// The journal has no entry yet.
    #[error("nothing was changed here yet")]
    NoChanges,
    /// Nothing is left to undo.
    #[error("every change is undone already")]
    AllUndone,
    /// No dream is left to undo.
    #[error("there is no dream to take back")]
    NoDream,
    /// The beginning of an id fits several entries.
    #[error("`{id}` could be any of {count} entries")]
    AmbiguousEntry {
        /// The beginning that was given.
        id: String,
        /// Entries that it fits, counted.
        count: usize,
    },
    /// The beginning of an id fits several items.
    #[error("`{0}` could be several items")]
    AmbiguousItem(String),
    /// A path that was named leads nowhere.
    #[error("there is no file or folder `{}`", .0.display())]
    NoPath(PathBuf),
    /// A folder that was named has too many files to be one of notes.
    #[error("`{}` has {count} files", path.display())]
    TooManyFiles {
        /// The folder, as it was named.
        path: PathBuf,
        /// Files that it has, counted.
        count: usize,
    },
    /// A dream failed or was refused by the check; nothing was changed.
    #[error(transparent)]
    Dream(#[from] DreamError),
    /// The project's folder in the home is out of reach.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A transcript cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A transcript cannot be made a log.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A transcript is in another tool's format, where one of Claude Code or Dormouse is wanted.
    #[error("`{}` is a transcript of {format}", file.display())]
    OtherFormat {
        /// Path of the transcript.
        file: PathBuf,
        /// The tool that wrote it.
        format: ForeignFormat,
    },
    /// A folder of transcripts cannot be listed.
    #[error(transparent)]
    Folder(FileError),
    /// A folder has no transcript.
    #[error("there is no transcript (*.jsonl) below `{}`", .0.display())]
    NoTranscripts(PathBuf),
    /// No agent has kept a session on this machine.
    #[error("no session was found")]
    NoSessions,
    /// The working directory has no session.
    #[error("no session was found for the folder `{}`", .0.display())]
    NoSessionHere(PathBuf),
    /// A name is neither a file nor the id of a session.
    #[error("`{0}` is no file, and no session has an id that begins so")]
    NoSession(String),
    /// The beginning of an id fits several sessions.
    #[error("{} sessions have ids that begin with `{name}`", many.len())]
    AmbiguousSession {
        /// The beginning that was given.
        name: String,
        /// Ids that it fits.
        many: Vec<String>,
    },
    /// A transcript is shorter than the line that was asked for.
    #[error("`{}` has no line {line}", file.display())]
    NoLine {
        /// Path of the transcript.
        file: PathBuf,
        /// The line that was asked for.
        line: u64,
        /// Lines that it has.
        lines: u64,
    },
    /// A transcript has fewer requests than were asked for.
    #[error("`{}` has no request {number}", file.display())]
    NoRequest {
        /// Path of the transcript.
        file: PathBuf,
        /// The request that was asked for.
        number: usize,
        /// Requests that it has.
        count: usize,
    },
    /// A transcript has no record of this id.
    #[error("`{}` has no record {id}", file.display())]
    NoRecord {
        /// Path of the transcript.
        file: PathBuf,
        /// The id that was asked for.
        id: RecordId,
    },
    /// A transcript of a tool that does not write down its requests.
    #[error("`{}` does not record what was sent", .0.display())]
    NothingRecorded(PathBuf),
    /// Parts of a request are gone.
    #[error("the blobs of prefix {0} are missing")]
    NoPrefix(String),
    /// A transcript has no words in it.
    #[error("{} contains no messages", .0.display())]
    NoMessages(PathBuf),
    /// A path lies outside the folder of projects.
    #[error("`{}` is no project Dormouse knows, nor inside `{}`", path.display(), projects.display())]
    Outside {
        /// The path that was named.
        path: PathBuf,
        /// The folder of projects.
        projects: PathBuf,
    },
    /// Memory cannot be installed in another agent, or taken out of it.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// No model can be asked: a setting for it is missing.
    #[error(transparent)]
    NoModel(#[from] NoModel),
    /// The model's name or limit makes no request.
    #[error("requests to the model cannot be made")]
    Params(#[source] serde_json::Error),
    /// The log of a session cannot be opened.
    #[error(transparent)]
    Log(#[from] OpenError),
    /// A session cannot be opened.
    #[error(transparent)]
    Session(#[from] EngineError),
    /// No runtime can be started.
    #[error("failed to start the threads that a model is asked on")]
    Runtime(#[source] std::io::Error),
    /// A file cannot be read or written.
    #[error(transparent)]
    Files(#[from] FileError),
}

impl HostError {
    /// True if there is no memory here on purpose. Callers go on without memory then; any other
    /// error means that memory exists and cannot be reached.
    pub const fn is_off(&self) -> bool {
        matches!(
            self,
            // Failures of the disk are not among them: memory that cannot be read is no memory that
            // is off.
            Self::Place(
                NoPlace::Off { .. } | NoPlace::SubAgent | NoPlace::Remote | NoPlace::Refused { .. }
            ) | Self::NotForMemory(_)
        )
    }
}

/// An error with the causes behind it, on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    // One line, for remarks and lists; errors on screen list the causes themselves.
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
