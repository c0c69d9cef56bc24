//! Commands: what people and doors ask of a conversation.

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

/// Names one command. Chosen by the host; its reply carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// Something a person or a door asks for.
#[derive(Clone, Debug)]
pub enum Command {
    /// The user says something; the model works until it has nothing more to call.
    Prompt {
        /// The blocks that are said.
        content: Vec<Block>,
        /// When it is taken in, if a turn is running.
        when: When,
    },
    /// Go on with what is there: after an interruption, or after records were added.
    GoOn,
    /// One request with everything that has to be done before it. Its calls are answered by
    /// [`Command::Results`].
    Step,
    /// The end of a turn that was driven step by step.
    EndTurn,
    /// Append a message of the user's side without asking the model.
    Say(Message),
    /// Results of calls that were run elsewhere, together one round.
    Results(Vec<(String, ToolOutput)>),
    /// Put fragments in.
    Inject(Vec<Injection>),
    /// Record a change of state.
    Note(StateChange),
    /// Record what requests beside the conversation used.
    Account(Vec<UsageReport>),
    /// Compact now.
    Compact(CompactWish),
    /// Take back a rewrite (or else the newest) with all newer ones.
    Undo(Option<RecordId>),
    /// Go back to a record: the next one starts a branch behind it.
    Rewind(RecordId),
    /// Use another prefix from the next request on.
    SetPrefix(Arc<RenderedPrefix>),
    /// Use another model from the next request on.
    SetModel(Box<SwitchModel>),
    /// Run a fork: the conversation's own bytes with a directive behind them.
    Fork {
        /// The directive behind the parent's bytes.
        directive: String,
        /// Its limits.
        limits: ForkLimits,
    },
    /// Touch the provider's cache if that pays.
    KeepAlive,
    /// Wait for an update of the notes that is under way, as long as the settings say.
    SettleNotes,
    /// Write the folded state down.
    Checkpoint,
    /// End the session: checkpoint, and what it taught for the next one of the project.
    Close,
}

/// When a prompt is taken in, if a turn is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// After the turn.
    #[default]
    Queue,
    /// With the next tool results.
    Steer,
}

/// A compaction that the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactWish {
    /// Wishes for the summary.
    pub instructions: Option<String>,
    /// Only what follows this message of the view, counted from one.
    pub from: Option<u64>,
    /// Only what comes before this message of the view, counted from one.
    pub up_to: Option<u64>,
}

/// Another model.
#[derive(Clone, Debug)]
pub struct SwitchModel {
    /// Its name.
    pub model: String,
    /// Members of every request around the prompt.
    pub params: Params,
    /// Capabilities of the model.
    pub capabilities: Capabilities,
}

/// The answer to a command.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It is done, and stored.
    Done,
    /// A turn has ended.
    TurnEnded {
        /// The last answer.
        response: Box<Response>,
        /// Requests it took.
        requests: usize,
    },
    /// A step was answered.
    Answered(Box<Response>),
    /// A compaction was tried.
    Compacted(compaction::Outcome),
    /// So many rewrites were taken back.
    Undone(usize),
    /// Whether the cache was touched.
    KeptAlive(bool),
    /// A fork has ended.
    Forked(Box<crate::fork::ForkReport>),
}
