//! The shape of a compaction: everything about it that depends on the policy.

use crate::clear::Measure;
use crate::compaction::{CompactSettings, RestoreLimits, cut};
use crate::segment::SegmentList;
use dormouse_core::units::Tokens;
use std::fmt;
use std::sync::Arc;

/// Shape of a compaction under a policy.
#[derive(Clone, Debug)]
pub struct CompactRule {
    /// True if session notes serve as the summary where they cover enough.
    pub notes: bool,
    /// True if the first request is a fork of the conversation and so reads the cache. If false,
    /// the conversation is sent as one text from the start, which is otherwise the fallback.
    pub rides: bool,
    /// Most characters of each tool result in the conversation as one text; `None` shows all.
    pub clamp: Option<usize>,
    /// Directive of a second call that checks the first summary; `None` makes no such call.
    pub check: Option<&'static str>,
    /// Part of the conversation that stays verbatim.
    pub keep: Arc<dyn Keep>,
    /// Sections that the engine itself puts beside the summary.
    pub carry: Carry,
    /// Limits of restored files and other parts.
    pub restore: RestoreLimits,
}

impl CompactRule {
    /// Default shape: a summary that reads the cache, user messages and evidence beside it, files
    /// within the limits of the settings, and nothing kept that was already sent.
    pub fn new(settings: &CompactSettings) -> Self {
        Self {
            notes: true,
            rides: true,
            clamp: None,
            check: None,
            keep: Arc::new(Unsent),
            carry: Carry {
                user_messages: Some(settings.user_messages),
                evidence: Some(settings.evidence),
                accounts_for_all: true,
            },
            restore: settings.restore,
        }
    }
}

/// Sections that the engine itself puts beside the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    /// Most tokens of the user's messages, newest first; `None` leaves the section out.
    pub user_messages: Option<Tokens>,
    /// Most tokens of the evidence ledger; `None` leaves it out.
    pub evidence: Option<Tokens>,
    /// True if a boundary that does not account for every user message is refused.
    pub accounts_for_all: bool,
}

impl Carry {
    /// The summary alone, as agents do that keep no ledger; for comparison.
    pub const NOTHING: Self = Self {
        user_messages: None,
        evidence: None,
        accounts_for_all: false,
    };
}

/// Rule for the part of the conversation that stays beside the summary.
pub trait Keep: fmt::Debug + Send + Sync {
    /// Positions between which segments are summarised. [`Kept`](crate::compaction::Kept) adds
    /// unsent segments and completes records, and never keeps an earlier summary verbatim.
    fn stays(&self, segments: &SegmentList, measure: Measure) -> Stays;
}

/// Segments that stay: those before `front` and those from `tail` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stays {
    /// Position of the first segment that may be summarised.
    pub front: usize,
    /// Position from which all segments stay.
    pub tail: usize,
}

/// Keeps only segments not sent yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent;

impl Keep for Unsent {
    fn stays(&self, segments: &SegmentList, _: Measure) -> Stays {
        Stays {
            front: 0,
            tail: segments.len(),
        }
    }
}

/// Keeps the newest rounds, up to so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewestRounds(pub Tokens);

impl Keep for NewestRounds {
    fn stays(&self, segments: &SegmentList, measure: Measure) -> Stays {
        Stays {
            front: 0,
            tail: cut::tail_of(segments, self.0, measure),
        }
    }
}
