//! Commands: requests of users and doors to a conversation, and the replies to them.
//!
//! Commands are processed one at a time in order of arrival; only steering prompts join a running
//! turn.

use crate::fork::ForkLimits;
use crate::input::Injection;
use dormouse_ask::{Capabilities, Params, Response};
use dormouse_context::compaction;
use dormouse_context::offload::ToolOutput;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::block::Block;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Message, StateChange, UsageReport};
use std::sync::Arc;

/// Id of a command, chosen by the host and repeated in the reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// Request of a user or a door.
#[derive(Clone, Debug)]
pub enum Command {
    /// Prompt of the user; the model works until it makes no more calls.
    Prompt {
        /// Content blocks of the prompt.
        content: Vec<Block>,
        /// Time of insertion if a turn is running.
        when: When,
    },
    /// Turn without a new prompt: after an interruption, or after records were added.
    GoOn,
    /// One request with all steps that have to precede it. The caller runs the tools and returns
    /// their results with [`Command::Results`].
    Step,
    /// End of a turn that was driven step by step; runs the layers once more.
    EndTurn,
    /// Message of the user's side, appended without a request.
    Say(Message),
    /// Results of calls that were run elsewhere; together they are one round.
    Results(Vec<(String, ToolOutput)>),
    /// Insertion of fragments at the tail.
    Inject(Vec<Injection>),
    /// Change of state to be recorded.
    Note(StateChange),
    /// Usage of side requests to be recorded.
    Account(Vec<UsageReport>),
    /// Compaction now, regardless of thresholds.
    Compact(CompactWish),
    /// Undo of a rewrite (the newest if none is named) with all newer ones.
    Undo(Option<RecordId>),
    /// Return to an earlier record; the next record starts a branch there.
    Rewind(RecordId),
    /// Change of the prefix from the next request on.
    SetPrefix(Arc<RenderedPrefix>),
    /// Change of the model from the next request on.
    SetModel(Box<SwitchModel>),
    /// Run of a fork: the conversation's own bytes followed by a directive.
    Fork {
        /// Text appended after the parent's bytes.
        directive: String,
        /// Limits of the fork.
        limits: ForkLimits,
    },
    /// Keep-alive request to the provider's cache, if it pays.
    KeepAlive,
    /// Wait for a running update of the notes, up to the setting `notes.wait`.
    SettleNotes,
    /// Checkpoint of the folded state now.
    Checkpoint,
    /// End of the session: a checkpoint, and the economic policy's lessons for the project's next
    /// session.
    Close,
}

/// Time at which a prompt is inserted if a turn is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// After the turn, as a turn of its own.
    #[default]
    Queue,
    /// With the next tool results, inside the running turn.
    Steer,
}

/// Compaction requested by the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactWish {
    /// Instructions for the summary.
    pub instructions: Option<String>,
    /// Message, counted from 1 in the view; everything after it is compacted.
    pub from: Option<u64>,
    /// Message, counted from 1 in the view; everything before it is compacted.
    pub up_to: Option<u64>,
}

/// Change to another model.
#[derive(Clone, Debug)]
pub struct SwitchModel {
    /// Name of the model, as sent.
    pub model: String,
    /// Members of every request besides the prompt.
    pub params: Params,
    /// Features the model supports.
    pub capabilities: Capabilities,
}

/// Reply to a command.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Command executed, and its records stored.
    Done,
    /// Turn that ended with an answer.
    TurnEnded {
        /// Last response of the turn.
        response: Box<Response>,
        /// Number of requests in the turn.
        requests: usize,
    },
    /// Response to a step.
    Answered(Box<Response>),
    /// Outcome of a compaction, which may be that nothing was done.
    Compacted(compaction::CompactionOutcome),
    /// Number of rewrites that were undone.
    Undone(usize),
    /// True if a keep-alive request was made.
    KeptAlive(bool),
    /// Report of a fork that ended.
    Forked(Box<crate::fork::ForkReport>),
}
