//! What passes between a compaction and whoever runs it.

use super::CompactSettings;
use super::restore::RestoredPart;
use crate::breaker::Allowed;
use crate::clear::Measure;
use crate::conversation::Conversation;
use crate::notes::Notes;
use crate::policy::CompactRule;
use crate::segment::Segment;
use dormouse_core::block::Block;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::record::{Boundary, BoundaryKind, Trigger};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// Which part of the conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it, but for what the policy keeps.
    All,
    /// What follows this message.
    From(Seq),
    /// What comes before this message.
    UpTo(Seq),
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Why.
    pub trigger: Trigger,
    /// Which part.
    pub scope: Scope,
    /// Wishes of the user and of instruction files.
    pub instructions: Vec<String>,
    /// What may be tried.
    pub allowed: Allowed,
}

/// What a job may look at.
#[derive(Clone, Copy, Debug)]
pub struct JobContext<'a> {
    /// The session.
    pub conversation: &'a Conversation,
    /// What the prefix weighs.
    pub prefix: &'a Weight,
    /// Weights to tokens.
    pub measure: Measure,
    /// Figures.
    pub settings: &'a CompactSettings,
    /// The policy's part.
    pub rule: &'a CompactRule,
    /// The result must be below this for notes to be used.
    pub target: Tokens,
    /// The log, as the model is shown it.
    pub history: &'a str,
    /// The sequence the boundary will have.
    pub seq: Seq,
    /// The id it will have.
    pub id: &'a RecordId,
}

/// How the model is asked.
#[derive(Clone, Debug)]
pub enum AskForm {
    /// As a fork of the conversation.
    Riding,
    /// As a fork without its oldest rounds.
    Shortened(Vec<Segment>),
    /// As one text, without tools.
    Cold(String),
}

/// A call to be made.
#[derive(Clone, Debug)]
pub struct Ask {
    /// How.
    pub form: AskForm,
    /// What is asked.
    pub directive: String,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// A limit ended it.
    pub cut_off: bool,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskFailure {
    /// The prompt is too long, by so much if the provider says it.
    TooLong {
        /// Tokens too many.
        gap: Option<Tokens>,
    },
    /// The stream broke; another try may work.
    Broken(String),
    /// The provider does not take the request in this form.
    Rejected(String),
    /// Nothing can be had from the provider now.
    Failed(String),
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The hooks were asked.
    HooksRan {
        /// What they wish.
        instructions: Vec<String>,
        /// Which of them says no, and why.
        blocked: Option<String>,
    },
    /// The notes were read, with the last message they cover.
    NotesRead(Option<(Notes, Seq)>),
    /// The model was asked.
    Answered(Result<Answer, AskFailure>),
    /// Files and the like were read.
    Restored(Vec<RestoredPart>),
    /// The boundary is in the log.
    Committed,
    /// It is not.
    NotCommitted(String),
}

/// What is to be done next.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Ask the hooks.
    RunHooks,
    /// Read the notes; wait for an update that is under way.
    ReadNotes,
    /// Ask the model.
    Ask(Box<Ask>),
    /// Read these files again, newest first, and whatever else is to be shown again.
    Restore {
        /// Paths.
        files: Vec<String>,
    },
    /// Append this record, unless the log has moved on.
    Commit(Box<Boundary>),
    /// The end.
    Done(Outcome),
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The conversation is shorter.
    Compacted {
        /// How it was done.
        kind: BoundaryKind,
        /// Tokens before.
        before: Tokens,
        /// Tokens after, as estimated.
        after: Tokens,
        /// Why the model's summary is not what stands there, if it was asked.
        model_failed: Option<String>,
    },
    /// A hook said no.
    Blocked(String),
    /// There was nothing to do, or not now.
    Nothing(String),
    /// Whatever was tried would not have been smaller than what it replaces.
    NoProgress {
        /// What was tried last.
        why: String,
        /// A model was asked.
        asked: bool,
    },
    /// The boundary could not be written; the old view stands.
    NotWritten(String),
}
