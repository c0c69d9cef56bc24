//! The condenser of the `OpenHands` SDK.
//!
//! Source: `context/condenser/` of the SDK and its README: 240 events, `keep_first` 2, the view is
//! halved. A message stands for an event here.

use super::summary_alone;
use dormouse_context::category::Category;
use dormouse_context::clear::Measure;
use dormouse_context::compaction::{CompactSettings, cut};
use dormouse_context::policy::{CompactRule, CompactVerdict, Facts, Keep, Policy, Stays};
use dormouse_context::segment::SegmentList;
use dormouse_core::record::Trigger;
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// Messages at which it condenses; the SDK's default of 240 events.
const MESSAGES: usize = 240;
/// Messages at the beginning that stay, `keep_first`.
const FIRST: usize = 2;

/// Compaction by the number of messages; the beginning and the newer half stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenHands;

impl Policy for OpenHands {
    fn name(&self) -> &'static str {
        "openhands"
    }

    fn compact(&self, facts: &Facts<'_>) -> CompactVerdict {
        let messages = cut::cuts(&facts.conversation.view().segments()).len();
        if messages < MESSAGES {
            return CompactVerdict::Leave {
                reason: format!("{messages} of {MESSAGES} messages"),
            };
        }
        CompactVerdict::Due {
            trigger: Trigger::Auto,
            keep: None,
            reason: format!("{messages} messages"),
        }
    }

    fn compaction(&self, settings: &CompactSettings, _: Option<Tokens>) -> CompactRule {
        CompactRule {
            keep: Arc::new(NewerHalf { first: FIRST }),
            ..summary_alone(settings)
        }
    }
}

/// Keeps the first messages and the newer half of the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewerHalf {
    pub(super) first: usize,
}

impl Keep for NewerHalf {
    fn stays(&self, segments: &SegmentList, _: Measure) -> Stays {
        let cuts = cut::cuts(segments);
        // A summary at the front stands for the first messages; keeping two more would keep it
        // twice.
        let summary = segments
            .get(0)
            .is_some_and(|segment| segment.category == Category::Summary);
        Stays {
            front: if summary {
                0
            } else {
                cuts.get(self.first).copied().unwrap_or(0)
            },
            tail: cut::cut_at_or_after(&cuts, segments.len() / 2).unwrap_or(segments.len()),
        }
    }
}
