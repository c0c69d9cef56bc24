//! Values passed between a compaction job and its caller.

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

/// Part of the conversation that is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything except what the policy keeps.
    All,
    /// Everything behind this message, which stays; the cached prefix survives.
    From(Seq),
    /// Everything before this message, which stays.
    UpTo(Seq),
}

/// A compaction as requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Cause, recorded in the boundary. Hooks cannot block a manual one.
    pub trigger: Trigger,
    /// Part of the conversation to compact.
    pub scope: Scope,
    /// Instructions of the user and of instruction files, for the directive.
    pub instructions: Vec<String>,
    /// Means that the breaker allows.
    pub allowed: Allowed,
}

/// Read-only inputs of a job, the same for all its steps.
#[derive(Clone, Copy, Debug)]
pub struct JobContext<'a> {
    /// Session to compact, as of the job's start.
    pub conversation: &'a Conversation,
    /// Weight of the rendered prefix.
    pub prefix: &'a Weight,
    /// Conversion from weights to calibrated tokens.
    pub measure: Measure,
    /// Limits and retry counts of compactions.
    pub settings: &'a CompactSettings,
    /// Shape of the compaction under the policy in force.
    pub rule: &'a CompactRule,
    /// Size that a compaction from notes must stay below; else a summary is asked for.
    pub target: Tokens,
    /// Path of the log as the model is shown it.
    pub history: &'a str,
    /// Sequence number that the boundary record will have.
    pub seq: Seq,
    /// Id that the boundary record will have.
    pub id: &'a RecordId,
}

/// Form of the request for a summary.
#[derive(Clone, Debug)]
pub enum AskForm {
    /// A fork of the conversation, read from the cache.
    Riding,
    /// A fork without its oldest rounds; misses the cache behind the prefix.
    Shortened(Vec<Segment>),
    /// The conversation as one text, without tools.
    Cold(String),
}

/// A model call to make.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Form in which the conversation is sent.
    pub form: AskForm,
    /// Directive to append behind it.
    pub directive: String,
}

/// A complete answer of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryAnswer {
    /// Blocks of the answer, thinking included.
    pub blocks: Vec<Block>,
    /// True if the output limit ended it.
    pub cut_off: bool,
}

/// Reasons why there is no answer, by remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskFailure {
    /// The prompt is too long: drop rounds and ask again.
    TooLong {
        /// Excess in tokens, if the provider reports it.
        gap: Option<Tokens>,
    },
    /// The stream broke: ask again.
    Broken(String),
    /// The provider rejects this form of request: ask in another form.
    Rejected(String),
    /// No answer can be expected now: extract without a model.
    Failed(String),
}

/// Outcomes of effects; every [`Effect`] except `Done` ends in one.
#[derive(Clone, Debug)]
pub enum Event {
    /// `PreCompact` hooks have run.
    HooksRan {
        /// Instructions they add to the directive.
        instructions: Vec<String>,
        /// Name and reason of a hook that blocks the compaction.
        blocked: Option<String>,
    },
    /// Notes were read, with the last message they cover; `None` if there are none.
    NotesRead(Option<(Notes, Seq)>),
    /// The model answered or failed.
    Answered(Result<SummaryAnswer, AskFailure>),
    /// Files and other parts were read for restoration.
    Restored(Vec<RestoredPart>),
    /// The boundary is in the log.
    Committed,
    /// The boundary could not be appended, with the reason.
    NotCommitted(String),
}

/// Actions for the caller, one at a time.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Run the `PreCompact` hooks.
    RunHooks,
    /// Read the notes; wait for an update in progress.
    ReadNotes,
    /// Ask the model for a summary.
    Ask(Box<Ask>),
    /// Read these files, newest first, and the other parts to restore.
    Restore {
        /// Paths as the tools recorded them.
        files: Vec<String>,
        /// Summary that will be committed, for hooks that keep it.
        summary: String,
    },
    /// Append this record, expecting the head the job was started at.
    Commit(Box<Boundary>),
    /// The job is over.
    Done(CompactionOutcome),
}

/// Result of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionOutcome {
    /// The boundary is in the log.
    Compacted {
        /// Source of the summary.
        kind: BoundaryKind,
        /// Tokens of the prompt before.
        before: Tokens,
        /// Tokens of the prompt after, estimated until the next response.
        after: Tokens,
        /// Reason why a model that was asked did not provide the summary.
        model_failed: Option<String>,
    },
    /// A hook blocked it, with its reason.
    Blocked(String),
    /// Nothing was done because of scope or moment, with the reason.
    Nothing(String),
    /// Every composition was at least as large as what it replaces.
    NoProgress {
        /// Reason of the last composition that failed.
        why: String,
        /// True if a model was asked; decides whether the breaker counts a failure.
        asked: bool,
    },
    /// The boundary could not be written; the old view stands.
    NotWritten(String),
}
