//! Records, the entries of a log.
//!
//! A log is a sequence of [`Record`]s, one JSON object per line. Messages have the shape of Claude
//! Code's transcripts, so that tools made for those can read them; all other records of Dormouse
//! have a `type` of their own, which such tools skip. A record never changes once written: a change
//! of the prompt (a clearing, a compaction, an undo) is a further record.
//!
//! Reading ([`Record::parse`]) is lenient, writing ([`encode`]) is strict. The effect of a record
//! on the prompt is defined in `dormouse-context`, not here.

mod batch;
mod chain;
mod chronicle;
mod distilled;
mod events;
mod layout;
mod message;
mod outline;
mod page;
mod payload;
mod read;
mod read_usage;
mod splice;
mod state;
mod unread;
mod write;

#[cfg(test)]
mod tests;

pub use batch::{Batch, LONGEST_LINE};
pub use chain::{Bridge, Links, Walk};
pub use chronicle::{
    Act, CallOutcome, Chronicle, CommandFact, Decision, EarlierMessages, FileFact, Mention,
    MessageText, OpenCall, Shelf, ShelfEntry, Sighting, Source, Speaker, UserMessage, UserMessages,
};
pub use distilled::{Distillation, DistilledBlock};
pub use events::{AgentEvent, Attempt, MailEvent, StateChange};
pub use layout::{Derived, KeptRange, LayoutRun, Manifest};
pub use message::{Message, MessageOrigin, Role};
pub use page::{ChroniclePage, Entries, LiveEntries, PagedChronicle};
pub use payload::{
    Boundary, BoundaryKind, CacheObservation, Checkpoint, ClearedBlock, Clearing, ClearingPlace,
    FoldSpan, Folding, Fragment, FragmentKind, Lineage, Marker, MarkerPlace, Notes, Prefix,
    PrefixPart, Preserved, Purpose, Replacement, ReplacementDecision, Request, SeqRange,
    SessionStart, Snip, Trigger, Ttl, Undo, UsageReport,
};
pub use read::{LineError, LineIssue, ParsedLine, peek};
pub use splice::LineRun;
pub use state::{
    Calibration, FoldedState, Gaps, LastRequest, LastUsage, NAMED_WINDOW, NamedWindow, NotesState,
    RecentUsage, Totals, WindowEvidence, Windows,
};
pub use unread::{Shape, UNREAD, members, unread};
pub use write::{LineContext, encode, is_own_version, with_seq};

use crate::block::Block;
use crate::id::{AgentId, RecordId, Seq, SessionId};
use crate::units::Millis;

/// Version of the log format that this crate writes. Raised when the meaning of a field changes;
/// readers treat logs of a newer version as read-only.
pub const FORMAT: u32 = 1;

/// Default of `log.checkpoint`: bytes the log grows between two checkpoints. Resuming reads at most
/// about this much from the end of the file, and a checkpoint of some kilobytes adds little to it.
pub const CHECKPOINT_EVERY: u64 = 4 * 1024 * 1024;

/// One record of a log: an envelope and a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Position in the order of the log.
    pub seq: Seq,
    /// Byte offset of its line in the file. A hint: readers compare the id before relying on it.
    pub offset: u64,
    /// Unique id; parents, causes and manifests refer to it.
    pub id: RecordId,
    /// Previous record on its branch; none for the first.
    pub parent: Option<RecordId>,
    /// Session it was written in, where the line names one.
    pub session: Option<SessionId>,
    /// Time of writing, where the line has a valid timestamp.
    pub at: Option<Millis>,
    /// Rewrite that made this record necessary; undoing that rewrite undoes this record too.
    pub caused_by: Option<RecordId>,
    /// Set for records of a side conversation (a sub-agent in an older transcript); the leaf of the
    /// main conversation is never one of them.
    pub side_chain: bool,
    /// Agent that wrote it; none for the main one.
    pub agent: Option<AgentId>,
    /// Set for records written by Dormouse, whose parent is always the previous record. Parents in
    /// other tools' transcripts form a tree in which the results of parallel calls are side
    /// branches.
    pub own: bool,
    /// Kind and content of the record.
    pub body: Body,
}

/// Content of a record, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Start of a log: format, project, and for a fork its origin.
    Session(Box<SessionStart>),
    /// Message of the conversation.
    Message(Message),
    /// Rendered prefix: system, tools, instruction fragments.
    Prefix(Prefix),
    /// Request about to be sent; its segments are frozen from here on.
    Request(Box<Request>),
    /// Token usage of a response.
    Usage(Box<UsageReport>),
    /// Text injected into the conversation by Dormouse.
    Fragment(Fragment),
    /// Layer 1: a tool result was replaced by a preview, or the decision to keep it.
    Replacement(Replacement),
    /// Layer 1: results that were answered became shorter.
    Distilled(Box<Distillation>),
    /// Layer 2: tool results were cleared.
    Cleared(Clearing),
    /// Layer 3: the session notes were updated.
    Notes(Notes),
    /// Layer 3 or 4: the conversation was compacted.
    Boundary(Box<Boundary>),
    /// Ranges of records were removed from the view.
    Snip(Snip),
    /// Spans of records were folded into one line each.
    Fold(Folding),
    /// Earlier rewrites were undone.
    Undo(Box<Undo>),
    /// Folded state, so that resuming need not read further back.
    Checkpoint(Box<Checkpoint>),
    /// Entries of the chronicle, which later manifests name instead of repeating them.
    Chronicle(Box<ChroniclePage>),
    /// One value of the session state changed.
    State(StateChange),
    /// An agent was started, changed or ended.
    Agent(AgentEvent),
    /// Message from one agent to another.
    Mail(MailEvent),
    /// Line of another tool, or of a newer version, without effect on the prompt.
    Foreign(Foreign),
}

/// Line that is retained but has no effect on the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// `type` of the line; empty if it has none.
    pub kind: Box<str>,
    /// `subtype` of the line, if it has one.
    pub subtype: Option<Box<str>>,
    /// Session title, where the line contains one.
    pub title: Option<Box<str>>,
}

impl Body {
    /// Name of the kind; `dormouse log --kind` filters by it.
    pub fn kind(&self) -> &str {
        match self {
            Self::Session(_) => "session",
            Self::Message(message) => message.role.as_str(),
            Self::Prefix(_) => "prefix",
            Self::Request(_) => "request",
            Self::Usage(_) => "usage",
            Self::Fragment(_) => "fragment",
            Self::Replacement(_) => "replacement",
            Self::Distilled(_) => "distilled",
            Self::Cleared(_) => "cleared",
            Self::Notes(_) => "notes",
            Self::Boundary(_) => "boundary",
            Self::Snip(_) => "snip",
            Self::Fold(_) => "fold",
            Self::Undo(_) => "undo",
            Self::Checkpoint(_) => "checkpoint",
            Self::Chronicle(_) => "chronicle",
            Self::State(change) => change.subtype(),
            Self::Agent(_) => "agent",
            Self::Mail(_) => "mail",
            // Records of a newer version all have the type `dormouse`; the subtype tells them
            // apart.
            Self::Foreign(foreign) => foreign.subtype.as_deref().unwrap_or(&foreign.kind),
        }
    }

    /// Blocks contained in the record, in the order that [`crate::id::BlockKey`] counts them.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Self::Message(message) => message.content.iter().collect(),
            Self::Fragment(fragment) => vec![&fragment.block],
            Self::Replacement(replacement) => replacement.preview().into_iter().collect(),
            Self::Distilled(distilled) => distilled.blocks.iter().map(|one| &one.block).collect(),
            Self::Cleared(clearing) => clearing.blocks.iter().map(|entry| &entry.block).collect(),
            Self::Boundary(boundary) => boundary.summary.iter().chain(&boundary.restored).collect(),
            Self::Fold(folding) => folding.spans.iter().map(|span| &span.block).collect(),
            // Listed one by one, so that a new kind has to decide whether its blocks can be
            // addressed.
            Self::Session(_)
            | Self::Prefix(_)
            | Self::Request(_)
            | Self::Usage(_)
            | Self::Notes(_)
            | Self::Snip(_)
            | Self::Undo(_)
            | Self::Checkpoint(_)
            | Self::Chronicle(_)
            | Self::State(_)
            | Self::Agent(_)
            | Self::Mail(_)
            | Self::Foreign(_) => Vec::new(),
        }
    }

    /// True if the record may change segments that were already sent. All other kinds only append,
    /// which keeps the provider's cache valid.
    pub const fn is_rewrite(&self) -> bool {
        match self {
            // The server's own clearing is an observation; the view keeps the original bytes.
            Self::Cleared(clearing) => matches!(clearing.place, ClearingPlace::Local),
            Self::Distilled(_)
            | Self::Boundary(_)
            | Self::Snip(_)
            | Self::Fold(_)
            | Self::Undo(_) => true,
            _ => false,
        }
    }

    /// Complete manifest of the record, if it has one; resuming can start there.
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Self::Session(start) => start.lineage.as_ref().map(|lineage| &lineage.manifest),
            Self::Boundary(boundary) => boundary.manifest.as_ref(),
            Self::Undo(undo) => Some(&undo.manifest),
            Self::Checkpoint(checkpoint) => Some(&checkpoint.manifest),
            _ => None,
        }
    }

    /// True if the log must be synced before the next effect. A request whose record is lost could
    /// not be rebuilt, and a lost rewrite would let two different prompts follow from one log.
    pub const fn must_be_durable(&self) -> bool {
        matches!(self, Self::Request(_)) || self.is_rewrite()
    }
}
