//! Layer 4: replacing the conversation by what is needed to go on.
//!
//! # Model
//! A compaction is a job without IO ([`CompactionJob`]): it is told what happened and answers with
//! the next thing to do. It asks the hooks, tries the session notes, asks a model for a summary,
//! falls back to an extract without a model, has files read again, and ends in one record, the
//! boundary. Until that record is in the log, the old view stands.
//!
//! Beside the summary the engine itself puts the user's messages, word for word, and the evidence
//! ledger ([`crate::evidence`]); a model is not trusted with either.
//!
//! # Responsibilities
//! What is asked, what is kept, what is accepted, what the boundary holds.
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
pub use frame::{Parts, summaries_in};
pub use gate::{GateError, summary_of};
pub use job::CompactionJob;
pub use kept::{Kept, NothingGoes};
pub use offline::{condensed, extract};
pub use protocol::{
    Answer, Ask, AskFailure, AskForm, Effect, Event, JobContext, Outcome, Request, Scope,
};
pub use provider::provider_boundary;
pub use restore::{RestoreLimits, RestoredKind, RestoredPart};
pub use transcript::transcript;

use crate::compaction::cut::NotesTail;
use crate::notes;
use dormouse_core::settings::{Percent, Settings, keys};
use dormouse_core::units::Tokens;

/// Figures of a compaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactSettings {
    /// How often a broken stream is asked again.
    pub stream_retries: u64,
    /// Most that the user's messages take.
    pub user_messages: Tokens,
    /// Most that the evidence ledger takes.
    pub evidence: Tokens,
    /// Most that an extract takes.
    pub offline: Tokens,
    /// How often a request that is too long is shortened.
    pub too_long_tries: u64,
    /// What is dropped each time, where the provider does not say how much is too much.
    pub too_long_drop: Percent,
    /// What stays beside notes.
    pub notes_tail: NotesTail,
    /// How long notes may be.
    pub notes: notes::Limits,
    /// What is shown again.
    pub restore: RestoreLimits,
    /// What stays of the tail under the economic policy.
    pub economic_tail: Tokens,
    /// What is shown again under the economic policy: files, tokens of one, tokens of all.
    pub economic_restore: (usize, Tokens, Tokens),
    /// Failures in a row after which the model is not asked by itself.
    pub breaker: u64,
}

impl CompactSettings {
    /// Reads them from the settings.
    pub fn new(settings: &Settings) -> Self {
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Self {
            stream_retries: settings.get(keys::COMPACT_STREAM_RETRIES),
            user_messages: settings.get(keys::COMPACT_USER_MESSAGES_LIMIT),
            evidence: settings.get(keys::COMPACT_EVIDENCE_LIMIT),
            offline: settings.get(keys::COMPACT_OFFLINE_LIMIT),
            too_long_tries: settings.get(keys::COMPACT_TOO_LONG_TRIES),
            too_long_drop: settings.get(keys::COMPACT_TOO_LONG_DROP),
            notes_tail: NotesTail {
                tokens: settings.get(keys::NOTES_KEEP_TOKENS),
                messages: count(settings.get(keys::NOTES_KEEP_MESSAGES)),
                limit: settings.get(keys::NOTES_KEEP_LIMIT),
            },
            notes: notes::Limits {
                section: settings.get(keys::NOTES_SECTION_LIMIT),
                total: settings.get(keys::NOTES_TOTAL_LIMIT),
            },
            restore: RestoreLimits {
                files: count(settings.get(keys::COMPACT_RESTORE_FILES)),
                file: settings.get(keys::COMPACT_RESTORE_FILE_LIMIT),
                all_files: settings.get(keys::COMPACT_RESTORE_FILES_LIMIT),
                skill: settings.get(keys::COMPACT_RESTORE_SKILL_LIMIT),
                all_skills: settings.get(keys::COMPACT_RESTORE_SKILLS_LIMIT),
            },
            economic_tail: settings.get(keys::ECONOMIC_TAIL),
            economic_restore: (
                count(settings.get(keys::ECONOMIC_RESTORE_FILES)),
                settings.get(keys::ECONOMIC_RESTORE_FILE_LIMIT),
                settings.get(keys::ECONOMIC_RESTORE_FILES_LIMIT),
            ),
            breaker: settings.get(keys::COMPACT_BREAKER),
        }
    }
}
