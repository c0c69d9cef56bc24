//! Events: everything that a client may show.

use crate::protocol::Answers;
use dormouse_core::block::Block;
use dormouse_core::id::{CallId, MessageId, RecordId, Seq, SessionId};
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_permit::Mode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event with its place in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Number of the record it follows from; absent for passing events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// The event, with its members beside the number.
    #[serde(flatten)]
    pub event: Event,
}

/// Something that happened in the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The session is open: always the first event.
    Opened(Box<OpenedSession>),
    /// A command has ended.
    Done {
        /// Number of the ask.
        ask: u64,
        /// Reason why it failed; absent if it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// Words of the user's side entered the conversation.
    Said {
        /// Side that the words come from.
        by: Side,
        /// Content blocks, as they entered the conversation.
        #[serde(with = "super::blocks")]
        content: Vec<Block>,
    },
    /// Prompts that wait for the turn to end; replaces the earlier list.
    Queued {
        /// Each prompt's blocks, as JSON.
        prompts: Vec<Value>,
    },
    /// The model begins to answer.
    MessageStarted {
        /// Id of the response.
        message: MessageId,
        /// Model that gives the answer.
        model: String,
    },
    /// A block of the answer begins.
    BlockStarted {
        /// Place in the answer, from 0.
        index: u32,
        /// The block as announced, such as a call with its name and no input yet.
        head: Value,
    },
    /// A piece of the answer.
    Delta {
        /// Block of the answer, from 0.
        index: u32,
        /// Sort of the text.
        kind: DeltaKind,
        /// Text that follows the pieces before.
        text: String,
    },
    /// A block of the answer has ended.
    BlockEnded {
        /// Place in the answer, from 0.
        index: u32,
    },
    /// Blocks of an answer, complete. An answer may come in several parts with one id; the last has
    /// a stop reason.
    MessageDone {
        /// Id of the response.
        message: Option<MessageId>,
        /// Model that gave the answer.
        model: Option<String>,
        /// Content blocks of this part.
        #[serde(with = "super::blocks")]
        content: Vec<Block>,
        /// Usage as known so far.
        usage: Option<TokenUsage>,
        /// Reason why the model stopped; absent while the answer goes on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<String>,
    },
    /// The model calls a tool.
    ToolAsked {
        /// Id of the call.
        call: CallId,
        /// Name of the tool.
        tool: String,
        /// Input, as the model wrote it.
        input: Value,
    },
    /// A hook or a person gave a call another input.
    InputChanged {
        /// Id of the call.
        call: CallId,
        /// Input that is used.
        input: Value,
    },
    /// A tool has begun its work.
    ToolRunning {
        /// Id of the call.
        call: CallId,
    },
    /// A call has its result.
    ToolDone {
        /// Id of the call.
        call: CallId,
        /// True if it failed or was refused.
        is_error: bool,
        /// Result, as the log has it.
        #[serde(with = "super::blocks::one")]
        content: Block,
    },
    /// A call waits for permission.
    PermissionWanted(Box<PermissionRequest>),
    /// A call asks the user something.
    QuestionWanted(Box<QuestionRequest>),
    /// A waiting call was answered, or its turn was stopped.
    Settled {
        /// Id of the call.
        call: CallId,
    },
    /// A call was refused by the rules.
    Refused {
        /// Id of the call.
        call: CallId,
        /// Name of the tool.
        tool: String,
        /// Input, as the model wrote it.
        input: Value,
    },
    /// A layer changed what the model sees.
    LayerActed {
        /// Name of the layer that acted.
        layer: LayerName,
        /// Its work, in a line.
        what: String,
        /// Tokens freed, by its estimate.
        freed: Tokens,
        /// Price of its own requests; absent if it made none or has no price.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Usd>,
        /// Record to undo; absent if it cannot be undone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undo: Option<RecordId>,
    },
    /// A background task began, changed or ended.
    TaskChanged {
        /// Id of the task.
        task: String,
        /// Line that describes it.
        what: String,
        /// State it is in.
        state: TaskState,
    },
    /// All background tasks that are at work, for a client that asked.
    Tasks {
        /// Commands, agents and a dream.
        tasks: Vec<TaskFacts>,
    },
    /// A server of tools was connected, or is away.
    ServerChanged(ServerFacts),
    /// Usage of a response.
    Usage {
        /// Id of the response, if it has one.
        message: Option<MessageId>,
        /// Model that gave the answer.
        model: String,
        /// Purpose of the request.
        purpose: Purpose,
        /// Tokens by kind, as the provider counted them.
        usage: TokenUsage,
        /// Price; absent if the model has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Usd>,
    },
    /// An attempt at a request failed.
    AttemptFailed {
        /// Number of the attempt, from 1.
        number: u32,
        /// Error in one line.
        why: String,
        /// Milliseconds until the next one; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_after: Option<u64>,
    },
    /// Something that people should know.
    Notice {
        /// The news, in one line.
        text: String,
    },
    /// Memories were saved, or sorted by a dream.
    Saved {
        /// Names of the memories, in one line.
        what: String,
    },
    /// The session goes on under another id as well.
    Forked {
        /// Id of the copy.
        session: SessionId,
    },
    /// Mode, model or effort changed.
    Changed {
        /// Mode from now on.
        mode: Mode,
        /// Model from the next request on.
        model: String,
    },
    /// The turn has ended.
    TurnEnded(Box<TurnEnd>),
    /// The client was too slow: events up to this record are left out and can be rebuilt.
    Lagged {
        /// Last record whose events were told.
        after: Seq,
    },
    /// The agent has ended; always the last event.
    Closed {
        /// Reason, if it did not end well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// An event of a newer version.
    #[serde(other)]
    Unknown,
}

/// Facts about a session that was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenedSession {
    /// Version of commands and events.
    pub protocol: u32,
    /// Id by which it can be opened again.
    pub session: SessionId,
    /// True if it goes on.
    pub resumed: bool,
    /// Model it talks to.
    pub model: String,
    /// Answer to calls that no rule decides.
    pub mode: Mode,
    /// Folder in which the agent works.
    pub folder: String,
    /// Names of the tools.
    pub tools: Vec<String>,
    /// Servers of tools, which may still be on their way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerFacts>,
    /// Commands that a person may type as `/name`, as far as they were there at the opening.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandFacts>,
}

/// A command that a person may type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandFacts {
    /// Name without the slash.
    pub name: String,
    /// Purpose of the command, in words for people.
    pub description: String,
    /// Arguments, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// True for a skill, which a model may use as well.
    #[serde(default)]
    pub skill: bool,
}

/// State of a server of tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Name of the server.
    pub name: String,
    /// `pending`, `connected` or `failed`.
    pub status: String,
    /// Reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Number of its tools.
    pub tools: usize,
}

/// Side that words of the user's role come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The user, in words of his own.
    User,
    /// Dormouse, a hook or a client.
    Host,
}

/// Sort of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    /// Text of the answer.
    Text,
    /// Reasoning of the model.
    Thinking,
    /// Input of a call; only the whole is JSON.
    Input,
    /// Signature of the reasoning.
    Signature,
}

/// A layer of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerName {
    /// Long results moved to files.
    Offload,
    /// Answered results made shorter.
    Distil,
    /// Old tool results gave way to a line each.
    Clear,
    /// Session notes were brought up to date.
    Notes,
    /// The conversation was compacted.
    Compaction,
    /// Memories were shown to the model.
    Recall,
    /// Rewrites of the prompt were taken back.
    Undo,
}

/// Background task that is at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    /// Id, by which it can be killed.
    pub task: String,
    /// Line that describes it.
    pub what: String,
}

/// State of a background task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// The task is at work.
    Running,
    /// It has ended by itself.
    Ended,
    /// The task was killed before its end.
    Killed,
}

/// A call that waits for permission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// Id of the call.
    pub call: CallId,
    /// Name of the tool.
    pub tool: String,
    /// Input as it would run.
    pub input: Value,
    /// The question, for people.
    pub question: String,
    /// Rules that would allow such calls for good.
    pub lasting: Vec<String>,
}

/// A call that asks the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionRequest {
    /// Id of the call.
    pub call: CallId,
    /// Questions with their options, as the model wrote them.
    pub questions: Value,
    /// Answers, once they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
}

/// End of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// How it ended: `answered`, `interrupted`, `requests` or `budget` (limits), `hook`, `command` (there
    /// is no such command), `failed`.
    pub end: String,
    /// Number of requests that the turn took.
    pub requests: u64,
    /// Reason why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Reason of a failure or a hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Text of the last answer.
    pub text: String,
}

impl TurnEnd {
    /// True if the model has answered.
    pub fn is_answered(&self) -> bool {
        self.end == "answered"
    }
}
