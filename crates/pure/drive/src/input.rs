//! Inputs of a driver: commands, outcomes of effects, stream events, time.
//!
//! A host may deliver them in any order; nothing here blocks or is answered directly.

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
use serde_json::Value;
use std::sync::Arc;

/// Event reported to the driver.
#[derive(Clone, Debug)]
pub enum Input {
    /// Command; the driver answers with exactly one reply.
    Command(CommandId, Box<Command>),
    /// End of an effect, reported exactly once per effect.
    Ended(EffectId, Box<EffectOutcome>),
    /// Progress of a response. Ignored after the effect has ended.
    Stream(EffectId, StreamEvent),
    /// Settings that were reloaded.
    Settings(Arc<Settings>),
    /// The time of [`crate::Driver::wake_at`] has come.
    Wake,
    /// Request to stop the turn and everything that runs for it.
    Cancel,
}

/// Outcome of an effect, by the kind of work.
#[derive(Clone, Debug)]
pub enum EffectOutcome {
    /// Outcome of an append.
    Appended(Result<(), StoreFailure>),
    /// Outcome of saving files: index of the file that failed, and the cause. Files before it were
    /// written.
    Saved(Result<(), (usize, String)>),
    /// Outcome of reading the notes.
    NotesRead(NotesFiles),
    /// Outcome of reading the log.
    LogRead(Result<Vec<Record>, String>),
    /// Outcome of one attempt at a request.
    Answered(Result<Box<Response>, Failure>),
    /// Outcome of a tool that ran to its end. A failure of the tool is a result, too.
    ToolEnded {
        /// Output of the tool, with its call id.
        output: Box<ToolOutput>,
        /// Hash of a long text, computed by the executor off the event loop; the driver hashes if
        /// it is absent.
        digest: Option<Hash>,
    },
    /// Outcome of a tool that was stopped: whether it had effects is unknown, and the model is told
    /// so.
    ToolStopped,
    /// Decision of a person about a call.
    PersonSaid {
        /// True if the call may run.
        allowed: bool,
        /// Explanation for the model if the call was refused.
        words: Option<String>,
        /// Input that the person gave the call in place of the model's.
        input: Option<Value>,
    },
    /// Outcome of running hooks.
    HooksRan(HookAnswer),
    /// Outcome of restoring after a compaction.
    Restored {
        /// Files first, then other content to show again.
        parts: Vec<RestoredPart>,
        /// System prompt, tools and instructions rendered anew; `None` keeps the present ones.
        prefix: Option<Arc<RenderedPrefix>>,
    },
    /// Fragments found by recall; empty if there are none.
    Recalled(Vec<Injection>),
    /// Report of a child that ended.
    ChildEnded(Box<ForkReport>),
    /// Effect stopped, or failed in its executor.
    Cancelled,
}

/// Progress of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// Response accepted by the provider: from here on its prompt is in the cache.
    Began {
        /// Message id of the response.
        id: MessageId,
        /// Model that answers; may differ from the requested alias.
        model: Arc<str>,
        /// Usage of the prompt, as far as known at this point.
        usage: TokenUsage,
    },
    /// Block that is complete and can be stored.
    Block(Block),
}

/// Combined answer of all hooks at one point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// Instructions for the summary.
    pub instructions: Vec<String>,
    /// Reason to refuse an automatic compaction, a prompt or a call, or to go on with a turn.
    pub blocked: Option<String>,
    /// Parts to show to the model after the compaction.
    pub parts: Vec<RestoredPart>,
    /// Verdict on a call; none leaves it to the rules.
    pub verdict: Option<HookVerdict>,
    /// Input for a call in place of the model's.
    pub input: Option<Value>,
    /// Result that the model sees in place of the tool's.
    pub output: Option<String>,
    /// Words for the model, one entry a hook.
    pub context: Vec<String>,
    /// Reason to end the turn at once; none goes on.
    pub stop: Option<String>,
}

/// Verdict of hooks on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookVerdict {
    /// No question: runs unless a rule refuses it.
    Allow,
    /// Question to a person, with the reason.
    Ask(String),
    /// Refusal, with the reason for the model.
    Deny(String),
}

/// Fragment that recall, or another component, inserts into the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Subject of the fragment.
    pub kind: FragmentKind,
    /// Text in its final form; it is never rendered again.
    pub text: String,
    /// Memories contained in it, with their size in bytes; they count as shown from here on.
    pub memories: Vec<(String, u64)>,
}
