//! Inputs: everything a driver is told.

use crate::command::{Command, CommandId};
use crate::effect::{EffectId, NotesFiles};
use crate::error::StoreFailure;
use crate::fork::ForkReport;
use dormouse_ask::{Failure, Response};
use dormouse_context::compaction::RestoredPart;
use dormouse_context::offload::ToolOutput;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::MessageId;
use dormouse_core::record::{FragmentKind, Record};
use dormouse_core::settings::Settings;
use dormouse_core::usage::TokenUsage;
use std::sync::Arc;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// A command, to be answered by exactly one reply.
    Command(CommandId, Box<Command>),
    /// An effect has ended.
    Ended(EffectId, Box<Outcome>),
    /// An answer makes progress. Events of an effect that has ended are ignored.
    Stream(EffectId, StreamEvent),
    /// The settings are others.
    Settings(Arc<Settings>),
    /// The time of [`crate::Driver::wake_at`] has come.
    Wake,
    /// Stop the turn and everything that runs for it.
    Cancel,
}

/// How an effect ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Of an append.
    Appended(Result<(), StoreFailure>),
    /// Of saving files: the number of the file that failed, and why.
    Saved(Result<(), (usize, String)>),
    /// Of reading the notes.
    NotesRead(NotesFiles),
    /// Of reading the log.
    LogRead(Result<Vec<Record>, String>),
    /// Of a request.
    Answered(Result<Box<Response>, Failure>),
    /// Of a tool. A failure is a result too.
    ToolEnded {
        /// Its output.
        output: Box<ToolOutput>,
        /// The hash of a long text, made where it holds no one up.
        digest: Option<Hash>,
    },
    /// Of a tool that was stopped: whether it had effects is unknown.
    ToolStopped,
    /// A person's word on a call.
    PersonSaid {
        /// Whether the call may run.
        allowed: bool,
        /// Words for the model, where it may not.
        words: Option<String>,
    },
    /// Of hooks.
    HooksRan(HookAnswer),
    /// Of restoring: parts, and the prefix rendered anew, where it changed.
    Restored {
        /// Files, then what else is shown again.
        parts: Vec<RestoredPart>,
        /// System prompt, tools and instructions as they are now; `None` leaves them.
        prefix: Option<Arc<RenderedPrefix>>,
    },
    /// Of recall.
    Recalled(Vec<Injection>),
    /// Of a child.
    ChildEnded(Box<ForkReport>),
    /// The effect was stopped, or its executor failed.
    Cancelled,
}

/// Progress of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// The provider accepted the request: its prompt is in the cache.
    Began {
        /// The response's id.
        id: MessageId,
        /// The model that answers.
        model: Arc<str>,
        /// Usage of the prompt.
        usage: TokenUsage,
    },
    /// A block is complete.
    Block(Block),
}

/// Words of hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// Wishes for the summary.
    pub instructions: Vec<String>,
    /// Why an automatic compaction must not be made.
    pub blocked: Option<String>,
    /// Parts the model is shown.
    pub parts: Vec<RestoredPart>,
}

/// A fragment that recall, or another companion, wants the model to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Its subject.
    pub kind: FragmentKind,
    /// The text, final as it is.
    pub text: String,
    /// The memories in it, with their size: they count as shown from here on.
    pub memories: Vec<(String, u64)>,
}
