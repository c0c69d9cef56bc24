//! Effects: work that a driver requests from its host.
//!
//! An effect is complete: executors have no choices to make and no state to look up.

use crate::call::ToolCall;
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

/// Id of one effect of one driver; outcomes refer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

/// Request to the host.
#[derive(Debug)]
pub enum Effect {
    /// Work that ends with one outcome, reported by [`crate::Input::Ended`].
    Do(EffectId, Work),
    /// Work that is no longer needed: end it as soon as possible. Its one outcome is still due.
    Stop(EffectId),
    /// Reply to a command, exactly one each.
    Reply(CommandId, Result<Reply, DriveError>),
    /// Notice to show to the user.
    Tell(Notice),
    /// End of the user's turn, however it ended. Recall drops selections that it still prepares for
    /// the turn.
    TurnOver,
}

/// Work with an outcome.
#[derive(Debug)]
pub enum Work {
    /// Append of a batch, atomically.
    Append(Batch),
    /// Write of files in order, up to the first failure.
    Save(Vec<SaveFile>),
    /// Read of the session notes with the user's template and prompt.
    ReadNotes,
    /// Read of every record of the log; only for undo, rewind and change of model.
    ReadLog,
    /// One attempt at a request to the model; retries are separate effects.
    Ask(Box<Ask>),
    /// Run of a tool.
    RunTool(Box<ToolCall>),
    /// Question to a person whether a call may run.
    AskPerson {
        /// Call that waits for the decision.
        call: Box<ToolCall>,
        /// Text of the question, for display.
        question: String,
    },
    /// Run of the hooks at a point.
    Hooks(HookPoint),
    /// Read of the content to show again after a compaction.
    Restore {
        /// Files the agent had read, most recent first.
        files: Vec<String>,
    },
    /// Search for memories that fit the moment.
    Recall(RecallMoment),
    /// Child with its own loop, to be run until it ends.
    Spawn(Box<Driver>),
}

/// One attempt at a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Purpose, for the accounting of usage.
    pub purpose: Purpose,
    /// Body, beta headers and size estimate.
    pub request: Request,
    /// Number of the attempt, from 1.
    pub attempt: u32,
}

/// Destination of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavePlace {
    /// Blob store, under the hash of its bytes.
    Blob(Hash),
    /// Path in the file system.
    File(PathBuf),
    /// File of the project's lessons, which other sessions write too: the bytes are merged into it
    /// under its lock ([`merge_lessons`](crate::merge_lessons)).
    Lessons(PathBuf),
}

/// File to write, replacing an older one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveFile {
    /// Destination of the file.
    pub place: SavePlace,
    /// Complete content, replacing what is there; for lessons, the part to merge.
    pub bytes: Bytes,
}

/// Files that an update of the notes reads. A file that is missing or no UTF-8 is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotesFiles {
    /// Text of the notes.
    pub notes: Option<String>,
    /// Template of the user, in place of the built-in one.
    pub template: Option<String>,
    /// Prompt of the user, in place of the built-in one.
    pub prompt: Option<String>,
}

/// Point at which hooks run.
#[derive(Clone, Debug, PartialEq)]
pub enum HookPoint {
    /// Before the summary is requested; hooks may block the compaction.
    BeforeCompaction {
        /// Cause of the compaction.
        trigger: Trigger,
        /// Instructions of the user for the summary.
        wishes: Vec<String>,
    },
    /// After the summary, before the conversation goes on.
    AfterCompaction {
        /// Cause of the compaction.
        trigger: Trigger,
        /// Summary that replaces the messages.
        summary: String,
    },
    /// Before a prompt becomes a message; hooks may keep it out or add to it.
    Prompt {
        /// Text of the prompt.
        words: String,
    },
    /// Before a call is judged; hooks may refuse or allow it, or change its input.
    Call {
        /// Call of the model.
        call: Box<ToolCall>,
    },
    /// After a tool has run, before its result is recorded; hooks may change what the model sees.
    Result {
        /// Call as it was run.
        call: Box<ToolCall>,
        /// Text of the result.
        text: String,
        /// True if the tool reported a failure.
        is_error: bool,
    },
    /// After the last answer of a turn; hooks may send the model back to work.
    Stop {
        /// True if a hook has done so in this turn already.
        again: bool,
        /// Text of the answer.
        last: String,
    },
}

/// Point at which memories may be inserted.
#[derive(Clone, Debug)]
pub enum RecallMoment {
    /// After a prompt of the user.
    Prompt {
        /// Text of the prompt.
        words: String,
        /// Memories and files the model has been shown.
        seen: Seen,
    },
    /// After the results of a round of tools.
    Results {
        /// Calls of the round.
        calls: Vec<ToolCall>,
        /// Memories and files the model has been shown.
        seen: Seen,
    },
}

/// Memories and files the model has been shown; recall does not repeat them.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Memories shown, with their size in bytes.
    pub memories: BTreeMap<String, u64>,
    /// Files whose content is in the prompt. Shared, so that a round costs only what is new.
    pub files: FilePaths,
}
