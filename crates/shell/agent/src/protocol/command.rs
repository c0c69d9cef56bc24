//! Commands: everything that a client may ask of an agent.

use dormouse_core::block::Block;
use dormouse_core::id::{CallId, RecordId};
use dormouse_permit::Mode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A command with the number that the event which ends it repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Number chosen by the client; 0 if it awaits no end.
    #[serde(default)]
    pub id: u64,
    /// The command, with its members beside the number.
    #[serde(flatten)]
    pub command: Command,
}

impl From<Command> for Ask {
    fn from(command: Command) -> Self {
        Self { id: 0, command }
    }
}

/// Answers to questions of the model: the question's text and the chosen labels or own words.
pub type Answers = BTreeMap<String, String>;

/// Request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Words of the user; the agent works until it is done.
    Prompt {
        /// Content blocks in the shape of the Messages API.
        #[serde(with = "super::blocks")]
        content: Vec<Block>,
        /// Files that go with the words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// Place of the words if a turn is running.
        #[serde(default)]
        when: When,
    },
    /// A turn without new words: after an interruption or an error.
    GoOn,
    /// Stop of the running turn; everything that arrived is kept.
    Interrupt,
    /// Decision about a call that waits for permission.
    Permit {
        /// Call that waits for the decision.
        call: CallId,
        /// True if it may run.
        allow: bool,
        /// Explanation for the model, if it may not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<String>,
        /// Input in place of the model's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// How long such calls are allowed from now on; absent for this one only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remember: Option<Lifetime>,
    },
    /// Answers to the questions of a call.
    Answer {
        /// The call that asks.
        call: CallId,
        /// Answers by the text of their question.
        answers: Answers,
    },
    /// Compaction of the conversation before its time.
    Compact {
        /// Wishes for the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        /// Part of the conversation; absent for all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<CompactPart>,
    },
    /// Undo of a rewrite of the prompt, with all newer ones.
    Undo {
        /// The rewrite; the newest if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewrite: Option<RecordId>,
    },
    /// Return to an earlier record.
    Rewind {
        /// Record that becomes the last one.
        to: RecordId,
        /// Part that goes back.
        #[serde(default)]
        what: RewindWhat,
    },
    /// Copy of the session under an id of its own; this one stays as it is.
    Fork,
    /// A new conversation in place of this one, which is kept and can be gone on with. The event
    /// `opened` names the new session.
    Clear,
    /// Another model from the next request on.
    SetModel {
        /// Name of the model.
        model: String,
    },
    /// Another answer to calls that no rule decides.
    SetMode {
        /// Mode from the next call on.
        mode: Mode,
    },
    /// Another effort of the model from the next request on.
    SetEffort {
        /// The level; absent for the model's own.
        effort: Option<EffortLevel>,
    },
    /// List of the background tasks, as the event `tasks`: for a client that comes later or missed
    /// events, since tasks are in no log.
    Tasks,
    /// End of a background task.
    KillTask {
        /// Id of the task.
        task: String,
    },
    /// End of the agent.
    Quit {
        /// True to kill background commands at once instead of giving them time.
        #[serde(default)]
        now: bool,
    },
    /// A command of a newer version.
    #[serde(other)]
    Unknown,
}

/// Part of a conversation that is compacted. Messages are counted from 1, as the prompt has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactPart {
    /// Everything behind a message; the prompt before it keeps its bytes, and the cache with it.
    From(u64),
    /// Everything before a message; the rest stays word for word.
    UpTo(u64),
}

/// Place of words that come while a turn runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// After the turn, as a turn of their own.
    #[default]
    Queue,
    /// With the next tool results, inside the running turn.
    Steer,
}

/// Part of the work that goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindWhat {
    /// The conversation; files stay as they are.
    #[default]
    Conversation,
    /// Files that tools changed since; the conversation stays.
    Files,
    /// The conversation and the files together.
    Both,
}

/// Lifetime of a permission that a person gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Until the agent ends.
    Session,
    /// In this checkout of the project, from now on.
    Project,
    /// Everywhere, from now on.
    User,
}

/// Effort of a model, as the API names the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffortLevel {
    /// Least thinking, shortest answers.
    Low,
    /// Less than the default.
    Medium,
    /// The default of the API.
    High,
    /// Above the default, where a model has it.
    #[serde(alias = "max")]
    XHigh,
}

/// File that goes with a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "attachment")]
pub enum Attachment {
    /// File on disk: text, image, PDF or notebook, as the tool that reads files takes them.
    File {
        /// Path, absolute or from the working folder.
        path: PathBuf,
    },
}
