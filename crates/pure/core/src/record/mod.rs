//! Records: what a log is made of.
//!
//! A log is a sequence of [`Record`]s, one JSON object a line. Messages have the shape that Claude
//! Code's transcripts have, so that tools made for those can read them; everything else Dormouse
//! writes has a `type` of its own, which such tools skip. A record never changes once written:
//! what changes the prompt (a clearing, a compaction, an undo) is a further record.
//!
//! Reading ([`Record::parse`]) is lenient, writing ([`encode`]) is strict. What a record does to the prompt is decided in `dormouse-context`.

mod batch;
mod chronicle;
mod events;
mod layout;
mod message;
mod payload;
mod read;
mod state;
mod write;

#[cfg(test)]
mod tests;

pub use batch::{Batch, LONGEST_LINE};
pub use chronicle::{
    Act, Chronicle, CommandFact, Decision, EarlierMessages, Entry, FileFact, Mention, MessageText,
    OpenCall, Outcome, Shelf, Sighting, Source, Speaker, UserMessage, UserMessages,
};
pub use events::{AgentEvent, Attempt, MailEvent, StateChange};
pub use layout::{Derived, KeptRange, LayoutRun, Manifest};
pub use message::{Message, MessageOrigin, Role};
pub use payload::{
    Boundary, BoundaryKind, CacheObservation, Checkpoint, ClearedBlock, Clearing, ClearingPlace,
    FoldSpan, Folding, Fragment, FragmentKind, Lineage, Marker, MarkerPlace, Notes, Prefix,
    PrefixPart, Preserved, Purpose, Replacement, ReplacementDecision, Request, SeqRange,
    SessionStart, Snip, Trigger, Ttl, Undo, UsageReport,
};
pub use read::{LineError, LineIssue, ParsedLine, peek};
pub use state::{
    Calibration, FoldedState, Gaps, LastRequest, LastUsage, NotesState, RecentUsage, Totals,
};
pub use write::{LineContext, encode, with_seq};

use crate::block::Block;
use crate::id::{AgentId, RecordId, Seq, SessionId};
use crate::units::Millis;

/// The version of the log format that this crate writes.
pub const FORMAT: u32 = 1;

/// How much a log grows between two checkpoints, unless the settings say otherwise.
pub const CHECKPOINT_EVERY: u64 = 4 * 1024 * 1024;

/// One record of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its place in the order of the log.
    pub seq: Seq,
    /// Where its line begins in the file: a hint, checked before it is relied on.
    pub offset: u64,
    /// Its identity.
    pub id: RecordId,
    /// The record before it on its branch.
    pub parent: Option<RecordId>,
    /// The session it was written in.
    pub session: Option<SessionId>,
    /// When it was written.
    pub at: Option<Millis>,
    /// The rewrite that made it necessary; undoing that one undoes this one.
    pub caused_by: Option<RecordId>,
    /// Whether it belongs to a side conversation (a sub-agent of an older transcript).
    pub side_chain: bool,
    /// The agent that wrote it, if not the main one.
    pub agent: Option<AgentId>,
    /// Whether Dormouse wrote it. Its own records name the record before them as their parent;
    /// other tools' parents form a tree in which parallel results hang beside the trunk.
    pub own: bool,
    /// What it says.
    pub body: Body,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The start of a log: format, place, and for a fork where it comes from.
    Session(Box<SessionStart>),
    /// A message of the conversation.
    Message(Message),
    /// The rendered prefix: system, tools, instruction fragments.
    Prefix(Prefix),
    /// A request is about to leave: from here on its segments are frozen.
    Request(Box<Request>),
    /// What a response used.
    Usage(Box<UsageReport>),
    /// Something injected into the conversation.
    Fragment(Fragment),
    /// Layer 1 replaced a tool result by a preview, or decided to leave it.
    Replacement(Replacement),
    /// Layer 2 cleared tool results.
    Cleared(Clearing),
    /// Layer 3 updated its notes.
    Notes(Notes),
    /// Layer 3 or 4 compacted.
    Boundary(Box<Boundary>),
    /// Ranges left the view.
    Snip(Snip),
    /// Spans were folded into a line each.
    Fold(Folding),
    /// Rewrites were undone.
    Undo(Box<Undo>),
    /// The folded state, so that resuming need not read further back.
    Checkpoint(Box<Checkpoint>),
    /// A piece of session state changed.
    State(StateChange),
    /// An agent started, changed or ended.
    Agent(AgentEvent),
    /// A message between agents.
    Mail(MailEvent),
    /// A line of another tool, or of a newer version, that does not concern the prompt.
    Foreign(Foreign),
}

/// A line that is carried along but has no effect on the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its `type`, or empty.
    pub kind: Box<str>,
    /// Its `subtype`, if it has one.
    pub subtype: Option<Box<str>>,
    /// A title for the session, where the line gives one.
    pub title: Option<Box<str>>,
}

impl Body {
    /// The name that `dormouse log --kind` filters by.
    pub fn kind(&self) -> &str {
        match self {
            Self::Session(_) => "session",
            Self::Message(message) => message.role.as_str(),
            Self::Prefix(_) => "prefix",
            Self::Request(_) => "request",
            Self::Usage(_) => "usage",
            Self::Fragment(_) => "fragment",
            Self::Replacement(_) => "replacement",
            Self::Cleared(_) => "cleared",
            Self::Notes(_) => "notes",
            Self::Boundary(_) => "boundary",
            Self::Snip(_) => "snip",
            Self::Fold(_) => "fold",
            Self::Undo(_) => "undo",
            Self::Checkpoint(_) => "checkpoint",
            Self::State(change) => change.subtype(),
            Self::Agent(_) => "agent",
            Self::Mail(_) => "mail",
            Self::Foreign(foreign) => foreign.subtype.as_deref().unwrap_or(&foreign.kind),
        }
    }

    /// The blocks the record brings along, in the order that [`crate::id::BlockKey`] counts them.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Self::Message(message) => message.content.iter().collect(),
            Self::Fragment(fragment) => vec![&fragment.block],
            Self::Replacement(replacement) => replacement.preview().into_iter().collect(),
            Self::Cleared(clearing) => clearing.blocks.iter().map(|entry| &entry.block).collect(),
            Self::Boundary(boundary) => boundary.summary.iter().chain(&boundary.restored).collect(),
            Self::Fold(folding) => folding.spans.iter().map(|span| &span.block).collect(),
            Self::Session(_)
            | Self::Prefix(_)
            | Self::Request(_)
            | Self::Usage(_)
            | Self::Notes(_)
            | Self::Snip(_)
            | Self::Undo(_)
            | Self::Checkpoint(_)
            | Self::State(_)
            | Self::Agent(_)
            | Self::Mail(_)
            | Self::Foreign(_) => Vec::new(),
        }
    }

    /// Whether the record may change what was already sent. Only these may.
    pub const fn is_rewrite(&self) -> bool {
        match self {
            Self::Cleared(clearing) => matches!(clearing.place, ClearingPlace::Local),
            Self::Boundary(_) | Self::Snip(_) | Self::Fold(_) | Self::Undo(_) => true,
            _ => false,
        }
    }

    /// Whether resuming can start at this record: it carries a complete manifest.
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Self::Session(start) => start.lineage.as_ref().map(|lineage| &lineage.manifest),
            Self::Boundary(boundary) => boundary.manifest.as_ref(),
            Self::Undo(undo) => Some(&undo.manifest),
            Self::Checkpoint(checkpoint) => Some(&checkpoint.manifest),
            _ => None,
        }
    }

    /// Whether the log must be on disk before anything else happens: a request leaves, or the
    /// prompt was rewritten.
    pub const fn must_be_durable(&self) -> bool {
        matches!(self, Self::Request(_)) || self.is_rewrite()
    }
}
