//! Layer 4: compaction, the replacement of a conversation by a summary.
//!
//! # Model
//! A compaction is a job without IO ([`CompactionJob`]): it takes events and returns the next
//! effect. It runs the hooks, tries the session notes, asks a model for a summary, falls back to an
//! extract without a model, has files restored, and ends in one record, the boundary. Until that
//! record is in the log, the old view stands.
//!
//! The engine itself puts the user's messages, word for word, and the evidence ledger
//! ([`crate::evidence`]) beside the summary; neither is left to a model.
//!
//! # Responsibilities
//! The directive, the part that is kept, the gate for summaries, the content of the boundary.
//!
//! # Not here
//! When to compact ([`crate::layers`]), the breaker, sending requests, reading files, appending.

pub mod cut;
mod directive;
mod earlier;
mod frame;
mod gate;
mod job;
mod kept;
mod offline;
mod protocol;
mod provider;
mod restore;
mod rounds;
mod transcript;

#[cfg(test)]
mod cut_tests;
#[cfg(test)]
mod job_tests;
#[cfg(test)]
mod test_kit;
#[cfg(test)]
mod text_tests;

pub use directive::{Part, REQUIRED_SECTIONS, compact_instructions, directive};
pub use frame::{History, Parts, summaries_in};
pub use gate::{GateError, summary_of};
pub use job::CompactionJob;
pub use kept::{Kept, NothingGoes};
pub use offline::extract;
pub use protocol::{
    Ask, AskFailure, AskForm, CompactionOutcome, Effect, Event, JobContext, Request, Scope,
    SummaryAnswer,
};
pub use provider::provider_boundary;
pub use restore::{RestoreLimits, RestoredKind, RestoredPart};
pub use transcript::transcript;

use crate::compaction::cut::NotesTail;
use crate::notes;
use crate::window::in_proportion;
use dormouse_core::settings::{Percent, Settings, keys};
use dormouse_core::units::Tokens;

/// Number of times that a summary is requested again after a broken stream. The driver has already
/// waited between its own attempts; what fails three times fails for longer than a user waits.
pub const STREAM_RETRIES: u64 = 2;
/// Number of times that a request for a summary is shortened after "prompt too long". Three drops
/// of `TOO_LONG_DROP` halve the conversation; if that is not enough, the extract is better.
pub const TOO_LONG_TRIES: u64 = 3;
/// Share of the rounds dropped each time, if the provider does not report the excess: large enough
/// to end within [`TOO_LONG_TRIES`], small enough to lose little to an estimate that is just off.
const TOO_LONG_DROP: Percent = Percent::whole(20);
/// Most tokens of an extract without a model: as long as a summary by a model usually is.
const OFFLINE: Tokens = Tokens(4_000);

/// Room for which the default limits are made: the target of a window of 200,000 tokens without a
/// static prefix of 17,000. Above it they stay as they are, because a longer window is no reason to
/// carry more.
const FULL_ROOM: Tokens = Tokens(150_000);
/// Notes in a small window keep at least this length: about 600 tokens are the frame of headings,
/// and less than twice that beside it holds nothing to go on with.
const LEAST_NOTES: Tokens = Tokens(2_000);
/// A section keeps at least a paragraph.
const LEAST_SECTION: Tokens = Tokens(300);

/// Settings of a compaction, read once per change of the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactSettings {
    /// Most tokens of the user's messages beside a summary.
    pub user_messages: Tokens,
    /// Most tokens of the evidence ledger beside a summary.
    pub evidence: Tokens,
    /// Size of the tail that stays beside notes used as the summary.
    pub notes_tail: NotesTail,
    /// Lengths to which notes are cut when they serve as the summary.
    pub notes: notes::Limits,
    /// Limits for files, skills and other restored parts.
    pub restore: RestoreLimits,
    /// Consecutive failures after which automatic compaction no longer asks the model.
    pub breaker: u64,
}

impl CompactSettings {
    /// Reads the values from the settings table.
    pub fn new(settings: &Settings) -> Self {
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Self {
            user_messages: settings.get(keys::COMPACT_USER_MESSAGES_LIMIT),
            evidence: settings.get(keys::COMPACT_EVIDENCE_LIMIT),
            notes_tail: NotesTail {
                tokens: settings.get(keys::NOTES_KEEP_TOKENS),
                messages: count(settings.get(keys::NOTES_KEEP_MESSAGES)),
                limit: settings.get(keys::NOTES_KEEP_LIMIT),
            },
            notes: notes::Limits {
                section: settings.get(keys::NOTES_SECTION_LIMIT),
                total: settings.get(keys::NOTES_TOTAL_LIMIT),
            },
            restore: RestoreLimits::new(
                count(settings.get(keys::COMPACT_RESTORE_FILES)),
                settings.get(keys::COMPACT_RESTORE_FILE_LIMIT),
                settings.get(keys::COMPACT_RESTORE_FILES_LIMIT),
            ),
            breaker: settings.get(keys::COMPACT_BREAKER),
        }
    }

    /// The same settings for so much room between the static prefix and the target of automatic
    /// compaction. Restored parts, notes and the tail beside them shrink with it: unscaled, 50,000
    /// tokens of restored files exceed the target of a window of 80,000, and each compaction would
    /// call for the next one. The user's messages and the evidence keep their room: they cannot be
    /// read again.
    #[must_use]
    pub fn within(self, room: Tokens) -> Self {
        let scaled = |figure| in_proportion(figure, room, FULL_ROOM);
        Self {
            // Its upper limit stays: a tail that leaves no room is refused by the gate, and a longer
            // one that fits saves the call of a full compaction.
            notes_tail: NotesTail {
                tokens: scaled(self.notes_tail.tokens),
                ..self.notes_tail
            },
            notes: notes::Limits {
                // A person's own limit may lie below the least useful one.
                section: scaled(self.notes.section).max(LEAST_SECTION.min(self.notes.section)),
                total: scaled(self.notes.total).max(LEAST_NOTES.min(self.notes.total)),
            },
            restore: self.restore.map(scaled),
            ..self
        }
    }
}
