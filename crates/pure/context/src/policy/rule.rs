//! Shape of a compaction: everything about it that depends on the policy.

use crate::clear::Measure;
use crate::compaction::{CompactSettings, RestoreLimits, cut};
use crate::segment::SegmentList;
use dormouse_core::units::Tokens;
use std::fmt;
use std::sync::Arc;

/// How a compaction is made under a policy.
#[derive(Clone, Debug)]
pub struct CompactRule {
    /// Session notes serve as the summary where they can.
    pub notes: bool,
    /// The first call continues the conversation, so that it is read from the cache. Otherwise the
    /// conversation is sent as one text from the start, the form that is the fallback of a
    /// continuation.
    pub rides: bool,
    /// Characters of each tool result that the conversation as one text shows; all without it.
    pub clamp: Option<usize>,
    /// Directive of a second call that checks the first summary; without it there is no such call.
    pub check: Option<&'static str>,
    /// Part of the conversation that stays as it is.
    pub keep: Arc<dyn Keep>,
    /// Texts that the engine itself puts beside the summary.
    pub carry: Carry,
    /// Limits of the files and the like that are shown again.
    pub restore: RestoreLimits,
}

impl CompactRule {
    /// A summary that reads the cache, the user's messages and the evidence beside it, and files
    /// within the limits of the settings. Nothing that was sent stays.
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

/// Texts that the engine itself puts beside the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    /// Most tokens of the user's messages, newest first; without it the section is left out.
    pub user_messages: Option<Tokens>,
    /// Most tokens of the evidence ledger; without it the ledger is left out.
    pub evidence: Option<Tokens>,
    /// A boundary that does not account for every message of the user is refused.
    pub accounts_for_all: bool,
}

impl Carry {
    /// A summary alone.
    pub const NOTHING: Self = Self {
        user_messages: None,
        evidence: None,
        accounts_for_all: false,
    };
}

/// Part of the conversation that stays beside the summary.
pub trait Keep: fmt::Debug + Send + Sync {
    /// Positions for these segments. Segments not sent yet and whole records are added by
    /// [`Kept`](crate::compaction::Kept), and an earlier summary never stays as it is.
    fn stays(&self, segments: &SegmentList, measure: Measure) -> Stays;
}

/// Segments that stay: those before `front` and those from `tail` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stays {
    /// Position of the first segment that may go.
    pub front: usize,
    /// Position from which everything stays.
    pub tail: usize,
}

/// Keeps only what was not sent yet.
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
