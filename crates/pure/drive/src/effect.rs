//! Effects: the work a driver asks its host to carry out.

use crate::calls::ToolCall;
use crate::command::{CommandId, Reply};
use crate::driver::Driver;
use crate::error::DriveError;
use crate::notice::Notice;
use bytes::Bytes;
use dormouse_ask::Request;
use dormouse_context::files_read::FilePaths;
use dormouse_core::hash::Hash;
use dormouse_core::record::{Batch, Purpose, Trigger};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Names one effect of one driver. Outcomes are told by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

/// Something to be done.
#[derive(Debug)]
pub enum Effect {
    /// Work that ends with one outcome, told by [`crate::Input::Ended`].
    Do(EffectId, Work),
    /// Work that is no longer wanted: end it as soon as possible. It still has its one outcome.
    Stop(EffectId),
    /// The answer to a command, exactly one each.
    Reply(CommandId, Result<Reply, DriveError>),
    /// Something people should know.
    Tell(Notice),
    /// The user's turn is over, however it ended: selections that recall still prepares for it
    /// are dropped.
    TurnOver,
}

/// Work with an outcome.
#[derive(Debug)]
pub enum Work {
    /// Append records: all of the batch or nothing.
    Append(Batch),
    /// Write files, in order; stop at the first that fails.
    Save(Vec<SaveFile>),
    /// Read the session notes with the user's template and prompt.
    ReadNotes,
    /// Read every record of the log.
    ReadLog,
    /// Ask the model, once.
    Ask(Box<Ask>),
    /// Run a tool.
    RunTool(Box<ToolCall>),
    /// Ask a person whether a call may run.
    AskPerson {
        /// The call.
        call: Box<ToolCall>,
        /// The question, for people.
        question: String,
    },
    /// Run hooks.
    Hooks(HookPoint),
    /// Read what is shown again after a compaction.
    Restore {
        /// Files the agent had read, newest first.
        files: Vec<String>,
    },
    /// Look for memories.
    Recall(RecallMoment),
    /// Run a child with tools of its own until it ends.
    Spawn(Box<Driver>),
}

/// A request on its way to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The reason for it.
    pub purpose: Purpose,
    /// Body, beta headers, estimate.
    pub request: Request,
    /// Number of the attempt, counted from one.
    pub attempt: u32,
}

/// Where a file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavePlace {
    /// Among the blobs, under the hash of its bytes.
    Blob(Hash),
    /// At this path.
    File(PathBuf),
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveFile {
    /// Where.
    pub place: SavePlace,
    /// Its whole content.
    pub bytes: Bytes,
}

/// Files that an update of the notes is made from. A file that is missing or no text is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesFiles {
    /// The notes.
    pub notes: Option<String>,
    /// The user's template.
    pub template: Option<String>,
    /// The user's prompt.
    pub prompt: Option<String>,
}

/// A point at which hooks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookPoint {
    /// Before a summary is asked for.
    BeforeCompaction {
        /// The reason for the compaction.
        trigger: Trigger,
        /// Wishes of the user for the summary.
        wishes: Vec<String>,
    },
    /// After it, when the conversation goes on.
    AfterCompaction {
        /// The reason for the compaction.
        trigger: Trigger,
    },
}

/// A moment at which memories may be brought in.
#[derive(Clone, Debug)]
pub enum RecallMoment {
    /// The user said something.
    Prompt {
        /// Its words.
        words: String,
        /// Memories and files the model has been shown.
        seen: Seen,
    },
    /// Tools were called and their results are in.
    Results {
        /// The calls.
        calls: Vec<ToolCall>,
        /// Memories and files the model has been shown.
        seen: Seen,
    },
}

/// Memories and files the model has been shown, for recall.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Memories the model has been shown, with their size in bytes.
    pub memories: BTreeMap<String, u64>,
    /// Files whose reading is in the prompt. Shared, so that a round costs what is new.
    pub files: FilePaths,
}
